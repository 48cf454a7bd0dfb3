/** One process's mixed load on one long-lived instance: lanes that draw one activity after another, a job, and what is counted. */
import { type EventEmitter, getEventListeners, setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redlock as Face } from '../../lib/faces/redlock.js';
import { type Job, Redlock, RedlockError } from '../../lib/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { type Activity, ACTIVITIES, type Workplace } from './activities.js';
import type { Connect, LoadClient } from './connect.js';
import { between } from './draw.js';
import { GUARD_MS, LONGEST_TTL_MS, type Standing } from './terms.js';

const LANES = 12;
const PAUSE_MS = { least: 20, most: 90 } as const;
const JOB_EVERY_MS = 1_000;
/** By then everything that was under way has ended, and connections that were cut are back. */
const SETTLED_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 20;
const COLLECTIONS = 6;
const MOST_TROUBLES = 10;
/** What faults, waits that end, and aborts explain. */
const EXPECTED: ReadonlySet<string> = new Set([
  'LOCK_TAKEN',
  'NO_QUORUM',
  'QUARANTINED',
  'VALIDITY_EXPIRED',
  'LOCK_LOST',
  'ABORTED',
]);

export class Load implements Workplace {
  readonly redlock: Redlock;
  readonly locks: LockManager;
  readonly face: Face;
  readonly clients: readonly LoadClient[];
  readonly urls: readonly string[];
  readonly connect: Connect;
  readonly signal: AbortSignal;
  readonly #ending = new AbortController();
  readonly #codes: Record<string, number> = {};
  readonly #troubles: string[] = [];
  #calls = 0;
  #names = 0;
  #isResting = true;
  #lanes: Promise<unknown> = Promise.resolve();
  #job: Job<void> | undefined;

  constructor(urls: readonly string[], connect: Connect) {
    this.urls = urls;
    this.connect = connect;
    this.clients = urls.map(connect);
    this.signal = this.#ending.signal;
    setMaxListeners(0, this.signal); // one for each call that is under way
    this.redlock = this.open(this.clients);
    this.locks = new LockManager(this.redlock, { ttlMs: LONGEST_TTL_MS });
    this.face = new Face(this.clients.map(({ client }) => client));
    process.on('unhandledRejection', (error) => this.trouble(`unhandled rejection: ${String(error)}`));
    process.on('uncaughtException', (error) => this.trouble(`uncaught exception: ${String(error)}`));
  }

  open(clients: readonly LoadClient[]): Redlock {
    const own = clients.map(({ client }) => client);
    return new Redlock(own, {
      keyPrefix: 'lasting:',
      restartGuardMs: GUARD_MS,
      ttlMs: LONGEST_TTL_MS,
    });
  }

  async prepare(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.ping()));
    await this.redlock.bootstrap();
  }

  freshName(): string {
    return `order:${++this.#names}`;
  }

  trouble(what: string): void {
    if (this.#troubles.length < MOST_TROUBLES) this.#troubles.push(what);
  }

  async work(): Promise<void> {
    this.#isResting = false;
    this.#job = await this.redlock.job('job', { every: JOB_EVERY_MS, ttlMs: LONGEST_TTL_MS }, () => pause(2));
    this.#lanes = Promise.all(Array.from({ length: LANES }, () => this.#lane()));
  }

  /** Resolves when all calls have ended. */
  async rest(): Promise<Standing> {
    this.#isResting = true;
    await Promise.all([this.#lanes, this.#job?.stop()]);
    this.#job = undefined;
    const end = performance.now() + SETTLED_WITHIN_MS;
    while (!this.#isSettled() && performance.now() < end) await pause(LOOK_EVERY_MS);
    return this.#stand();
  }

  /** Nothing is left that would keep the process alive. */
  async end(): Promise<void> {
    await this.redlock.close();
    await this.face.quit();
    this.#ending.abort();
    for (const client of this.clients) client.disconnect();
  }

  async #lane(): Promise<void> {
    while (!this.#isResting) {
      await this.#count(drawActivity());
      await pause(between(PAUSE_MS.least, PAUSE_MS.most));
    }
  }

  async #count(activity: Activity): Promise<void> {
    try {
      await activity.run(this);
      this.#calls++;
    } catch (error) {
      this.#calls++;
      const code = RedlockError.is(error) ? error.code : String(error);
      if (EXPECTED.has(code)) this.#codes[code] = (this.#codes[code] ?? 0) + 1;
      else this.trouble(`${activity.name}: ${code}`);
    }
  }

  #isSettled(): boolean {
    const { calls, owedUndos } = this.redlock.stats();
    return calls + owedUndos === 0 && this.clients.every((client) => client.isReady());
  }

  async #stand(): Promise<Standing> {
    if (gc === undefined) throw new Error('memory is measured with --expose-gc');
    for (let i = 0; i < COLLECTIONS; i++) {
      await pause(LOOK_EVERY_MS);
      gc();
    }
    const { heapUsed, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const { held, calls, owedUndos } = this.redlock.stats();
    const resources = process.getActiveResourcesInfo();
    return {
      calls: this.#calls,
      codes: { ...this.#codes },
      troubles: [...this.#troubles],
      heapBytes: heapUsed,
      residentBytes: rss,
      handles: resources.length,
      sockets: resources.filter((kind) => kind === 'TCPSocketWrap').length,
      listeners:
        getEventListeners(this.signal, 'abort').length +
        sum(this.clients.map(({ client }) => listenersOf(client))),
      unfinished: held + calls + owedUndos,
      cpuMs: (user + system) / 1_000,
    };
  }
}

function listenersOf(client: EventEmitter): number {
  return sum(client.eventNames().map((name) => client.listenerCount(name)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function drawActivity(): Activity {
  const [first] = ACTIVITIES;
  let left = between(0, sum(ACTIVITIES.map(({ weight }) => weight)));
  return ACTIVITIES.find(({ weight }) => (left -= weight) < 0) ?? first;
}
