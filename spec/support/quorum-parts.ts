/** The parts of an instance that asks masters, under virtual time. */
import type { Node } from '../../lib/node/node.js';
import { MasterClocks } from '../../lib/quorum/master-clocks.js';
import type { QuorumParts } from '../../lib/quorum/parts.js';
import { Repairs } from '../../lib/quorum/repairs.js';
import { FakeRandom } from './fake-cluster.js';
import type { FakeTime } from './fake-time.js';

export function quorumParts(
  nodes: readonly Node[],
  time: FakeTime,
): QuorumParts & { readonly random: FakeRandom } {
  return {
    nodes,
    clock: time,
    timers: time,
    random: new FakeRandom(),
    repairs: new Repairs(nodes, time, time),
    clocks: new MasterClocks(nodes.length, time),
    driftFactor: 0.01,
  };
}
