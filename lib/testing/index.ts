/** quorate/testing: masters in memory for the tests of your code, and the simulation that tests quorate's. No logic. */
export {
  type MemoryMaster,
  type MemoryMasterList,
  MemoryMasters,
  type MemoryMastersOptions,
  type RestartOptions,
} from './memory-masters.js';
export type { Clock, Timer, Timers } from '../clock.js';
export type { Property, Violation } from './checker.js';
export type { Beyond, Fault, FaultKind } from './faults.js';
export { simulate, type SimulationOptions, type SimulationReport } from './simulation.js';
