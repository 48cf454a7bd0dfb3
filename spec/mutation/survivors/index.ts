import { COORDINATOR } from './coordinator.js';
import { ELECTION } from './election.js';
import { JOBS } from './jobs.js';
import { LEASE } from './lease.js';
import { LINE } from './line.js';
import { LUA } from './lua.js';
import { SHARED_LUA } from './shared-lua.js';
import { NODE } from './node.js';
import { QUORUM } from './quorum.js';
import type { Survivors } from './survivors.js';

export type { Survivors } from './survivors.js';
export const SURVIVORS: Survivors = {
  ...COORDINATOR,
  ...ELECTION,
  ...JOBS,
  ...LEASE,
  ...LINE,
  ...LUA,
  ...SHARED_LUA,
  ...NODE,
  ...QUORUM,
};
