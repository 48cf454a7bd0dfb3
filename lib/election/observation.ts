/**
 * Watches for the leader. Masters push each write of a leader's value, and each resignation, on the election's channel. A
 * push with something new causes a look at all masters, since one master is not a quorum.
 *
 * No requests are sent while pushes come: a leader's value is written again every third of its ttl. A look follows when the
 * leader's votes would be over, when no push came for half a minute, and every second while too few masters push. So a lost
 * push delays an announcement, and the latest leader is announced in any case.
 */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Timer } from '../runtime/clock.js';
import { RedlockError } from '../runtime/errors.js';
import type { Coordination } from '../lease/coordination.js';
import type { Subscription } from '../redis/subscription.js';
import { toInteger } from '../protocol/replies.js';
import { type LeaderReading, isAtLeast } from './leaders.js';
import type { Leader } from './public.js';

/** How long to wait for a push before a look, in ms. */
const QUIET_MS = 30_000;
/** The same while fewer than a quorum of masters push, or too few have answered. */
const BLIND_MS = 1_000;
/** How long after the end of a leader's votes the look follows, in ms. */
const MARGIN_MS = 10;

/** `v fence seq ms`: a value was written · `r fence`: a leader resigned. */
const PUSH = /^(?:v (\d+) (\d+) (-?\d+)|r (\d+))$/;

type Told = Leader | null;
type Next = IteratorResult<Told, undefined>;

interface Waiting {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: Error) => void;
}

type State = 'new' | 'watching' | 'over';

export class Observation implements AsyncIterableIterator<Told> {
  readonly #coordination: Coordination;
  readonly #channel: string;
  readonly #look: () => Promise<LeaderReading>;
  readonly #signal: AbortSignal | undefined;
  #state: State = 'new';
  #cancellation: Cancellation | undefined;
  #subscriptions: Subscription[] = [];
  /** The masters that push, by their index. */
  readonly #open = new Set<number>();
  #timer: Timer | undefined;
  #isReading = false;
  #isToReadAgain = false;
  /** The leader at the last look; undefined before the first look. */
  #latest: Told | undefined;
  /** When that leader's vote is over at each master unless another push comes, by the master's index. */
  #overAtMs: number[] = [];
  /** The last one announced; undefined before the first. */
  #told: Told | undefined;
  /** Calls of `next` that wait; the callers bound them. */
  readonly #waiting: Waiting[] = [];
  #error: RedlockError | undefined;

