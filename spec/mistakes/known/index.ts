/** All known mistakes, by subject. */
import { CLOCKS } from './clocks.js';
import { CODES } from './codes.js';
import { DEAD_WAITERS } from './dead-waiters.js';
import { ELECTIONS_AND_JOBS } from './elections-and-jobs.js';
import { FENCES } from './fences.js';
import { GUARD } from './guard.js';
import { HAND_OFF } from './hand-over.js';
import { LEASES } from './leases.js';
import { LOCAL_LINES } from './local-lines.js';
import { LINES } from './queues.js';
import { ONE_QUEUE } from './one-queue.js';
import { PACE } from './pace.js';
import { PUSHES } from './pushes.js';
import { REST_AND_REGAINING } from './rest-and-regaining.js';
import { ROUND_TRIPS } from './round-trips.js';
import { SCRIPTS } from './scripts.js';
import { SHARED_LINES } from './shared-queues.js';
import { SHARED_LOCKS } from './shared-locks.js';
import { STEALING } from './stealing.js';
import { TAKEN } from './taken.js';
import { TIMESTAMPS } from './timestamps.js';
import { VOTES } from './votes.js';
import type { Mistake } from '../mistake.js';

export const MISTAKES: readonly Mistake[] = [
  ...CLOCKS,
  ...CODES,
  ...DEAD_WAITERS,
  ...ELECTIONS_AND_JOBS,
  ...FENCES,
  ...GUARD,
  ...HAND_OFF,
  ...LEASES,
  ...LINES,
  ...LOCAL_LINES,
  ...ONE_QUEUE,
  ...PACE,
  ...PUSHES,
  ...REST_AND_REGAINING,
  ...ROUND_TRIPS,
  ...SCRIPTS,
  ...SHARED_LINES,
  ...SHARED_LOCKS,
  ...STEALING,
  ...TAKEN,
  ...TIMESTAMPS,
  ...VOTES,
];
