/** Checks votes, reservations and counters on the servers of a simulated run. */
import { counterKey, queueKey, turnKey } from '../../../lib/protocol/keys.js';
import { tokenIn } from '../../../lib/runtime/random.js';
import { readPush } from '../../../lib/protocol/pushes.js';
import type { Command } from '../../../lib/redis/transport.js';
import { type Entry, entriesOf, type EntryKind, isBatch, locksOf } from '../../support/entries.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import type { FenceFault, Fences } from './fences.js';
import { FRESH_MS, MUTE_MS } from '../../../lib/protocol/lua/waiting.js';
import { markedFor } from '../../support/marks.js';
import { placesAt, type SharedVote, sharedVote, sharedVotes } from '../../support/shared-votes.js';
import type { SimulatedLink } from '../world/link.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';

/** A violation by a server. */
export type Fault = FenceFault | readonly [property: 'votes' | 'fairness', text: string];

/** What accepts a fencing token for a grant. */
const COUNTING: ReadonlySet<EntryKind> = new Set(['claim', 'accept', 'rw-claim', 'rw-accept']);
const CLAIMS: ReadonlySet<EntryKind> = new Set(['claim', 'rw-claim', 'permit-claim']);
/**
 * How many requests may find a reservation that was yielded: their answers and the yields may be lost one after another.
 */
const MOST_LOOKS = 4;

export class Votes {
  /** How many places were given in queues, and how many votes were yielded. */
  readonly lines = { places: 0, yields: 0 };
  /** What was claimed on each server since its last start, as `key token`. */
  readonly #claimed = new Map<MemoryServer, Set<string>>();
  /** How many requests have found each reservation since its owner last sent a yield for it. */
  readonly #yielded = new Map<string, number>();
  readonly #fences: Fences;
  /** Since when each waiter has had its place, in µs of the master's clock, by master and lock. */
  readonly #waitingSince = new Map<string, ReadonlyMap<string, number>>();

  constructor(fences: Fences) {
    this.#fences = fences;
  }

  /** A client sends a request to a server. */
  sent(server: MemoryServer, entry: Entry): void {
    if (entry.kind !== 'yield') return;
    const [serial] = (entry.args.place ?? '').split('|');
    this.#yielded.set(reservation(server, entry, serial), 0);
  }

