/**
 * Programs in other languages that lock the plain key as their users do, over the clients that Debian carries; they are in
 * spec/support/languages, and redlock.py says what they do. Each is told what to do, line by line.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Part } from '../../scripts/parts.cjs';
import type { Holding } from './holdings.js';
import { partOf } from './parts.js';

export interface Language {
  /** What it needs, and is called by. */
  readonly part: Part;
  readonly file: string;
  /** What runs the file, where it is not the part. */
  readonly by?: string;
  /** How long its users wait for one master. A process for each command takes longer. */
  readonly timeoutMs: number;
  /** Its times are of /proc/uptime, in steps of 10 ms. */
  readonly isCoarse?: boolean;
}

/** A Redlock in each, for any number of masters. */
export const REDLOCKS: readonly Language[] = [
  { part: 'python3-redis', file: 'redlock.py', timeoutMs: 50 },
  { part: 'ruby-redis', file: 'redlock.rb', timeoutMs: 50 },
  { part: 'libredis-perl', file: 'redlock.pl', timeoutMs: 50 },
  { part: 'redis-cli', file: 'redlock.sh', by: 'sh', timeoutMs: 200, isCoarse: true },
];

/** `redis.lock.Lock`, for one master. */
export const PYTHON_LOCK: Language = { part: 'python3-redis', file: 'redis-lock.py', timeoutMs: 200 };

/** A line of its output; times in ms. */
type Event =
  | { readonly event: 'enter'; readonly t: number; readonly until: number; readonly value: string }
  | { readonly event: 'refused' | 'leave'; readonly t: number }
  | { readonly event: 'released'; readonly t: number; readonly masters: number };

export interface ProgramOptions {
  readonly ports: readonly number[];
  readonly ttlMs: number;
  /** It tries again after 0 to that many ms. @default 20 */
  readonly pollMs?: number;
  /** How long it waits for one master. @default as its users */
  readonly timeoutMs?: number;
}

const STEP_MS = 10;

/** CLOCK_MONOTONIC, in ms. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * What /proc/uptime is ahead of CLOCK_MONOTONIC, since it counts suspensions, too: up to a step more than this. A reading that
 * was interrupted gives less; the highest of a few was not.
 */
function uptimeAheadMs(): number {
  const readings = Array.from({ length: 10 }, () => {
    const upMs = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1_000;
    return upMs - nowMs();
  });
  return Math.max(...readings);
}

export class LanguageProgram {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #isCoarse: boolean;

  /** The spec that starts it asks first whether the part is there. */
  constructor(language: Language, options: ProgramOptions) {
    const { part, file, by, isCoarse = false } = language;
    const { ports, ttlMs, pollMs = 20, timeoutMs = language.timeoutMs } = options;
    this.name = file;
    this.#isCoarse = isCoarse;
    const path = fileURLToPath(new URL(`languages/${file}`, import.meta.url));
    const args = [path, ttlMs, pollMs, timeoutMs, ...ports].map(String);
    this.#process = spawn(by ?? partOf(part) ?? part, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#process.stdout === null) throw new Error('its output is a pipe');
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** One attempt. @returns the value that its keys hold, or null */
  async try(key: string): Promise<string | null> {
    this.#write(`try ${key}`);
    const told = await this.#next();
    return told.event === 'enter' ? told.value : null;
  }

  /** @returns on how many masters its value was deleted */
  async release(): Promise<number> {
    this.#write('release');
    for (;;) {
      const told = await this.#next();
      if (told.event === 'released') return told.masters;
    }
  }

  /** Tries until it holds the lock, holds it that long, and releases it. */
  async turn(key: string, holdMs: number): Promise<Holding> {
    this.#write(`turn ${key} ${holdMs}`);
    const [enter, leave] = [await this.#next(), await this.#next()];
    await this.#next(); // released
    if (enter.event !== 'enter') throw new Error(`${this.name} said ${enter.event}`);
    const untilMs = Math.min(enter.until, leave.t);
    if (!this.#isCoarse) return { who: this.name, fromMs: enter.t, untilMs };
    // what is sure: both its times and the difference are up to a step early
    const aheadMs = uptimeAheadMs();
    return { who: this.name, fromMs: enter.t - aheadMs + STEP_MS, untilMs: untilMs - aheadMs - STEP_MS };
  }

  /** Ends at once, with whatever it holds. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }

  #write(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  async #next(): Promise<Event> {
    const { done, value } = await this.#lines.next();
    if (done === true) throw new Error(`${this.name} ended without an answer`);
    return JSON.parse(value) as Event; // as the programs write it
  }
}
