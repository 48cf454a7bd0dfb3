/** The small worlds: two clients, up to three masters, one resource, and a few calls that meet there. */
import type { RedlockOptions } from '../../../lib/input/options.js';
import { counterKey } from '../../../lib/protocol/keys.js';
import type { Acquire } from '../ending.js';
import type { Player, Stage } from '../world/stage.js';
import type { Checkers } from './checkers.js';
import { type Delay, type FaultName, TTL_MS } from './deviations.js';
import { once, type SmallJob, ticking, tickInTheEnd } from './job-programs.js';
import { asking, leading, leadInTheEnd, observing } from './leader-programs.js';
import { giving, givingAtOnce, taking } from './hand-over-programs.js';
import {
  again,
  ALONE,
  closing,
  extending,
  FOR_LONG,
  holdOn,
  impatient,
  QUEUED,
  latecomer,
  LONG_HOLD_MS,
  LONG_TTL_MS,
  many,
  type Program,
  reentering,
  RESOURCE,
  standing,
  stealing,
  together,
  turns,
} from './programs.js';
import { OUST_STAY_MS } from '../../../lib/coordinator/ousting.js';
import { SHARED_SCENARIOS } from './shared-worlds.js';

/** What those who live do when nothing is wrong any more. */
export type SmallEnding = (stage: Stage, living: readonly Player[], checkers: Checkers) => Promise<void>;

export interface SmallWorld {
  readonly name: string;
  readonly masters: number;
  readonly about: string;
  /** What each client does. */
  readonly programs: readonly Program[];
  readonly faults: readonly FaultName[];
  readonly delays: readonly Delay[];
  readonly options?: RedlockOptions;
  /** How each client acquires it with nothing wrong, before the steps count and at the end; else as an exclusive lock. */
  readonly acquire?: Acquire;
  /** What happens before the steps count. */
  readonly prepare?: (stage: Stage) => void;
  /** What happens at the end, after each client has had the lock. */
  readonly ending?: SmallEnding;
  /** The job of those that have one. */
  readonly job?: SmallJob;
  /** How many permits the semaphore has. */
  readonly permits?: number;
  /** The masters' clocks run as fast as the model allows, and the clients' as slowly. */
  readonly hasFastMasters?: boolean;
  /** The longest ttl, if not the usual one. */
  readonly longestTtlMs?: number;
  /** Commands in flight are sent again on the next connection. */
  readonly resends?: boolean;
}

const USUAL: readonly FaultName[] = ['cut', 'torn', 'kill', 'stop', 'pause', 'crash'];
const DELAYS: readonly Delay[] = ['next', 'late', 'long'];

/** Far above what claims propose in a run, in µs, and below what masters accept. */
const AHEAD_OF_CLOCKS_US = 20_000_000;

/** Each master has given other numbers so far, which no proposal overtakes. */
function diverge({ places }: Stage): void {
  const key = counterKey(RESOURCE);
  for (const [i, { server }] of places.entries()) {
    const count = server.get(key);
    const more = AHEAD_OF_CLOCKS_US + 10 * i;
    if (typeof count === 'string') server.set(key, String(Number(count) + more), 'keep');
  }
}

function save({ places }: Stage): void {
  for (const { server } of places) server.save();
}

export interface Scenario extends Omit<SmallWorld, 'masters' | 'delays'> {
  readonly masters: readonly number[];
  readonly delays?: readonly Delay[];
}

/** What the other wants while the first holds many. */
const MANY = Array.from({ length: 8 }, (_, i) => `${RESOURCE}${i}`);

