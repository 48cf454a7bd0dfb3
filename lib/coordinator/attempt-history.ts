/** What the attempts of one acquisition have learned about other claimants. */
import { FOREIGN_CLIENT_POLL_MS } from '../queue/queue-place.js';
import type { RedlockError } from '../runtime/errors.js';
import {
  type Answers,
  type CallContext,
  failureOf,
  roundError,
  type RoundFailure,
} from '../quorum/failure.js';
import { homeMasterOf } from './home-master.js';
import type { Node } from '../node/node.js';
import { type Outcome, quorumOf, unknown } from '../protocol/quorum.js';
import type { Backoff } from '../quorum/backoff.js';
import type { Departure } from '../queue/terms.js';
import type { Round } from '../quorum/round.js';
import type { Poller } from './foreign-clients.js';
import type { AcquisitionTerms, CoordinatorParts } from './acquisition-terms.js';

/** After this many refusals in a row by the home master, all are asked again: its vote may be an orphan. */
const HOME_REFUSALS = 8;

/**
 * A lock that is more likely to be free than held is free again soon: an acquisition that finds it held tries this many
 * times more before it queues. A refused try asks one master; a place in the queues costs three calls to each.
 */
export const MOST_TRIES = 4;
/** The range of the pause before such a try; milliseconds. */
export const TRY_AFTER_MS = { least: 1, most: 7 };

/** Queueing is wanted (`fair`), and possible. */
export function canQueue({ nodes, subscriptions }: CoordinatorParts, { fair }: AcquisitionTerms): boolean {
  return fair && subscriptions.canReach(quorumOf(nodes.length));
}

/** Whether to queue: other claimants hold or wait for the lock, or are likely to, and the holder hands over. */
export function shallQueue(
  parts: CoordinatorParts,
  terms: AcquisitionTerms,
  backoff: Backoff,
  history: AttemptHistory | undefined,
): boolean {
  const { contention, foreign, nodes, subscriptions } = parts;
  // the last attempt has no time to wait in: in the queue it would end before it begins
  if (!terms.fair || history?.isForeignClient === true || backoff.isLast) return false;
  if (foreign.areAbout(terms.scope.keys)) return false;
  if (history?.isContended === true) return canQueue(parts, terms);
  if (backoff.attempts > 1 || !contention.isLikely(terms.scope.keys[0] ?? '')) return false;
  return subscriptions.isOpenAt(quorumOf(nodes.length)); // otherwise trying is quicker, in case the lock is free by now
}

export class AttemptHistory {
  /** The last attempt met other claimants. */
  isContended = false;
  /** The holder does not hand over. */
  isForeignClient = false;
  /** The last full fan-out, and why it failed: what an error reports. */
  lastFull: (Answers & { readonly failure: RoundFailure }) | undefined;
  readonly #parts: CoordinatorParts;
  readonly #terms: AcquisitionTerms;
  /** The first of its locks. */
  readonly #key: string;
  #homeRefusals = 0;
  /** The shortest remaining time among the keys that the last attempt found. */
  #shortestMs = Infinity;
  #triesLeft: number;

  constructor(parts: CoordinatorParts, terms: AcquisitionTerms) {
    this.#parts = parts;
    this.#terms = terms;
    const { keys, kind } = terms.scope;
    this.#key = keys[0] ?? '';
    const isOccasional = kind.name === 'mutex' && parts.contention.isOccasional(this.#key);
    this.#triesLeft = isOccasional ? MOST_TRIES : 0;
  }

  /** Whether the next attempt tries once more before it queues. */
  triesAgain(): boolean {
    return this.#triesLeft-- > 0;
  }

  /** The time after which the lock should be free, or another try is due. */
  get #freeInMs(): number {
    const looksOften =
      this.isForeignClient && this.#terms.fair && this.#terms.minDelayMs < FOREIGN_CLIENT_POLL_MS;
    return looksOften ? Math.min(this.#shortestMs, FOREIGN_CLIENT_POLL_MS) : this.#shortestMs;
  }

  /** Waits for the next attempt. @returns whether there is one */
  next(poller: Poller, backoff: Backoff): Promise<boolean> {
    const { foreign } = this.#parts;
    if (!this.#terms.fair || !foreign.areAbout(this.#terms.scope.keys)) return backoff.next(this.#freeInMs);
    foreign.polls(poller);
    return backoff.nextAtPace(FOREIGN_CLIENT_POLL_MS, this.#shortestMs);
  }

  /** Waits before the first attempt, so that it does not pass others of this instance that poll. */
  async pause(poller: Poller, backoff: Backoff): Promise<void> {
    this.#parts.foreign.polls(poller);
    if (await backoff.nextAtPace(FOREIGN_CLIENT_POLL_MS)) backoff.attempts--; // none was made
  }

  /** The master to ask before the others: where contenders meet on one master, a refusal costs one command. */
  get home(): Node | undefined {
    if (!this.isContended || this.#homeRefusals >= HOME_REFUSALS) return undefined;
    return homeMasterOf(this.#parts.nodesByName, this.#key);
  }

  /** The acquisition left the queue without a claim. @param seen  what the withdrawal saw, if that was awaited */
  leftQueue(departure: Departure, seen: readonly (Outcome | undefined)[] | undefined): void {
    this.#isForeign(departure.isForeignClient);
    this.isContended = departure.isForeignClient;
    const standing = departure.standing(seen);
    if (standing?.isOfLock === true) this.lastFull = standing;
    else this.lastFull ??= standing;
  }

  /** Time was up before there was room for the attempt. An earlier full fan-out remains the one to report. */
  notAsked(): void {
    if (this.lastFull !== undefined) return;
    const { admission, nodes } = this.#parts;
    const cause = new Error(`not sent: ${admission.inside} other attempts were under way`);
    this.lastFull = { outcomes: nodes.map(() => unknown(cause)), failure: 'unknown' };
  }

  /** The error for the last full fan-out. */
  error(context: CallContext): RedlockError {
    if (this.lastFull === undefined) throw new Error('an acquisition begins with a full fan-out');
    return roundError(this.lastFull.failure, this.lastFull, this.#parts.nodes, context);
  }

  learn({ decision, outcomes }: Round, isFull: boolean): void {
    const refusals = outcomes
      .filter((outcome) => outcome?.kind === 'refused')
      .filter((one) => !one.isWrongType);
    this.#shortestMs = refusals.reduce(
      (ms, { remainingMs }) => Math.min(ms, remainingMs ?? Infinity),
      Infinity,
    );
    this.#isForeign(refusals.some(({ isForeignClient }) => isForeignClient));
    if (isFull) {
      this.lastFull = { outcomes, failure: failureOf(decision) };
      this.isContended = decision === 'held';
      this.#homeRefusals = 0;
    } else if (refusals.length > 0) {
      this.#homeRefusals++;
    } else {
      this.isContended = false; // the home master is silent or gone: ask all, and another master first next time
    }
  }

  /** Of several resources, it is not known which one was refused for that. */
  #isForeign(isForeignClient: boolean): void {
    this.isForeignClient = isForeignClient;
    if (isForeignClient && this.#terms.scope.keys.length === 1) this.#parts.foreign.found(this.#key);
  }
}
