/**
 * An in-memory Redis server: keys that expire by its own wall clock, the scripts, channels, and the faults of a
 * process. It can die and come back with its data, with old data or with none, under another run id. It can be flushed,
 * paused, or reply with an error.
 */
import type { Command } from '../../redis/transport.js';
import { Keyspace, type Snapshot } from './keyspace.js';
import type { Store } from './store.js';
import { type ScriptCache, execute, serverError } from './execution.js';

export type Listener = (text: string) => void;

export class Channels {
  readonly #listeners = new Map<string, Set<Listener>>();
  #published: (() => void)[] = [];

  /** Each listener is a connection; the same one counts once. @returns a function that unsubscribes */
  subscribe(channel: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel);
    };
  }

  /** Publishes to the current listeners. `deliver` calls them when the command that published is done. */
  publish(channel: string, text: string): number {
    const listeners = [...(this.#listeners.get(channel) ?? [])];
    for (const listener of listeners) this.#published.push(() => listener(text));
    return listeners.length;
  }

  deliver(): void {
    for (const tell of this.#published.splice(0)) tell();
  }

  /** Nobody is connected any more. */
  clear(): void {
    this.#listeners.clear();
    this.#published = [];
  }
}

/** The data that a restart finds. */
export type DataAfter = 'kept' | 'lost' | 'old';

/** Receives the reply to a command. */
export type Answer = (error: Error | undefined, reply: unknown) => void;

interface Arrival {
  readonly command: Command;
  readonly answer: Answer;
}

export interface ServerClock {
  /** The wall clock in µs; it may run fast or slow, and step. */
  micros(): number;
  /** A clock that runs true, in ms; only differences mean anything. */
  trueMs(): number;
}

export class MemoryServer extends Keyspace implements Store {
  readonly name: string;
  runId: string;
  isUp = true;
  /** Paused: arriving commands wait, and are carried out when it goes on. */
  isStopped = false;
  /** The error with which every command is answered, as while the data is loaded; undefined: it serves. */
  error: string | undefined;
  /** When it last lost commands that had reached it, or refused one. */
  refusedAtMs = -Infinity;
  /** How many commands it has carried out. */
  commands = 0;
  /** Called with each of them. */
  onExecuted: (command: Command, reply: unknown) => void = () => undefined;
  /** Subscriptions; gone with the process. What a command publishes is delivered before the command's reply. */
  channels = new Channels();
  readonly #clock: ServerClock;
  readonly #scripts: ScriptCache = new Set();
  #snapshot: Snapshot = new Map();
  #arrived: Arrival[] = [];
  #starts = 1;

  constructor(name: string, clock: ServerClock) {
    super(() => Math.floor(clock.micros() / 1_000));
    this.name = name;
    this.#clock = clock;
    this.runId = `${name}r1`;
  }

  /** A command arrives. While no process runs, it is not answered. */
  receive(command: Command, answer: Answer): void {
    if (!this.isUp) return;
    if (this.isStopped) this.#arrived.push({ command, answer });
    else this.#carryOut({ command, answer });
  }

  stop(): void {
    this.isStopped = true;
  }

  goOn(): void {
    this.isStopped = false;
    for (const arrival of this.#arrived.splice(0)) this.#carryOut(arrival);
  }

  kill(): void {
    this.refusedAtMs = this.#clock.trueMs();
    this.isUp = false;
    this.isStopped = false;
    this.#arrived = [];
    this.channels.clear();
  }

  /** Another process serves from now on. */
  start(data: DataAfter): void {
    this.kill();
    this.isUp = true;
    this.runId = `${this.name}r${++this.#starts}`;
    this.#scripts.clear();
    if (data === 'lost') this.clear();
    if (data === 'old') this.restore(this.#snapshot);
  }

  /** Becomes the process that the other is, with its data, scripts and subscribers. The other is down. */
  takeOver(other: MemoryServer): void {
    this.restore(other.snapshot());
    this.runId = other.runId;
    for (const digest of other.#scripts) this.#scripts.add(digest);
    [this.channels, other.channels] = [other.channels, this.channels];
    other.kill();
  }

  /** Saves the current data, for a restart with old data. */
  save(): void {
    this.#snapshot = this.snapshot();
  }

  /** FLUSHALL. */
  flush(): void {
    this.clear();
  }

  /** SCRIPT FLUSH. */
  flushScripts(): void {
    this.#scripts.clear();
  }

  micros(): number {
    return this.#clock.micros();
  }

  publish(channel: string, text: string): number {
    return this.channels.publish(channel, text);
  }

  #carryOut({ command, answer }: Arrival): void {
    this.commands++;
    if (this.error !== undefined) this.refusedAtMs = this.#clock.trueMs();
    if (this.error !== undefined) return answer(serverError(this.error), undefined);
    let reply: unknown;
    try {
      reply = execute(this, this.#scripts, command);
    } catch (error) {
      this.channels.deliver();
      return answer(error instanceof Error ? error : new Error(String(error)), undefined);
    }
    this.onExecuted(command, reply);
    this.channels.deliver();
    answer(undefined, reply);
  }
}
