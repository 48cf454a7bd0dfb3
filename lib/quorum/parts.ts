/** The parts of an instance that whatever asks its masters needs. */
import type { Runtime } from '../runtime/clock.js';
import type { Node } from '../node/node.js';
import type { MasterClocks } from './master-clocks.js';
import type { Repairs } from './repairs.js';

export interface QuorumParts extends Runtime {
  readonly nodes: readonly Node[];
  readonly repairs: Repairs;
  readonly clocks: MasterClocks;
  readonly driftFactor: number;
}
