/**
 * A master in memory behind a scriptable connection: what a spec makes it do, it does, at once and in order. It runs the
 * scripts.
 */
import { SCRIPTS, TIMESTAMP_SCRIPTS } from '../../lib/protocol/lua/scripts.js';
import type { PushListener } from '../../lib/redis/subscription.js';
import { Channels } from '../../lib/testing/master/server.js';
import { type Entry, entriesOf, isBatch } from './entries.js';
import { WRONG_TYPE, Keyspace } from '../../lib/testing/master/keyspace.js';
import type { Store } from '../../lib/testing/master/store.js';
import { execute, serverError } from '../../lib/testing/master/execution.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command, Transport, TransportState } from '../../lib/redis/transport.js';
import { FakePushConnection } from './fake-push-connection.js';
import type { FakeTime } from './fake-time.js';

export { serverError };

/** `answer`: at once. `freeze`: commands arrive and run at `thaw`. `lose-reply`: they run, and no answer ever comes. */
export type Manner = 'answer' | 'freeze' | 'lose-reply' | 'lose-request';

interface InFlight {
  readonly command: Command;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

const ALL = [...SCRIPTS, ...TIMESTAMP_SCRIPTS];

/** What the wall clocks of all masters show at instant 0, in µs; a spec moves one by `clockAheadUs`. */
export const WALL_US = 1_790_000_000_000_000;
/** A count ahead of those clocks for half a minute: claims count on from it, and acceptances near it are allowed. */
export const COUNTED_US = WALL_US + 30_000_000;

export class FakeMaster extends Keyspace implements Transport, Store {
  readonly name: string;
  isCluster = false;
  keyPrefix = '';
  state: TransportState = 'ready';
  lossReason: Error | undefined;
  manner: Manner = 'answer';
  /** How long a command takes to run and answer, in virtual ms; 0 answers in the same turn. */
  latencyMs = 0;
  /** How many calls were made: a batch is one. Looks at the clock are not counted, here and below. */
  calls = 0;
  /** How often its clock was read by `TIME`. */
  looks = 0;
  /** False: its user has no right to read the clock. */
  mayTellTime = true;
  /** Every request that was sent, in order, those of a batch one by one. */
  readonly sent: Entry[] = [];
  /** Every request that was run, in order. */
  readonly run: Entry[] = [];
  /** Answers to the next commands, instead of running them: those of a batch of one as its entry's; an Error rejects. */
  readonly replies: unknown[] = [];
  /** The id of its process; another one after a restart. */
  runId = 'run1';
  /** Its wall clock against that of the others. */
  clockAheadUs = 0;
  /** What its wall clock shows at the next looks at it, in µs; after them it goes by the virtual time again. */
  readonly readings: number[] = [];
  /** Who is subscribed to what. What a command published is heard before its reply is. */
  readonly channels = new Channels();
  /** False: its user has no right to publish. */
  mayPublish = true;
  /** Without pushes, as by default, those who wait ask the home master first. */
  hasPushes = false;
  /** False: connections for pushes are opened by the spec. */
  opensLines = true;
  /** False: pushes are lost in silence. */
  deliversPushes = true;
  /** The connections that were made, in order, those that were closed included. */
  readonly connections: FakePushConnection[] = [];
  readonly #time: FakeTime;
  readonly #known = new Set(ALL.map(({ source }) => scriptDigest(source)));
  readonly #listeners = new Set<() => void>();
  #held: InFlight[] = [];

  constructor(name: string, time: FakeTime) {
    super(() => Math.floor(time.now())); // masters tell whole milliseconds
    this.name = name;
    this.#time = time;
  }

  /** Commands without an answer. */
  get unanswered(): number {
    return this.#held.length;
  }

