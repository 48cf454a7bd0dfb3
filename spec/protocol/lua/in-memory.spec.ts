/**
 * The scripts as the masters in memory run them, compiled from their Lua, beside a real server: the same random calls of all
 * of them, alone and in batches; replies, keys and pushes are compared after each.
 *
 * Both clocks stand still at the same instant while a script runs, so that instants are the same and can be at their very
 * bounds. Times left are compared by their millions of ms, since the server's count down; what lives for a few seconds only
 * is kept for longer after it was compared.
 */
import { expect } from 'chai';
import { BACK_US, AHEAD_US, LAST_FENCE } from '../../../lib/protocol/lua/stored.js';
import { type Script, SCRIPTS } from '../../../lib/protocol/lua/scripts.js';
import { FRESH_MS, GONE_MS, TIDIED, TIDY_MS } from '../../../lib/protocol/lua/waiting.js';
import { AT_REST, RESERVED_MARK } from '../../../lib/runtime/random.js';
import { sha1 } from '../../../lib/redis/script.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import { MemoryServer } from '../../../lib/testing/master/server.js';
import type { Command } from '../../../lib/redis/transport.js';
import { Draw } from '../../support/draw.js';
import * as drawn from '../../support/drawn-calls.js';
import { entriesOf, isBatch } from '../../support/entries.js';
import { atInstant, oneListener, oneServer, putData } from '../../support/server.js';

const [SEEDS, STEPS] = [60, 60];
const { GUARD_MS, MARKER, MUTEXES, NOTE, OURS, SHARED, TAKEN, TIMESTAMP, TTLS } = drawn;
const KEYS = [
  ...[...MUTEXES, ...SHARED].flatMap((names) => Object.values(names) as string[]),
  MARKER,
  TAKEN,
  NOTE,
  TIMESTAMP,
];

/** All keys as they are: the type, what is there, and the time left. */
const LOOK = `local all = {}
for i, key in ipairs(KEYS) do
  local type, found = redis.call('TYPE', key).ok, nil
  if type == 'string' then found = redis.call('GET', key)
  elseif type == 'hash' then found = redis.call('HGETALL', key)
  elseif type == 'zset' then found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  else found = {} end
  all[i] = {type, found, redis.call('PTTL', key)}
end
return all`;

const KEEP = `for _, key in ipairs(KEYS) do
  local ms = redis.call('PTTL', key)
  if ms >= 0 and ms <= tonumber(ARGV[1]) then redis.call('PEXPIRE', key, ARGV[2]) end
end`;

type Look = readonly (readonly [type: string, found: string | readonly string[], ms: number])[];