  /** A server has carried out a command. */
  carriedOut(server: MemoryServer, command: Command, reply: unknown): readonly Fault[] {
    const entries = entriesOf(command);
    const passes = [...new Set(entries.flatMap(locksOf))].flatMap((lock) => this.#passedAt(server, lock));
    if (!isBatch(command))
      return [...passes, ...entries.flatMap((entry) => this.#executed(server, entry, reply))];
    const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
    const faults = entries.flatMap((entry, i) =>
      this.#executed(server, entry, inFull(entry, replies[i] ?? 1)),
    );
    return [...passes, ...faults];
  }

  /**
   * Nobody is let in to a shared lock past one who waits in front and has looked lately (protocol C5). A place counts from the
   * instant at which it was seen first.
   */
  #passedAt(server: MemoryServer, lock: string): readonly Fault[] {
    const places = placesAt(server, lock);
    const votes = sharedVotes(server, lock) ?? [];
    // a call that lets in two at one instant has serials ahead of the clock; a place that came in the same call is behind them
    const nowUs = Math.max(server.micros(), this.#latest(votes));
    const before = this.#waitingSince.get(`${server.name} ${lock}`);
    const since = new Map(places.map(({ token }) => [token, before?.get(token) ?? nowUs]));
    if (since.size > 0) this.#waitingSince.set(`${server.name} ${lock}`, since);
    else this.#waitingSince.delete(`${server.name} ${lock}`);
    const marked = votes.filter(({ mark }) => mark !== undefined && mark.serial === this.#latest(votes));
    return places.flatMap(({ isMute, lookedAtUs = -Infinity, ticket, token }): Fault[] => {
      const sinceUs = since.get(token) ?? nowUs;
      if (votes.some((vote) => vote.token === token)) return [];
      const freshMs = isMute ? MUTE_MS : FRESH_MS;
      const passing = marked.find(
        ({ mark }) =>
          mark !== undefined &&
          mark.ticket > ticket &&
          mark.serial > sinceUs &&
          lookedAtUs <= mark.serial &&
          mark.serial - lookedAtUs <= freshMs * 1_000,
      );
      if (passing === undefined) return [];
      return [['fairness', `${passing.token} was let in to ${lock} on ${server.name}, past ${token}`]];
    });
  }

  #latest(votes: readonly SharedVote[]): number {
    return Math.max(-Infinity, ...votes.map(({ mark }) => mark?.serial ?? -Infinity));
  }

  #executed(server: MemoryServer, entry: Entry, reply: unknown): readonly Fault[] {
    if (typeof reply === 'string' || reply === null) return []; // an error of an entry, or a plain claim's reply
    const { kind } = entry;
    const [code, amount = 0, , fence = 0] = (Array.isArray(reply) ? reply : [1, reply]) as readonly number[]; // as scripts reply
    if (kind === 'queue') {
      const faults = code === 6 && fence > 0 ? this.#onFence(server, entry, fence) : [];
      return [...faults, ...this.#onQueue(server, entry, [code ?? 0, amount])];
    }
    if (kind === 'yield' && reply === 1) return this.#onYield(server, entry);
    if (code !== 1) return [];
    const faults = CLAIMS.has(kind) ? this.#onClaim(server, entry) : [];
    if (amount === 0 || !COUNTING.has(kind)) return faults;
    return [...faults, ...this.#onFence(server, entry, amount)];
  }

  /** A server tells a waiter: a vote that is handed over directly was counted. */
  published(server: MemoryServer, text: string): FenceFault | undefined {
    const push = readPush(text);
    if (push?.kind !== 'given' || push.claimed === undefined || push.claimed.fence === 0) return undefined;
    return this.#fences.accepted(server.name, counterKey(push.key), push.claimed.fence);
  }

  /** @returns whether that token has sent a yield for the vote that it has there, and has not claimed it since */
  yieldedBy(token: string): (server: MemoryServer, key: string) => boolean {
    return (server, key) => {
      const shared = sharedVote(server, key, token);
      if (shared !== undefined)
        return this.#yielded.has(`${server.name} ${key} ${token} ${shared.mark?.serial}`);
      if (server.get(key) !== markedFor(token)) return false; // a yield that comes now leaves it
      const turn = server.get(turnKey(key));
      const [serial, named] = typeof turn === 'string' ? turn.split('|') : [];
      return named === token && this.#yielded.has(`${server.name} ${key} ${token} ${serial}`);
    };
  }

  /** The server is back, perhaps with old data. */
  restored(server: MemoryServer): void {
    this.#claimed.delete(server);
  }

  /** A claim leaves the queue: otherwise the lock would be handed over to a client that does not wait for it. */
  #onClaim(server: MemoryServer, entry: Entry): readonly Fault[] {
    const claimed = this.#claimed.get(server) ?? new Set();
    this.#claimed.set(server, claimed);
    const { token } = entry;
    return locksOf(entry).flatMap((key): Fault[] => {
      claimed.add(`${key} ${token}`);
      const waiting = server.members(queueKey(key));
      if (waiting === WRONG_TYPE || !waiting.some(({ name }) => name === token)) return [];
      return [['votes', `${token} has claimed ${key} on ${server.name}, and waits for it there`]];
    });
  }

  /** A late request may queue again for a vote that has expired. */
  #onQueue(server: MemoryServer, entry: Entry, [code, serial]: readonly [number, number]): readonly Fault[] {
    if (code === 0) this.lines.places++;
    const [key = ''] = locksOf(entry);
    const { token = '' } = entry;
    const shared = sharedVote(server, key, token);
    const isTouched = shared === undefined ? server.get(key) === token : shared.mark === undefined;
    if (!isTouched) this.#claimed.get(server)?.delete(`${key} ${token}`);
    const name = reservation(server, entry, serial);
    const looks = code === 1 || code === 6 ? this.#yielded.get(name) : undefined;
    if (looks === undefined) return [];
    this.#yielded.set(name, looks + 1);
    if (looks !== MOST_LOOKS) return [];
    return [['fairness', `${token} has yielded ${key} on ${server.name}, and keeps it by asking for it`]];
  }

  /** Only a reservation may be yielded, however late the yield arrives. */
  #onYield(server: MemoryServer, entry: Entry): readonly Fault[] {
    this.lines.yields++;
    const [key = ''] = locksOf(entry);
    const vote = `${key} ${entry.token}`;
    if (this.#claimed.get(server)?.has(vote) !== true) return [];
    return [['votes', `the vote for ${vote} on ${server.name} was yielded after it had been claimed`]];
  }

  #onFence(server: MemoryServer, { keys }: Entry, fence: number): readonly Fault[] {
    const counters = keys.filter((key) => key.includes(':fence:'));
    return counters.flatMap((key) => {
      const fault = this.#fences.accepted(server.name, key, fence);
      return fault === undefined ? [] : [fault];
    });
  }
}

/** An entry's reply in a batch: for a shared lock, a plain yes stands for the fencing token that the entry put to the master. */
function inFull({ args, kind }: Entry, reply: unknown): unknown {
  const put = kind === 'rw-claim' ? args.proposal : kind === 'rw-accept' ? args.fence : undefined;
  return reply === 1 && put !== undefined ? Number(put) : reply;
}

function reservation(server: MemoryServer, entry: Entry, serial: number | string | undefined): string {
  return `${server.name} ${locksOf(entry)[0]} ${entry.token} ${serial}`;
}

/**
 * The tokens on a server, by the keys that hold them: a string holds one, and a hash of ours those that have not expired.
 */
export function* votesOn(server: MemoryServer): Generator<readonly [key: string, token: string]> {
  const nowMs = Math.floor(server.micros() / 1_000);
  for (const key of server.names()) {
    const text = server.get(key);
    if (typeof text === 'string') yield [key, tokenIn(text)];
    const fields = server.fields(key);
    if (fields === WRONG_TYPE) continue;
    for (const [name, content] of fields) if (Number(content.split('|')[1]) > nowMs) yield [key, name];
  }
}

/** Whether messages pass without delay, as far as is known. */
export function isOpen({ awayMs, client, isBlocked, server, slowness, state }: SimulatedLink): boolean {
  if (client.isPaused || !server.isUp || server.isStopped || (client.isAlive && state !== 'ready'))
    return false;
  return !isBlocked && slowness <= 1 && awayMs <= 0;
}
