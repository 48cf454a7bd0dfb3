/** `quorate unlock`: takes a lock away from its holder. */
import { createInterface } from 'node:readline/promises';
import { SystemClock, SystemTimers } from '../../runtime/clock.js';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import type { Answering, Takeable } from '../../upkeep/freeing.js';
import type { Seen } from '../../upkeep/sight.js';
import { hasForeign, quorumOf, see, takeable, takeFrom } from '../library.js';
import { connect, type Connection, settingsOf } from '../settings.js';
import { complain, print, printJson, shownTime } from '../terminal.js';
import { shownLock } from './status.js';

/** A wait for longer than this is explained, in ms. */
const NOTICE_MS = 300;

export async function unlock(args: Arguments): Promise<number> {
  const name = args.name();
  const isForced = args.has('force');
  const [graceMs, forMs] = [args.timeMs('grace') ?? Infinity, args.timeMs('for')];
  if (forMs === 0) throw misuse('--for must be longer than 0s', args.command);
  if (!isForced && !process.stdin.isTTY)
    throw misuse('there is no terminal to ask on: give --force', args.command);
  const connection = connect(settingsOf(args));
  try {
    const shown = await see(connection, name);
    const taking = await takeable(connection, name);
    const { held, seen, silent, taken } = taking;
    if (seen.length < quorumOf(connection.transports.length))
      throw new Failure(
        `${silent} masters do not answer, so ${name} may be held there; run quorate doctor to find the cause`,
        EXIT.noQuorum,
      );
    check(name, held, isForced, forMs !== undefined);
    if (held.length === 0 && forMs === undefined)
      return report(args, { resource: name, released: 0, silent });
    if (!isForced && !(await isWanted(name, shownLock(shown)))) return EXIT.no;
    const isStopped = await take(connection, taking, shown, { graceMs, keepMs: forMs });
    const released = taken.length;
    return report(args, { resource: name, released, silent, isStopped, ...(forMs && { keptForMs: forMs }) });
  } finally {
    await connection.close();
  }
}

/** @returns whether its holders have confirmed that they have stopped; undefined if nobody was notified */
async function take(
  { redlock }: Pick<Connection, 'redlock'>,
  taking: Takeable,
  shown: Seen,
  how: { readonly graceMs: number; readonly keepMs: number | undefined },
): Promise<boolean | undefined> {
  const leftMs = Math.max(0, ...taking.taken.map(({ holders }) => holders.remainingMs));
  const waitMs = Math.min(how.graceMs, leftMs);
  const clock = new SystemClock();
  const notice = new SystemTimers().wait(NOTICE_MS, () => {
    if (waitMs > NOTICE_MS) complain(`${shown.resource}: its holder has ${shownTime(waitMs)} to stop`);
  });
  const begunAtMs = clock.now();
  try {
    const isTold = await takeFrom(redlock, taking, shown, how);
    return isTold ? clock.now() - begunAtMs < waitMs : undefined;
  } finally {
    notice.cancel();
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
  if (hasForeign(held) && !isForced)
    throw new Failure(
      `${name} holds a value that quorate did not write: another library’s lock, or data; --force deletes it`,
      EXIT.wrongKind,
    );
}

async function isWanted(name: string, shown: string): Promise<boolean> {
  print(shown);
  print('');
  print('The holder is notified. What it has begun may go on beside the next one, until it stops.');
  print('Only a fence that checks fencing tokens keeps its late writes out.');
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(?:es)?$/i.test((await reader.question(`Take ${name} away from it? [y/N] `)).trim());
  } finally {
    reader.close();
  }
}

interface Result {
  readonly resource: string;
  readonly released: number;
  readonly silent: number;
  readonly isStopped?: boolean | undefined;
  readonly keptForMs?: number;
}

function report(args: Arguments, { isStopped, keptForMs, released, resource, silent }: Result): number {
  const stopped = isStopped === undefined ? {} : { isStopped };
  const kept = keptForMs === undefined ? {} : { keptForMs };
  const holder = isStopped === true ? 'its holder has stopped' : 'its holder may still be working';
  if (args.has('json')) printJson({ resource, released, silent, ...stopped, ...kept });
  else if (keptForMs !== undefined)
    print(
      `${resource} was taken on ${released} ${mastersOf(released)}, and nobody can lock it for ${shownTime(keptForMs)}`,
    );
  else if (released === 0) print(`nobody holds ${resource}`);
  else print(`${resource} was released on ${released} ${mastersOf(released)}; ${holder}`);
  if (silent > 0) complain(`${silent} of the masters did not answer: votes there end by their ttl`);
  return EXIT.done;
}

function mastersOf(count: number): string {
  return count === 1 ? 'master' : 'masters';
}
