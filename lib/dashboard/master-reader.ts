/**
 * One master, as the dashboard asks it: one question at a time. While it leaves one unanswered, it is asked nothing more, so a
 * frozen master never has more than one question of the dashboard's. Nothing here rejects.
 */
import { inPlainWords, notConnected, Silence, toError } from '../redis/server-errors.js';
import type { Command, Transport } from '../redis/transport.js';
import type { Clock, Timers } from '../runtime/clock.js';
import { medianOf } from '../runtime/statistics.js';
import { type LockRead, MOST_NAMED, readCommand, readLock, textsCommand } from './reading.js';
import { Scan, type Scanned } from './scan.js';
import { ServerInfo } from '../diagnosis/server-info.js';

/** How long a master may take for an answer, in ms. */
const ANSWER_MS = 1_000;
/** How many locks one call reads: a master serves nobody else for about a millisecond. */
const AT_ONCE = 100;
/** Of how many round trips the latency is the median. */
const TRIPS = 15;

/** What the poller asks of a master. */
export interface Reader {
  readonly node: string;
  readonly state: 'up' | 'silent' | 'down';
  /** Why it does not answer; or, if it is up, why it refuses a question. */
  readonly cause: string | undefined;
  readonly latencyMs: number | undefined;
  readonly info: ServerInfo | undefined;
  /** Asks for the time. @returns how far the master's clock is ahead of ours, in ms; undefined without an answer */
  time(): Promise<number | undefined>;
  /** Asks for what the server says about itself. */
  ask(): Promise<void>;
  /** Goes on with its scan. */
  scan(): Promise<Scanned>;
  /** Reads locks; `opened` with their waiters. @returns those that it could read */
  read(names: readonly string[], opened: ReadonlySet<string>): Promise<ReadonlyMap<string, LockRead>>;
  /** Reads texts. */
  texts(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
}

/** Where locks are. */
export interface Place {
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
}

export class MasterReader implements Reader {
  readonly node: string;
  info: ServerInfo | undefined;
  readonly #transport: Transport;
  readonly #place: Place;
  readonly #tripsMs: number[] = [];
  readonly #scan: Scan;
  #open = 0;
  #failure: Error | undefined;
  /** Whether it answered the last time that it was asked for its clock. */
  #isUp = false;
  /** The master's clock, less ours. */
  #aheadMs = 0;

  constructor(transport: Transport, place: Place) {
    this.node = transport.name;
    this.#transport = transport;
    this.#place = place;
    const { isCluster, keyPrefix: clientPrefix } = transport;
    this.#scan = new Scan({ isCluster, clientPrefix, keyPrefix: place.keyPrefix }, (command) =>
      this.#ask(command),
    );
  }

  get state(): Reader['state'] {
    if (!this.#transport.isReady) return 'down';
    return this.#isUp ? 'up' : 'silent';
  }

  get cause(): string | undefined {
    if (!this.#transport.isReady) return notConnected(this.#transport.lossReason).message;
    return this.#failure?.message;
  }

  get latencyMs(): number | undefined {
    return this.#tripsMs.length === 0 ? undefined : medianOf(this.#tripsMs);
  }

  async time(): Promise<number | undefined> {
    const { clock } = this.#place;
    const sentMs = clock.now();
    const reply = await this.#ask({ name: 'time', args: [] });
    const [s = NaN, us = NaN] = Array.isArray(reply) ? reply.map(Number) : [];
    const shownMs = s * 1_000 + us / 1_000;
    this.#isUp = !Number.isNaN(shownMs);
    if (!this.#isUp) return undefined;
    const tripMs = clock.now() - sentMs;
    this.#tripsMs.push(tripMs);
    if (this.#tripsMs.length > TRIPS) this.#tripsMs.shift();
    this.#aheadMs = shownMs + tripMs / 2 - clock.now();
    return this.#aheadMs;
  }

  async ask(): Promise<void> {
    const reply = await this.#ask({ name: 'info', args: [] });
    if (typeof reply === 'string') this.info = new ServerInfo(reply);
  }

  scan(): Promise<Scanned> {
    return this.#scan.goOn();
  }

  async read(names: readonly string[], opened: ReadonlySet<string>): Promise<ReadonlyMap<string, LockRead>> {
    const found = new Map<string, LockRead>();
    const listed = names.filter((name) => !opened.has(name));
    const all = await this.#readAll(listed, 1, found);
    if (all) await this.#readAll([...opened], MOST_NAMED, found);
    return found;
  }

  async texts(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    const most = this.#transport.isCluster ? 1 : keys.length; // of a cluster's keys, each may be in another slot
    const texts: (string | undefined)[] = [];
    for (let i = 0; i < keys.length; i += most) {
      const reply = await this.#ask(textsCommand(keys.slice(i, i + most)));
      if (!Array.isArray(reply)) return texts;
      texts.push(...reply.map((text) => (typeof text === 'string' ? text : undefined)));
    }
    return texts;
  }

  /** @returns whether it answered everything */
  async #readAll(names: readonly string[], waiters: number, found: Map<string, LockRead>): Promise<boolean> {
    const most = this.#transport.isCluster ? 1 : AT_ONCE; // of a cluster's keys, those of one lock are in one slot
    for (let i = 0; i < names.length; i += most) {
      const some = names.slice(i, i + most);
      const keys = some.map((name) => this.#place.keyPrefix + name);
      const reply = await this.#ask(readCommand(keys, waiters));
      if (!Array.isArray(reply)) return false;
      const nowMs = this.#place.clock.now() + this.#aheadMs;
      for (const [j, name] of some.entries()) {
        const read = readLock(reply[j], nowMs);
        if (read !== undefined) found.set(name, read);
      }
    }
    return true;
  }

  /** @returns the reply; undefined without one, or for an error */
  async #ask(command: Command): Promise<unknown> {
    const transport = this.#transport;
    if (this.#open > 0) return undefined; // the last answer is still to come
    if (transport.state !== 'ready') return this.#fail(notConnected(transport.lossReason));
    this.#open++;
    const answer = transport.call(command).finally(() => this.#open--);
    try {
      const reply = await this.#within(answer);
      this.#failure = undefined;
      return reply;
    } catch (error) {
      return this.#fail(inPlainWords(toError(error)));
    }
  }

  #fail(failure: Error): undefined {
    this.#failure = failure;
  }

  #within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#place.timers.deadline(ANSWER_MS, () => reject(new Silence(ANSWER_MS)));
      answer.then(resolve, (error: unknown) => reject(toError(error))).finally(() => timer.cancel());
    });
  }
}
