/**
 * What is asked of a master, and how its reply is read. A request is built once and sent to all masters as it is.
 *
 * A reply of a shape that the protocol does not know is no answer: `read` gives undefined, and the outcome is unknown.
 */
import { counterKey, counterTtlMs } from './keys.js';
import { GRANTED, type Outcome } from './quorum.js';
import { ACCEPT, BOOTSTRAP, CLAIM, EXTEND, INSPECT, RELEASE, type Script, UNDO, VOUCH } from './scripts.js';
import { type Command, scriptDigest } from './transport.js';

type Reader = (reply: unknown, scope: Scope) => Outcome | undefined;

/** The guard period that stands for: no marker is looked at. */
export const NO_MARKER = -1;

/** What the requests of one claim, lease or undo are about. */
export interface Scope {
  readonly keys: readonly string[];
  /** The counters of those keys, in the same order; none without fencing. */
  readonly counters: readonly string[];
  /** The master's marker; undefined where it is not looked at. */
  readonly marker: string | undefined;
  /** The guard period in ms; 0 without one, `NO_MARKER` where no marker is looked at. */
  readonly guardMs: number;
}

/** What all calls of an instance have in common; one for those with fencing, one for those without. */
export interface Setting {
  readonly isFenced: boolean;
  readonly marker: string | undefined;
  readonly guardMs: number;
}

const NONE: readonly string[] = Object.freeze([]);

/** Small, since each held lease has one: counters are named anew when they are needed. */
export class SettledScope implements Scope {
  readonly keys: readonly string[];
  readonly #setting: Setting;

  constructor(keys: readonly string[], setting: Setting) {
    this.keys = keys;
    this.#setting = setting;
  }

  get counters(): readonly string[] {
    return this.#setting.isFenced ? this.keys.map(counterKey) : NONE;
  }

  get marker(): string | undefined {
    return this.#setting.marker;
  }

  get guardMs(): number {
    return this.#setting.guardMs;
  }
}

export class Request {
  readonly command: Command;
  readonly scope: Scope;
  readonly token: string;
  /** It may leave a vote: an undo has to follow it, and it must not be sent again once nobody waits for it. */
  readonly leavesVote: boolean;
  /** Its grants come with a fencing token each, on which a quorum has to agree. */
  readonly isFenced: boolean;
  readonly #reader: Reader;
  readonly #script: Script | undefined;

  constructor(command: Command, script: Script | undefined, scope: Scope, token: string, read: Reader) {
    this.command = command;
    this.#script = script;
    this.scope = scope;
    this.token = token;
    this.leavesVote = read === readSet || read === readVote || read === readFenced;
    this.isFenced = read === readFenced;
    this.#reader = read;
  }

  /** The outcome that a reply stands for; undefined for a reply that does not belong to this request. */
  read(reply: unknown): Outcome | undefined {
    return this.#reader(reply, this.scope);
  }

