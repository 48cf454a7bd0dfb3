/**
 * Taking votes back on several masters at once: an undo or a release. It settles as soon as enough masters confirmed, and
 * when its caller says that time is up. It sets no timer: who waits has one deadline for all.
 */
import type { Node, Sink, Withdrawn } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { repeatIfUnfinished } from './repetition.js';
import type { Request } from '../protocol/request.js';

export interface WithdrawalOptions {
  /** Whose answer is waited for; the others are sent it all the same. All by default. */
  readonly counts?: (node: Node) => boolean;
  /** So many confirmations settle it. By default, the answers of all that count. */
  readonly enough?: number;
  /** Told of each master that did not confirm, also long after. */
  readonly onFailed: (node: Node) => void;
}

/** Undo or release: never given up by the master it was sent to, only by who waits for it. */
export class Withdrawal implements Sink {
  readonly isWanted = true;
  /** What stands in the way of the next claim, by the master's index; only an undo looks. */
  readonly outcomes: (Outcome | undefined)[];
  readonly #request: Request;
  readonly #targets: readonly Node[];
  readonly #rounds: readonly Withdrawn[];
  #options: WithdrawalOptions;
  #confirmed = 0;
  #answered = 0;
  #isEnded = false;
  #pending: number;
  #resolve: (() => void) | undefined;

  constructor(
    request: Request,
    targets: readonly Node[],
    rounds: readonly Withdrawn[],
    options: WithdrawalOptions,
  ) {
    this.#request = request;
    this.outcomes = new Array<Outcome | undefined>(targets.length);
    this.#targets = targets;
    this.#rounds = rounds;
    this.#options = options;
    const { counts } = options;
    this.#pending = counts === undefined ? targets.length : targets.filter(counts).length;
  }

  /** Sends at once; resolves when enough masters confirmed, none that counts is left, or `end` was called. */
  send(): Promise<void> {
    return new Promise((resolve) => this.sendThen(resolve));
  }

  /** The same without a promise: calls back once, and at once where it is settled at once. */
  sendThen(onSettled: () => void): void {
    this.#resolve = onSettled;
    if (this.#pending === 0) this.#settle();
    const ask = { request: this.#request, sink: this };
    for (const node of this.#targets) node.withdraw(ask, this.#rounds);
  }

  /** Resolves when every master answered or failed, or time is up. */
  all(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#answered === this.#targets.length || this.#isEnded) resolve();
      this.#options = { onFailed: this.#options.onFailed };
      this.#pending = this.#targets.length - this.#answered;
    });
  }

  /**
   * Time is up. What a silent master was not even sent is left to the background. One that answers is sent it as soon as
   * there is room: where many take back at a time, the background's few at a time would be far slower.
   */
  end(): void {
    this.#isEnded = true;
    for (const node of this.#targets) if (!node.isHealthy && node.forget(this)) this.onFailure(node);
    this.#settle();
  }

  get isInTime(): boolean {
    return !this.#isEnded;
  }

  onSent(): void {}

  onReply(node: Node, reply: unknown): void {
    const outcome = this.#request.read(reply);
    if (outcome === undefined) return this.onFailure(node);
    repeatIfUnfinished(node, this.#request, reply);
    this.outcomes[node.index] = outcome;
    this.#advance(node, 1);
  }

  onFailure(node: Node): void {
    this.#options.onFailed(node);
    this.#advance(node, 0);
  }

  #settle(): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.();
  }

  #advance(node: Node, confirmations: 0 | 1): void {
    this.#answered++;
    const { counts, enough = Infinity } = this.#options;
    if (counts?.(node) === false) return;
    this.#pending--;
    this.#confirmed += confirmations;
    if (this.#confirmed >= enough || this.#pending <= 0) this.#settle();
  }
}
