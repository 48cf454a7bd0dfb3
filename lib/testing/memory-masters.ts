/**
 * Masters in this process, for tests of code that uses locks, without Redis: no sockets, real time, and a method for each fault
 * of a process. They run the scripts, compiled from their Lua, and the instances over them run the production code.
 *
 * Without latency, replies come by promises, not by timers: they also come under faked timers, and between two ticks. The
 * price: a loop of attempts that awaits nothing else never lets a timer fire.
 */
import { awaitingAll, type Clock, SocketlessTimers, SystemClock, type Timers } from '../runtime/clock.js';
import { invalidArgument, RedlockError } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import type { RedlockOptions } from '../input/options.js';
import { SystemRandom } from '../runtime/random.js';
import { thisProcess } from '../runtime/this-process.js';
import { Redlock } from '../redlock.js';
import type { PushListener, Subscription } from '../redis/subscription.js';
import type { Command, Transport, TransportState } from '../redis/transport.js';
import { Lane } from './lane.js';
import { MemoryPushConnection } from './memory-push-connection.js';
import { MemoryServer } from './master/server.js';

/** Options of masters in memory. */
export interface MemoryMastersOptions {
  /**
   * Your own clock. Give `timers`, too. If you fake `performance` and `setTimeout`, you need neither: see docs/TESTING.md.
   *
   * @default the monotonic clock, `performance.now()`
   */
  readonly clock?: Clock | undefined;
  /** Your own timers. Give `clock`, too. @default `setTimeout` */
  readonly timers?: Timers | undefined;
}

/** How a master comes back. */
export interface RestartOptions {
  /** Whether the master keeps its keys. In any case, it forgets scripts and gets another run id. */
  readonly data: 'kept' | 'lost';
}

/** One master, and the faults that can hit it. */
export interface MemoryMaster {
  /** Its name in tallies: `memory-1` for the first. */
  readonly name: string;
  /** The id of its process; it changes at each restart. */
  readonly runId: string;
  /** Whether the master answers (`up`), is frozen, or is dead. */
  readonly state: 'up' | 'frozen' | 'killed';
  /**
   * How long a message takes each way; a round trip takes twice that. Milliseconds. A change applies to messages that are sent
   * from then on. No message overtakes another.
   *
   * @default 0: the reply still comes after the call has returned
   */
  latencyMs: number;
  /**
   * Kills the process. Instances lose their connections: unanswered commands fail with "Connection is closed.", and when the
   * promise resolves, each instance has noticed. Does nothing if the process is already dead.
   */
  kill(): Promise<void>;
  /** Starts another process in its place, and connects instances to it at once. Kills a running process first. */
  restart(options: RestartOptions): void;
  /**
   * Stops the process, as SIGSTOP does: its connections stay open, and commands wait.
   *
   * @throws RedlockError `INVALID_ARGUMENT`: the process is dead
   */
  freeze(): void;
  /**
   * Lets a frozen process go on: it runs the waiting commands in order; keys may have expired meanwhile. Does nothing if the
   * process is not frozen.
   */
  thaw(): void;
  /** Deletes all keys, as FLUSHALL does. @throws RedlockError `INVALID_ARGUMENT`: the process is dead */
  flush(): void;
}

/** All masters: at least one. */
export type MemoryMasterList = readonly [MemoryMaster, ...MemoryMaster[]];

const MOST_MASTERS = 99;
/** The masters' wall clocks when the given clock reads 0, in µs since 1970: a day in 2026. */
const WALL_US = 1_790_000_000_000_000;

/**
 * N masters in this process.
 *
 * @example
 * ```ts
 * await using masters = new MemoryMasters(3);
 * const redlock = masters.redlock({ ttlMs: 500 });
 * await masters.list[0].kill();
 * await redlock.using('invoice:42', () => bill(42)); // two of three are enough
 * ```
 */
export class MemoryMasters {
  /** All masters, by number. */
  readonly list: MemoryMasterList;
  readonly #masters: readonly Master[];
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #instances = new Set<Redlock>();
  #closing: Promise<void> | undefined;

