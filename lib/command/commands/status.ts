/** `quorate status`: who holds a lock, master by master; which locks there are; the masters. */
import type { NodeInspection } from '../../lease/inspection.js';
import type { NodeHolders } from '../../lease/shared-inspection.js';
import type { LockSeen, Seen } from '../../upkeep/sight.js';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import { namesOn, see } from '../library.js';
import { type Connection, connect, settingsOf } from '../settings.js';
import { detailsOf, named, waitersTable } from '../people-text.js';
import type { HeldBy } from '../../runtime/instance-info.js';
import { coloured, complain, print, printJson, shownTime, table } from '../terminal.js';
import { untilInterrupted } from '../until-interrupted.js';
import { masters } from './doctor.js';

const EVERY_MS = 1_000;
const MOST_NAMES = 100_000;
const NAMES = 1_000;
/** How many locks are read at a time. */
const AT_ONCE = 50;
const CLEAR = '\u001B[2J\u001B[H';

export async function status(args: Arguments): Promise<number> {
  const pattern = args.text('names');
  if (pattern !== undefined) args.noOperands();
  const isWhole = args.operands.length === 0;
  const name = isWhole ? undefined : args.name();
  const limit = args.count('limit', 1, MOST_NAMES) ?? NAMES;
  if (args.has('limit') && pattern === undefined)
    throw misuse('--limit works only with --names', args.command);
  if (args.has('watch') && args.has('json'))
    throw misuse('--watch and --json exclude each other', args.command);
  const connection = connect(settingsOf(args));
  try {
    const show = async (): Promise<number> => {
      if (pattern !== undefined) return showNames(connection, { pattern, limit, isJson: args.has('json') });
      return name === undefined ? showMasters(connection, args) : showLock(connection, name, args);
    };
    if (!args.has('watch')) return await show();
    await untilInterrupted(EVERY_MS, async () => {
      if (process.stdout.isTTY) process.stdout.write(CLEAR);
      await show();
    });
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

async function showLock(connection: Connection, name: string, args: Arguments): Promise<number> {
  const seen = await see(connection, name);
  if (args.has('json')) printJson(seen);
  else print(shownLock(seen));
  return seen.state === 'unknown' ? EXIT.noQuorum : EXIT.done;
}

export function shownLock(seen: Seen): string {
  const { resource, state, waiting, fence } = seen;
  return [
    `${coloured(resource, 'bold')}: ${holderOf(seen) ?? (state === 'foreign' ? 'no lock: the key holds something else' : state)}`,
    ...detailsOf(knownOf(seen)),
    `waiting: ${waiting}${fence === undefined ? '' : `   last fencing token: ${fence}`}`,
    ...waitersTable(seen.waiters, waiting),
    '',
    table([['master', 'state', 'holder', 'time left'], ...seen.nodes.flatMap(rowsOf)]),
  ].join('\n');
}

/** Names the holder, and the time left; undefined if nobody holds it. */
export function holderOf(seen: LockSeen): string | undefined {
  if ('kind' in seen) {
    const nameOf = (holder: string): string => named(holder, seen.heldBy);
    if (seen.writer !== undefined) return `held by writer ${nameOf(seen.writer)}`;
    const readers = seen.readers.map((reader) => `reader ${nameOf(reader)}`);
    const holders = seen.holders.map(({ holder, slots }) => `${nameOf(holder)} (${shownPermits(slots)})`);
    const all = [...readers, ...holders];
    return all.length === 0 ? undefined : `held by ${all.join('; ')}`;
  }
  const { holder, remainingMs = 0 } = seen;
  if (holder === undefined) return undefined;
  const name = named(holder, knownOf(seen));
  if (remainingMs === Infinity) return `held by ${name}, without expiry`;
  return `held by ${name}, for another ${shownTime(remainingMs)} unless it is renewed`;
}

/** What is known of its holders. */
function knownOf(seen: LockSeen): readonly HeldBy[] {
  if ('kind' in seen) return seen.heldBy;
  return seen.heldBy === undefined ? [] : [seen.heldBy];
}

/** How many they are, and which. */
function shownPermits(slots: readonly number[]): string {
  const numbers = slots.map((slot) => `#${slot}`).join(', ');
  return `${slots.length} permit${slots.length === 1 ? '' : 's'}: ${numbers}`;
}

function rowsOf(node: NodeInspection | NodeHolders): readonly (readonly string[])[] {
  if (node.state === 'unknown') return [[node.node, 'unknown', node.cause.message, '']];
  if ('holders' in node && node.holders.length > 0) {
    return node.holders.map(({ holder, role, remainingMs }) => [
      node.node,
      node.state,
      `${holder} (${role})`,
      shownTime(remainingMs),
    ]);
  }
  const isHeld = 'holder' in node;
  return [[node.node, node.state, isHeld ? node.holder : '', isHeld ? shownTime(node.remainingMs) : '']];
}

interface NamesOrder {
  readonly pattern: string;
  readonly limit: number;
  readonly isJson: boolean;
}

/** A name is listed if it is a lock on any master that answers. */
async function showNames(connection: Connection, { pattern, limit, isJson }: NamesOrder): Promise<number> {
  const { keyPrefix, transports } = connection;
  const found = await Promise.allSettled(
    transports.map((transport) => namesOn(transport, { keyPrefix, pattern, limit })),
  );
  const answers = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (answers.length === 0)
    throw new Failure('no master answers; run quorate doctor to find the cause', EXIT.noQuorum);
  const names = [...new Set(answers.flatMap((set) => [...set]))].sort().slice(0, limit);
  const locks: Seen[] = [];
  for (let i = 0; i < names.length; i += AT_ONCE)
    locks.push(...(await Promise.all(names.slice(i, i + AT_ONCE).map((name) => see(connection, name)))));
  const listed = locks.filter(({ state }) => state !== 'foreign');
  if (isJson) printJson(listed);
  else if (listed.length === 0) print('no locks');
  else print(table([['name', 'state', 'waiting'], ...listed.map(listRow)]));
  if (answers.some(({ size }) => size >= limit)) complain(`there may be more than ${limit}: raise --limit`);
  return EXIT.done;
}

function listRow(seen: Seen): readonly string[] {
  return [seen.resource, holderOf(seen) ?? seen.state, String(seen.waiting)];
}

async function showMasters({ redlock }: Connection, args: Arguments): Promise<number> {
  const { nodes } = await redlock.diagnose({ driftOverMs: 0 });
  if (args.has('json')) printJson(nodes);
  else print(masters(nodes));
  return nodes.some(({ answers }) => answers) ? EXIT.done : EXIT.noQuorum;
}
