/** What is known beside the masters' answers about a lock: the names of instances, and the notes of holders. */
import { FENCE_BLOCK } from '../protocol/lua/stored.js';
import { toInteger } from '../protocol/replies.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { fingerprint } from '../redis/transport.js';
import type { InstanceInfo, Waiter } from '../runtime/instance-info.js';
import { publicPart } from '../runtime/random.js';
import type { GrantedAt } from './instance-record.js';

export interface Lore {
  of(id: string): InstanceInfo;
  /** When a lease that this instance holds was granted; undefined if that is not known. */
  grantOf(id: string, holder: string): GrantedAt | undefined;
  noteOf(holder: string): string | undefined;
}

/** Of who asks nobody. */
export const NO_LORE: Lore = {
  of: (id) => ({ id }),
  grantOf: () => undefined,
  noteOf: () => undefined,
};

/** A master's counter and clock, in µs; undefined and 0 if they are not known. */
export interface Counted {
  readonly counter: number | undefined;
  readonly us: number;
}

/**
 * When the lock was granted, and for how long it has been held: as the holder has published it, or by the last fencing token
 * that a quorum accepted. Counters are gone a minute after the grant.
 */
export function grantedAt(
  counts: readonly Counted[],
  quorum: number,
  own: GrantedAt | undefined,
): { readonly since?: number; readonly heldMs?: number } {
  const counters = counts.map(({ counter }) => counter);
  const last = counters.find(
    (one) => one !== undefined && counters.filter((other) => other === one).length >= quorum,
  );
  const counted = last === undefined ? 0 : last - (FENCE_BLOCK - 1);
  const grantedUs = own?.fence ?? (own?.sinceMs === undefined ? counted : own.sinceMs * 1_000);
  if (grantedUs <= 0) return {};
  const since = Math.floor(grantedUs / 1_000);
  const us = counts.reduce((latest, one) => Math.max(latest, one.us), 0);
  return us === 0 ? { since } : { since, heldMs: Math.max(0, Math.round((us - grantedUs) / 1_000)) };
}

/** The queue of one master, as far as it is shown: tokens in order, and their tickets; and the master's clock in µs, 0 if it is not known. */
export interface Line {
  readonly tokens: readonly string[];
  readonly tickets: readonly string[];
  readonly us: number;
}

/** The waiters at the master that shows most of them. */
export function waitersIn(lines: readonly Line[], lore: Lore): readonly Waiter[] {
  const [first, ...others] = lines;
  const line = others.reduce(
    (most, one) => (one.tokens.length > (most?.tokens.length ?? 0) ? one : most),
    first,
  );
  if (line === undefined) return [];
  return line.tokens.map((token, i) => ({
    ...lore.of(publicPart(token)),
    waiter: fingerprint(token),
    ...waitTime(toInteger(line.tickets[i]), line.us),
  }));
}

function waitTime(ticketUs: number | undefined, us: number): Pick<Waiter, 'since' | 'waitedMs'> {
  if (ticketUs === undefined || ticketUs <= 0) return {};
  const since = Math.floor(ticketUs / 1_000);
  return us === 0 ? { since } : { since, waitedMs: Math.max(0, Math.round((us - ticketUs) / 1_000)) };
}

/** The tokens in the masters' answers. */
export interface Tokens {
  readonly holders: readonly string[];
  readonly waiters: readonly string[];
}

/** The parts of an answer; empty for any other. */
export function partsOf(answer: SurveyAnswer | undefined): readonly unknown[] {
  return answer?.kind === 'answered' && Array.isArray(answer.reply) ? (answer.reply as unknown[]) : [];
}

export function listOf(given: unknown): readonly string[] {
  return Array.isArray(given) ? given.map(String) : [];
}
