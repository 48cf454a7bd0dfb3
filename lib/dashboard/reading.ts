/**
 * How the dashboard finds and reads locks on one master: two scripts, and the meaning of their replies. Both only read. A reply
 * holds tokens; what is made of it holds fingerprints, so no token leaves this file.
 */
import { counterKey, looksKey, queueKey, recordKey, RESERVED, valueKey } from '../protocol/keys.js';
import { FENCE_BLOCK, SHARED_FIELD } from '../protocol/lua/stored.js';
import { GONE_MS } from '../protocol/lua/waiting.js';
import { type Command, fingerprint } from '../redis/transport.js';
import { AT_REST, isOurs, publicPart, tokenIn, TOKEN_LETTERS } from '../runtime/random.js';

/** How many keys one step of SCAN looks at. */
const SCANNED = 500;
/** How many holders and waiters of a lock are named. */
export const MOST_NAMED = 32;
/** A lock of another library has a value in hex digits, and expires within a day. */
const OTHERS = { least: 20, most: 64, dayMs: 86_400_000 };
const OWN_LENGTH = TOKEN_LETTERS.client + 1 + TOKEN_LETTERS.secret;
/** A hash with more fields is no lock. */
const MOST_FIELDS = 2_048;
/** Longer texts of leaders are cut. */
const MOST_LETTERS = 1_000;

/**
 * One step of SCAN, in the database of the locks. ARGV 1 cursor, 2 the client's prefix, 3 the prefix of names
 * → {cursor, names, clients}: names of keys that hold a lock, a queue, a leader's value or the record of a job with a schedule;
 *   clients = whose records were found
 */
const SCANNING = `local client, prefix = ARGV[2], ARGV[3]
local function without(text, start)
  if string.sub(text, 1, #start) == start then return string.sub(text, #start + 1) end
end
local function isLock(key)
  local length = redis.pcall('STRLEN', key)
  if type(length) == 'number' then
    if length == 0 then return false end
    if length == ${OWN_LENGTH} or length == ${OWN_LENGTH + 1} then
      if string.find(redis.call('GET', key), '^[%w_-]+:[%w_-]+%+?$') then return true end
    end
    if length < ${OTHERS.least} or length > ${OTHERS.most} then return false end
    local ms = redis.call('PTTL', key)
    return ms > 0 and ms < ${OTHERS.dayMs} and string.find(redis.call('GET', key), '^%x+$') ~= nil
  end
  local kind = redis.pcall('TYPE', key)
  if kind.ok ~= 'hash' or redis.call('PTTL', key) < 0 then return false end
  local some = redis.call('HSCAN', key, '0', 'COUNT', '1')[2]
  return some[2] ~= nil and string.find(some[2], '${SHARED_FIELD}') ~= nil
end
local function named(key)
  local what, name = string.match(key, '^quorate:(%a+):{(.*)}$')
  if what == 'tagged' or not what then what, name = string.match(key, '^quorate:tagged:(%a+):(.*)$') end
  if what == 'queue' or what == 'value' then return name end
  if what ~= 'record' then return nil end
  local record = redis.pcall('GET', client .. key)
  return type(record) == 'string' and string.find(record, '^1|%x+|%d+|%d+|%d+|2|') and name or nil
end
local step, names, clients = redis.call('SCAN', ARGV[1], 'COUNT', '${SCANNED}'), {}, {}
for _, whole in ipairs(step[2]) do
  local key = without(whole, client)
  local instance = key and without(key, '${RESERVED}client:' .. prefix)
  if instance then
    clients[#clients + 1] = string.match(instance, '^{([%w_-]+)}$')
  elseif key and string.sub(key, 1, ${RESERVED.length}) == '${RESERVED}' then
    local name = named(key)
    name = name and without(name, prefix)
    if name then names[#names + 1] = name end
  elseif key then
    local name = without(key, prefix)
    if name and name ~= '' and isLock(whole) then names[#names + 1] = name end
  end
end
return {step[1], names, clients}`;

/**
 * Reads some locks. KEYS, for each lock: resource, queue, looks, counter, value, record · ARGV 1 how many waiters to name
 * → for each: {kind, ms, owner, holding, fields, waiting, places, counter, owns, value, owns, record}
 *   kind = 'none', 'string', 'hash' or 'foreign'; fields = those of the first holders of a shared lock, and their contents;
 *   places = tokens and tickets of the first waiters; owns = 1 if the note is that of whoever has the vote
 */
