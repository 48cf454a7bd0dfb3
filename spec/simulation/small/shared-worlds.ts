/** The small worlds of locks that several may hold: each pair of kinds in line together. */
import { OUST_STAY_MS } from '../../../lib/coordinator/ousting.js';
import { downgrading, SHARED, sharedTurn, stealingToWrite } from './programs.js';
import { type FaultName, TTL_MS } from './deviations.js';
import type { Scenario } from './worlds.js';

const USUAL: readonly FaultName[] = ['cut', 'torn', 'kill', 'stop', 'pause', 'crash', 'unplug'];
/** With three clients. */
const FEW: readonly FaultName[] = ['cut', 'kill', 'pause', 'crash', 'unplug'];

export const SHARED_SCENARIOS: readonly Scenario[] = [
  {
    name: 'semaphore',
    masters: [2, 3],
    about: 'one wants a permit of two, twice, and so does the other, once',
    programs: [sharedTurn(SHARED.onePermit, SHARED.onePermit), sharedTurn(SHARED.onePermit)],
    faults: USUAL,
    permits: SHARED.permits,
    acquire: ({ redlock }, options) => SHARED.allPermits.acquire(redlock, options),
  },
  {
    name: 'permits',
    masters: [3],
    about: 'the same, with messages that overtake one another and no faults',
    programs: [sharedTurn(SHARED.onePermit, SHARED.onePermit), sharedTurn(SHARED.onePermit)],
    faults: [],
    delays: ['next'],
    permits: SHARED.permits,
    acquire: ({ redlock }, options) => SHARED.allPermits.acquire(redlock, options),
  },
  {
    name: 'readers',
    masters: [2, 3],
    about: 'a writer that goes on as a reader, and a reader',
    programs: [downgrading(SHARED.writing), sharedTurn(SHARED.reading)],
    faults: USUAL,
    acquire: ({ redlock }, options) => SHARED.writing.acquire(redlock, options),
  },
  {
    name: 'writers',
    masters: [2, 3],
    about: 'two want to write at once',
    programs: [sharedTurn(SHARED.writing), sharedTurn(SHARED.writing)],
    faults: USUAL,
    acquire: ({ redlock }, options) => SHARED.writing.acquire(redlock, options),
  },
  {
    name: 'beside',
    masters: [2, 3],
    about: 'one wants to write and two to read, all at once: three releases may cross',
    programs: [sharedTurn(SHARED.writing), sharedTurn(SHARED.reading), sharedTurn(SHARED.reading)],
    faults: FEW,
    acquire: ({ redlock }, options) => SHARED.writing.acquire(redlock, options),
  },
  {
    name: 'steal-write',
    masters: [2, 3],
    about: 'two read, and a third takes the lock away from them',
    programs: [sharedTurn(SHARED.reading), sharedTurn(SHARED.reading), stealingToWrite],
    faults: FEW,
    longestTtlMs: TTL_MS + OUST_STAY_MS,
    acquire: ({ redlock }, options) => SHARED.writing.acquire(redlock, options),
  },
  {
    name: 'all-permits',
    masters: [2],
    about: 'one wants both permits and two want one each: nobody passes',
    programs: [sharedTurn(SHARED.allPermits), sharedTurn(SHARED.onePermit), sharedTurn(SHARED.onePermit)],
    faults: FEW,
    permits: SHARED.permits,
    acquire: ({ redlock }, options) => SHARED.allPermits.acquire(redlock, options),
  },
];
