/** What is seen while it runs: one line that is written over on a terminal; elsewhere a plain line a second, where it is news. */
import type { WriteStream } from 'node:tty';

export interface Counts {
  readonly done: number;
  readonly jobs: number;
  /** Undefined: not begun. */
  readonly elapsedMs: number | undefined;
}

type Output = Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

const BAR_WIDTH = 30;
const CLEAR_LINE = '\r\u001b[K';

export class Progress {
  readonly #output: Output;
  readonly #counts: () => Counts;
  readonly #timer: NodeJS.Timeout;
  #written = '';
  #ended = false;

  constructor(output: Output, counts: () => Counts) {
    this.#output = output;
    this.#counts = counts;
    this.#timer = setInterval(() => this.#draw(), output.isTTY === true ? 100 : 1_000);
  }

  /** A line that stays. */
  say(text: string): void {
    const { isTTY = false } = this.#output;
    this.#output.write(`${isTTY ? CLEAR_LINE : ''}${text}\n`);
    if (isTTY) this.#draw();
  }

  /** Safe to call twice. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#ended) return;
    this.#ended = true;
    if (this.#output.isTTY === true) this.#output.write(CLEAR_LINE);
  }

  #draw(): void {
    const { done, jobs, elapsedMs } = this.#counts();
    const full = Math.round((BAR_WIDTH * done) / jobs);
    const begun = elapsedMs !== undefined;
    const text = begun ? `${stamp(elapsedMs)}  ${done} of ${jobs} jobs done` : '  the workers start';
    if (this.#output.isTTY !== true) return this.#writeOnce(text);
    const line = begun ? `${text}  ${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}` : text;
    this.#output.write(`${CLEAR_LINE}${line.slice(0, (this.#output.columns || 80) - 1)}`);
  }

  #writeOnce(text: string): void {
    if (text !== this.#written) this.#output.write(`${text}\n`);
    this.#written = text;
  }
}

export function stamp(ms: number): string {
  return `${(ms / 1_000).toFixed(1).padStart(5)} s`;
}