const READING = `local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local most = tonumber(ARGV[1])
local function textOf(key)
  local found = redis.pcall('GET', key)
  return type(found) == 'string' and string.sub(found, 1, ${MOST_LETTERS}) or ''
end
local function holdersOf(key)
  local fields, holding, live = {}, 0, redis.call('HLEN', key) <= ${MOST_FIELDS} and redis.call('HGETALL', key) or {}
  if not live[1] then return 'foreign', 0, fields end
  for i = 1, #live, 2 do
    local _, _, _, ends = string.find(live[i + 1], '${SHARED_FIELD}')
    if not ends then return 'foreign', 0, {} end
    if string.find(live[i], ':', 1, true) and tonumber(ends) > us / 1000 then
      holding = holding + 1
      if holding <= ${MOST_NAMED} then
        fields[#fields + 1] = live[i]
        fields[#fields + 1] = live[i + 1]
      end
    end
  end
  return 'hash', holding, fields
end
local function placesIn(queue, looks)
  local count = redis.pcall('ZCARD', queue)
  if type(count) ~= 'number' or count == 0 then return 0, {} end
  local first, all = {}, redis.call('ZRANGE', queue, 0, ${MOST_NAMED - 1}, 'WITHSCORES')
  for i = 1, #all, 2 do
    local look = redis.pcall('HGET', looks, all[i])
    local at = type(look) == 'string' and tonumber(string.match(look, '^%d+'))
    if at and us - at > ${GONE_MS * 1_000} then
      count = count - 1
    elseif #first < 2 * most then
      first[#first + 1] = all[i]
      first[#first + 1] = all[i + 1]
    end
  end
  return count, first
end
local found = {}
for i = 1, #KEYS, 6 do
  local kind, owner, holding, fields = redis.pcall('TYPE', KEYS[i]).ok or 'foreign', '', 0, {}
  if kind == 'string' then owner = string.sub(redis.call('GET', KEYS[i]), 1, 200)
  elseif kind == 'hash' then kind, holding, fields = holdersOf(KEYS[i])
  elseif kind ~= 'none' then kind = 'foreign' end
  local waiting, places = placesIn(KEYS[i + 1], KEYS[i + 2])
  local digest = redis.sha1hex((string.gsub(owner, '%+$', '')))
  local function note(key)
    local text = textOf(key)
    return string.match(text, '^1|(%x+)|') == digest and 1 or 0, text
  end
  local leads, value = note(KEYS[i + 4])
  local runs, record = note(KEYS[i + 5])
  found[#found + 1] = {kind, redis.call('PTTL', KEYS[i]), owner, holding, fields, waiting, places, textOf(KEYS[i + 3]), leads, value, runs, record}
end
return found`;

/** KEYS any → their texts; false for one without */
const TEXTS = `local found = {}
for i, key in ipairs(KEYS) do
  local text = redis.pcall('GET', key)
  found[i] = type(text) == 'string' and text or false
end
return found`;

export function textsCommand(keys: readonly string[]): Command {
  return { name: 'eval', args: [TEXTS, String(keys.length), ...keys] };
}

/** @param at  a key of the server to scan, where there are several */
export function scanStep(
  cursor: string,
  clientPrefix: string,
  keyPrefix: string,
  at: string | undefined,
): Command {
  const keys = at === undefined ? [] : [at];
  return {
    name: 'eval',
    args: [SCANNING, String(keys.length), ...keys, cursor, clientPrefix, keyPrefix],
  };
}

/** Asks any server of a cluster for the slots of all. */
export function slotsCommand(): Command {
  return { name: 'eval', args: [`return redis.call('CLUSTER', 'SLOTS')`, '0'] };
}

/** Slots of one server of a cluster. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
  /** The server's id. */
  readonly owner: string;
}

/** @returns none for an odd reply */
export function readSlots(reply: unknown): readonly SlotRange[] {
  const ranges: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return ranges.flatMap((range) => {
    const [first, last, primary] = Array.isArray(range) ? (range as readonly unknown[]) : [];
    const [, , owner] = Array.isArray(primary) ? (primary as readonly unknown[]) : [];
    return typeof owner === 'string' ? [{ first: Number(first), last: Number(last), owner }] : [];
  });
}

/** @param keys  those of the locks @param waiters  how many of each lock's waiters to name */
export function readCommand(keys: readonly string[], waiters: number): Command {
  const all = keys.flatMap((key) => [
    ...[key, queueKey(key), looksKey(key), counterKey(key), valueKey(key), recordKey(key)],
  ]);
  return { name: 'eval', args: [READING, String(all.length), ...all, String(waiters)] };
}

/** A holder as one master knows it. */
export interface HolderRead {
  readonly holder: string;
  readonly client: string;
  readonly role: 'holder' | 'reader' | 'writer' | 'permits';
  readonly slots: readonly number[];
  /** `Infinity` for a key without expiry. */
  readonly remainingMs: number;
}

