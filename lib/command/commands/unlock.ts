/** `quorate unlock`: takes a lock away from its holder. */
import { createInterface } from 'node:readline/promises';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import type { Transport } from '../../redis/transport.js';
import { isOurs, quorumOf, SystemRandom } from '../library.js';
import { type Holders, holdersOn, keepOn, releaseOn, takeAway } from '../masters-data.js';
import { type Connection, connect, settingsOf } from '../settings.js';
import { complain, print, printJson, shownTime } from '../terminal.js';
import { see, shownLock } from './status.js';

/** One master that answers. */
interface Seen {
  readonly transport: Transport;
  readonly holders: Holders;
}

/** What is done to the lock. */
interface Taking {
  readonly key: string;
  readonly keyPrefix: string;
  /** Masters that answer. */
  readonly seen: readonly Seen[];
  /** Those that have votes, with the votes that are taken. */
  readonly taken: readonly Seen[];
}

/** How late an extension may arrive that was sent before the lease ended, in ms. */
const LATE_MS = 10_000;

export async function unlock(args: Arguments): Promise<number> {
  const name = args.name();
  const isForced = args.has('force');
  const forMs = args.timeMs('for');
  if (forMs === 0) throw misuse('--for must be longer than 0s', args.command);
  if (!isForced && !process.stdin.isTTY)
    throw misuse('there is no terminal to ask on: give --force', args.command);
  const connection = connect(settingsOf(args));
  try {
    const shown = await see(connection, name);
    const { keyPrefix, transports } = connection;
    const { seen, silent } = await findHolder(connection, keyPrefix + name);
    const held = seen.filter(({ holders }) => holders.tokens.length > 0);
    const quorum = quorumOf(transports.length);
    if (seen.length < quorum)
      throw new Failure(
        `${silent} masters do not answer, so ${name} may be held there; run quorate doctor to find the cause`,
        EXIT.noQuorum,
      );
    check(name, held, isForced, forMs !== undefined);
    if (held.length === 0 && forMs === undefined)
      return report(args, { resource: name, released: 0, silent });
    if (!isForced && !(await isWanted(name, shownLock(shown)))) return EXIT.no;
    const taken = whatIsTaken(held, quorum);
    const taking = { key: keyPrefix + name, keyPrefix, seen, taken };
    await forbid(taking);
    if (forMs === undefined) {
      await releaseAll(taking);
      return report(args, { resource: name, released: taken.length, silent });
    }
    const kept = await keepAll(taking, forMs);
    if (kept < quorum)
      throw new Failure(
        `only ${kept} masters keep ${name} from others: it has other holders elsewhere`,
        EXIT.noQuorum,
      );
    return report(args, { resource: name, released: taken.length, silent, keptForMs: forMs });
  } finally {
    await connection.close();
  }
}

async function findHolder(
  { transports }: Connection,
  key: string,
): Promise<{ readonly seen: readonly Seen[]; readonly silent: number }> {
  const looks = await Promise.allSettled(
    transports.map(async (transport) => ({ transport, holders: await holdersOn(transport, key) })),
  );
  const seen = looks.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
  return { seen, silent: transports.length - seen.length };
}

/**
 * The votes of those who have a quorum. Other votes belong to a client that claims at this moment, or that gets a vote by a
 * hand-over: it would count votes that are gone, and hold the lock beside the next holder. If nobody has a quorum, all votes
 * are taken.
 */
function whatIsTaken(held: readonly Seen[], quorum: number): readonly Seen[] {
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

/** Under a token that nobody has. @returns on how many masters */
async function keepAll({ key, seen, taken }: Taking, forMs: number): Promise<number> {
  const token = new SystemRandom().token();
  const holders = [...new Set(taken.flatMap((one) => one.holders.tokens))];
  const kept = await all(seen.map(({ transport }) => keepOn(transport, key, { token, forMs, holders })));
  return kept.filter(Boolean).length;
}

/** @throws Error the first that failed, when all have ended */
async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}

/** A text that some program keeps there would be deleted for a lock. */
function check(name: string, held: readonly Seen[], isForced: boolean, isKept: boolean): void {
  if (isKept && held.some(({ holders }) => holders.isShared))
    throw new Failure(
      `${name} is a read-write lock or a semaphore; --for keeps exclusive locks`,
      EXIT.wrongKind,
    );
  if (held.some(({ holders }) => holders.isEndless))
    throw new Failure(
      `${name} holds a value without expiry, which is no lock; nothing was changed`,
      EXIT.wrongKind,
    );
  const isForeign = held.some(({ holders }) => holders.tokens.some((token) => !isOurs(token)));
  if (isForeign && !isForced)
    throw new Failure(
      `${name} holds a value that quorate did not write: another library’s lock, or data; --force deletes it`,
      EXIT.wrongKind,
    );
}

async function isWanted(name: string, shown: string): Promise<boolean> {
  print(shown);
  print('');
  print('The holder may go on working beside the next one until its next renewal fails.');
  print('Only a fence that checks fencing tokens keeps its late writes out.');
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(?:es)?$/i.test((await reader.question(`Take ${name} away from it? [y/N] `)).trim());
  } finally {
    reader.close();
  }
}

function report(
  args: Arguments,
  result: {
    readonly resource: string;
    readonly released: number;
    readonly silent: number;
    readonly keptForMs?: number;
  },
): number {
  const { resource, released, silent, keptForMs } = result;
  if (args.has('json')) printJson(result);
  else if (keptForMs !== undefined)
    print(
      `${resource} was taken on ${released} ${mastersOf(released)}, and nobody can lock it for ${shownTime(keptForMs)}`,
    );
  else if (released === 0) print(`nobody holds ${resource}`);
  else
    print(`${resource} was released on ${released} ${mastersOf(released)}; its holder may still be working`);
  if (silent > 0) complain(`${silent} of the masters did not answer: votes there end by their ttl`);
  return EXIT.done;
}

function mastersOf(count: number): string {
  return count === 1 ? 'master' : 'masters';
}
