/**
 * Keeps the record of an instance on the masters while the instance is in use: written behind its first claim, and refreshed as
 * long as it holds or waits. A call costs a check whether that is under way. If it cannot be written, no call notices.
 */
import type { Node, Sink } from '../node/node.js';
import { textDropping, textWriting } from '../protocol/text-requests.js';
import type { Request } from '../protocol/request.js';
import { isPermanent } from '../redis/server-errors.js';
import type { Clock, Timer, Timers } from '../runtime/clock.js';

/** How long a record lives. */
export const RECORD_LIFE_MS = 60_000;
/** The time between two writes, at least. */
export const REFRESH_MS = 20_000;
/** The first claim is on its way by then. */
export const BEHIND_CLAIM_MS = 1;
/** How long a master that refuses the key is not asked again. */
export const REFUSED_MS = 600_000;

interface Parts {
  readonly nodes: readonly Node[];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** What is written, and for how long it has to be. */
interface Subject {
  key(): string;
  text(): string;
  /** Whether the instance holds or waits. */
  isBusy(): boolean;
}

export class RecordWriter {
  readonly #parts: Parts;
  readonly #subject: Subject;
  #timer: Timer | undefined;
  #writtenAtMs = -Infinity;
  #isClosed = false;
  /** Until when a master is not asked, by its index. */
  readonly #refusedUntilMs: number[] = [];
  readonly #sink: Sink = {
    isWanted: true,
    onSent: () => undefined,
    onReply: () => undefined,
    onFailure: (node, cause) => {
      if (isPermanent(cause)) this.#refusedUntilMs[node.index] = this.#parts.clock.earliest() + REFUSED_MS;
    },
  };

  constructor(parts: Parts, subject: Subject) {
    this.#parts = parts;
    this.#subject = subject;
  }

  /** The instance is in use. */
  used(): void {
    if (this.#timer === undefined && !this.#isClosed) this.#schedule();
  }

  /** Writes it now. */
  renew(): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writeAndGoOn();
  }

  /** @param isGone  nothing is held any more: the record goes as well */
  close(isGone: boolean): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!isGone || this.#writtenAtMs === -Infinity) return;
    const request = textDropping(this.#subject.key());
    for (const node of this.#reached()) this.#send(node, request);
  }

  #schedule(): void {
    const { clock, timers } = this.#parts;
    const dueInMs = this.#writtenAtMs + REFRESH_MS - clock.earliest();
    this.#timer = timers.background(Math.max(BEHIND_CLAIM_MS, dueInMs), () => {
      this.#timer = undefined;
      this.#writeAndGoOn();
    });
  }

  #writeAndGoOn(): void {
    this.#write();
    if (this.#subject.isBusy()) this.#schedule();
  }

  #write(): void {
    this.#writtenAtMs = this.#parts.clock.earliest();
    const request = textWriting(this.#subject.key(), this.#subject.text(), RECORD_LIFE_MS);
    for (const node of this.#reached()) this.#send(node, request);
  }

  #send(node: Node, request: Request): void {
    node.forget(this.#sink); // what waits for the first connection since the last time
    node.send({ request, sink: this.#sink });
  }

  /** The masters that answer, or are connecting for the first time, and take it as far as is known. */
  #reached(): readonly Node[] {
    const nowMs = this.#parts.clock.earliest();
    return this.#parts.nodes.filter(
      (node) =>
        (node.isHealthy || node.state === 'opening') &&
        nowMs >= (this.#refusedUntilMs[node.index] ?? -Infinity),
    );
  }
}
