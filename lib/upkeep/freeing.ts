/** Takes a lock away from its holder, on all masters that answer. */
import { quorumOf } from '../protocol/quorum.js';
import type { Transport } from '../redis/transport.js';
import { type Freeing, free } from '../lease/stealing.js';
import { MUTEX, WRITE } from '../protocol/scope.js';
import { type Redlock, sourceOf } from '../redlock.js';
import { isOurs } from '../runtime/random.js';
import { type Holders, holdersOn, releaseOn, takeAway } from './masters-data.js';
import type { LockSeen, Operated } from './sight.js';

/** One master that answers. */
export interface Answering {
  readonly transport: Transport;
  readonly holders: Holders;
}

/** What is done to the lock. */
export interface Taking {
  readonly key: string;
  readonly keyPrefix: string;
  /** Masters that answer. */
  readonly seen: readonly Answering[];
  /** Those that have votes, with the votes that are taken. */
  readonly taken: readonly Answering[];
}

/** What there is to take. */
export interface Takeable extends Taking {
  /** Masters that have votes. */
  readonly held: readonly Answering[];
  /** How many masters do not answer. */
  readonly silent: number;
}

/** How late an extension may arrive that was sent before the lease ended, in ms. */
const LATE_MS = 10_000;

export async function takeable(
  { keyPrefix, transports }: Pick<Operated, 'keyPrefix' | 'transports'>,
  name: string,
): Promise<Takeable> {
  const key = keyPrefix + name;
  const looks = await Promise.allSettled(
    transports.map(async (transport) => ({ transport, holders: await holdersOn(transport, key) })),
  );
  const seen = looks.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
  const held = seen.filter(({ holders }) => holders.tokens.length > 0);
  const taken = whatIsTaken(held, quorumOf(transports.length));
  return { key, keyPrefix, seen, held, taken, silent: transports.length - seen.length };
}

/**
 * The votes of those who have a quorum. Other votes belong to a client that claims at this moment, or that gets a vote by a
 * hand-over: it would count votes that are gone, and hold the lock beside the next holder. If nobody has a quorum, all votes
 * are taken.
 */
function whatIsTaken(held: readonly Answering[], quorum: number): readonly Answering[] {
  const votes = new Map<string, number>();
  for (const token of held.flatMap(({ holders }) => holders.tokens))
    votes.set(token, (votes.get(token) ?? 0) + 1);
  const isHolder = (token: string): boolean => (votes.get(token) ?? 0) >= quorum;
  if (![...votes.keys()].some(isHolder)) return held;
  return held
    .map(({ transport, holders }) => ({
      transport,
      holders: { ...holders, tokens: holders.tokens.filter(isHolder) },
    }))
    .filter(({ holders }) => holders.tokens.length > 0);
}

/**
 * From here on no holder sets its vote again, on any master that answers: its next extension shows it that its lease is gone.
 * @throws Error of the first master that failed
 */
async function forbid({ keyPrefix, seen, taken }: Taking): Promise<void> {
  const tokens = [...new Set(taken.flatMap(({ holders }) => holders.tokens))].filter(isOurs);
  const lifeMs = LATE_MS + Math.max(0, ...taken.map(({ holders }) => holders.remainingMs));
  await all(seen.map(({ transport }) => takeAway(transport, keyPrefix, tokens, lifeMs)));
}

/** At once, since a waiter claims on all masters as soon as the first one is free. */
async function releaseAll({ key, taken }: Taking): Promise<void> {
  await all(taken.map(({ transport, holders }) => releaseOn(transport, key, holders)));
}

/**
 * Notifies the holders of an exclusive or a read-write lock, and frees it when these have stopped, or had their time. Permits,
 * values of other libraries, and votes of which nobody has a quorum are taken at once. @returns whether holders were notified
 *
 * @throws RedlockError as `Redlock.steal` does · Error of the first master that failed
 */
export async function takeFrom(
  redlock: Redlock,
  taking: Takeable,
  seen: LockSeen,
  how: Freeing,
): Promise<boolean> {
  const isShared = 'kind' in seen;
  const isSemaphore = isShared && seen.holders.length > 0;
  const isForeign = hasForeign(taking.held);
  const source = sourceOf(redlock);
  const notify = (): Promise<boolean> =>
    free(source, [seen.resource, isShared ? WRITE : MUTEX], source.terms, undefined, how);
  if (!isForeign && !isSemaphore && (await notify())) return taking.held.length > 0;
  await forbid(taking);
  await releaseAll(taking);
  if (isForeign && how.keepMs !== undefined) await notify(); // from everybody, once the value is gone
  return false;
}

/** Whether another library, or some program, wrote a value. */
export function hasForeign(held: readonly Answering[]): boolean {
  return held.some(({ holders }) => holders.tokens.some((token) => !isOurs(token)));
}

/** @throws Error the first that failed, when all have ended */
async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}