  /** Makes the master know the script of a claim or an extension: carried out on no keys, it does nothing. */
  lesson(): Request | undefined {
    if (this.#script === undefined) return undefined;
    const onNothing = this.#script === CLAIM ? ['0', '0', '0', '0', '-1'] : ['0', '0', '0', '0', '0', '-1'];
    const lesson: Command = { name: 'eval', args: [this.#script.source, '0', ...onNothing] };
    return new Request(lesson, undefined, this.scope, '', readNothing);
  }

  /** What is sent when the master does not know the script (yet, or any more). */
  whole(): Command {
    if (this.#script === undefined) return this.command;
    return { name: 'eval', args: [this.#script.source, ...this.command.args.slice(1)] };
  }
}

/** Refused, and the master did not say by what; an undo looks into it. */
const REFUSED_UNSEEN: Outcome = Object.freeze({ kind: 'refused', remainingMs: undefined, isForeign: false });
const REFUSED_FOREIGN: Outcome = Object.freeze({ kind: 'refused', remainingMs: undefined, isForeign: true });

/** The plain claim of one key: `SET key token NX PX ttl`, as every Redlock sends it. */
export function plainClaim(scope: Scope, token: string, ttlMs: number): Request {
  const command: Command = { name: 'set', args: [scope.keys[0] ?? '', token, 'PX', String(ttlMs), 'NX'] };
  return new Request(command, undefined, scope, token, readSet);
}

/** A claim by script: of several keys, with a fencing token, under a guard, or to learn at once what is in the way. */
export function scriptedClaim(scope: Scope, token: string, ttlMs: number, floorUs: number): Request {
  const { counters, guardMs } = scope;
  const isFenced = counters.length > 0;
  const more = [
    String(ttlMs),
    isFenced ? String(counterTtlMs(ttlMs)) : '0',
    String(isFenced ? floorUs : 0),
    String(guardMs),
  ];
  const keys = allKeys(scope, counters);
  return new Request(
    command(CLAIM, keys, token, more),
    CLAIM,
    scope,
    token,
    isFenced ? readFenced : readVote,
  );
}

/** Has a fence accepted by a master that granted with a lower one. Leaves no vote: without one it does nothing. */
export function acceptance(scope: Scope, token: string, ttlMs: number, fence: number): Request {
  const more = [String(fence), String(counterTtlMs(ttlMs)), String(scope.guardMs)];
  return new Request(
    command(ACCEPT, allKeys(scope, scope.counters), token, more),
    ACCEPT,
    scope,
    token,
    readAcceptance,
  );
}

/**
 * Takes a claim back, and looks at what is there instead. Whole at once: it must do with one step.
 *
 * @param seen  the highest fence that the attempt met: counters that lag behind are lifted to it
 */
export function undo(scope: Scope, token: string, seen = 0): Request {
  const keys = seen > 0 ? [...scope.keys, ...scope.counters] : scope.keys;
  const { args } = command(UNDO, keys, token, seen > 0 ? [String(seen)] : []);
  return new Request(
    { name: 'eval', args: [UNDO.source, ...args.slice(1)] },
    undefined,
    scope,
    token,
    readUndo,
  );
}

const RELEASE_DIGEST = scriptDigest(RELEASE.source);

/** @param seen  the highest fence that was met: counters that lag behind are lifted to it; 0 without fencing */
export function release(scope: Scope, token: string, seen: number): Request {
  return new Request(releaseCommand(scope, token, seen), RELEASE, scope, token, readRelease);
}

function releaseCommand(scope: Scope, token: string, seen: number): Command {
  const { keys } = scope;
  const [key = ''] = keys;
  if (seen > 0) return command(RELEASE, [...keys, ...scope.counters], token, [String(seen)]);
  // the usual one without fencing, written out: every lease ends here
  if (keys.length === 1) return { name: 'evalsha', args: [RELEASE_DIGEST, '1', key, token] };
  return command(RELEASE, keys, token, []);
}

export interface ExtensionTerms {
  readonly ttlMs: number;
  /** 0 for a lease without one. */
  readonly fence: number;
  /** Whether a key that is gone is set again; only while the lease is surely valid. */
  readonly mayCreate: boolean;
}

export function extension(scope: Scope, token: string, { ttlMs, fence, mayCreate }: ExtensionTerms): Request {
  const counters = fence > 0 ? scope.counters : NONE;
  const more = [
    String(ttlMs),
    mayCreate ? '1' : '0',
    fence > 0 ? String(counterTtlMs(ttlMs)) : '0',
    String(fence),
    String(scope.guardMs),
  ];
  return new Request(command(EXTEND, allKeys(scope, counters), token, more), EXTEND, scope, token, readVote);
}

export function inspection(key: string): Request {
  return lookAt(INSPECT, key, []);
}

/** Does the master vote, or is it quarantined? */
export function vouching(marker: string, guardMs: number): Request {
  return lookAt(VOUCH, marker, [String(guardMs)]);
}

/** Declares that the master has forgotten nothing. */
export function bootstrapping(marker: string, guardMs: number, force: boolean): Request {
  return lookAt(BOOTSTRAP, marker, [String(guardMs), force ? '1' : '0']);
}

function lookAt(script: Script, key: string, args: readonly string[]): Request {
  const scope: Scope = { keys: [key], counters: [], marker: undefined, guardMs: NO_MARKER };
  return new Request(command(script, scope.keys, '', args), script, scope, '', readNothing);
}

/** In the order of the scripts: keys, counters, marker. */
function allKeys({ keys, marker }: Scope, counters: readonly string[]): readonly string[] {
  if (counters.length === 0 && marker === undefined) return keys;
  return marker === undefined ? [...keys, ...counters] : [...keys, ...counters, marker];
}

function command(script: Script, keys: readonly string[], token: string, more: readonly string[]): Command {
  const args = [scriptDigest(script.source), String(keys.length)];
  for (const key of keys) args.push(key);
  if (token !== '') args.push(token);
  for (const argument of more) args.push(argument);
  return { name: 'evalsha', args };
}

function readNothing(): undefined {
  return undefined;
}

function readSet(reply: unknown): Outcome | undefined {
  if (reply === 'OK') return GRANTED;
  return reply === null ? REFUSED_UNSEEN : undefined;
}

function readVote(reply: unknown, scope: Scope): Outcome | undefined {
  const [code, amount] = integers(reply, 3);
  return code === 1 ? GRANTED : readNo(code, amount, scope);
}

function readFenced(reply: unknown, scope: Scope): Outcome | undefined {
  const [code, amount, clockUs] = integers(reply, 3);
  if (code !== 1) return readNo(code, amount, scope);
  if (amount === undefined || amount < 1) return undefined;
  return { kind: 'granted', fence: amount, clockUs: clockUs ?? 0 };
}

/** An acceptance is no vote; a counter that is beyond the fence already is told by `countInTheWay`. */
function readAcceptance(reply: unknown, scope: Scope): Outcome | undefined {
  const [code, amount] = integers(reply, 3);
  if (code === 1 && amount !== undefined) return { kind: 'granted', fence: amount, clockUs: 0 };
  return readNo(code, amount, scope);
}

/** The count that a master answered to an acceptance, when it is not below the fence. */
export function countInTheWay(reply: unknown): number | undefined {
  const [code, count] = integers(reply, 3);
  return code === 3 ? count : undefined;
}

/** The replies that scripts share. @param amount  what stands beside the code */
export function readNo(
  code: number | undefined,
  amount: number | undefined,
  guard: Pick<Scope, 'marker' | 'guardMs'>,
): Outcome | undefined {
  switch (code) {
    case 0:
      return refusedFor(amount);
    case 2:
      return REFUSED_FOREIGN;
    case -1:
      return { kind: 'quarantined', remainingMs: amount ?? 0 };
    case -2:
      return { kind: 'unknown', cause: guardError(amount, guard), isMisconfigured: true };
    default:
      return undefined;
  }
}

function guardError(
  periodMs: number | undefined,
  { marker, guardMs }: Pick<Scope, 'marker' | 'guardMs'>,
): Error {
  if (periodMs === undefined || periodMs === 0) {
    return new Error(`its restart guard cannot be read: the key ${marker} holds something else`);
  }
  const own = guardMs > 0 ? `${guardMs} ms` : 'none';
  return new Error(
    `its restart guard is ${periodMs} ms, and this client's ${own}: restartGuardMs must be the same in all clients`,
  );
}

function readUndo(reply: unknown): Outcome | undefined {
  const [deleted, ms, foreign] = integers(reply, 3);
  if (deleted === undefined || ms === undefined) return undefined;
  if (foreign === 1) return REFUSED_FOREIGN;
  return ms === -2 ? GRANTED : refusedFor(ms);
}

function readRelease(reply: unknown): Outcome | undefined {
  return toInteger(reply) === undefined ? undefined : GRANTED;
}

/** @param ms  as PTTL gives it: −1 is a key without expiry, −2 none */
function refusedFor(ms: number | undefined): Outcome {
  const remainingMs = ms === undefined || ms === -2 ? undefined : ms === -1 ? Infinity : ms;
  return { kind: 'refused', remainingMs, isForeign: false };
}

/** The reply as that many integers; none where it is anything else. */
export function integers(reply: unknown, count: number): readonly (number | undefined)[] {
  if (!Array.isArray(reply) || reply.length < count) return [];
  const numbers = reply.slice(0, count).map(toInteger);
  return numbers.includes(undefined) ? [] : numbers;
}

/** Clients with `stringNumbers` give integers as texts. */
function toInteger(reply: unknown): number | undefined {
  const number = typeof reply === 'string' && /^-?\d+$/.test(reply) ? Number(reply) : reply;
  return Number.isSafeInteger(number) ? Number(number) : undefined;
}
