/** How a call takes part in the local line of its lock: as the head, behind others, or not at all. */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Timer } from '../runtime/clock.js';
import { type RedlockError, withoutFrames } from '../runtime/errors.js';
import { type CallContext, cancelledError, localError, unwaitedError } from '../quorum/failure.js';
import type { Grant } from '../quorum/grant.js';
import { quorumOf } from '../protocol/quorum.js';
import { NOBODY_ASKED } from '../protocol/tally.js';
import { Acquisition } from './acquisition.js';
import type { AcquisitionTerms, CoordinatorParts } from './acquisition-terms.js';
import { LocalLine, type LocalWaiter } from './local-lines.js';

/** Acquires a lock. Rejects with a `RedlockError` if it ends without a grant. */
export function acquire(
  parts: CoordinatorParts,
  terms: AcquisitionTerms,
  cancellation: Cancellation,
): Promise<Grant> {
  const { localTurns, resources, scope, waitMs } = terms;
  const [[key = ''], { foreign, local }] = [scope.keys, parts];
  if (localTurns === 0 || cancellation.cancelled !== undefined || foreign.areAbout(scope.keys))
    return new Acquisition(parts, terms, cancellation).run();
  if (waitMs === 0 && local.holds(key))
    return Promise.reject(localError('held', { resources, attempts: 0, elapsedMs: 0 }));
  const line = waitMs > 0 || local.isFree(key) ? local.of(key, scope.isFenced) : undefined;
  if (line instanceof LocalLine) return new LocalWait(parts, terms, cancellation, line).run();
  const acquisition = new Acquisition(parts, terms, cancellation);
  if (line === 'none') acquisition.heads();
  return acquisition.run();
}

interface Settlers {
  readonly resolve: (grant: Grant | Promise<Grant>) => void;
  readonly reject: (error: RedlockError) => void;
}

/** A call behind the head or the holder. Its attempts begin when it is the head. */
class LocalWait implements LocalWaiter {
  previous: LocalWaiter | undefined;
  next: LocalWaiter | undefined;
  readonly #parts: CoordinatorParts;
  readonly #terms: AcquisitionTerms;
  readonly #cancellation: Cancellation;
  readonly #line: LocalLine;
  readonly #joinedAtMs: number;
  #timer: Timer | undefined;
  /** Undefined once its wait is over. */
  #settlers: Settlers | undefined;

  constructor(parts: CoordinatorParts, terms: AcquisitionTerms, cancellation: Cancellation, line: LocalLine) {
    this.#parts = parts;
    this.#terms = terms;
    this.#cancellation = cancellation;
    this.#line = line;
    this.#joinedAtMs = parts.clock.recent();
  }

  run(): Promise<Grant> {
    const { timers, waiters } = this.#parts;
    const { observer, waitMs } = this.#terms;
    if (!waiters.admits()) return Promise.reject(unwaitedError(this.#error, waiters.count));
    observer?.waits(0);
    return new Promise((resolve, reject) => {
      this.#settlers = { resolve, reject };
      this.#timer = timers.wait(waitMs, this.#end);
      this.#line.join(this);
      this.#cancellation.listen(this.#end);
    });
  }

  get ttlMs(): number {
    return this.#terms.ttlMs;
  }

  get localTurns(): number {
    return this.#terms.localTurns;
  }

  get looksAtOnce(): boolean {
    const { nodes, subscriptions } = this.#parts;
    return subscriptions.isOpenAt(quorumOf(nodes.length)); // only fair calls wait in a line
  }

  onTurn(grant: Grant): void {
    this.#parts.waiters.leave();
    this.#terms.observer?.granted(0, NOBODY_ASKED, grant.fence);
    this.#over()?.resolve(grant);
  }

  onHead(): void {
    const head = this.#acquisition();
    head.heads(this.#line);
    this.#over()?.resolve(head.run(this.looksAtOnce));
  }

  onAlone(): void {
    this.#over()?.resolve(this.#acquisition().run());
  }

  #acquisition(): Acquisition {
    return new Acquisition(this.#parts, this.#terms, this.#cancellation, this.#joinedAtMs);
  }

  /** The time is up, or the call was cancelled; no effect once its wait is over, as in the turn in which it got the lock. */
  readonly #end = (): void => {
    if (this.#settlers === undefined) return;
    this.#line.leave(this);
    this.#parts.waiters.leave();
    this.#over()?.reject(withoutFrames(() => this.#error));
  };

  #over(): Settlers | undefined {
    const settlers = this.#settlers;
    this.#settlers = undefined;
    this.#timer?.cancel();
    return settlers;
  }

  get #error(): RedlockError {
    const { cancelled } = this.#cancellation;
    if (cancelled !== undefined)
      return cancelledError(cancelled, this.#context, undefined, this.#parts.nodes);
    return localError(this.#line.head?.failure ?? 'held', this.#context);
  }

  get #context(): CallContext {
    const elapsedMs = Math.round(this.#parts.clock.inTurn() - this.#joinedAtMs);
    return { resources: this.#terms.resources, attempts: 0, elapsedMs };
  }
}
