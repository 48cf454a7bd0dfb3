/**
 * Gives votes back on several masters at once: an undo or a release. It settles as soon as enough masters have confirmed,
 * or when its caller says that time is up. It sets no timer: the caller has one deadline for everything.
 */
import type { Node, Sink, Withdrawn } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';
import { isToRepeat } from '../protocol/replies.js';
import { IGNORED_ANSWER } from '../node/sink.js';

export interface WithdrawalOptions {
  /** Whose answers are waited for; all masters are sent it. All by default. */
  readonly counts?: (node: Node) => boolean;
  /** How many confirmations settle it. By default, the answers of all that count. */
  readonly enough?: number;
  /** Somebody waits for what it gives back. @default false */
  readonly isUrgent?: boolean;
  /** Called for each master that did not confirm, also long after it has settled. */
  readonly onFailed: (node: Node) => void;
  /** Called when each master has answered or failed. */
  readonly onDone?: () => void;
  /** Called once it was written to the sockets of all healthy masters, or time was up. */
  readonly onWritten?: (() => void) | undefined;
}

/** Once sent, it is never given up; only its caller stops waiting. */
export class Withdrawal implements Sink {
  readonly isWanted = true;
  /** What keeps the next claim out, by the master's index; only an undo looks. */
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
  /** Healthy masters that it was not written to yet, and what is called once it was; undefined if nobody asks, and afterwards. */
  #unwritten: { readonly nodes: Set<Node>; readonly tell: () => void } | undefined;

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

  /**
   * Sends at once. Resolves when enough masters have confirmed, no answer that counts is missing, or `end` was called.
   */
  send(): Promise<void> {
    return new Promise((resolve) => this.sendThen(resolve));
  }

  /** The same without a promise: calls back once, synchronously if it settles at once. */
  sendThen(onSettled: () => void): void {
    this.#resolve = onSettled;
    const tell = this.#options.onWritten;
    if (tell !== undefined)
      this.#unwritten = { nodes: new Set(this.#targets.filter(({ isHealthy }) => isHealthy)), tell };
    if (this.#pending === 0) this.#settle();
    this.#tellIfWritten();
    const ask = { request: this.#request, sink: this, isUrgent: this.#options.isUrgent ?? false };
    for (const node of this.#targets) node.withdraw(ask, this.#rounds);
  }

  /** Resolves when every master has answered or failed, or time is up. */
  all(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#answered === this.#targets.length || this.#isEnded) resolve();
      this.#options = { onFailed: this.#options.onFailed };
      this.#pending = this.#targets.length - this.#answered;
    });
  }

  /**
   * Time is up. If it was not even sent to a silent master, that is left to the repairs. Masters that answer are sent it
   * as soon as there is room: when many are given back at once, the few repairs at a time would be far slower.
   */
  end(): void {
    this.#isEnded = true;
    for (const node of this.#targets) if (!node.isHealthy && node.forget(this)) this.onFailure(node);
    this.#unwritten?.nodes.clear();
    this.#tellIfWritten();
    this.#settle();
  }

  get isInTime(): boolean {
    return !this.#isEnded;
  }

  onSent(node: Node): void {
    if (this.#unwritten?.nodes.has(node) === true) node.whenWritten(() => this.#onWritten(node));
  }

  onReply(node: Node, reply: unknown): void {
    const outcome = this.#request.read(reply);
    if (outcome === undefined) return this.onFailure(node);
    repeatIfUnfinished(node, this.#request, reply);
    this.outcomes[node.index] = outcome;
    this.#advance(node, 1);
  }

  onFailure(node: Node): void {
    this.#onWritten(node); // or never will be
    this.#options.onFailed(node);
    this.#advance(node, 0);
  }

  #onWritten(node: Node): void {
    if (this.#unwritten?.nodes.delete(node) === true) this.#tellIfWritten();
  }

  #tellIfWritten(): void {
    if (this.#unwritten?.nodes.size !== 0) return;
    const { tell } = this.#unwritten;
    this.#unwritten = undefined;
    tell();
  }

  #settle(): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.();
  }

  #advance(node: Node, confirmations: 0 | 1): void {
    this.#answered++;
    const { counts, enough = Infinity, onDone } = this.#options;
    if (this.#answered === this.#targets.length) onDone?.();
    if (counts?.(node) === false) return;
    this.#pending--;
    this.#confirmed += confirmations;
    if (this.#confirmed >= enough || this.#pending <= 0) this.#settle();
  }
}

/**
 * Sends a release or an undo again while its reply says so: more waiters are gone than one call drops, or a lean release found
 * somebody who waits. The last call hands the lock over. Nobody waits for it: the votes are given back already. If this
 * process ends first, the waiters do the rest when they look.
 */
export function repeatIfUnfinished(node: Node, { again }: Request, reply: unknown): void {
  if (!isToRepeat(reply)) return;
  const sink: Sink = { ...IGNORED_ANSWER, onReply: (_node, next) => repeatIfUnfinished(node, again, next) };
  node.send({ request: again, sink });
}
