/** Leading as long as it is wanted: campaign, run, and campaign again. */
import { Backoff } from '../quorum/backoff.js';
import type { Cancellation, Cancelled } from '../runtime/cancellation.js';
import type { Coordination } from '../lease/coordination.js';
import { quorumOf } from '../protocol/quorum.js';
import { isPermanent } from '../redis/server-errors.js';
import type { EventHub } from '../runtime/event-hub.js';
import { type NodeOutcome, RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
import type { Leadership } from './leadership.js';
import type { ResolvedLead } from './options.js';
import type { ElectionEvents, LeadRoutine } from './public.js';
import { LEAD, type LeadMessage } from '../telemetry/channels.js';

/** How a routine of `lead` ended. */
export type LeadEnd =
  | { readonly kind: 'returned' | 'aborted'; readonly reason: unknown; readonly error: unknown }
  /** It threw, and nothing had asked it to stop. */
  | { readonly kind: 'failed'; readonly reason: undefined; readonly error: unknown };

const RETURNED: LeadEnd = Object.freeze({ kind: 'returned', reason: undefined, error: undefined });

/** Runs the routine, within the stores that tracers have bound. `run` never rejects. */
async function tracedLead(
  { clock, telemetry }: Coordination,
  name: string,
  fence: number,
  run: () => Promise<LeadEnd>,
): Promise<LeadEnd> {
  if (!LEAD.isHeard) return run();
  const beganAtMs = clock.earliest();
  const redlock = telemetry.instance;
  const message: LeadMessage = { redlock, resources: [name], kind: 'mutex', fence, elapsedMs: 0 };
  let end: LeadEnd = RETURNED;
  const traced = LEAD.trace(message, async () => {
    end = await run();
    const elapsedMs = Math.round(clock.earliest() - beganAtMs);
    Object.assign(message, { elapsedMs, ...(end.kind === 'aborted' && { reason: end.reason }) });
    if (end.kind === 'failed') throw end.error;
  });
  await traced.catch(() => undefined); // it is in `end`
  return end;
}

const ENDS: ReadonlySet<RedlockErrorCode> = new Set(['CLOSED', 'INVALID_ARGUMENT']);
const WRONG: ReadonlySet<RedlockErrorCode> = new Set(['MISCONFIGURED', 'WRONG_KIND']);

/** One that wants to lead, with a value, until its signal aborts. */
export interface Candidate extends ResolvedLead {
  /** The election's name, for tracers. */
  readonly name: string;
  readonly ttlMs: number;
  readonly events: EventHub<ElectionEvents>;
  readonly campaign: (
    value: string,
    signal: AbortSignal | undefined,
    onOutage: OnOutage,
  ) => Promise<Leadership>;
}

/** Called when a campaign finds no quorum of masters; it goes on. */
export type OnOutage = (error: RedlockError) => void;

export class Lead {
  readonly #coordination: Coordination;
  readonly #candidate: Candidate;
  readonly #routine: LeadRoutine;

  constructor(coordination: Coordination, candidate: Candidate, routine: LeadRoutine) {
    this.#coordination = coordination;
    this.#candidate = candidate;
    this.#routine = routine;
  }

  /** Resolves when the signal has ended it. */
  async run(): Promise<void> {
    const cancellation = this.#coordination.begin(this.#candidate.signal);
    try {
      await this.#repeat(cancellation);
    } finally {
      this.#coordination.end(cancellation);
    }
  }

  async #repeat(cancellation: Cancellation): Promise<void> {
    const isWanted = (): boolean => cancellation.cancelled?.code !== 'ABORTED';
    let backoff = this.#backoff(cancellation);
    while (isWanted()) {
      const leadership = await this.#campaign();
      if (leadership === 'over') return;
      const { clock } = this.#coordination;
      const beganAtMs = clock.now();
      if (leadership !== undefined) await this.#lead(leadership, cancellation);
      // a leadership that lasted is no reason to hesitate
      if (clock.now() - beganAtMs >= this.#candidate.ttlMs) backoff = this.#backoff(cancellation);
      await backoff.next(); // at once if it is not wanted any more
    }
  }

  /** @returns undefined if it failed, and the next one may succeed */
  async #campaign(): Promise<Leadership | 'over' | undefined> {
    const { campaign, events, signal, value } = this.#candidate;
    try {
      return await campaign(value, signal, (error) => events.tell('failed', { error }));
    } catch (error) {
      if (!RedlockError.is(error) || endsCampaigns(error)) throw error;
      if (error.code === 'ABORTED') return 'over';
      events.tell('failed', { error });
      return undefined;
    }
  }

  async #lead(leadership: Leadership, cancellation: Cancellation): Promise<void> {
    const { events, name } = this.#candidate;
    const { fence } = leadership;
    // AbortSignal.any would keep something of each leadership at the caller's signal, on Node 20 and 22
    const either = new AbortController();
    const lost = (): void => either.abort(leadership.signal.reason);
    if (leadership.signal.aborted) lost();
    else leadership.signal.addEventListener('abort', lost, { once: true });
    const unwanted = (why: Cancelled): void => {
      if (why.code === 'ABORTED') either.abort(why.cause);
    };
    const leading = leadership.run(() => {
      events.tell('leading', { fence });
      return tracedLead(this.#coordination, name, fence, () => this.#runRoutine(leadership, either.signal));
    });
    const { kind, reason, error } = await cancellation.during(unwanted, leading);
    if (kind === 'failed') throw error;
    events.tell('ended', { fence, reason, error });
  }

  async #runRoutine(leadership: Leadership, signal: AbortSignal): Promise<LeadEnd> {
    const { fence } = leadership;
    try {
      await this.#routine({ signal, fence, proclaim: (value) => leadership.proclaim(value) });
    } catch (error) {
      if (!signal.aborted) return { kind: 'failed', reason: undefined, error };
      return { kind: 'aborted', reason: signal.reason, error };
    }
    return signal.aborted ? { kind: 'aborted', reason: signal.reason, error: undefined } : RETURNED;
  }

  #backoff(cancellation: Cancellation): Backoff {
    const { minDelayMs, maxDelayMs } = this.#coordination.terms;
    return new Backoff(this.#coordination, { waitMs: Infinity, minDelayMs, maxDelayMs }, cancellation);
  }
}

/**
 * No further campaign can change it. Beyond `maxWaiters`, one attempt is all of a campaign, and what it met may pass: masters
 * that are read-only during a fail-over, say.
 */
function endsCampaigns({ code, tally }: RedlockError): boolean {
  if (!WRONG.has(code)) return ENDS.has(code);
  return tally.filter(isLasting).length > tally.length - quorumOf(tally.length);
}

function isLasting(one: NodeOutcome): boolean {
  if (one.outcome === 'refused') return one.wrongKind === true;
  return one.outcome === 'unknown' && isPermanent(one.cause);
}
