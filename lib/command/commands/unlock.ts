/** `quorate unlock`: takes a lock away from its holder. */
import { createInterface } from 'node:readline/promises';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import type { Answering } from '../../upkeep/freeing.js';
import { forbid, isOurs, keepAll, quorumOf, releaseAll, see, takeable } from '../library.js';
import { connect, settingsOf } from '../settings.js';
import { complain, print, printJson, shownTime } from '../terminal.js';
import { shownLock } from './status.js';

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
    const taking = await takeable(connection, name);
    const { held, seen, silent, taken } = taking;
    const quorum = quorumOf(connection.transports.length);
    if (seen.length < quorum)
      throw new Failure(
        `${silent} masters do not answer, so ${name} may be held there; run quorate doctor to find the cause`,
        EXIT.noQuorum,
      );
    check(name, held, isForced, forMs !== undefined);
    if (held.length === 0 && forMs === undefined)
      return report(args, { resource: name, released: 0, silent });
    if (!isForced && !(await isWanted(name, shownLock(shown)))) return EXIT.no;
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

/** A text that some program keeps there would be deleted for a lock. */
function check(name: string, held: readonly Answering[], isForced: boolean, isKept: boolean): void {
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
