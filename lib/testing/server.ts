/**
 * A Redis server in memory: string keys that expire by its own wall clock, scripts by their twins, and the faults of a
 * process: it dies and comes back with its data, with old data or with none, under another run id; it is emptied,
 * stopped for a while, or answers with an error.
 */
import type { Command } from '../transport.js';
import { execute, type FOREIGN, type ScriptCache, serverError, type Store } from './twins.js';

/** What a restart finds. */
export type DataAfter = 'kept' | 'lost' | 'old';

/** Where the reply to a command goes. */
export type Answer = (error: Error | undefined, reply: unknown) => void;

interface Entry {
  readonly text: string | typeof FOREIGN;
  /** By the wall clock, in ms. */
  readonly expiresAtMs: number;
}

interface Arrival {
  readonly command: Command;
  readonly answer: Answer;
}

export interface ServerClock {
  /** The wall clock in µs; may run fast or slow, and step. */
  micros(): number;
  /** A clock that runs true, in ms; only differences mean anything. */
  trueMs(): number;
}

export class MemoryServer implements Store {
  readonly name: string;
  runId: string;
  isUp = true;
  /** Stopped: what arrives waits, and is carried out when it goes on. */
  isStopped = false;
  /** What every command is answered with, as while the data is loaded; undefined: it serves. */
  error: string | undefined;
  /** When it last lost commands that had reached it, or refused one. */
  refusedAtMs = -Infinity;
  /** How many commands it has carried out. */
  commands = 0;
  /** Told of each one. */
  onExecuted: (command: Command, reply: unknown) => void = () => undefined;
  readonly #clock: ServerClock;
  readonly #scripts: ScriptCache = new Set();
  #keys = new Map<string, Entry>();
  #snapshot = new Map<string, Entry>();
  #arrived: Arrival[] = [];
  #starts = 1;

  constructor(name: string, clock: ServerClock) {
    this.name = name;
    this.#clock = clock;
    this.runId = `${name}r1`;
  }

  /** A command arrives. One that meets no process gets no answer. */
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
  }

  /** Another process serves from here on. */
  start(data: DataAfter): void {
    this.kill();
    this.isUp = true;
    this.runId = `${this.name}r${++this.#starts}`;
    this.#scripts.clear();
    if (data === 'lost') this.#keys = new Map();
    if (data === 'old') this.#keys = new Map(this.#snapshot);
  }

  /** Keeps the data as it is now for a restart with old data. */
  save(): void {
    this.#snapshot = new Map(this.#keys);
  }

  /** FLUSHALL. */
  flush(): void {
    this.#keys.clear();
  }

  /** SCRIPT FLUSH. */
  flushScripts(): void {
    this.#scripts.clear();
  }

  /** The names of all keys that are there. */
  names(): string[] {
    return [...this.#keys.keys()].filter((key) => this.#entry(key) !== undefined);
  }

  micros(): number {
    return this.#clock.micros();
  }

  get(key: string): string | typeof FOREIGN | undefined {
    return this.#entry(key)?.text;
  }

  pttl(key: string): number {
    const entry = this.#entry(key);
    if (entry === undefined) return -2;
    return entry.expiresAtMs === Infinity ? -1 : entry.expiresAtMs - this.#wallMs();
  }

  set(key: string, text: string | typeof FOREIGN, ttlMs: number | 'keep' | 'none'): void {
    const kept = this.#entry(key)?.expiresAtMs ?? Infinity;
    const expiresAtMs = ttlMs === 'keep' ? kept : ttlMs === 'none' ? Infinity : this.#wallMs() + ttlMs;
    this.#keys.set(key, { text, expiresAtMs });
  }

  expire(key: string, ttlMs: number): void {
    const entry = this.#entry(key);
    if (entry !== undefined) this.#keys.set(key, { ...entry, expiresAtMs: this.#wallMs() + ttlMs });
  }

  delete(key: string): boolean {
    return this.#keys.delete(key);
  }

  #carryOut({ command, answer }: Arrival): void {
    this.commands++;
    if (this.error !== undefined) this.refusedAtMs = this.#clock.trueMs();
    if (this.error !== undefined) return answer(serverError(this.error), undefined);
    let reply: unknown;
    try {
      reply = execute(this, this.#scripts, command);
    } catch (error) {
      return answer(error instanceof Error ? error : new Error(String(error)), undefined);
    }
    this.onExecuted(command, reply);
    answer(undefined, reply);
  }

  #wallMs(): number {
    return Math.floor(this.#clock.micros() / 1_000);
  }

  #entry(key: string): Entry | undefined {
    const entry = this.#keys.get(key);
    if (entry === undefined || entry.expiresAtMs > this.#wallMs()) return entry;
    this.#keys.delete(key);
    return undefined;
  }
}
