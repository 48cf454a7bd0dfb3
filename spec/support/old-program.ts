/** Programs in other languages that take timestamp locks as the well-known page has them; told what to do, line by line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TimestampUnit } from '../../lib/timestamp/instant.js';

export type Language = 'python3' | 'perl';

export const LANGUAGES: readonly Language[] = ['python3', 'perl'];

const FILES: Readonly<Record<Language, string>> = { python3: 'client.py', perl: 'client.pl' };

export interface OldProgramOptions {
  readonly port: number;
  readonly key: string;
  readonly unit: TimestampUnit;
  readonly ttlMs: number;
  /** @default 5 */
  readonly pollMs?: number;
}

/** What `add` counts in. */
export const COUNTER = 'counter';

export class OldProgram {
  readonly #process: ChildProcess;
  readonly #connections: AsyncIterator<string>;

  private constructor(language: Language, { port, key, unit, ttlMs, pollMs = 5 }: OldProgramOptions) {
    const file = fileURLToPath(new URL(`timestamp/${FILES[language]}`, import.meta.url));
    const args = [file, port, key, unit, ttlMs, pollMs, COUNTER].map(String);
    this.#process = spawn(language, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#process.stdout === null) throw new Error('its output is a pipe');
    this.#connections = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Starts it. A spec that does so asks first whether the language is there. */
  static async start(language: Language, options: OldProgramOptions): Promise<OldProgram> {
    const program = new OldProgram(language, options);
    const failed = once(program.#process, 'error').then(([error]) => {
      throw error;
    });
    const first = await Promise.race([program.#next(), failed]);
    if (first !== 'ready') throw new Error(`${language} said ${first}`);
    return program;
  }

  /** Gives it a line, and resolves with its answer. */
  async tell(line: string): Promise<string> {
    this.#process.stdin?.write(`${line}\n`);
    return this.#next();
  }

  /** Ends at once, with whatever it holds. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }

  async #next(): Promise<string> {
    const { done, value } = await this.#connections.next();
    if (done === true) throw new Error('it ended without an answer');
    return value;
  }
}
