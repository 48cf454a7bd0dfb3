/**
 * All contenders, in the order of the report. Each is loaded only by the process that runs it. A further algorithm is
 * one more file and one more entry.
 */
import type { ClientName } from './connection.js';
import { type Contender, DATABASE } from './contender.js';

export interface Entry {
  /** How the report calls it. */
  readonly label: string;
  readonly kind: 'own' | 'floor' | 'peer';
  /** What was set, or how it differs; one line for the report. */
  readonly about: string;
  /** Whether it waits for a lock that is held: what does not is no contender for one key. */
  readonly waits: boolean;
  /** Renews by itself. */
  readonly renews: boolean;
  /** A lock on one master by its algorithm: it takes part where there is one. */
  readonly isOnOneMaster?: true;
  /** It takes no other client, or sets what no other has. */
  readonly isForIoredis?: true;
  /** Differs only where many clients want one key. */
  readonly isForTurns?: true;
  /** Differs only where a lane's calls are all that is sent. */
  readonly isInSequence?: true;
  /** Where its locks are. @default 0 */
  readonly database?: number;
  /** Takes part in a quick run, too. */
  readonly isQuick: boolean;
  /** The floor that asks the same of the masters. */
  readonly equal?: string;
  /** It is such a floor. */
  readonly isEqual?: true;
  /** Its name in bench/package.json. */
  readonly module?: string;
  load(): Promise<{ readonly contender: Contender }>;
}

const own = { kind: 'own', waits: true, renews: true, isQuick: true } as const;
const onOne = { isOnOneMaster: true } as const;
const inDatabase = { database: DATABASE, waits: false, isQuick: false } as const; // many keys tell what it costs
const floor = { kind: 'floor', waits: false, renews: false } as const;
const peer = { kind: 'peer', isForIoredis: true, waits: true, renews: true } as const;