describe('scripts in memory: the same as on the server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const seen = new Set<string>();
  before(() => listener.listenTo(...drawn.CHANNELS));

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${STEPS} random calls`, async () => {
      const draw = new Draw(seed * 7_907);
      let us = await server.micros();
      const memory = new MemoryServer('memory', { micros: () => us, trueMs: () => us / 1_000 });
      memory.runId = server.runId;
      const heard: string[] = [];
      for (const channel of drawn.CHANNELS)
        memory.channels.subscribe(channel, (text) => heard.push(`${channel} ${text}`));
      for (let step = 0; step < STEPS; step++) {
        us = await server.micros();
        for (let i = draw.below(3); i > 0; i--) await disturb(draw, memory, us);
        const { args, keys, script } = new drawn.CallDraw(draw, memory, us).call();
        const [real, look] = await onServer(atInstant(script, us), keys, args);
        const command: Command = {
          name: 'eval',
          args: [script.source, String(keys.length), ...keys, ...args],
        };
        const found = answer(memory, command);
        const title = `step ${step}: ${script.name} ${keys.join()} ${args.join()}`;
        expect(coarse(found), title).to.deep.equal(coarse(real));
        expect(
          KEYS.map((key) => stateIn(memory, key)),
          title,
        ).to.deep.equal(look.map(shown));
        expect(pushesIn(heard.splice(0)), title).to.deep.equal(pushesIn(await listener.heard()));
        seen.add(script.name);
        for (const one of met(command, real)) seen.add(one);
        keep(memory, look);
      }
    });
  }

  it('that met every script, and its most usual replies', () => {
    const wanted = [
      ...['claim 1', 'claim 0', 'claim 2', 'claim -1', 'claim -2', 'accept 1', 'accept 3', 'accept 0'],
      ...[
        'extend 1',
        'extend 0',
        'extend -3',
        'queue 6',
        'queue 1',
        'queue 0',
        'queue 4',
        'undo 1',
        'undo 0',
      ],
      ...[
        'rw-claim 1',
        'rw-claim 0',
        'rw-claim 2',
        'rw-extend 1',
        'permit-claim 1',
        'permit-claim 0',
        'permit-claim 5',
      ],
      ...['permit-align 1', 'permit-extend 1', 'leave 1', 'note-write 1', 'note-write 3', 'note-read 1'],
      ...['timestamp-claim 0', 'timestamp-claim 2', 'timestamp-claim 4'],
    ];
    expect(wanted.filter((one) => !seen.has(one))).to.deep.equal([]);
    expect(SCRIPTS.map(({ name }) => name).filter((name) => !seen.has(name))).to.deep.equal([]);
  });

  /** Its reply, and all keys after it. In one go: what lives for a second runs out between two calls of a busy machine. */
  async function onServer(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly [real: unknown, look: Look]> {
    const calls = server.redis
      .multi()
      .eval(script.source, keys.length, ...keys, ...args)
      .eval(LOOK, KEYS.length, ...KEYS)
      .eval(KEEP, KEYS.length, ...KEYS, FRESH_MS, TTLS[0] ?? 0);
    const [[failure, reply] = [], [, look] = []] = (await calls.exec()) ?? [];
    return [failure ? told(failure) : reply, look as Look]; // what the script returns
  }

  /** What lives for seconds only does not run out while the spec runs; on the server, `KEEP` sees to it. */
  function keep(memory: MemoryServer, look: Look): void {
    for (const [i, [, , ms]] of look.entries())
      if (ms >= 0 && ms <= FRESH_MS) memory.expire(KEYS[i] ?? '', TTLS[0] ?? 0);
  }

  /** What others do: put votes, counts, looks and odd texts there, or data of another type, or delete it. */
  async function disturb(draw: Draw, memory: MemoryServer, us: number): Promise<void> {
    const { redis } = server;
    const ms = Math.floor(us / 1_000);
    const { counter, lock, queue, looks, turn } = draw.pick(MUTEXES);
    const put = async (key: string, text: string, ttlMs = draw.pick(TTLS)): Promise<void> => {
      await redis.set(key, text, 'PX', ttlMs);
      memory.set(key, text, ttlMs);
    };
    switch (draw.below(9)) {
      case 0:
        return put(
          lock,
          draw.pick([AT_REST, drawn.FOREIGN, ...OURS, ...OURS.map((token) => token + RESERVED_MARK)]),
        );
      case 1: {
        const near = us + draw.pick([-2 * BACK_US, -BACK_US, -1, 0, AHEAD_US, 7_000_000]);
        const odd = ['text', '', '-5', '1e3', '007', '7 ', '0x10', LAST_FENCE - 1, LAST_FENCE];
        return put(
          draw.pick([counter, draw.pick(SHARED).counter]),
          String(draw.pick([0, near, near, near, ...odd])),
          3_250_000,
        );
      }
      case 2: {
        const since = draw.pick([0, ms - GUARD_MS - 400, ms - GUARD_MS - 400, ms, ms + 5e6]);
        const run = draw.pick([server.runId, server.runId, 'other']);
        return put(
          MARKER,
          draw.pick([`1|${run}|${since}|${GUARD_MS}`, `1|${run}|${since}|${GUARD_MS}`, 'text']),
        );
      }
      case 3:
        return put(
          turn,
          draw.pick(['text', '0||', `7|${draw.pick(OURS)}|1`, `${us + 9e6}|x|7`]),
          TTLS.at(-1),
        );
      case 4: {
        if (memory.fields(looks) === WRONG_TYPE) return;
        const [name, text] =
          draw.below(4) === 0 ? [TIDIED, tidied(draw, us)] : [draw.pick(OURS), left(draw, us)];
        await redis.hset(looks, name, text);
        await redis.pexpire(looks, TTLS[0] ?? 0);
        memory.setFields(looks, { [name]: text });
        return memory.expire(looks, TTLS[0] ?? 0);
      }
      case 5: {
        const { lock: shared } = draw.pick(SHARED);
        const fields = memory.fields(shared);
        if (fields === WRONG_TYPE || fields.size === 0) return;
        const name = draw.pick([...fields.keys(), 'odd']);
        const text = draw.pick([(fields.get(name) ?? '').replace(/\|\d+\|/, `|${ms}|`), 'rw2', 'r|0|']);
        await redis.hset(shared, name, text);
        return memory.setFields(shared, { [name]: text });
      }
      case 6:
        return put(
          draw.pick([NOTE, TIMESTAMP]),
          draw.pick([
            `1|${sha1(draw.pick(OURS))}|1790000000000001|1|${ms}|é`,
            '1790000061',
            '1790000000',
            '5.',
            'text',
          ]),
        );
      default: {
        const key = draw.pick([
          lock,
          lock,
          counter,
          queue,
          turn,
          looks,
          ...SHARED.map((one) => one.lock),
          ...KEYS,
        ]);
        await redis.del(key);
        memory.delete(key);
        if (draw.below(4) > 0) return;
        await putData(redis, key, 'list');
        memory.set(key, WRONG_TYPE);
      }
    }
  }
});

/** What a look has left, at any of the bounds. */
function left(draw: Draw, us: number): string {
  const ages = [0, BACK_US, FRESH_MS * 1_000, FRESH_MS * 1_000 + 1, GONE_MS * 1_000, GONE_MS * 1_000 + 1, -1];
  const look = us - draw.pick(ages);
  const life = draw.pick([0, drawn.LIFE_MS]);
  const all = [
    look,
    7,
    draw.pick(TTLS),
    life,
    draw.pick(['', '', 'other']),
    draw.pick([0, us - 5_000, us + 1e6]),
  ];
  return draw.pick([all.join('|'), all.join('|'), String(look), 'text']);
}

function tidied(draw: Draw, us: number): string {
  return draw.pick([`${us - draw.pick([0, TIDY_MS * 1_000 - 1, TIDY_MS * 1_000])}|${draw.below(3)}`, 'text']);
}

function answer(memory: MemoryServer, command: Command): unknown {
  let answered: unknown;
  memory.receive(command, (error, reply) => (answered = error === undefined ? reply : told(error)));
  return answered;
}

/** What each request was, and the code that it was answered with. */
function met(command: Command, reply: unknown): string[] {
  return entriesOf(command).map(({ kind }, i) => {
    const all = Array.isArray(reply) ? (reply as unknown[])[i] : 1;
    const own = isBatch(command) ? all : reply;
    const code: unknown = Array.isArray(own) ? own[0] : typeof own === 'number' ? Math.min(own, 1) : 'odd';
    return `${kind} ${String(code)}`;
  });
}

function told(error: Error): string {
  return `error ${error.message}`;
}

/** Times left by their millions, and errors without where they come from. */
function coarse(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(coarse);
  if (typeof reply === 'number') return reply >= 900 && reply < 1e12 ? Math.ceil(reply / 1e6) : reply;
  if (typeof reply !== 'string' || !/^(?:!|error )/.test(reply)) return reply;
  return reply
    .replace(/ script: .*/, '')
    .replace(/user_script:(?:\d+:)? /, '')
    .replace('ERR ', '');
}

/** A push of a note ends with the time left of its vote. */
function inMillions(push: string): string {
  return push.replace(
    /( v \d+ \d+ )(\d+)$/,
    (_, before: string, ms: string) => before + millions(Number(ms)),
  );
}

/** Those of a counter that is centuries ahead are all alike. */
function millions(ms: number): number {
  return ms < 0 ? ms : ms > 1e9 ? Infinity : Math.ceil(ms / 1e6);
}

function shown([type, found, ms]: Look[number]): string {
  const pairs =
    typeof found === 'string' ? [] : found.flatMap((one, i) => (i % 2 === 0 ? [[one, found[i + 1]]] : []));
  const content =
    typeof found === 'string'
      ? found
      : type === 'hash'
        ? pairs.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))
        : pairs;
  return `${type} ${JSON.stringify(content)} ${millions(ms)}`;
}

function stateIn(memory: MemoryServer, key: string): string {
  const ms = memory.pttl(key);
  const text = memory.get(key);
  if (text === undefined) return shown(['none', [], ms]);
  if (text !== WRONG_TYPE) return shown(['string', text, ms]);
  const members = memory.members(key);
  const fields = memory.fields(key);
  if (members !== WRONG_TYPE)
    return shown(['zset', members.flatMap(({ name, score }) => [name, String(score)]), ms]);
  return fields === WRONG_TYPE ? shown(['list', [], ms]) : shown(['hash', [...fields].flat(), ms]);
}

/** By channel, each in the order of its pushes: a script that pushes to several goes through a table, in any order. */
function pushesIn(heard: readonly string[]): readonly string[] {
  const channelOf = (push: string): string => push.slice(0, push.indexOf(' '));
  return [...heard].map(inMillions).sort((one, other) => channelOf(one).localeCompare(channelOf(other)));
}
