import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';
import { COUNTED_US, FakeMaster } from '../support/fake-master.js';
import { FakeRandom, fakeCluster } from '../support/fake-cluster.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { Redlock } from '../../lib/redlock.js';
import type { Lease } from '../../lib/lease/public.js';
import { sentTo } from '../support/commands.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const TTL = { ttlMs: 1_000, nodeTimeoutMs: 5_000, waitMs: 0 } as const;
const VALID_MS = 988; // 1000 − (10 + 2)

describe('rule 4: validity = ttl − (now − sending) − drift', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: is counted from the sending of the claims, not from the replies`, async () => {
      for (const latencyMs of [0, 1, 300, 986]) {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const master of masters) master.latencyMs = latencyMs;
        const acquired = redlock.acquire('r', TTL);
        await time.advance(latencyMs);
        expect((await acquired).remainingMs()).to.equal(VALID_MS - latencyMs);
      }
    });

    for (const [mode, fencing, step] of [
      ['fencing off', false, 0],
      ['counters alike', true, 0],
      ['counters that differ: acceptance counts as well', true, 1],
    ] as const) {
      it(`N=${nodes}, ${mode}: is counted from before the first claim, also when sending takes long`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes, { fencing });
        for (const [i, master] of masters.entries()) {
          master.set(counterKey('r'), String(COUNTED_US + i * step * FENCE_BLOCK));
          const send = master.call.bind(master);
          master.call = (command) => {
            time.stall(10); // before it is on the wire
            return send(command);
          };
        }
        const lease = await redlock.acquire('r', TTL);
        const sent = masters.flatMap((master) => master.sent).length;
        expect(sent).to.equal(nodes + step * Math.floor(nodes / 2));
        expect(lease.remainingMs()).to.equal(VALID_MS - 10 * sent);
        await settle();
      });
    }

    for (const latencyMs of [VALID_MS, VALID_MS + 1, 1_500]) {
      it(`N=${nodes}: a quorum after ${latencyMs} ms is too late: undone everywhere, VALIDITY_EXPIRED`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const master of masters) master.latencyMs = latencyMs;
        const failed = rejection(redlock.acquire('r', TTL));
        await time.advance(2 * latencyMs);
        const error = await failed;
        expect(error.code).to.equal('VALIDITY_EXPIRED');
        expect(error.tally.filter(({ outcome }) => outcome === 'granted').length).to.be.greaterThan(
          nodes / 2,
        );
        for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1']);
        await time.advance(10_000);
        expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([
          0,
          ...masters.map(() => 0),
        ]);
      });
    }

    it(`N=${nodes}: replies that wait in a stalled event loop beyond the ttl are no lease`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.latencyMs = 10;
      const failed = rejection(redlock.acquire('r', TTL));
      await settle();
      time.stall(VALID_MS); // timers fire late, replies are read late
      await time.advance(20);
      expect((await failed).code).to.equal('VALIDITY_EXPIRED');
    });

    it(`N=${nodes}: each attempt is measured from its own sending`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another', 700);
      const acquired = redlock.acquire('r', { ttlMs: 1_000, waitMs: 5_000 });
      await time.advance(3_000);
      const lease = await acquired;
      expect(lease.status).to.equal('lost'); // it was valid for 988 ms, from some instant after the 700th
      const again = await redlock.acquire('r', { ttlMs: 1_000 });
      expect(again.remainingMs()).to.equal(VALID_MS);
    });

    it(`N=${nodes}: an extension counts from its own sending as well`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      await time.advance(500);
      for (const master of masters) master.latencyMs = 100;
      const extended = lease.extend();
      await time.advance(100);
      await extended;
      expect(lease.remainingMs()).to.equal(VALID_MS - 100);
    });

    it(`N=${nodes}: masters whose clocks are fast by the drift factor drop no key while the lease is held`, async () => {
      const { time, redlock, masters } = overFastMasters(nodes, 1.01);
      const lease = await redlock.acquire('r', { ttlMs: 10_000, waitMs: 0 });
      await watch(lease, masters, time);
    });
  }

  it('N=3: the drift of the lease follows driftFactor', async () => {
    for (const [driftFactor, remainingMs] of [
      [0, 9_998],
      [0.01, 9_898],
      [0.1, 8_998],
      [0.5, 4_998],
    ] as const) {
      const { redlock } = fakeCluster(3, { driftFactor });
      const lease = await redlock.acquire('r', { ttlMs: 10_000 });
      expect(lease.remainingMs()).to.equal(remainingMs);
      await lease.extend(20_000);
      expect(lease.remainingMs()).to.equal(20_000 - 20_000 * driftFactor - 2);
    }
  });

  it('N=3, too late and time left: tries again, with a fresh token, and gets it', async () => {
    const { redlock, masters, time, random } = fakeCluster(3);
    for (const master of masters) master.latencyMs = 1_200;
    const acquired = redlock.acquire('r', { ttlMs: 1_000, nodeTimeoutMs: 5_000, waitMs: 20_000 });
    await time.advance(1_100);
    for (const master of masters) master.latencyMs = 5; // from the undo on
    await time.advance(3_000);
    const lease = await acquired;
    expect([lease.token, random.tokens.length]).to.deep.equal([random.tokens[1], 2]);
  });
});

/** N masters whose clocks run fast. */
function overFastMasters(
  nodes: number,
  rate: number,
): { time: FakeTime; redlock: Redlock; masters: readonly FakeMaster[] } {
  const time = new FakeTime();
  const fast = new (class extends FakeTime {
    override now(): number {
      return time.now() * rate;
    }
  })();
  const masters = Array.from({ length: nodes }, (_, i) => new FakeMaster(`m${i + 1}`, fast));
  const environment = { transports: masters, clock: time, timers: time, disconnect: () => undefined };
  return { time, redlock: new Redlock({ ...environment, random: new FakeRandom() }), masters };
}

/** Goes on until the lease has ended; the votes must be there all the while. */
async function watch(lease: Lease, masters: readonly FakeMaster[], time: FakeTime): Promise<void> {
  let heldMs = 0;
  while (lease.status === 'held') {
    for (const master of masters) expect(master.value('r'), `after ${heldMs} ms`).to.equal(lease.token);
    time.stall(1);
    heldMs++;
  }
  expect(heldMs).to.be.greaterThan(9_000);
  await settle();
}