  /** Listeners on the connection. */
  get listeners(): number {
    return this.#listeners.size;
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  call(command: Command): Promise<unknown> {
    if (isLook(command)) this.looks++;
    else {
      this.calls++;
      this.sent.push(...entriesOf(command));
    }
    return new Promise((resolve, reject) => {
      const one: InFlight = { command, resolve, reject };
      if (this.manner === 'lose-request') this.#held.push({ ...one, command: NOTHING });
      else if (this.manner === 'freeze') this.#held.push(one);
      else if (this.manner === 'lose-reply') {
        this.#execute(one.command);
        this.#held.push({ ...one, command: NOTHING });
      } else if (this.latencyMs > 0) this.#time.wait(this.latencyMs, () => this.#answer(one));
      else this.#answer(one);
    });
  }

  get subscribe(): Transport['subscribe'] {
    return this.hasPushes ? (channel, listener) => this.#subscribe(channel, listener) : undefined;
  }

  /** The connection that was made last. */
  get connection(): FakePushConnection {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error(`nobody has subscribed at ${this.name}`);
    return connection;
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The connection changes, and whoever watches it hears of it. */
  become(state: TransportState): void {
    this.state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Runs what had arrived, in order, and answers it. */
  thaw(): void {
    this.manner = 'answer';
    for (const one of this.#held.splice(0)) if (one.command !== NOTHING) this.#answer(one);
  }

  /** The connection breaks: nothing in flight runs any more, and the client says so. */
  cut(message = 'Connection is closed.'): void {
    this.become('lost');
    for (const one of this.#held.splice(0)) one.reject(new Error(message));
  }

  /** The client gives the commands in flight up by its own `commandTimeout`; the master may run them later. */
  timeOutByClient(): void {
    for (const one of this.#held) one.reject(new Error('Command timed out'));
  }

  /** What the key holds now: a token, a count, or undefined. */
  value(key: string): string | undefined {
    const value = this.get(key);
    return value === WRONG_TYPE ? '(something else)' : value;
  }

  ttlMs(key: string): number {
    const ms = this.pttl(key);
    return ms === -1 ? Infinity : ms;
  }

  setForeign(key: string): void {
    this.set(key, WRONG_TYPE);
  }

  /** All data is gone, as after FLUSHALL, which leaves scripts alone. */
  forget(): void {
    this.clear();
  }

  /** Another process serves from here on, with the data or without. */
  restart(data: 'kept' | 'lost'): void {
    this.runId = `run${Number(this.runId.slice(3)) + 1}`;
    this.#known.clear();
    this.channels.clear();
    if (data === 'lost') this.clear();
  }

  /** Whether scripts are known without being sent whole first; false is what SCRIPT FLUSH leaves. */
  set knowsScripts(knows: boolean) {
    this.#known.clear();
    if (knows) for (const { source } of ALL) this.#known.add(scriptDigest(source));
  }

  /** The locks that are there: what stands beside them is not counted. */
  get size(): number {
    return this.names().filter((key) => !key.startsWith('quorate:')).length;
  }

  micros(): number {
    return this.readings.shift() ?? Math.round(WALL_US + this.clockAheadUs + this.#time.now() * 1_000);
  }

  publish(channel: string, text: string): number | undefined {
    return this.mayPublish ? this.channels.publish(channel, text) : undefined;
  }

  #subscribe(channel: string, listener: PushListener): FakePushConnection {
    const { channels } = this;
    const [opensByItself, delivers] = [() => this.opensLines, () => this.deliversPushes];
    const connection = new FakePushConnection({ channels, channel, opensByItself, delivers }, listener);
    this.connections.push(connection);
    return connection;
  }

  #answer({ command, resolve, reject }: InFlight): void {
    if (this.replies.length > 0 && !isLook(command)) {
      const reply = this.replies.shift();
      if (reply instanceof Error) reject(reply);
      else resolve(isBatch(command) && entriesOf(command).length === 1 ? [reply] : reply);
      return;
    }
    if (isLook(command) && !this.mayTellTime) return reject(serverError("NOPERM no permission for 'time'"));
    try {
      resolve(this.#execute(command));
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #execute(command: Command): unknown {
    if (!isLook(command)) this.run.push(...entriesOf(command));
    try {
      return execute(this, this.#known, command);
    } finally {
      this.channels.deliver();
    }
  }
}

const NOTHING: Command = { name: 'eval', args: [] };

function isLook({ name }: Command): boolean {
  return name === 'time';
}
