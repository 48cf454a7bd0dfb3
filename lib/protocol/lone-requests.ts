/**
 * Requests that share no call. Notes are texts that the holder of a lock keeps beside its vote (`lua/scripts/notes`); taken
 * tokens are those whose votes must not be set again (`lua/scripts/masters/take.lua`).
 */
import { NOTE_DROP, NOTE_READ, NOTE_WRITE, OUST, RW_OUST, TAKE } from './lua/scripts.js';
import { GRANTED, type Outcome, unknown } from './quorum.js';
import { integers, readNo, toInteger, readCount } from './replies.js';
import { lone, release, type Request } from './request.js';
import { MUTEX, NO_MARKER, type Scope } from './scope.js';
import type { Command } from '../redis/transport.js';

/** The keys and the channel of the notes of one lock. */
export interface NoteKeys {
  /** The lock's key. */
  readonly key: string;
  /** The key of its note. */
  readonly noteKey: string;
  /** The channel that announces it to observers; empty for no announcement. */
  readonly channel: string;
  /** The restart guard's marker; undefined without a guard. */
  readonly marker: string | undefined;
  /** The guard period in ms; 0 without a guard. */
  readonly guardMs: number;
}

/** A note, as it is written. Of two, the one with the higher (fence, seq) is later. */
export interface Note {
  readonly fence: number;
  readonly seq: number;
  readonly text: string;
  /** How long it may outlive the vote, in ms. */
  readonly lifeMs: number;
}

/** What a master knows about a lock and its note. */
export interface NoteReading {
  readonly vote: 'own' | 'another' | 'none';
  /** How long the vote lives; −1 without expiry, −2 without a vote. */
  readonly remainingMs: number;
  /** The master's clock. */
  readonly clockUs: number;
  /** The instant, by its clock, before which it may have forgotten notes; 0 if it has forgotten none. */
  readonly sinceMs: number;
  /** The note belongs to the holder of the vote. */
  readonly isHolders: boolean;
  /** Of the note; both 0 without a note. */
  readonly fence: number;
  readonly seq: number;
  readonly text: string;
}

/** In place of a token, if the reader has none. */
const NOBODY = '-';

export function noteWriting(keys: NoteKeys, token: string, { fence, seq, text, lifeMs }: Note): Request {
  const args = [String(fence), String(seq), String(lifeMs), text, keys.channel];
  return lone(NOTE_WRITE, scopeOf(keys.key, keys.noteKey), token, args, {
    read: (reply, scope) => readWritten(reply, scope, fence),
  });
}

export function noteDropping({ key, noteKey, channel }: NoteKeys, token: string): Request {
  return lone(NOTE_DROP, scopeOf(key, noteKey), token, [channel], { read: readDropped });
}

/** Gives back the vote of a lease that has ended, and hands the lock over. */
export function releaseOf({ key }: NoteKeys, token: string): Request {
  return release(scopeOf(key), token);
}

/** @param token  of the holder who reads it under its vote */
export function noteReading({ key, noteKey, marker, guardMs }: NoteKeys, token = NOBODY): Request {
  const keys = marker === undefined ? [key, noteKey] : [key, noteKey, marker];
  return lone(NOTE_READ, scopeOf(...keys), token, [String(guardMs)]);
}

/**
 * A later note of the same holder counts as well: this one came before it. A vote that is gone may come back by an extension.
 */
function readWritten(reply: unknown, scope: Scope, fence: number): Outcome | undefined {
  const [code, amount] = integers(reply, 3);
  if (code === 1 || (code === 3 && amount === fence)) return GRANTED;
  if (code === 3) return unknown(new Error('a note with a higher fencing token is there'));
  if (code === 0 && amount === -2) return unknown(new Error('the vote is not there'));
  return readNo(code, amount, scope);
}

function readDropped(reply: unknown): Outcome | undefined {
  const gone = toInteger(reply);
  if (gone === 1) return GRANTED;
  return gone === 0 ? unknown(new Error('the vote is still there')) : undefined;
}

/** Reads the reply to `noteReading`; an outcome if the master did not let its note be read. */
export function readNote(reply: unknown, scope: Scope): NoteReading | Outcome | undefined {
  if (Array.isArray(reply) && reply.length === 3) {
    const [code, amount] = integers(reply, 3);
    return readNo(code, amount, scope);
  }
  const numbers = integers(reply, 7);
  const [vote = 0, remainingMs = 0, clockUs = 0, sinceMs = 0, owns, fence = 0, seq = 0] = numbers;
  const text: unknown = Array.isArray(reply) ? reply[7] : undefined;
  if (numbers.length === 0 || typeof text !== 'string') return undefined;
  return {
    vote: vote === 1 ? 'own' : vote === 2 ? 'another' : 'none',
    ...{ remainingMs, clockUs, sinceMs, fence, seq, text },
    isHolders: owns === 1,
  };
}

/** How a lock is taken away. */
export interface Ousting {
  /** Of its holders. */
  readonly tokens: readonly string[];
  /** How long their votes are waited for at most, in ms. */
  readonly graceMs: number;
  /** For how long the own token keeps others out after a grace that is shorter than a vote's life, in ms. */
  readonly stayMs: number;
  /** It stays that long after any grace: for a claim that comes before those of others. */
  readonly isClaimed: boolean;
  /** For whom. */
  readonly label: string;
}

/** Puts that token in the place of the holders', and notifies these. Of a read-write lock, it is a writer's from then on. */
export function ousting({ keys, kind }: Pick<Scope, 'keys' | 'kind'>, token: string, how: Ousting): Request {
  const { graceMs, isClaimed, label, stayMs, tokens } = how;
  const times = [String(graceMs), String(stayMs), isClaimed ? '1' : '0'];
  const script = kind.name === 'mutex' ? OUST : RW_OUST;
  return lone(script, scopeOf(...keys), token, [...times, `:${encodeURIComponent(label)}`, ...tokens], {
    read: (reply, scope) => {
      const [code, amount] = integers(reply, 3);
      return code === 1 ? GRANTED : readNo(code, amount, scope);
    },
  });
}

/** For how long the holder's vote would have lived, in ms, by the reply to that; 0 if it had none there. */
export function graceOf(reply: unknown): number {
  const [code, ms = 0] = integers(reply, 3);
  return code === 1 ? ms : 0;
}

function scopeOf(...keys: readonly string[]): Scope {
  return { keys, isFenced: false, marker: undefined, guardMs: NO_MARKER, kind: MUTEX };
}

/**
 * Lists tokens as taken. Always sent with its source: it must not need a second step.
 *
 * @param taken  the list's key
 * @param lifeMs  as long as extensions of these leases may come
 * @param resources  whose releases follow: it names them, since some clients keep the order of requests for a resource alone
 */
export function taking(
  taken: string,
  tokens: readonly string[],
  lifeMs: number,
  resources: readonly string[] = [],
): Request {
  const args = [String(Math.ceil(lifeMs)), ...tokens];
  const keys = [taken, ...resources];
  const alone = (): Command => ({ name: 'eval', args: [TAKE.source, String(keys.length), ...keys, ...args] });
  return lone(TAKE, scopeOf(taken), '', args, { alone, read: readCount });
}
