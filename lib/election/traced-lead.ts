/** One leadership of `lead` in its tracing channel: from the beginning of the routine to its end. */
import type { Clock } from '../runtime/clock.js';
import { LEAD, type LeadMessage } from '../telemetry/channels.js';

/** How a routine of `lead` ended. */
export type LeadEnd =
  | { readonly kind: 'returned' | 'aborted'; readonly reason: unknown; readonly error: unknown }
  /** It threw, and nothing had asked it to stop. */
  | { readonly kind: 'failed'; readonly reason: undefined; readonly error: unknown };

export const RETURNED: LeadEnd = Object.freeze({ kind: 'returned', reason: undefined, error: undefined });

/** What is known of a leadership as its routine begins. */
interface LeadFacts {
  /** The `Redlock`. */
  readonly instance: object;
  readonly name: string;
  readonly fence: number;
  readonly clock: Clock;
}

/** Runs the routine, within the stores that tracers have bound. `run` never rejects. */
export async function tracedLead(
  { clock, fence, instance, name }: LeadFacts,
  run: () => Promise<LeadEnd>,
): Promise<LeadEnd> {
  if (!LEAD.isHeard) return run();
  const beganAtMs = clock.earliest();
  const message: LeadMessage = { redlock: instance, resources: [name], kind: 'mutex', fence, elapsedMs: 0 };
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
