/** `quorate unlock`: takes a lock away from its holder. */
import { createInterface } from 'node:readline/promises';
import { SystemClock, SystemTimers } from '../../runtime/clock.js';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import type { Answering, Takeable } from '../../upkeep/freeing.js';
import type { Seen } from '../../upkeep/sight.js';
import {
  forbid,
  isOurs,
  quorumOf,
  type Redlock,
  releaseAll,
  see,
  takeable,
  tellAndFree,
} from '../library.js';
import { connect, settingsOf } from '../settings.js';
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
    const isStopped = await take(connection.redlock, taking, { name, shown, graceMs, forMs });
    const released = taken.length;
    return report(args, { resource: name, released, silent, isStopped, ...(forMs && { keptForMs: forMs }) });
  } finally {
    await connection.close();
  }
}

interface Wanted {
  readonly name: string;
  readonly shown: Seen;
  readonly graceMs: number;
  readonly forMs: number | undefined;
}

/** @returns whether its holders have confirmed that they have stopped; undefined if nobody was notified */
async function take(
  redlock: Redlock,
  taking: Takeable,
  { name, shown, graceMs, forMs }: Wanted,
): Promise<boolean | undefined> {
  const { held, taken } = taking;
  const isForeign = held.some(({ holders }) => holders.tokens.some((token) => !isOurs(token)));
  const isSemaphore = 'kind' in shown && shown.holders.length > 0;
  const leftMs = Math.max(0, ...taken.map(({ holders }) => holders.remainingMs));
  let isStopped: boolean | undefined;
  if (isForeign || isSemaphore) {
    await forbid(taking);
    await releaseAll(taking);
  }
  if (!isSemaphore && (!isForeign || forMs !== undefined)) {
    const waitMs = Math.min(graceMs, leftMs);
    const clock = new SystemClock();
    const notice = new SystemTimers().wait(NOTICE_MS, () =>
      complain(`${name}: its holder has ${shownTime(waitMs)} to stop`),
    );
    const begunAtMs = clock.now();
    const wasHeld = await tellAndFree(redlock, name, { isShared: 'kind' in shown, graceMs, keepMs: forMs });
    notice.cancel();
    if (wasHeld && !isForeign && held.length > 0) isStopped = clock.now() - begunAtMs < waitMs;
    else if (forMs === undefined) await releaseAll(taking); // votes of which nobody has a quorum
  }
  return isStopped;
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
