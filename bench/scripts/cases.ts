/** Usual calls of each script, and what a master holds before each. */
import { TOKEN_LETTERS } from '../../lib/runtime/random.js';

/** A command, and its arguments. */
export type Words = readonly [command: string, ...args: string[]];

export interface Case {
  readonly name: string;
  readonly script: string;
  /** What a reply begins with: otherwise something else was measured. */
  readonly says: number;
  /** Put in place before each call. */
  readonly before: readonly Words[];
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** How many entries the larger batches have. */
const MANY = 32;
const TTL = '30000';
const LIFE = '60000';
const GUARD = '5000';

function token(n: number, client = 'c'): string {
  return `${client.padEnd(TOKEN_LETTERS.client, '0')}:${String(n).padStart(TOKEN_LETTERS.secret, '0')}`;
}

/** Waiters have a client that listens. */
const waiter = (n: number): string => token(n, 'w');
export const LISTENS_ON = `quorate:push:${waiter(0).split(':')[0]}`;

const [OWN, OTHER] = [token(1), token(2, 'o')];
const MARKER = 'marker';

/** The names beside a lock's. */
const beside = (key: string, ...letters: readonly string[]): string[] => letters.map((one) => `${one}${key}`);
const all = (key: string): string[] => [key, ...beside(key, 'q', 't', 'm', 'c')];
const clear = (key: string): Words => ['del', ...all(key)];
const held = (key: string, by: string): Words => ['set', key, by, 'PX', TTL];

/** Some wait, and have just looked. @param us  the masters' clock */
function waited(key: string, us: number, count = 3): Words[] {
  const tokens = Array.from({ length: count }, (_, i) => waiter(i));
  const terms = tokens.flatMap((one) => [one, `${us}|1000|${TTL}|${LIFE}||0`]);
  return [
    ['zadd', `q${key}`, ...tokens.flatMap((one, i) => [String(us - 1_000 + i), one])],
    ['pexpire', `q${key}`, TTL],
    ['set', `t${key}`, '0||', 'PX', TTL],
    ['hset', `m${key}`, ...terms],
    ['pexpire', `m${key}`, TTL],
  ];
}

/** Handed over to that waiter, and not claimed yet. */
function handed(key: string, us: number): Words[] {
  return [
    ['set', key, `${OWN}+`, 'PX', TTL],
    ['set', `t${key}`, `${us}|${OWN}|${us - 2_000}`, 'PX', TTL],
  ];
}

/** @param us  the masters' clock at about the time of the calls */
export function casesAt(us: number): readonly Case[] {
  return [
    ...mutexCases(us),
    ...inspectCases(us),
    ...batchCases(us),
    ...noteCases(),
    ...otherCases(us),
    ...sharedCases(us),
  ];
}

function mutexCases(us: number): Case[] {
  const fenced = [OWN, TTL, LIFE, String(us)];
  const keys = ['k', 'ck'];
  return [
    {
      name: 'free, no fence',
      script: 'claim',
      says: 1,
      before: [clear('k')],
      keys: ['k'],
      args: [OWN, TTL, '0', '0', '-1'],
    },
    {
      name: 'free',
      script: 'claim',
      says: us,
      before: [clear('k')],
      keys: [...keys, MARKER],
      args: [...fenced, '0'],
    },
    {
      name: 'free, guarded',
      script: 'claim',
      says: 1,
      before: [clear('k')],
      keys: [...keys, 'guarded'],
      args: [...fenced, GUARD],
    },
    {
      name: 'refused',
      script: 'claim',
      says: 0,
      before: [clear('k'), held('k', OTHER)],
      keys: [...keys, MARKER],
      args: [...fenced, '0'],
    },
    {
      name: 'in the queue',
      script: 'claim',
      says: 1,
      before: [clear('k')],
      keys: ['k', 'qk', 'tk', 'ck', MARKER],
      args: [...fenced, '0', '1'],
    },
    {
      name: 'two free',
      script: 'claim',
      says: 1,
      before: [clear('k'), clear('l')],
      keys: ['k', 'l', 'ck', 'cl', MARKER],
      args: [...fenced, '0'],
    },
    ...['release', 'undo'].flatMap((script): Case[] => [
      {
        name: 'nobody waits',
        script,
        says: 1,
        before: [clear('k'), held('k', OWN)],
        keys: ['k', 'qk', 'tk'],
        args: [OWN],
      },
      {
        name: 'reserves',
        script,
        says: 1,
        before: [clear('k'), held('k', OWN), ...waited('k', us)],
        keys: ['k', 'qk', 'tk'],
        args: [OWN],
      },
      {
        name: 'hands over',
        script,
        says: 1,
        before: [clear('k'), held('k', OWN), ...waited('k', us)],
        keys: all('k'),
        args: [OWN, String(us)],
      },
    ]),
  ];
}

function inspectCases(us: number): Case[] {
  return [
    {
      name: 'three wait',
      script: 'inspect',
      says: 1,
      before: [clear('k'), held('k', OTHER), ...waited('k', us)],
      keys: ['k', 'qk', 'mk'],
      args: [],
    },
  ];
}

/** A kind of entry, the entries' shared arguments and their own, and what they find. */
interface Entries {
  readonly name: string;
  readonly letter: string;
  readonly shared: readonly string[];
  readonly keys: (key: string) => readonly string[];
  readonly own: readonly string[];
  readonly before: (key: string) => readonly Words[];
  readonly last?: readonly string[];
  readonly says?: number;
}

/** Calls of 1 and of MANY entries. */
function batchesOf(script: string, kinds: readonly Entries[]): Case[] {
  return kinds.flatMap(({ name, before, keys, last = [], letter, own, says, shared }) =>
    [1, MANY].map((count): Case => {
      const names = Array.from({ length: count }, (_, i) => `k${i}`);
      return {
        name: `${count} × ${name}`,
        script,
        says: says ?? count,
        before: names.flatMap((key) => [clear(key), ...before(key)]),
        keys: [...names.flatMap((key) => keys(key)), ...last, MARKER],
        args: ['0', letter, String(count), '1', ...shared, ...names.flatMap(() => own)],
      };
    }),
  );
}

function batchCases(us: number): Case[] {
  const own = (key: string): Words[] => [held(key, OWN)];
  const given = (key: string): string[] => [key, ...beside(key, 'q', 't')];
  const proposal = String(us);
  return batchesOf('batch', [
    {
      name: 'claim, free',
      letter: 'c',
      shared: [TTL, LIFE, proposal],
      keys: (key) => [key, `c${key}`],
      own: [OWN],
      before: () => [],
      says: us,
    },
    {
      name: 'claim, refused',
      letter: 'c',
      shared: [TTL, LIFE, proposal],
      keys: (key) => [key, `c${key}`],
      own: [OWN],
      before: (key) => [held(key, OTHER)],
      says: 0,
    },
    {
      name: 'claim in the queue',
      letter: 'l',
      shared: [TTL, LIFE, proposal],
      keys: (key) => [...given(key), `c${key}`],
      own: [OWN],
      before: () => [],
      says: us,
    },
    {
      name: 'accept',
      letter: 'a',
      shared: [LIFE],
      keys: (key) => [key, `c${key}`],
      own: [OWN, proposal],
      before: own,
      says: us,
    },
    { name: 'release, nobody waits', letter: 'r', shared: [], keys: given, own: [OWN], before: own },
    {
      name: 'release, reserves',
      letter: 'r',
      shared: [],
      keys: given,
      own: [OWN],
      before: (key) => [...own(key), ...waited(key, us)],
    },
    {
      name: 'release, hands over',
      letter: 'h',
      shared: [proposal],
      keys: all,
      own: [OWN],
      before: (key) => [...own(key), ...waited(key, us)],
    },
    { name: 'undo, nobody waits', letter: 'u', shared: [], keys: given, own: [OWN], before: own },
    {
      name: 'extend',
      letter: 'e',
      shared: ['60000', '2'],
      keys: (key) => [key],
      own: [OWN],
      before: own,
      last: ['taken'],
    },
    {
      name: 'extend, refused',
      letter: 'e',
      shared: ['60000', '2'],
      keys: (key) => [key],
      own: [OWN],
      before: (key) => [held(key, OTHER)],
      last: ['taken'],
      says: 0,
    },
    {
      name: 'look, refused',
      letter: 'q',
      shared: [TTL, LIFE, proposal],
      keys: all,
      own: [OWN, `${us}|60000|1000`],
      before: (key) => [held(key, OTHER)],
      says: 0,
    },
    {
      name: 'look, refused behind three',
      letter: 'q',
      shared: [TTL, LIFE, proposal],
      keys: all,
      own: [OWN, `${us}|60000|1000`],
      before: (key) => [held(key, OTHER), ...waited(key, us)],
      says: 0,
    },
    {
      name: 'look, free, but another waits',
      letter: 'q',
      shared: [TTL, LIFE, proposal],
      keys: all,
      own: [OWN, `${us}|60000|1000`],
      before: (key) => waited(key, us),
      says: 0,
    },
    {
      name: 'look, reserves',
      letter: 'q',
      shared: ['0', LIFE, proposal],
      keys: all,
      own: [OWN, `${us}|60000|1000`],
      before: () => [],
      says: 1,
    },
    {
      name: 'look, free',
      letter: 'q',
      shared: [TTL, LIFE, proposal],
      keys: all,
      own: [OWN, `${us}|60000|1000`],
      before: () => [],
      says: 6,
    },
    {
      name: 'yield, hands over',
      letter: 'y',
      shared: [proposal],
      keys: all,
      own: [OWN, `${us}|${us}|60000`],
      before: (key) => [...waited(key, us), ...handed(key, us)],
    },
    {
      name: 'yield, stale',
      letter: 'y',
      shared: [proposal],
      keys: all,
      own: [OWN, '1|1|60000'],
      before: () => [],
      says: 0,
    },
    {
      name: 'yield',
      letter: 'y',
      shared: [proposal],
      keys: all,
      own: [OWN, `${us}|${us}|60000`],
      before: (key) => handed(key, us),
    },
  ]);
}

function noteCases(): Case[] {
  const own = [clear('k'), held('k', OWN)];
  return [
    {
      name: 'new',
      script: 'note-write',
      says: 1,
      before: own,
      keys: ['k', 'mk'],
      args: [OWN, '5', '1', '1000', 'text', ''],
    },
    { name: 'none', script: 'note-drop', says: 0, before: own, keys: ['k', 'mk'], args: [OWN, ''] },
    { name: 'none', script: 'note-read', says: 1, before: own, keys: ['k', 'mk'], args: [OWN, '0'] },
  ];
}

function otherCases(us: number): Case[] {
  const instant = String(Math.floor(us / 1e6) + 30);
  return [
    { name: 'votes', script: 'vouch', says: 1, before: [], keys: ['guarded'], args: [GUARD] },
    { name: 'votes', script: 'bootstrap', says: 0, before: [], keys: ['guarded'], args: [GUARD] },
    { name: 'heard', script: 'hello', says: 1, before: [], keys: [], args: [LISTENS_ON, 'hello'] },
    { name: 'one', script: 'take', says: 1, before: [['del', 'list']], keys: ['list'], args: [TTL, OWN] },
    {
      name: 'free',
      script: 'timestamp-claim',
      says: 0,
      before: [['del', 'k']],
      keys: ['k'],
      args: [instant, '1', TTL, 's'],
    },
    {
      name: 'held',
      script: 'timestamp-claim',
      says: 2,
      before: [['set', 'k', instant]],
      keys: ['k'],
      args: [instant, '1', TTL, 's'],
    },
    {
      name: 'own',
      script: 'timestamp-extend',
      says: 1,
      before: [['set', 'k', instant]],
      keys: ['k'],
      args: [instant, instant, `${instant}9`, TTL],
    },
    {
      name: 'own',
      script: 'timestamp-release',
      says: 1,
      before: [['set', 'k', instant]],
      keys: ['k'],
      args: [instant, instant],
    },
  ];
}

function sharedCases(us: number): Case[] {
  const ends = String(Math.floor(us / 1_000) + 30_000);
  const hash = (key: string, ...fields: string[]): Words[] => [
    ['hset', key, ...fields],
    ['pexpire', key, TTL],
  ];
  const readers = [OTHER, token(3), token(4)].flatMap((one) => [one, `r|${ends}|`]);
  const writer = (key: string): Words[] => hash(key, OWN, `w|${ends}|`);
  const reader = (key: string): Words[] => hash(key, OWN, `r|${ends}|`);
  const permit = (key: string): Words[] => hash(key, OWN, `0|${ends}|5`);
  const waiting = (want: string): Words[] =>
    waited('k', us).map(
      (words) => words.map((word) => word.replace(/\|\|0$/, `||0|${want}`)) as unknown as Words,
    ); // as long
  const proposal = String(us);
  const one = (
    script: string,
    name: string,
    says: number,
    before: readonly Words[],
    args: readonly string[],
    keys: readonly string[],
  ): Case => ({ name, script, says, before: [clear('k'), ...before], keys, args });
  const queued = (key: string): string[] => [key, ...beside(key, 'q', 't', 'm')];
  const read = [OWN, 'r', TTL, '', '0', proposal, '0'];
  const write = [OWN, 'w', TTL, '', LIFE, proposal, '0'];
  const permits = [OWN, TTL, '1', '5', '', '0'];
  const place = `${us}|${TTL}|1000`;
  return [
    one('rw-claim', 'reader, free', 1, [], read, [...queued('k'), MARKER]),
    one('rw-claim', 'reader, beside three', 1, hash('k', ...readers), read, [...queued('k'), MARKER]),
    one('rw-claim', 'writer, free', 1, [], write, [...all('k'), MARKER]),
    one('rw-claim', 'writer, refused', 0, hash('k', ...readers), write, [...all('k'), MARKER]),
    one('permit-claim', 'free', 1, [], permits, [...queued('k'), MARKER]),
    one('permit-claim', 'beside one', 1, hash('k', OTHER, `0|${ends}|5`), permits, [...queued('k'), MARKER]),
    one('leave', 'alone', 1, reader('k'), [OWN, proposal], all('k')),
    one('leave', 'lets a writer in', 1, [...writer('k'), ...waiting('w')], [OWN, proposal], all('k')),
    one('leave', 'lets three readers in', 1, [...writer('k'), ...waiting('r')], [OWN, proposal], all('k')),
    one('survey-shared', 'three', 1, hash('k', ...readers), [], ['k', 'qk', 'mk']),
    ...batchesOf('shared-batch', [
      {
        name: 'reader, free',
        letter: 'C',
        shared: ['r', TTL, '0', '0'],
        keys: queued,
        own: [OWN, ''],
        before: () => [],
      },
      {
        name: 'writer, free',
        letter: 'C',
        shared: ['w', TTL, LIFE, proposal],
        keys: all,
        own: [OWN, ''],
        before: () => [],
      },
      {
        name: 'reader, extended',
        letter: 'E',
        shared: ['r', '60000', '2'],
        keys: (key) => [key],
        own: [OWN],
        before: reader,
        last: ['taken'],
      },
      {
        name: 'writer, accepted',
        letter: 'A',
        shared: [LIFE],
        keys: (key) => [key, `c${key}`],
        own: [OWN, proposal],
        before: writer,
      },
      {
        name: 'permit, aligned',
        letter: 'S',
        shared: ['5', proposal],
        keys: all,
        own: [OWN, '0'],
        before: permit,
      },
      {
        name: 'permit, free',
        letter: 'P',
        shared: [TTL, '1', '5'],
        keys: queued,
        own: [OWN, ''],
        before: () => [],
      },
      {
        name: 'permit, extended',
        letter: 'X',
        shared: ['60000', '5', '2'],
        keys: (key) => [key],
        own: [OWN, '0'],
        before: permit,
        last: ['taken'],
      },
      { name: 'leaves', letter: 'L', shared: [proposal], keys: all, own: [OWN], before: reader },
      {
        name: 'look, writer, refused',
        letter: 'Q',
        shared: ['w', TTL, LIFE, proposal],
        keys: all,
        own: [waiter(9), place],
        before: (key) => hash(key, OWN, `w|${ends}|`),
        says: 0,
      },
      {
        name: 'look, reader, free',
        letter: 'Q',
        shared: ['r', TTL, '0', '0'],
        keys: all,
        own: [waiter(9), place],
        before: () => [],
        says: 6,
      },
    ]),
  ];
}
