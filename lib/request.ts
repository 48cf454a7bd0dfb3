/**
 * What is asked of a master, and how its reply is read. A request is built once and sent to all masters as it is.
 *
 * A reply of a shape that the protocol does not know is no answer: `read` gives undefined, and the outcome is unknown.
 */
import { GRANTED, type Outcome } from './quorum.js';
import { CLAIM, EXTEND, INSPECT, RELEASE, type Script, UNDO } from './scripts.js';
import { type Command, scriptDigest } from './transport.js';

type Reader = (reply: unknown) => Outcome | undefined;

export class Request {
  readonly command: Command;
  readonly keys: readonly string[];
  readonly token: string;
  /** It may leave a vote: an undo has to follow it, and it must not be sent again once nobody waits for it. */
  readonly leavesVote: boolean;
  /** The outcome that a reply stands for; undefined for a reply that does not belong to this request. */
  readonly read: Reader;
  readonly #script: Script | undefined;

  constructor(
    command: Command,
    script: Script | undefined,
    keys: readonly string[],
    token: string,
    read: Reader,
  ) {
    this.command = command;
    this.#script = script;
    this.keys = keys;
    this.token = token;
    this.leavesVote = read === readSet || read === readVote;
    this.read = read;
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
export function plainClaim(keys: readonly [string], token: string, ttlMs: number): Request {
  const command: Command = { name: 'set', args: [keys[0], token, 'PX', String(ttlMs), 'NX'] };
  return new Request(command, undefined, keys, token, readSet);
}

/** The same to the same keys as a script: for several keys, or to learn at once what is in the way. */
export function scriptedClaim(keys: readonly string[], token: string, ttlMs: number): Request {
  return scripted(CLAIM, [String(ttlMs)], keys, token, readVote);
}

/** Takes a claim back, and looks at what is there instead. Whole at once: it must do with one step. */
export function undo(keys: readonly string[], token: string): Request {
  return new Request(scripted(UNDO, [], keys, token, readUndo).whole(), UNDO, keys, token, readUndo);
}

const RELEASE_DIGEST = scriptDigest(RELEASE.source);

export function release(keys: readonly string[], token: string): Request {
  const [key] = keys;
  if (keys.length !== 1 || key === undefined) return scripted(RELEASE, [], keys, token, readRelease);
  // the usual one, written out: every lease ends here
  const command: Command = { name: 'evalsha', args: [RELEASE_DIGEST, '1', key, token] };
  return new Request(command, RELEASE, keys, token, readRelease);
}

/** @param mayCreate  whether a key that is gone is set again; only while the lease is surely valid */
export function extension(
  keys: readonly string[],
  token: string,
  ttlMs: number,
  mayCreate: boolean,
): Request {
  const args = [String(ttlMs), mayCreate ? '1' : '0'];
  return scripted(EXTEND, args, keys, token, readVote);
}

export function inspection(key: string): Request {
  return scripted(INSPECT, [], [key], '', readNothing);
}

function scripted(
  script: Script,
  more: readonly string[],
  keys: readonly string[],
  token: string,
  read: Reader,
): Request {
  const args = [scriptDigest(script.source), String(keys.length)];
  for (const key of keys) args.push(key);
  if (token !== '') args.push(token);
  for (const argument of more) args.push(argument);
  return new Request({ name: 'evalsha', args }, script, keys, token, read);
}

function readNothing(): undefined {
  return undefined;
}

function readSet(reply: unknown): Outcome | undefined {
  if (reply === 'OK') return GRANTED;
  return reply === null ? REFUSED_UNSEEN : undefined;
}

function readVote(reply: unknown): Outcome | undefined {
  const [code, ms] = integers(reply, 2);
  switch (code) {
    case 0:
      return refusedFor(ms);
    case 1:
      return GRANTED;
    case 2:
      return REFUSED_FOREIGN;
    default:
      return undefined;
  }
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