const JOBS = {
  skipping: { missed: 'skip', atLeastForMs: 0 },
  catchingUp: { missed: 'once', atLeastForMs: 0 },
  spaced: { missed: 'skip', atLeastForMs: 800 },
} as const satisfies Readonly<Record<string, SmallJob>>;
const GUARD = { restartGuardMs: Math.ceil(TTL_MS * 1.01) + 2 };

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'acquire',
    masters: [1, 2, 3],
    about: 'both want the lock at once, twice, and ask again until they have it',
    programs: [turns(ALONE, 2, LONG_HOLD_MS), turns(ALONE, 1, LONG_HOLD_MS)],
    faults: [...USUAL, 'stray'],
  },
  {
    name: 'undo',
    masters: [2, 3],
    about: 'the same with a ttl so long that a vote that is left behind is noticed',
    programs: [turns(FOR_LONG, 1), turns(FOR_LONG, 1)],
    faults: [...USUAL, 'flush'],
    longestTtlMs: LONG_TTL_MS,
    delays: ['next', 'late'],
  },
  {
    name: 'extend',
    masters: [2, 3],
    about: 'a lease is extended, once by less, and the other waits for it',
    programs: [extending, turns(ALONE, 1)],
    faults: [...USUAL, 'stall'],
  },
  {
    name: 'hand-over',
    masters: [2, 3],
    about: 'a long lease is handed over while it is extended, and the other gives it back at once',
    programs: [giving, taking],
    faults: ['cut', 'kill', 'stop', 'pause', 'crash'],
    longestTtlMs: LONG_TTL_MS,
  },
  {
    name: 'hand-on',
    masters: [3],
    about: 'a long lease is handed over while it is claimed, and the other gives it back at once',
    programs: [givingAtOnce, taking],
    faults: USUAL,
    longestTtlMs: LONG_TTL_MS,
  },
  {
    name: 'expiry',
    masters: [1, 2],
    about: 'a lease runs out, and the other waits for it',
    programs: [holdOn(ALONE), turns(ALONE, 1, LONG_HOLD_MS)],
    faults: ['cut', 'pause', 'suspend', 'clock'],
  },
  {
    name: 'drift',
    masters: [1, 2],
    about: 'a long lease runs out, the masters have fast clocks, and the other comes just then',
    programs: [holdOn(FOR_LONG), latecomer],
    faults: ['cut', 'pause'],
    longestTtlMs: LONG_TTL_MS,
    hasFastMasters: true,
  },
  {
    name: 'queue',
    masters: [2, 3],
    about: 'one holds and asks again, the other waits in the queue, and the lock is handed over',
    programs: [again, turns(QUEUED, 1)],
    faults: [...USUAL, 'unplug'],
  },
  {
    name: 'local',
    masters: [1, 2, 3],
    about:
      'two callers of one client share a stay, the first one extends, and the other client waits in the queue',
    programs: [together(QUEUED), turns(QUEUED, 1)],
    faults: [...USUAL, 'unplug'],
    prepare: diverge,
  },
  {
    name: 'steal',
    masters: [1, 2, 3],
    about: 'one extends its lease, and the other takes it away, and that of the next call',
    programs: [extending, stealing({})],
    faults: USUAL,
    longestTtlMs: TTL_MS + OUST_STAY_MS,
  },
  {
    name: 'steal-pass',
    masters: [2, 3],
    about: 'the same from a holder that is told by a push, before those that wait',
    programs: [again, stealing({ passWaiters: true })],
    faults: [...USUAL, 'unplug'],
    longestTtlMs: TTL_MS + OUST_STAY_MS,
  },
  {
    name: 'fence',
    masters: [2, 3],
    about: 'the masters have counted differently, and grants follow each other',
    programs: [turns(ALONE, 1), turns(ALONE, 1)],
    faults: USUAL,
    prepare: diverge,
  },
  {
    name: 'guard',
    masters: [1, 2, 3],
    about: 'a lock is held while masters come back without their data, or with old data, under the guard',
    programs: [holdOn(ALONE), turns(ALONE, 1)],
    faults: ['cut', 'lose', 'old', 'wipe', 'pause'],
    options: GUARD,
    prepare: save,
  },
  ...SHARED_SCENARIOS,
  {
    name: 'close',
    masters: [2, 3],
    about: 'an instance is closed while a routine runs that stops when it is told to, and the other waits',
    programs: [closing({ listens: true, drainMs: 2_000 }), turns(ALONE, 1)],
    faults: USUAL,
  },
  {
    name: 'drain',
    masters: [2],
    about: 'the same with a routine that does not listen, for longer than the time to drain',
    programs: [closing({ listens: false, drainMs: 50 }), turns(ALONE, 1)],
    faults: USUAL,
  },
  {
    name: 'deadlines',
    masters: [2],
    about: 'calls with a long node timeout, and then with a short one',
    programs: [impatient, impatient],
    faults: ['stop', 'kill'],
  },
  {
    name: 'batch',
    masters: [2],
    about: 'calls for eight locks in one turn share calls to the masters, and the other has the last of them',
    programs: [many(MANY.slice(-1), ALONE, 10), many(MANY, ALONE, 10)],
    faults: USUAL,
  },
  {
    name: 'renewals',
    masters: [3],
    about: 'eight leases are renewed together, and the other wants one of them',
    programs: [many(MANY, { ...ALONE, renew: true }, TTL_MS / 2), many(MANY.slice(0, 1), ALONE, 10)],
    faults: ['cut', 'stop', 'pause'],
  },
  {
    name: 'standing',
    masters: [3],
    about: 'both ask at once for a lease that is renewed for long: it regains every vote (P10)',
    programs: [standing, standing],
    longestTtlMs: 5 * TTL_MS,
    faults: ['cut', 'kill', 'lose', 'flush', 'stop'],
  },
  {
    name: 're-entry',
    masters: [2],
    about: 'a mutex is entered again after half of its ttl, and the other waits for it',
    programs: [reentering, turns(ALONE, 1)],
    faults: ['cut', 'pause', 'suspend'],
  },
  {
    name: 'election',
    masters: [2, 3],
    about: 'two campaign, proclaim and resign; the one is led after the other',
    programs: [leading, leading],
    faults: [...USUAL, 'unplug', 'suspend'],
    ending: leadInTheEnd,
  },
  {
    name: 'leader',
    masters: [1, 3],
    about: 'one leads, the other asks who does, and leads after it',
    programs: [leading, asking],
    faults: [...USUAL, 'suspend'],
    ending: leadInTheEnd,
  },
  {
    name: 'observer',
    masters: [2],
    about: 'one leads, the other is told who does, and leads after it',
    programs: [leading, observing],
    faults: ['cut', 'kill', 'pause', 'crash', 'unplug'],
    ending: leadInTheEnd,
  },
  {
    name: 'job',
    masters: [2, 3],
    about: 'two have a job for two ticks; what is missed is left out',
    programs: [ticking(JOBS.skipping), ticking(JOBS.skipping)],
    faults: USUAL,
    job: JOBS.skipping,
    ending: tickInTheEnd(JOBS.skipping),
  },
  {
    name: 'rerun',
    masters: [1, 2],
    about: 'the same, and a tick whose runner died is run again',
    programs: [ticking(JOBS.catchingUp), ticking(JOBS.catchingUp)],
    faults: [...USUAL, 'stall'],
    job: JOBS.catchingUp,
    ending: tickInTheEnd(JOBS.catchingUp),
  },
  {
    name: 'spacing',
    masters: [1, 2],
    about: 'the same with runs that keep a distance, while masters lose their data under the guard',
    programs: [ticking(JOBS.spaced), ticking(JOBS.spaced)],
    faults: ['cut', 'lose', 'old', 'wipe', 'pause'],
    options: GUARD,
    job: JOBS.spaced,
    prepare: save,
  },
  {
    name: 'once',
    masters: [2, 3],
    about: 'two do something once, twice, and the first run of the one fails',
    programs: [once(false), once(true)],
    faults: [...USUAL, 'stall'],
  },
];

export const SMALL_WORLDS: readonly SmallWorld[] = SCENARIOS.flatMap(({ masters, name, ...rest }) =>
  masters.map((count) => ({ delays: DELAYS, ...rest, name: `${name}-${count}`, masters: count })),
);

/** @throws Error that names what is wrong */
export function smallWorld(name: string): SmallWorld {
  const found = SMALL_WORLDS.find((one) => one.name === name);
  const known = SMALL_WORLDS.map((one) => one.name).join(', ');
  if (found === undefined) throw new Error(`--world must be one of ${known}; got ${name}`);
  return found;
}