  /** @param look  looks at all masters; a leader that it returns may be announced */
  constructor(
    coordination: Coordination,
    channel: string,
    look: () => Promise<LeaderReading>,
    signal: AbortSignal | undefined,
  ) {
    this.#coordination = coordination;
    this.#channel = channel;
    this.#look = look;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#state === 'new') this.#begin();
      this.#deliver();
    });
  }

  return(): Promise<Next> {
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  #begin(): void {
    const coordination = this.#coordination;
    try {
      this.#cancellation = coordination.begin(this.#signal);
    } catch (error) {
      if (!RedlockError.is(error)) throw error;
      return this.#finish(error);
    }
    this.#state = 'watching';
    this.#cancellation.listen(() => this.#onCancelled());
    if (this.#signal?.aborted === true) return;
    for (const node of coordination.coordinator.nodes) {
      const subscription = node.subscribe(this.#channel, {
        onOpen: () => this.#onOpen(node.index),
        onPush: (text) => this.#onPush(node.index, text),
        onLost: () => this.#onLost(node.index),
      });
      if (subscription !== undefined) this.#subscriptions.push(subscription);
    }
    this.#read();
  }

  #onCancelled(): void {
    const isClosed = this.#cancellation?.cancelled?.code === 'CLOSED';
    this.#finish(isClosed ? new RedlockError('CLOSED', 'the instance was closed.') : undefined);
  }

  /** Earlier pushes were missed, so it looks. */
  #onOpen(index: number): void {
    if (this.#state !== 'watching') return;
    this.#open.add(index);
    this.#read();
  }

  #onLost(index: number): void {
    if (this.#state === 'watching' && this.#open.delete(index)) this.#arm();
  }

  #onPush(index: number, text: string): void {
    if (this.#state !== 'watching') return;
    const [, fence, seq, ms, resigned] = PUSH.exec(text) ?? [];
    const latest = this.#latest ?? undefined;
    if (resigned !== undefined) {
      if (latest !== undefined && latest.fence <= Number(resigned)) this.#read();
      return;
    }
    const pushed = { fence: toInteger(fence) ?? 0, seq: toInteger(seq) ?? 0 };
    if (latest === undefined || !isAtLeast(latest, pushed)) return this.#read();
    if (latest.fence !== pushed.fence) return; // a late push of an earlier leader
    this.#overAtMs[index] = this.#coordination.clock.earliest() + Number(ms);
    this.#arm();
  }

  #read(): void {
    this.#isToReadAgain = this.#isReading;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#timer?.cancel();
    void this.#look().then((reading) => {
      this.#isReading = false;
      if (this.#state !== 'watching') return;
      this.#note(reading);
      this.#deliver();
      if (this.#isToReadAgain) this.#read();
      else this.#arm(reading.kind === 'unknown');
    });
  }

  #note(reading: LeaderReading): void {
    const nowMs = this.#coordination.clock.earliest();
    if (reading.kind === 'leader') {
      this.#latest = reading.leader;
      const overAtMs = nowMs + Math.max(0, reading.remainingMs);
      this.#overAtMs = this.#coordination.coordinator.nodes.map(() => overAtMs);
    } else if (reading.kind === 'nobody' || nowMs >= this.#quorumOverAtMs) {
      this.#latest = null;
      this.#overAtMs = [];
    }
  }

  /** When fewer than a quorum of the leader's votes will be left. */
  get #quorumOverAtMs(): number {
    if (this.#latest === null) return Infinity;
    const { quorum } = this.#coordination.coordinator;
    return [...this.#overAtMs].sort((a, b) => b - a)[quorum - 1] ?? 0;
  }

  /** Sets the timer for the next look, if no push comes before. */
  #arm(isUnknown = false): void {
    if (this.#state !== 'watching' || this.#isReading) return;
    const { clock, coordinator } = this.#coordination;
    const isBlind = isUnknown || this.#open.size < coordinator.quorum;
    const leftMs = Math.max(0, this.#quorumOverAtMs - clock.earliest()) + MARGIN_MS;
    const delayMs = Math.min(leftMs, isBlind ? BLIND_MS : QUIET_MS);
    this.#timer?.cancel();
    this.#timer = this.#coordination.timers.wait(delayMs, () => this.#read());
  }

  #deliver(): void {
    if (this.#state === 'over') return this.#answerAll();
    if (this.#latest === undefined || isSame(this.#latest, this.#told)) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    this.#told = this.#latest;
    waiting.resolve({ done: false, value: this.#latest });
  }

  #finish(error?: RedlockError): void {
    if (this.#state !== 'over') this.#error = error;
    this.#state = 'over';
    this.#timer?.cancel();
    for (const subscription of this.#subscriptions.splice(0)) subscription.close();
    if (this.#cancellation !== undefined) this.#coordination.end(this.#cancellation);
    this.#cancellation = undefined;
    this.#answerAll();
  }

  /** The error is reported once, as by a generator. */
  #answerAll(): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      const error = this.#error;
      this.#error = undefined;
      if (error === undefined) resolve({ done: true, value: undefined });
      else reject(error);
    }
  }
}

function isSame(one: Told, other: Told | undefined): boolean {
  if (one === null || other === null || other === undefined) return one === other;
  return one.fence === other.fence && one.seq === other.seq;
}
