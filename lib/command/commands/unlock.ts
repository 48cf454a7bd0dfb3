/** `quorate unlock`: takes a lock away from its holder. */
import { createInterface } from 'node:readline/promises';
import type { Arguments } from '../arguments.js';
import { EXIT } from '../exit-codes.js';
import { Failure, misuse } from '../failure.js';
import { isOurs, quorumOf, RedisTransport } from '../library.js';
import { type Holders, holdersOn, releaseOn } from '../masters-data.js';
import { type Connection, connect, settingsOf } from '../settings.js';
import { complain, print, printJson } from '../terminal.js';
import { see, shownLock } from './status.js';

/** One master that has holders. */
interface Held {
  readonly transport: RedisTransport;
  readonly holders: Holders;
}

export async function unlock(args: Arguments): Promise<number> {
  const name = args.name();
  const isForced = args.has('force');
  if (!isForced && !process.stdin.isTTY)
    throw misuse('it asks, and there is no terminal to answer on: say --force', args.command);
  const connection = connect(settingsOf(args));
  try {
    const seen = await see(connection, name);
    const { held, silent } = await lookFor(connection, connection.keyPrefix + name);
    if (connection.clients.length - silent < quorumOf(connection.clients.length))
      throw new Failure(
        `${silent} masters do not answer, so ${name} may be held there; quorate doctor looks into it`,
        EXIT.noQuorum,
      );
    check(name, held, isForced);
    if (held.length === 0) return report(args, { resource: name, released: 0, silent });
    if (!isForced && !(await isWanted(name, shownLock(seen)))) return EXIT.no;
    const taken = whatIsTaken(held, quorumOf(connection.clients.length));
    await releaseAll(taken, connection.keyPrefix + name);
    return report(args, { resource: name, released: taken.length, silent });
  } finally {
    await connection.close();
  }
}

async function lookFor(
  { clients }: Connection,
  key: string,
): Promise<{ readonly held: readonly Held[]; readonly silent: number }> {
  const looks = await Promise.allSettled(
    clients.map(async (client) => {
      const transport = new RedisTransport(client);
      return { transport, holders: await holdersOn(transport, key) };
    }),
  );
  const answers = looks.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
  return {
    held: answers.filter(({ holders }) => holders.tokens.length > 0),
    silent: clients.length - answers.length,
  };
}

/**
 * The votes of those who have a quorum. Others are of one who claims at this moment, or is handed a vote: it would count
 * votes that are gone, and hold the lock beside the next one. Where nobody has a quorum, all votes are taken.
 */
function whatIsTaken(held: readonly Held[], quorum: number): readonly Held[] {
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

/** At once: whoever waits claims on all masters with the first that is free. @throws Error the first master's that failed */
async function releaseAll(taken: readonly Held[], key: string): Promise<void> {
  const releases = taken.map(({ transport, holders }) => releaseOn(transport, key, holders));
  const ends = await Promise.allSettled(releases);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** A text that some program keeps there would be deleted for a lock. */
function check(name: string, held: readonly Held[], isForced: boolean): void {
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
  print('Its holder may go on working until its next renewal fails, beside the next one who gets the lock.');
  print('Where nobody waits for it, a holder that is alive takes it back by that renewal.');
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
  result: { readonly resource: string; readonly released: number; readonly silent: number },
): number {
  const { resource, released, silent } = result;
  if (args.has('json')) printJson(result);
  else if (released === 0) print(`${resource} is held by nobody`);
  else
    print(
      `${resource} was released on ${released} master${released === 1 ? '' : 's'}; its holder may still be working`,
    );
  if (silent > 0) complain(`${silent} of the masters did not answer: a vote there ends with its ttl`);
  return EXIT.done;
}
