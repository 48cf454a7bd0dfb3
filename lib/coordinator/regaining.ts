/**
 * Regains the votes that a lease lacks (protocol C3a). When a waiter's vote refuses an extension, the master asks the waiter to
 * let the key rest. The key is then kept for the holder for REST_MS, and the holder extends the lease there again in the
 * meantime. Without this, a waiter would keep a lone vote for as long as it waits, and the lease would live on a bare quorum,
 * until the next failure ended it. The vote of a claim that is about to be undone is gone by then, too.
 *
 * These extensions only regain votes. They count for no validity, since their send times differ.
 */
import type { Timer, Timers } from '../runtime/clock.js';
import type { Grant } from '../quorum/grant.js';
import type { Node, Withdrawn } from '../node/node.js';

/**
 * The pauses before such extensions, in ms. A waiter that reads its pushes has answered by the end of the first; the last try
 * comes while the key still rests of a waiter that was busy during the other pauses.
 */
const PAUSES_MS: readonly number[] = [50, 200, 550];
/**
 * The first pause is two round trips at least, so that the waiter can get the push and answer; but no longer than this, in ms.
 */
const LONGEST_MS = 800;

/** How long after a refusal the next such extension is sent, in ms; undefined after the last. @param tries  so far */
export function pauseMs(nodes: readonly Node[], tries: number): number | undefined {
  const pause = PAUSES_MS[tries];
  if (pause === undefined || tries > 0) return pause;
  const tripMs = nodes.reduce((most, { timing }) => Math.max(most, timing.trip.bareMs), 0);
  return Math.min(Math.max(pause, 2 * tripMs), LONGEST_MS);
}

/** Extends a lease at some masters. @param onRefused  called for each master that refused it again */
type ExtendAt = (
  grant: Grant,
  ttlMs: number,
  targets: readonly Node[],
  onRefused: (node: Node) => void,
) => void;

/** The pause before such an extension. The end of the lease drops it, like any request for the lease. */
export class Pause implements Withdrawn {
  timer: Timer | undefined;
  readonly #onDrop: () => void;
  #isDropped = false;

  constructor(onDrop: () => void) {
    this.#onDrop = onDrop;
  }

  follow(): boolean {
    return false;
  }

  owes(): boolean {
    return false;
  }

  /** Once: what follows may end the lease, which sets aside all that is open for it, this pause included. */
  drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.timer?.cancel();
    this.#onDrop();
  }
}

/** The masters whose votes one lease is about to regain. */
class Regaining extends Pause {
  readonly targets = new Set<Node>();
}

export class Regains {
  readonly #timers: Timers;
  readonly #extendAt: ExtendAt;
  /** The leases that wait for their next try; those that lack votes, at most. */
  readonly #pausing = new Map<Grant, Regaining>();

  constructor(timers: Timers, extendAt: ExtendAt) {
    this.#timers = timers;
    this.#extendAt = extendAt;
  }

  /**
   * An extension for `ttlMs` was refused at that master by another's vote, or the master did not know the script.
   *
   * @param tries  how often the master was asked again since the renewal
   */
  begin(grant: Grant, ttlMs: number, node: Node, tries: number): void {
    if (!grant.isHeld) return;
    const regaining = this.#pausing.get(grant) ?? this.#pause(grant);
    regaining.targets.add(node);
    regaining.timer?.cancel();
    const inMs = pauseMs([...regaining.targets], tries);
    if (inMs === undefined) return this.stop(grant);
    regaining.timer = this.#timers.background(inMs, () => {
      this.stop(grant);
      this.#extendAt(grant, ttlMs, [...regaining.targets], (other) =>
        this.begin(grant, ttlMs, other, tries + 1),
      );
    });
  }

  /** Another extension asks all masters, or this instance is closed. */
  stop(grant: Grant): void {
    const regaining = this.#pausing.get(grant);
    if (regaining === undefined) return;
    regaining.drop();
    grant.closed(regaining);
  }

  close(): void {
    for (const grant of [...this.#pausing.keys()]) this.stop(grant);
  }

  #pause(grant: Grant): Regaining {
    const regaining = new Regaining(() => this.#pausing.delete(grant));
    this.#pausing.set(grant, regaining);
    grant.opened(regaining);
    return regaining;
  }
}