/** A note beside the vote: a leader's value, or a job's record. */
export interface NoteRead {
  /** Whether it is that of whoever has the vote. */
  readonly isHolders: boolean;
  readonly fence: number;
  readonly seq: number;
  readonly writtenAtMs: number;
  readonly text: string;
}

/** A lock as one master knows it. */
export interface LockRead {
  readonly kind: 'none' | 'mutex' | 'other' | 'read-write' | 'semaphore' | 'foreign';
  readonly holders: readonly HolderRead[];
  readonly holding: number;
  readonly waiting: number;
  readonly waiters: readonly { readonly waiter: string; readonly client: string; readonly sinceMs: number }[];
  readonly fence: number | undefined;
  readonly value: NoteRead | undefined;
  readonly record: NoteRead | undefined;
}

/** What one step of a scan found. */
export interface ScanStep {
  /** Of the next step. */
  readonly cursor: string;
  /** Locks. */
  readonly names: readonly string[];
  /** Instances that have a record. */
  readonly clients: readonly string[];
}

/** @returns undefined for an odd reply */
export function readScan(reply: unknown): ScanStep | undefined {
  const [cursor, names, clients] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  if (!Array.isArray(names) || !Array.isArray(clients)) return undefined;
  return { cursor: String(cursor), names: names.map(String), clients: clients.map(String) };
}

/** @param nowMs  the master's clock */
export function readLock(reply: unknown, nowMs: number): LockRead | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [type, ms, owner, holding, fields, waiting, places, counter, leads, value, runs, record] =
    reply as readonly unknown[];
  const holders =
    type === 'hash'
      ? pairsOf(fields).map(([token, content]) => sharedHolder(token, content, nowMs))
      : ownerOf(String(owner), Number(ms));
  const fence = Number(counter === '' ? NaN : counter) - (FENCE_BLOCK - 1);
  return {
    kind: kindOf(String(type), String(owner), holders),
    holders,
    holding: type === 'hash' ? Number(holding) : holders.length,
    waiting: Number(waiting),
    waiters: pairsOf(places).map(([token, ticket]) => ({
      waiter: fingerprint(token),
      client: publicPart(token),
      sinceMs: Number(ticket) / 1_000,
    })),
    fence: Number.isSafeInteger(fence) ? fence : undefined,
    value: noteOf(leads, value),
    record: noteOf(runs, record),
  };
}

function kindOf(type: string, owner: string, [first]: readonly HolderRead[]): LockRead['kind'] {
  if (type === 'hash') return first?.role === 'permits' ? 'semaphore' : 'read-write';
  if (type === 'string') return owner === AT_REST || isOurs(owner) ? 'mutex' : 'other';
  return type === 'none' ? 'none' : 'foreign';
}

/** Another library's value may be a secret as a whole, so nothing of it is public. */
function ownerOf(owner: string, ms: number): readonly HolderRead[] {
  if (owner === '' || owner === AT_REST) return [];
  const token = tokenIn(owner);
  const client = isOurs(owner) ? publicPart(token) : '';
  const remainingMs = ms === -1 ? Infinity : ms;
  return [{ holder: fingerprint(token), client, role: 'holder', slots: [], remainingMs }];
}

/** A field of the lock, as `SHARED_FIELD` in Lua. */
const FIELD = /^([rw~\d,]+)\|(\d+)\|/;

function sharedHolder(token: string, content: string, nowMs: number): HolderRead {
  const [, first = '', ends = '0'] = FIELD.exec(content) ?? [];
  const role = first === 'r' ? 'reader' : first === 'w' ? 'writer' : 'permits';
  const slots = role === 'permits' ? first.split(',').map(Number) : [];
  const remainingMs = Math.max(0, Number(ends) - nowMs);
  return { holder: fingerprint(token), client: publicPart(token), role, slots, remainingMs };
}

const NOTE = /^1\|[\da-f]+\|(\d{1,16})\|(\d{1,16})\|(\d{1,16})\|(.*)$/s;

function noteOf(owns: unknown, written: unknown): NoteRead | undefined {
  const [, fence, seq, ms, text] = NOTE.exec(String(written)) ?? [];
  if (text === undefined) return undefined;
  const isHolders = Number(owns) === 1;
  return { isHolders, fence: Number(fence), seq: Number(seq), writtenAtMs: Number(ms), text };
}

function pairsOf(list: unknown): readonly (readonly [string, string])[] {
  const all = Array.isArray(list) ? list.map(String) : [];
  return all.flatMap((text, i) => (i % 2 === 0 ? [[text, all[i + 1] ?? ''] as const] : []));
}
