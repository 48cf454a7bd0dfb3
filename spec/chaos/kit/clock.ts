/**
 * The clock of a server process: libfaketime shifts what it takes for the time of day, by an offset that is read from a file
 * at each look. Its monotonic clock is the machine's.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMasters } from '../../../scripts/masters.js';
import { ask } from '../../../scripts/masters/wait.js';
import { partOf } from '../../support/parts.js';

const STEP_MS = 25;
/** A step that comes late is no larger than this one. */
const LATEST_STEP_MS = 2 * STEP_MS;
const ASK_MS = 2_000;
/** Clocks are set back by no more than this in all. */
const MOST_BACK_MS = 400;

export class MasterClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'quorate-clock-'));
  readonly #file = join(this.#folder, 'offset');
  #offsetMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#write();
  }

  /** What the server is started with. The C library comes first: jemalloc asks for the time before libfaketime is ready. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: [partOf('libfaketime') ?? '', libc()].join(' '),
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Sets it back at once. A clock that is far back already goes back less. */
  setBack(byMs: number): void {
    this.#offsetMs = Math.max(this.#offsetMs - byMs, -MOST_BACK_MS);
    this.#write();
  }

  /** Lets it run fast or slow until it is there. @param rate  by how much, as a share of the time that passes */
  slewTo(offsetMs: number, rate: number): void {
    clearInterval(this.#timer);
    let lastMs = performance.now();
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      const most = Math.min(nowMs - lastMs, LATEST_STEP_MS) * rate;
      lastMs = nowMs;
      const left = offsetMs - this.#offsetMs;
      this.#offsetMs += Math.max(-most, Math.min(most, left));
      this.#write();
      if (this.#offsetMs === offsetMs) clearInterval(this.#timer);
    }, STEP_MS).unref();
  }

  remove(): void {
    clearInterval(this.#timer);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** It is never read half-written. */
  #write(): void {
    const seconds = this.#offsetMs / 1_000;
    writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds.toFixed(6)}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}

function libc(): string {
  const { sharedObjects } = process.report.getReport() as unknown as {
    readonly sharedObjects: readonly string[];
  }; // the cast: what Node documents of its report
  return sharedObjects.find((path) => /\/libc\.so/.test(path)) ?? '';
}

/** Tries it on a server. @returns why the clocks of servers cannot be changed here; undefined where they can */
export async function whyNoClocks(): Promise<string | undefined> {
  if (partOf('libfaketime') === undefined) return 'libfaketime is missing';
  const clock = new MasterClock();
  try {
    await using masters = await startMasters(1, { backend: 'process', environments: [clock.environment] });
    clock.setBack(MOST_BACK_MS);
    const reply = await ask(
      masters.list[0]?.port ?? 0,
      "EVAL \"return redis.call('TIME')[1] .. '.' .. redis.call('TIME')[2]\" 0",
      ASK_MS,
    );
    const [, seconds = '0', micros = '0'] = /(\d+)\.(\d+)/.exec(reply) ?? [];
    const behindMs = Date.now() - (Number(seconds) * 1_000 + Number(micros) / 1_000);
    return behindMs > MOST_BACK_MS / 2 ? undefined : 'libfaketime has no effect on this server';
  } catch (error) {
    return `no server could be started with libfaketime: ${String(error).split('\n')[0]}`;
  } finally {
    clock.remove();
  }
}
