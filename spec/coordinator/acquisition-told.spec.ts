/** What an acquisition tells as it goes on: each attempt that fails, that it waits, and what it was granted. */
import { expect } from 'chai';
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import { release, releaseInLine } from '../../lib/protocol/request.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import type { AcquisitionObserver } from '../../lib/telemetry/observer.js';
import { plainScope } from '../support/commands.js';
import { FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { hold, OTHER } from '../support/line-bench.js';

interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly told: unknown[];
  acquire(more?: Partial<AcquisitionTerms>): ReturnType<Coordinator['acquire']>;
}

function bench(hasPushes: boolean): Bench {
  const time = new FakeTime();
  const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
  for (const master of masters) master.hasPushes = hasPushes;
  const coordinator = new Coordinator({
    ...{ transports: masters, clock: time, timers: time, random: new FakeRandom() },
    ...{ driftFactor: 0.01, wall: undefined, isFenced: false, maxWaiters: Infinity },
  });
  const told: unknown[] = [];
  const observer: AcquisitionObserver = {
    granted: (attempts, { outcomes }, fence) => told.push(['granted', attempts, outcomes.length, fence]),
    refused: (attempts, { outcomes }, decision) =>
      told.push(['refused', attempts, outcomes.length, decision]),
    waits: (attempts) => told.push(['waits', attempts]),
  };
  const terms: AcquisitionTerms = {
    ...{ resources: ['r'], scope: plainScope('r'), ttlMs: 10_000, nodeTimeoutMs: 50, waitMs: 60_000 },
    ...{ minDelayMs: 10, maxDelayMs: 10, isFair: true, onlyReserves: false, observer },
  };
  return {
    ...{ time, masters, told },
    acquire: (more = {}) => coordinator.acquire({ ...terms, ...more }, new Cancellation()),
  };
}

describe('acquisition: what is told of it', () => {
  it('granted at once', async () => {
    const { acquire, told } = bench(false);
    await acquire();
    expect(told).to.deep.equal([['granted', 1, 3, 0]]);
  });

  it('refused, and it does not wait', async () => {
    const { acquire, masters, told } = bench(false);
    for (const master of masters) hold(master, OTHER, 'r');
    await acquire({ waitMs: 0 }).catch(() => undefined);
    expect(told).to.deep.equal([['refused', 1, 3, 'held']]);
  });

  for (const isDirect of [true, false])
    it(`in line, ${isDirect ? 'the votes are handed over directly' : 'a claim follows'}: granted once, by the answers there`, async () => {
      const { acquire, masters, told } = bench(true);
      for (const master of masters) hold(master, OTHER, 'r');
      const wait = acquire();
      await settle();
      for (const master of masters) {
        const request = isDirect
          ? releaseInLine(plainScope('r'), OTHER, master.micros())
          : release(plainScope('r'), OTHER);
        await master.call(request.command);
      }
      const grant = await wait;
      expect([told, grant.origin]).to.deep.equal([
        [
          ['refused', 1, 3, 'held'],
          ['waits', 1],
          ['granted', 2, 3, 0],
        ],
        isDirect ? 'marked' : 'queue',
      ]);
      expect(grant.sentTo).to.have.lengthOf(3);
    });
});

describe('acquisition: a lease that was handed over', () => {
  it('may be kept by masters for as long as a place and a vote after it', async () => {
    const { acquire, masters, time } = bench(true);
    for (const master of masters) hold(master, OTHER, 'r');
    const wait = acquire();
    await settle();
    for (const master of masters)
      await master.call(releaseInLine(plainScope('r'), OTHER, master.micros()).command);
    const grant = await wait;
    expect(grant.expiredByMs - time.now()).to.be.above(70_000);
  });
});