export const CONTENDERS = {
  quorate: {
    ...own,
    equal: 'floor-whole',
    label: 'quorate',
    about: 'this library at its defaults: fencing tokens, and waiters queue',
    load: () => import('./quorate.js'),
  },
  'quorate-unfair': {
    ...own,
    isQuick: false,
    label: 'quorate, no queue',
    about: '`fair: false`: waiters retry at random, at one master first',
    load: () => import('./quorate-unfair.js'),
  },
  'quorate-unawaited': {
    ...own,
    isInSequence: true,
    equal: 'floor-whole',
    label: 'quorate, unawaited',
    about: '`awaitRelease: false`: a release returns when it was written to the sockets',
    load: () => import('./quorate-unawaited.js'),
  },
  'quorate-reserve': {
    ...own,
    isQuick: false,
    isForTurns: true,
    label: 'quorate, reserving',
    about: "`handOver: 'reserve'`: who is handed a lock has to claim it, which takes one more round trip",
    load: () => import('./quorate-reserve.js'),
  },
  'quorate-unfenced': {
    ...own,
    isQuick: false,
    label: 'quorate, no fencing',
    about: '`fencing: false`',
    load: () => import('./quorate-unfenced.js'),
  },
  'quorate-plain': {
    ...own,
    equal: 'floor-line',
    label: 'quorate, plain',
    about: '`fencing: false, fair: false`, and no restart guard: what a plain Redlock has',
    load: () => import('./quorate-plain.js'),
  },
  'quorate-read': {
    ...own,
    isQuick: false,
    waits: false, // many hold it at a time: no contender for one key
    label: 'quorate, to read',
    about: '`redlock.readWriteLock(name).read`, without fencing tokens',
    load: () => import('./quorate-read.js'),
  },
  'quorate-write': {
    ...own,
    isQuick: false,
    label: 'quorate, to write',
    about: '`redlock.readWriteLock(name).write`, with fencing tokens',
    load: () => import('./quorate-write.js'),
  },
  'quorate-semaphore': {
    ...own,
    isQuick: false,
    waits: false,
    label: 'quorate, a permit',
    about: '`redlock.semaphore(name, 16)`: one permit',
    load: () => import('./quorate-semaphore.js'),
  },
  'quorate-database': {
    ...own,
    ...inDatabase,
    label: 'quorate, database 3',
    about: `with a database number, \`redis://…/${DATABASE}\`: each script selects it`,
    load: () => import('./quorate-database.js'),
  },
  'quorate-plain-database': {
    ...own,
    ...inDatabase,
    label: 'quorate, plain, db 3',
    about: 'the same for plain: what is one command elsewhere is a script there',
    load: () => import('./quorate-plain-database.js'),
  },
  'timestamp-script': {
    ...own,
    ...onOne,
    label: 'timestamp, script',
    about: '`TimestampLock`, N = 1: an expiry instant in one script a step; waiters poll every 50 to 150 ms',
    load: () => import('./timestamp-script.js'),
  },
  'timestamp-commands': {
    ...own,
    ...onOne,
    label: 'timestamp, commands',
    about: "`method: 'commands'`, N = 1: the same by SETNX, GET, GETSET and DEL",
    load: () => import('./timestamp-commands.js'),
  },
  'floor-quorum': {
    ...floor,
    isQuick: true,
    label: 'plain ioredis, quorum',
    about: 'the floor of all ratios: the same commands, returns at the quorum, checks nothing',
    load: () => import('./floor-quorum.js'),
  },
  'floor-line': {
    ...floor,
    isEqual: true,
    isQuick: false,
    label: 'plain ioredis, line',
    about: 'the floor, with a release that checks for waiters: the least that plain quorate sends',
    load: () => import('./floor-line.js'),
  },
  'floor-fenced': {
    ...floor,
    isQuick: false,
    label: 'plain ioredis, fenced',
    about: 'the floor, with a script that counts each grant: the least that a fenced lock sends',
    load: () => import('./floor-fenced.js'),
  },
  'floor-whole': {
    ...floor,
    isEqual: true,
    isQuick: false,
    label: 'plain ioredis, whole',
    about: 'both, and a check of the restart guard: the least that quorate sends at its defaults',
    load: () => import('./floor-whole.js'),
  },
  'floor-all': {
    ...floor,
    isQuick: false,
    label: 'plain ioredis, all',
    about: 'the floor, but waits for all masters',
    load: () => import('./floor-all.js'),
  },
  'floor-pipelining': {
    ...floor,
    isQuick: true,
    label: 'plain ioredis, pipelining',
    about: 'returns at the quorum, `enableAutoPipelining: true`',
    isForIoredis: true,
    load: () => import('./floor-pipelining.js'),
  },
  'floor-polling': {
    ...floor,
    waits: true,
    isQuick: true,
    label: 'plain ioredis, polls',
    about:
      'the floor, but gives back what it got of a lock that is held, and asks again every 5 to 15 ms: a simple lock by hand',
    load: () => import('./floor-polling.js'),
  },
  'floor-polling-slow': {
    ...floor,
    waits: true,
    isQuick: true,
    label: 'plain ioredis, polls, slow',
    about:
      'the floor, but gives back what it got of a lock that is held, and asks again every 10 to 30 ms: a simple lock by hand',
    load: () => import('./floor-polling-slow.js'),
  },
  redlock4: {
    ...peer,
    renews: false,
    isQuick: false,
    label: 'redlock 4',
    about: 'defaults: 10 retries, 200 ± 100 ms apart; no renewal',
    module: 'redlock4',
    load: () => import('./redlock4.js'),
  },
  redlock5: {
    ...peer,
    isQuick: true,
    label: 'redlock 5 beta',
    about: 'defaults: 10 retries, 200 ± 100 ms apart; `using` extends 500 ms before the end',
    module: 'redlock5',
    load: () => import('./redlock5.js'),
  },
  sesamecare: {
    ...peer,
    isQuick: false,
    label: '@sesamecare-oss/redlock',
    about: 'a fork of redlock 5; the same defaults',
    module: '@sesamecare-oss/redlock',
    load: () => import('./sesamecare.js'),
  },
  'redlock-universal': {
    ...peer,
    isQuick: false,
    label: 'redlock-universal',
    about: 'defaults: 3 retries, 200 ms apart; with one master `createLock`: 100 ms apart',
    module: 'redlock-universal',
    load: () => import('./redlock-universal.js'),
  },
  'redis-semaphore': {
    ...peer,
    isQuick: true,
    label: 'redis-semaphore',
    about:
      'defaults: `RedlockMutex`, with one master `Mutex`; tries every 10 ms for 10 s; every lock is renewed',
    module: 'redis-semaphore',
    load: () => import('./redis-semaphore.js'),
  },
} as const satisfies Record<string, Entry>;

export type ContenderName = keyof typeof CONTENDERS;

/** What all ratios are taken against. */
export const FLOOR = 'floor-quorum' satisfies ContenderName;

export const NAMES = Object.keys(CONTENDERS) as readonly ContenderName[];

export function entryOf(name: ContenderName): Entry {
  return CONTENDERS[name];
}

/** Can it be measured with this client? */
export function isOn(name: ContenderName, client: ClientName): boolean {
  return client === 'ioredis' || entryOf(name).isForIoredis !== true;
}

/** Has it a place where there are so many masters? */
export function isFor(name: ContenderName, nodes: number): boolean {
  return nodes === 1 || entryOf(name).isOnOneMaster !== true;
}
