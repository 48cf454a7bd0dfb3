/**
 * How one acquisition waits for a lock that several may hold: in line before it where pushes are possible; and whom the
 * masters watch for since a claim of it was refused. There is nothing of this for an exclusive lock.
 */
import type { Watch } from '../protocol/operation.js';
import { undo } from '../protocol/request.js';
import type { Round } from '../quorum/round.js';
import type { Kind, Scope } from '../protocol/scope.js';
import { Turnstile, type SharedQueueEnvironment } from './turnstile.js';
import { Withdrawal } from '../quorum/withdrawal.js';

/** What is waited for. */
export interface SharedLineTerms {
  readonly scope: Scope;
  readonly nodeTimeoutMs: number;
}

export interface Entrance {
  readonly isInLine: boolean;
  /** Masters may watch for it. */
  readonly isWatched: boolean;
  /** Stands in line, if it does not yet. */
  queue(ticket: () => number, untilMs: number): Turnstile;
  /** How the next claim makes itself the one who is next. @param isOnce  it does not try again, or queues */
  watch(isOnce: () => boolean): Watch | undefined;
  /** The votes for its claim are counted. */
  claimed(round: Round): void;
  /** Its claim came to nothing. */
  refused(round: Round): void;
  leaveLine(): void;
  /** It came in, or gave up. */
  leave(): void;
}

export function entranceFor(environment: SharedQueueEnvironment, terms: SharedLineTerms): Entrance {
  return terms.scope.kind.name === 'mutex' ? NO_ENTRANCE : new SharedEntrance(environment, terms);
}

const NO_ENTRANCE: Entrance = Object.freeze({
  isInLine: false,
  isWatched: false,
  queue: () => {
    throw new Error('an exclusive lock has a queue of its own');
  },
  watch: () => undefined,
  claimed: () => undefined,
  refused: () => undefined,
  leaveLine: () => undefined,
  leave: () => undefined,
});

class SharedEntrance implements Entrance {
  readonly #environment: SharedQueueEnvironment;
  readonly #terms: SharedLineTerms;
  #turnstile: Turnstile | undefined;
  /** Whom the masters may watch for, and how its last claim went. */
  #watched: { readonly watcher: string; readonly round: Round } | undefined;

  #wasRefused = false;

  constructor(environment: SharedQueueEnvironment, terms: SharedLineTerms) {
    this.#environment = environment;
    this.#terms = terms;
  }

  get isInLine(): boolean {
    return this.#turnstile !== undefined;
  }

  get isWatched(): boolean {
    return this.#watched !== undefined;
  }

  queue(ticket: () => number, untilMs: number): Turnstile {
    const { nodeTimeoutMs, scope } = this.#terms;
    const watcher = this.#watched?.watcher ?? this.#environment.random.token();
    this.#turnstile ??= new Turnstile(this.#environment, { scope, watcher, ticket, untilMs, nodeTimeoutMs });
    return this.#turnstile;
  }

  /**
   * Who stands in line is watched for when it is the head. Others are only for what they would never get otherwise, with
   * many coming and going: to write, and several permits at once.
   */
  watch(isOnce: () => boolean): Watch | undefined {
    if (this.#turnstile !== undefined) return { watcher: this.#turnstile.watcher, rank: 0 };
    if (!isGreedy(this.#terms.scope.kind) || isOnce()) return undefined;
    return { watcher: this.#watched?.watcher ?? this.#environment.random.token(), rank: 1 };
  }

  claimed(round: Round): void {
    const { watch } = round.request;
    if (watch !== undefined) this.#watched = { watcher: watch.watcher, round };
  }

  refused(round: Round): void {
    this.#wasRefused = true;
    this.#turnstile?.refused(round);
  }

  leaveLine(): void {
    this.#turnstile?.leave();
    this.#turnstile = undefined;
  }

  /** First nobody is watched for any more, then the line goes on. */
  leave(): void {
    if (this.#watched !== undefined) this.#unwatch(this.#watched.watcher, this.#watched.round);
    this.leaveLine();
  }

  /** Where its claim was granted, the claim itself has seen to that; a master that is only slow will, where all is free. */
  #unwatch(watcher: string, round: Round): void {
    const targets = round.sentTo.filter((node) => {
      const said = round.outcomes[node.index]?.kind;
      return said === undefined ? this.#wasRefused : said !== 'granted';
    });
    if (targets.length === 0) return;
    const withdrawal = new Withdrawal(undo(this.#terms.scope, watcher), targets, [], {
      onFailed: () => undefined, // it runs out by itself, and soon
    });
    void withdrawal.send();
    withdrawal.end();
  }
}

function isGreedy(kind: Kind): boolean {
  return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);
}
