/**
 * Masters that give nobody a vote for as long as they are as they are: a minority of them, from the beginning of the work
 * until everything is put right. No call may end for them (P12).
 */
import { counterKey } from '../../../lib/protocol/keys.js';
import { LAST_FENCE } from '../../../lib/protocol/lua/stored.js';
import { quorumOf } from '../../../lib/protocol/quorum.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import type { Stage } from './stage.js';
import type { Seeded } from './seeded.js';

const ALWAYS = ['no rights', 'read-only', 'another type', 'spent counter'] as const;
const GUARDED = [...ALWAYS, 'another guard'] as const;

/** What is wrong with a master. */
export type Wrong = (typeof GUARDED)[number];

/** The guard's marker for an instance without a `keyPrefix`. */
const MARKER = 'quorate:guard';
/** What another period is longer by. */
const LONGER_MS = 1_000;

/** Draws which masters are wrong, by their numbers, and how: fewer than could cost a quorum. */
export function drawWrong(seeded: Seeded, servers: number, isGuarded: boolean): ReadonlyMap<number, Wrong> {
  const spare = servers - quorumOf(servers);
  const wrong = new Map<number, Wrong>();
  if (spare === 0) return wrong;
  const kinds: readonly Wrong[] = isGuarded ? GUARDED : ALWAYS;
  for (let left = seeded.whole(1, spare); left > 0; left--)
    wrong.set(seeded.whole(0, servers - 1), seeded.pick(kinds));
  return wrong;
}

/** Those that work are made wrong. @param names  what is locked @returns what puts them right */
export function makeWrong(
  { places, world }: Stage,
  wrong: ReadonlyMap<number, Wrong>,
  names: readonly string[],
): () => void {
  const cures: (() => void)[] = [];
  for (const [number, what] of wrong) {
    const server = places[number]?.server;
    if (server?.isUp !== true || server.isStopped || server.error !== undefined) continue;
    world.note('PLAN', `${server.name} has ${what}`);
    cures.push(makeOneWrong(server, what, names));
  }
  return () => {
    for (const cure of cures) cure();
  };
}

/** @returns what puts it right */
function makeOneWrong(server: MemoryServer, wrong: Wrong, names: readonly string[]): () => void {
  switch (wrong) {
    case 'no rights':
      return answerWith(server, 'NOPERM this user has no permissions to run this command');
    case 'read-only':
      return answerWith(server, "READONLY You can't write against a read only replica.");
    case 'another type':
      return occupy(server, names, WRONG_TYPE);
    case 'spent counter':
      return occupy(server, names.map(counterKey), String(LAST_FENCE));
    case 'another guard':
      return lengthenGuard(server);
  }
}

/** To every command. */
function answerWith(server: MemoryServer, error: string): () => void {
  server.error = error;
  return () => void (server.error = undefined);
}

function occupy(
  server: MemoryServer,
  keys: readonly string[],
  content: string | typeof WRONG_TYPE,
): () => void {
  for (const key of keys) server.set(key, content, 'none');
  return () => {
    for (const key of keys) if (server.get(key) === content) server.delete(key);
  };
}

/** A client with another period came first. */
function lengthenGuard(server: MemoryServer): () => void {
  const shift = (ms: number): void => {
    const text = server.get(MARKER);
    if (typeof text !== 'string') return;
    server.set(
      MARKER,
      text.replace(/\d+$/, (period) => String(Number(period) + ms)),
      'none',
    );
  };
  shift(LONGER_MS);
  const [, , , period] = String(server.get(MARKER)).split('|');
  return () => {
    if (String(server.get(MARKER)).endsWith(`|${period}`)) shift(-LONGER_MS);
  };
}
