/** A lease as its holder sees it, recorded in the history. */
import { type AnyLease, type LeaseHandle, RedlockError } from '../../../lib/index.js';
import { type HistoryFile, nowMs } from './history.js';

const LOOK_EVERY_MS = 25;
/** Instants are recorded in whole microseconds. */
const ROUNDING_MS = 0.01;

/** What a holder has: a lease of any kind. */
export type Held = Pick<
  AnyLease,
  'resources' | 'ttlMs' | 'status' | 'signal' | 'remainingMs' | 'extend' | 'release'
> & { readonly fence?: number | undefined; handle?(): LeaseHandle };

interface HoldingTerms {
  readonly id: string;
  readonly op: number;
  readonly renew: boolean;
  readonly from?: string;
  readonly history: HistoryFile;
}

export class Holding {
  readonly id: string;
  readonly #lease: Held;
  readonly #history: HistoryFile;
  #untilAtMost: number;
  #isOver = false;

  constructor(lease: Held, { id, op, renew, from, history }: HoldingTerms) {
    this.id = id;
    this.#lease = lease;
    this.#history = history;
    const { least: until, most } = this.#read();
    this.#untilAtMost = most;
    const t = nowMs();
    const { fence = 0, resources: keys, ttlMs } = lease;
    history.note({
      e: 'got',
      t,
      op,
      lease: id,
      keys,
      fence,
      until,
      renew,
      ttlMs,
      ...(from === undefined ? {} : { from }),
    });
    const tell = (): void => this.#lost(lease.signal.reason);
    if (lease.signal.aborted) tell();
    else lease.signal.addEventListener('abort', tell, { once: true });
  }

  get isHeld(): boolean {
    return this.#lease.status === 'held';
  }

  /** Reads it repeatedly for this time, or until it is lost: also while its instance closes, and the signal has aborted. */
  async watch(forMs: number): Promise<void> {
    const end = nowMs() + forMs;
    while (nowMs() < end && this.#lease.remainingMs() > 0) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_EVERY_MS, forMs)));
      this.#look();
    }
  }

  /** Blocks the event loop: no timer can report the loss, so the lease itself must. */
  stall(forMs: number): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
    this.#look();
  }

  async extend(): Promise<void> {
    const lease = this.id;
    this.#history.note({ e: 'extend', t: nowMs(), lease, boundMs: this.#boundMs });
    let code: string | undefined;
    try {
      await this.#lease.extend();
    } catch (error) {
      code = RedlockError.is(error) ? error.code : `not ours: ${String(error)}`;
    }
    this.#history.note({ e: 'extended', t: nowMs(), lease, ...(code === undefined ? {} : { code }) });
    this.#look();
  }

  async release(): Promise<void> {
    this.ending();
    await this.#lease.release();
    this.ended();
  }

  /** Its release is about to be called. */
  ending(): void {
    this.#look();
    this.#isOver = true;
    this.#history.note({ e: 'release', t: nowMs(), lease: this.id, boundMs: this.#boundMs });
  }

  /** Its release has settled. */
  ended(): void {
    this.#history.note({ e: 'released', t: nowMs(), lease: this.id });
  }

  /** Something about it that must not be. */
  odd(text: string): void {
    this.#history.note({ e: 'odd', t: nowMs(), lease: this.id, text });
  }

  /** Undefined if it was lost before, or is of a kind that cannot be handed over. */
  giveAway(): LeaseHandle | undefined {
    this.#look();
    const t = nowMs();
    try {
      const handle = this.#lease.handle?.();
      if (handle === undefined) return undefined;
      this.#isOver = true;
      this.#history.note({ e: 'gave', t, lease: this.id });
      return handle;
    } catch {
      return undefined; // lost: its release follows
    }
  }

  get #boundMs(): number {
    return Math.min(this.#lease.ttlMs / 10, 200);
  }

  /**
   * `remainingMs()` reads the clock at some instant between our two readings, so the end lies between `least` and `most`,
   * however long this process was paused in between. The holder relies on it until `least`: never later than it was told.
   */
  #read(): { t: number; left: number; least: number; most: number } {
    const t = nowMs();
    const left = this.#lease.remainingMs();
    return { t, left, least: t + left, most: nowMs() + left + ROUNDING_MS };
  }

  /** The end has moved only if it cannot be where all readings so far place it. */
  #look(): void {
    if (this.#isOver) return;
    const { t, left, least, most } = this.#read();
    if (left <= 0) {
      if (this.#lease.status === 'held')
        this.#history.note({ e: 'odd', t, lease: this.id, text: 'held, with no validity left' });
    } else if (least > this.#untilAtMost) {
      this.#untilAtMost = most;
      this.#history.note({ e: 'more', t, lease: this.id, until: least });
    } else {
      this.#untilAtMost = Math.min(this.#untilAtMost, most);
    }
  }

  #lost(reason: unknown): void {
    if (this.#isOver) return;
    const code = RedlockError.is(reason) ? reason.code : 'not ours';
    if (code === 'CLOSED') return; // its instance closes: it is to stop, and is still held
    this.#history.note({ e: 'lost', t: nowMs(), lease: this.id, code });
    if (this.#lease.status === 'held')
      this.#history.note({
        e: 'odd',
        t: nowMs(),
        lease: this.id,
        text: 'lost by its signal, and held by its status',
      });
  }
}
