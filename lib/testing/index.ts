/** quorate/testing: masters in memory, for tests of your own code. This file has no logic. */
export {
  type MemoryMaster,
  type MemoryMasterList,
  MemoryMasters,
  type MemoryMastersOptions,
  type RestartOptions,
} from './memory-masters.js';
export type { Clock, Timer, Timers } from '../runtime/clock.js';
