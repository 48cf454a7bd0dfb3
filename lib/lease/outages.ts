/**
 * What an acquisition that waits without end reports about an outage: its attempts find no quorum, since masters are away,
 * silent, in quarantine or misconfigured. Before it ends, it has no error that could say so.
 *
 * Such failures less than a ttl apart are one outage, which is reported once.
 */
import type { Coordination } from './coordination.js';
import type { Decision } from '../protocol/quorum.js';
import { type Answers, tallyOf } from '../protocol/tally.js';
import { failureOf, roundError } from '../quorum/failure.js';
import { NOT_ASKED } from '../redis/server-errors.js';
import type { NodeOutcome, RedlockError } from '../runtime/errors.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';

export class Outages implements AcquisitionObserver {
  /** The error that began the latest outage; undefined before the first. */
  latest: RedlockError | undefined;
  readonly #coordination: Coordination;
  readonly #name: string;
  readonly #ttlMs: number;
  readonly #onOutage: (error: RedlockError) => void;
  readonly #startedAtMs: number;
  #refusedAtMs = -Infinity;

  constructor(
    coordination: Coordination,
    name: string,
    ttlMs: number,
    onOutage: (error: RedlockError) => void = () => undefined,
  ) {
    this.#coordination = coordination;
    this.#name = name;
    this.#ttlMs = ttlMs;
    this.#onOutage = onOutage;
    this.#startedAtMs = coordination.clock.earliest();
  }

  refused(attempts: number, answers: Answers, decision: Decision): void {
    const { clock, coordinator } = this.#coordination;
    const { nodes, quorum } = coordinator;
    const missing = tallyOf(answers, nodes).filter(isMissing);
    if (nodes.length - missing.length >= quorum) return;
    const nowMs = clock.earliest();
    const isSame = nowMs - this.#refusedAtMs < this.#ttlMs;
    this.#refusedAtMs = nowMs;
    if (isSame) return;
    const context = { resources: [this.#name], attempts, elapsedMs: Math.round(nowMs - this.#startedAtMs) };
    this.latest = roundError(failureOf(decision), answers, nodes, context);
    this.#onOutage(this.latest);
  }

  granted(): void {}

  waits(): void {}
}

/** A master that was not asked is not missing. */
function isMissing(entry: NodeOutcome): boolean {
  return entry.outcome === 'quarantined' || (entry.outcome === 'unknown' && entry.cause !== NOT_ASKED);
}
