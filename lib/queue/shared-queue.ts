/**
 * Waiting for a shared lock: at its gate if pushes are possible (`turnstile.ts`). Masters may also watch for a refused claim,
 * and keep others out for it.
 */
import type { Watch } from '../protocol/operation.js';
import { type Request, scriptedClaim, undo } from '../protocol/request.js';
import type { Round } from '../quorum/round.js';
import type { Kind } from '../protocol/scope.js';
import type { Withdrawn } from '../node/node.js';
import type { Departure, Queue, QueueTerms, QueueParts, QueueWaitEnd } from './queue.js';
import { Turnstile } from './turnstile.js';
import { Withdrawal } from '../quorum/withdrawal.js';

export class SharedQueue implements Queue {
  readonly isSpread = false;
  readonly won = undefined;
  readonly sent: readonly Withdrawn[] = [];
  readonly #parts: QueueParts;
  readonly #terms: QueueTerms;
  #turnstile: Turnstile | undefined;
  /** The watcher that masters may keep others out for, and the round of its last claim. */
  #watched: { readonly watcher: string; readonly round: Round } | undefined;

  #wasRefused = false;

  constructor(parts: QueueParts, terms: QueueTerms) {
    this.#parts = parts;
    this.#terms = terms;
  }

  get hasPlace(): boolean {
    return this.#turnstile !== undefined;
  }

  get isWatched(): boolean {
    return this.#watched !== undefined;
  }

  get wasFree(): boolean {
    return this.#theTurnstile.wasFree;
  }

  wait(ticket: () => number, untilMs: number): Promise<QueueWaitEnd> {
    const { nodeTimeoutMs, scope, ttlMs } = this.#terms;
    const watcher = this.#watched?.watcher ?? this.#parts.random.token();
    const terms = { scope, watcher, ticket, untilMs, ttlMs, nodeTimeoutMs };
    this.#turnstile ??= new Turnstile(this.#parts, terms);
    return this.#turnstile.turn();
  }

  end(): void {
    this.#theTurnstile.end('ended');
  }

  /** Masters watch for a waiter at the gate while it is the head. */
  claim(): Request {
    const { scope, ttlMs } = this.#terms;
    const { clocks, random } = this.#parts;
    const watch = { watcher: this.#theTurnstile.watcher, rank: 0 };
    return scriptedClaim(scope, random.token(), ttlMs, clocks, watch);
  }

  /**
   * Without a place, masters watch only for claims that might never succeed while holders come and go: those that write, or
   * want several permits at once.
   */
  watch(isOnce: () => boolean): Watch | undefined {
    if (!isGreedy(this.#terms.scope.kind) || isOnce()) return undefined;
    return { watcher: this.#watched?.watcher ?? this.#parts.random.token(), rank: 1 };
  }

  claimed(round: Round): void {
    const { watch } = round.request;
    if (watch !== undefined) this.#watched = { watcher: watch.watcher, round };
  }

  refused(round: Round): void {
    this.#wasRefused = true;
    this.#turnstile?.refused(round);
  }

  stepAside(): void {}

  granted(): void {}

  failed(): void {}

  /** The gate's outcomes are about the queue: an error reports them only if no claim was refused. */
  depart(end: QueueWaitEnd): Departure {
    const turnstile = this.#theTurnstile;
    this.#unwatch(); // or the next one is refused while the watch lasts, and newcomers pass it
    this.#turnstile = undefined;
    return {
      withdrawal: turnstile.leaving(),
      looks: false,
      isForeignClient: false,
      isUnasked: end === 'ended', // one more attempt: it may be granted, and its outcomes go into the error
      standing: () => ({ ...turnstile.standing, isOfLock: false }),
    };
  }

  /** Ends the watch first, then leaves the gate. */
  leave(): void {
    this.#unwatch();
    if (this.#turnstile === undefined) return;
    const withdrawal = this.#turnstile.leaving();
    void withdrawal.send();
    withdrawal.end();
  }

  get #theTurnstile(): Turnstile {
    if (this.#turnstile === undefined) throw new Error('it waits before it ends or departs');
    return this.#turnstile;
  }

  /** Ends the watch. A granted claim has ended it itself, and so will a claim at a master that is only slow, if all is free. */
  #unwatch(): void {
    if (this.#watched === undefined) return;
    const { watcher, round } = this.#watched;
    this.#watched = undefined;
    const targets = round.sentTo.filter((node) => {
      const said = round.outcomes[node.index]?.kind;
      return said === undefined ? this.#wasRefused : said !== 'granted';
    });
    if (targets.length === 0) return;
    const withdrawal = new Withdrawal(undo(this.#terms.scope, watcher), targets, [], {
      onFailed: () => undefined, // the watch expires by itself, and soon
    });
    void withdrawal.send();
    withdrawal.end();
  }
}

function isGreedy(kind: Kind): boolean {
  return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);
}
