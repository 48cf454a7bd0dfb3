/** One instance's acquisitions without leases over them: three masters in memory, and all that is told of them. */
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import type { AcquisitionObserver } from '../../lib/telemetry/observer.js';
import { plainScope } from './commands.js';
import { FakeRandom } from './fake-cluster.js';
import { FakeMaster } from './fake-master.js';
import { FakeTime } from './fake-time.js';

export interface AcquisitionBench {
  readonly time: FakeTime;
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly random: FakeRandom;
  readonly told: unknown[];
  /** The instants of the grants. */
  readonly grantedAtMs: number[];
  readonly coordinator: Coordinator;
  /** The lock `r`, for 10 s; a node timeout is 50 ms. */
  acquire(more?: Partial<AcquisitionTerms>): ReturnType<Coordinator['acquire']>;
}

export const DRIFT_FACTOR = 0.01;

export function acquisitionBench(hasPushes: boolean, maxWaiters = Infinity): AcquisitionBench {
  const time = new FakeTime();
  const masters = [
    new FakeMaster('m1', time),
    new FakeMaster('m2', time),
    new FakeMaster('m3', time),
  ] as const;
  for (const master of masters) master.hasPushes = hasPushes;
  const random = new FakeRandom();
  const coordinator = new Coordinator(
    { transports: masters, clock: time, timers: time, random },
    { driftFactor: DRIFT_FACTOR, fencing: false, maxWaiters },
  );
  const [told, grantedAtMs]: [unknown[], number[]] = [[], []];
  const observer: AcquisitionObserver = {
    granted(attempts, { outcomes }, fence) {
      told.push(['granted', attempts, outcomes.length, fence]);
      grantedAtMs.push(time.now());
    },
    refused: (attempts, { outcomes }, decision) =>
      told.push(['refused', attempts, outcomes.length, decision]),
    waits: (attempts) => told.push(['waits', attempts]),
  };
  const terms: AcquisitionTerms = {
    ...{ resources: ['r'], scope: plainScope('r'), ttlMs: 10_000, nodeTimeoutMs: 50, waitMs: 60_000 },
    ...{ minDelayMs: 10, maxDelayMs: 10, fair: true, handOver: 'direct', localTurns: 0, observer },
  };
  return {
    ...{ time, masters, random, told, grantedAtMs, coordinator },
    acquire: (more = {}) => coordinator.acquire({ ...terms, ...more }, new Cancellation()),
  };
}