  /**
   * @param count  from 1 to 99
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  constructor(count: number, options: MemoryMastersOptions = {}) {
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_MASTERS) {
      throw invalidArgument('count', count, `a whole number from 1 to ${MOST_MASTERS}`);
    }
    const { clock, timers } = resolveTime(options);
    this.#clock = clock;
    this.#timers = timers;
    const first = new Master(1, clock);
    const others = Array.from({ length: count - 1 }, (_, i) => new Master(i + 2, clock));
    this.#masters = [first, ...others];
    this.list = Object.freeze([first, ...others] as const);
  }

  /**
   * Makes an instance over all masters. Each instance is a separate client.
   *
   * A call under way keeps the process alive, as does an unrenewed lease whose signal was read. An open instance does not, nor
   * does a renewed lease: a test under `node:test` that awaits only the loss of a renewed lease needs a timer of its own.
   *
   * @throws RedlockError `INVALID_ARGUMENT` · `CLOSED`
   */
  redlock(options?: RedlockOptions): Redlock {
    if (this.#closing !== undefined) throw new RedlockError('CLOSED', 'the masters in memory were closed');
    const transports = this.#masters.map((master) => new MemoryLink(master, this.#timers));
    const disconnect = (): void => {
      for (const link of transports) link.close();
      this.#instances.delete(redlock);
    };
    const wall = (): number => Math.floor(WALL_US / 1_000 + this.#clock.now()); // as the masters have it
    const time = { clock: this.#clock, timers: this.#timers, leaseTimers: awaitingAll(this.#timers) };
    const environment = {
      ...time,
      transports,
      random: new SystemRandom(),
      process: thisProcess(wall),
      disconnect,
    };
    const redlock = new Redlock(environment, options);
    for (const link of transports) link.open();
    this.#instances.add(redlock);
    return redlock;
  }

  /** Closes all instances of `redlock()`, and releases their locks. Returns the same promise each time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Like `close()`, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all(
      [...this.#instances].map((redlock) => redlock.close({ drainMs: 0, releaseHeld: true })),
    );
  }
}

/** A master, and the connections to it. */
class Master implements MemoryMaster {
  readonly name: string;
  readonly server: MemoryServer;
  readonly clock: Clock;
  readonly links = new Set<MemoryLink>();
  #latencyMs = 0;

  constructor(number: number, clock: Clock) {
    this.name = `memory-${number}`;
    this.clock = clock;
    const micros = (): number => WALL_US + Math.floor(clock.now() * 1_000);
    // run ids begin with the server's name, and the guard's marker takes letters and digits only
    this.server = new MemoryServer(`m${number}`, { micros, trueMs: () => clock.now() });
  }

  get runId(): string {
    return this.server.runId;
  }

  get state(): 'up' | 'frozen' | 'killed' {
    if (!this.server.isUp) return 'killed';
    return this.server.isStopped ? 'frozen' : 'up';
  }

  get latencyMs(): number {
    return this.#latencyMs;
  }

  set latencyMs(given: number) {
    if (!Number.isFinite(given) || given < 0) {
      throw invalidArgument('latencyMs', given, 'a number of milliseconds from 0 on');
    }
    this.#latencyMs = given;
  }

  kill(): Promise<void> {
    if (this.server.isUp) {
      this.server.kill();
      for (const link of [...this.links]) link.lose();
    }
    return Promise.resolve();
  }

  restart(options: RestartOptions): void {
    checkNames('options', options, ['data']);
    const { data } = options;
    if (data !== 'kept' && data !== 'lost') throw invalidArgument('data', data, "'kept' or 'lost'");
    void this.kill();
    this.server.start(data);
    for (const link of [...this.links]) link.open();
  }

  freeze(): void {
    this.#checkAlive();
    this.server.stop();
  }

  thaw(): void {
    if (this.state === 'frozen') this.server.goOn();
  }

  flush(): void {
    this.#checkAlive();
    this.server.flush();
  }

  #checkAlive(): void {
    if (!this.server.isUp) throw invalidArgument('master', this.name, 'alive: restart it first');
  }
}

interface Pending {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The connection between one instance and one master. */
class MemoryLink implements Transport {
  readonly name: string;
  readonly isCluster = false;
  readonly keyPrefix = '';
  lossReason: Error | undefined;
  readonly #master: Master;
  readonly #toServer: Lane;
  readonly #toClient: Lane;
  readonly #pending = new Set<Pending>();
  readonly #listeners = new Set<() => void>();
  readonly #timers: Timers;
  /** Its push connections. */
  readonly #connections = new Set<MemoryPushConnection>();
  #isClosed = false;

  constructor(master: Master, timers: Timers) {
    this.name = master.name;
    this.#master = master;
    this.#timers = timers;
    this.#toServer = new Lane(timers);
    this.#toClient = new Lane(timers);
    this.#noteLoss();
  }

  get state(): TransportState {
    return this.#master.server.isUp && !this.#isClosed ? 'ready' : 'lost';
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  call(command: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.state !== 'ready') return reject(closedError());
      const pending = { resolve, reject };
      this.#pending.add(pending);
      const { clock, server, latencyMs } = this.#master;
      const { runId } = server;
      const dueMs = clock.now() + 2 * latencyMs;
      this.#toServer.send(latencyMs, () => {
        if (server.runId !== runId) return; // it was sent to a process that is gone
        // if this process was stopped meanwhile, the reply has come by now, and does not count as silence
        const returnMs = Math.max(0, Math.min(latencyMs, dueMs - clock.now()));
        server.receive(command, (error, reply) =>
          this.#reply(pending, returnMs, () => settle(pending, error, reply)),
        );
      });
    });
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subscribe(channel: string, listener: PushListener): Subscription {
    const connection = new MemoryPushConnection(this.#master, this.#timers, channel, listener, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }

  open(): void {
    this.#master.links.add(this);
    this.#noteLoss();
    this.#changed();
    for (const connection of this.#connections) connection.connect();
  }

  lose(): void {
    this.#noteLoss();
    this.#toServer.clear();
    this.#break();
    for (const connection of [...this.#connections]) connection.lose('the push connection was lost');
  }

  /** Commands that were sent still arrive. */
  close(): void {
    this.#isClosed = true;
    this.#master.links.delete(this);
    this.#break();
    for (const connection of [...this.#connections]) connection.close();
  }

  #reply(pending: Pending, delayMs: number, settle: () => void): void {
    if (!this.#pending.has(pending)) return;
    this.#toClient.send(delayMs, () => {
      this.#pending.delete(pending);
      settle();
    });
  }

  #break(): void {
    this.#toClient.clear();
    const unanswered = [...this.#pending];
    this.#pending.clear();
    this.#changed();
    for (const { reject } of unanswered) reject(closedError());
  }

  #noteLoss(): void {
    const { isUp } = this.#master.server;
    this.lossReason = isUp ? undefined : new Error(`connect ECONNREFUSED ${this.name}`);
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function settle({ reject, resolve }: Pending, error: Error | undefined, reply: unknown): void {
  if (error === undefined) resolve(reply);
  else reject(error);
}

function closedError(): Error {
  return new Error('Connection is closed.'); // as ioredis puts it
}

/**
 * The monotonic clock without the boot clock: if `performance` is faked and does not move, the boot clock would show a
 * suspended machine. Here the masters stop together with their clients, so nothing is missed.
 */
function monotonicClock(): Clock {
  const system = new SystemClock();
  const now = (): number => system.earliest(); // without `now()`, it never notices a suspension
  return { now, recent: now, inTurn: now, earliest: now };
}

function resolveTime(options: MemoryMastersOptions): { readonly clock: Clock; readonly timers: Timers } {
  checkNames('options', options, ['clock', 'timers']);
  const { clock, timers } = options;
  if (clock === undefined && timers === undefined) {
    return { clock: monotonicClock(), timers: new SocketlessTimers() };
  }
  if (!hasMethods<Clock>(clock, ['now', 'recent', 'inTurn', 'earliest'])) {
    throw invalidArgument('clock', clock, 'a clock (now, recent, inTurn, earliest) if you give timers');
  }
  if (!hasMethods<Timers>(timers, ['wait', 'deadline', 'background'])) {
    throw invalidArgument('timers', timers, 'timers (wait, deadline, background) if you give a clock');
  }
  return { clock, timers };
}

function hasMethods<T extends object>(given: T | undefined, names: readonly (keyof T)[]): given is T {
  if (typeof given !== 'object' || given === null) return false;
  return names.every((name) => typeof given[name] === 'function');
}
