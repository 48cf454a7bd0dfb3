import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo, sentTo } from '../support/commands.js';
import { COUNTED_US, type FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const SIZES = wide([1, 2, 3, 4, 5], [1, 3]);
const MANNERS = ['answer', 'held', 'freeze', 'lose-reply'] as const;
type Manner = (typeof MANNERS)[number];

function put(master: FakeMaster, manner: Manner | undefined): void {
  if (manner === 'held') master.set('r', 'another');
  else if (manner !== undefined) master.manner = manner;
}

function combinations(length: number): Manner[][] {
  if (length === 0) return [[]];
  return combinations(length - 1).flatMap((start) => MANNERS.map((last) => [...start, last]));
}

describe('the wait of an acquisition', () => {
  for (const nodes of SIZES.slice(0, 4)) {
    it(`N=${nodes}: for every mix of silent, refusing and granting masters it ends within waitMs and one node timeout`, async () => {
      for (const mix of combinations(nodes)) {
        for (const waitMs of [0, 30, 500]) {
          const { redlock, masters, time } = fakeCluster(nodes);
          for (const [i, master] of masters.entries()) put(master, mix[i]);
          let isSettled = false;
          const call = redlock.acquire('r', { waitMs, nodeTimeoutMs: 50 }).then(
            (lease) => lease.release(),
            () => undefined,
          );
          void call.then(() => (isSettled = true));
          await time.advance(waitMs + 50);
          if (!isSettled) await time.advance(50); // a release that nobody answers
          expect(isSettled, `${mix.join()} waitMs ${waitMs}`).to.equal(true);
        }
      }
    });
  }

  it('N=5, masters fall silent at any moment of the wait: the same', async () => {
    for (let at = 0; at <= 500; at += 7) {
      const { redlock, masters, time } = fakeCluster(5);
      for (const master of masters) {
        master.set('r', 'another');
        master.latencyMs = 3;
      }
      let tookMs = -1;
      const startedAtMs = time.now();
      void redlock
        .acquire('r', { waitMs: 500, nodeTimeoutMs: 50 })
        .catch(() => (tookMs = time.now() - startedAtMs));
      await time.advance(at);
      for (const master of masters) master.manner = 'freeze';
      await time.advance(1_000);
      expect(tookMs, `silent after ${at} ms`).to.be.within(500, 550);
    }
  });

  for (const nodes of SIZES) {
    it(`N=${nodes}, fencing off: claim and the look at what refused share one deadline`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { fencing: false });
      for (const master of masters) {
        master.set('r', 'another');
        master.latencyMs = 40; // the answer to the look would come after 80 ms
      }
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      const { code, elapsedMs } = await failed;
      expect([code, elapsedMs]).to.deep.equal(['LOCK_TAKEN', 50]);
    });

    it(`N=${nodes}, fencing on: the claim's refusal gives its reason, and no look follows`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) {
        master.set('r', 'another', 5_000);
        master.latencyMs = 40;
      }
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(40);
      const { code, elapsedMs, tally } = await failed;
      expect([code, elapsedMs]).to.deep.equal(['LOCK_TAKEN', 40]);
      const refused = tally.filter(({ outcome }) => outcome === 'refused');
      expect(refused.length).to.be.greaterThan((nodes - 1) / 2);
      for (const one of refused) expect(one).to.include({ remainingMs: 5_000 - 40 });
      await time.advance(100);
      for (const [i, master] of masters.entries()) {
        // those that had not answered when it was decided may have granted
        const isExplained = i <= nodes - quorumOf(nodes);
        expect(sentTo(master)).to.deep.equal(isExplained ? ['claim 1'] : ['claim 1', 'undo 1']);
      }
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}, fencing on: claim and acceptance share one deadline; both are undone at its end`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const [i, master] of masters.entries()) {
        master.set(counterKey('r'), String(COUNTED_US + i * FENCE_BLOCK)); // no two alike
        master.latencyMs = 40; // the answer to the acceptance would come after 80 ms
      }
      const acquired = redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 });
      if (nodes === 1) {
        await time.advance(40); // one is always of one mind
        expect((await acquired).fence).to.equal(COUNTED_US + 1);
        return;
      }
      const failed = rejection(acquired);
      await time.advance(50);
      const { code, elapsedMs } = await failed;
      expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 50]);
      await time.advance(200);
      const accepted = masters.filter((master) => kindsSentTo(master).includes('accept'));
      expect(accepted.length).to.equal(Math.floor(nodes / 2)); // those below the highest of the first quorum
      for (const master of masters) expect(sentTo(master).at(-1)).to.equal('undo 1');
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}, waitMs 0: one attempt, no timer after it`, async () => {
      const { redlock, masters, time, random } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another');
      await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect([random.tokens.length, time.pending]).to.deep.equal([1, 0]);
    });

    it(`N=${nodes}, waitMs 1000, held: ends in that very millisecond, after a last full fan-out`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another');
      const failed = rejection(redlock.acquire('r', { waitMs: 1_000 }));
      let isSettled = false;
      void failed.then(() => (isSettled = true));
      await time.advance(999);
      expect(isSettled).to.equal(false);
      const before = masters.map(({ sent }) => sent.length);
      await time.advance(1);
      const { elapsedMs } = await failed;
      expect(elapsedMs).to.equal(1_000);
      for (const [i, master] of masters.entries())
        expect(master.sent.length).to.be.greaterThan(before[i] ?? 0);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}, waitMs Infinity: waits a month, and gets it soon after it is free`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, {
        retry: { minDelayMs: 60_000, maxDelayMs: 600_000 },
      });
      for (const master of masters) master.set('r', 'another', 30 * 86_400_000);
      let isSettled = false;
      const acquired = redlock.acquire('r', { waitMs: Infinity });
      void acquired.then(() => (isSettled = true));
      await time.advance(30 * 86_400_000 - 1);
      expect(isSettled).to.equal(false);
      await time.advance(120_000);
      expect((await acquired).status).to.not.equal('released');
    });

    it(`N=${nodes}: a key with little time left is waited for no longer than that`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, {
        retry: { minDelayMs: 10, maxDelayMs: 100_000 },
      });
      for (const master of masters) master.set('r', 'another', 400);
      const startedAtMs = time.now();
      let tookMs = -1;
      void redlock.acquire('r').then(() => (tookMs = time.now() - startedAtMs));
      await time.advance(2_000);
      expect(tookMs).to.be.within(400, 420);
    });
  }

  it('N=3, fencing off, one refuses and one is silent: the look at what refused does not outlast the deadline', async () => {
    const { redlock, masters, time } = fakeCluster(3, { fencing: false });
    for (const master of masters) master.latencyMs = 30;
    const [refusing, , silent] = masters;
    refusing?.set('r', 'another');
    if (silent !== undefined) silent.manner = 'freeze';
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
    await time.advance(50);
    const { code, elapsedMs } = await failed;
    expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 50]);
    await time.advance(1_000);
  });

  it('N=1, fencing off: the first claim is a plain SET, and the undo behind it looks; those after it say why they refuse', async () => {
    const { redlock, masters, time } = fakeCluster(1, {
      fencing: false,
      retry: { minDelayMs: 100, maxDelayMs: 100 },
    });
    masters[0]?.set('r', 'another');
    const failed = rejection(redlock.acquire('r', { waitMs: 250 }));
    await time.advance(250);
    await failed;
    expect(masters.map(sentTo)).to.deep.equal([['claim 1', 'undo 1', 'claim 2', 'claim 3', 'claim 4']]);
  });

  it('N=3: nothing is owed for an attempt when its votes have run out', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters.slice(0, 2)) master.set('r', 'another');
    const [, , lost] = masters;
    if (lost !== undefined) lost.manner = 'lose-reply';
    const failed = rejection(redlock.acquire('r', { ttlMs: 1_000, waitMs: 0, nodeTimeoutMs: 50 }));
    await time.advance(50);
    lost?.cut();
    await failed;
    await time.advance(500);
    expect(time.pending).to.equal(1);
    await time.advance(10_000);
    expect(time.pending).to.equal(0);
  });

  it('N=3: pauses are drawn between the bounds and double up to the longest', async () => {
    const { redlock, masters, time, random } = fakeCluster(3, { retry: { minDelayMs: 10, maxDelayMs: 80 } });
    random.fractionValue = 0.999_999;
    for (const master of masters) master.manner = 'lose-request';
    const instants: number[] = [];
    const token = random.token.bind(random);
    random.token = () => (instants.push(time.now()), token());
    const failed = rejection(redlock.acquire('r', { waitMs: 2_000, nodeTimeoutMs: 1 }));
    await time.advance(2_100);
    await failed;
    const pauses = instants.slice(1, -1).map((at, i) => Math.round(at - (instants[i] ?? 0)) - 1);
    expect(pauses.slice(0, 5)).to.deep.equal([20, 40, 80, 80, 80]);
    expect(Math.max(...pauses)).to.equal(80);
  });
});

describe('an acquisition that is ended from outside', () => {
  for (const nodes of SIZES) {
    // plain: the claim is answered after 10 ms, the look at what refused it after 20 ms; fenced: counters that differ
    // make an acceptance follow the claim, or the claim tells its reason
    for (const [when, fencing, isHeld, atMs, wanted] of [
      ['a round', false, true, 5, ['claim 1', 'undo 1']],
      ['the look at what refused', false, true, 15, ['claim 1', 'undo 1']],
      ['a pause', false, true, 25, ['claim 1', 'undo 1']],
      ['a round', true, true, 5, ['claim 1', 'undo 1']],
      ['a pause', true, true, 15, ['claim 1']],
      ['an acceptance', true, false, 15, ['claim 1', 'accept 1', 'undo 1']],
    ] as const) {
      if (when === 'an acceptance' && nodes === 1) continue; // one is always of one mind
      const title = `N=${nodes}, fencing ${fencing ? 'on' : 'off'}`;
      const start = (): Bench => {
        const bench = fakeCluster(nodes, { fencing, retry: { minDelayMs: 50, maxDelayMs: 50 } });
        for (const [i, master] of bench.masters.entries()) {
          master.latencyMs = 10;
          if (isHeld) master.set('r', 'another');
          else master.set(counterKey('r'), String(COUNTED_US + i * FENCE_BLOCK));
        }
        return bench;
      };
      const expectUndone = ({ masters, time }: Bench): void => {
        for (const [i, master] of masters.entries()) {
          // a refusal is explained, unless it was decided before it came; and of the first quorum the last one granted
          // with the highest fence
          const isAsked = isHeld ? !fencing || i <= nodes - quorumOf(nodes) : i < Math.floor(nodes / 2);
          expect(sentTo(master)).to.deep.equal(isAsked ? wanted : ['claim 1', 'undo 1']);
        }
        const locks = masters.map((master) => master.value('r'));
        expect(locks).to.deep.equal(masters.map(() => (isHeld ? 'another' : undefined)));
        expect(time.pending).to.equal(0);
      };

      it(`${title}, by the caller's signal in the middle of ${when}: ABORTED at once, with its reason; all is undone`, async () => {
        const bench = start();
        const controller = new AbortController();
        const reason = new Error('enough');
        const failed = rejection(bench.redlock.acquire('r', { signal: controller.signal }));
        await bench.time.advance(atMs);
        controller.abort(reason);
        const error = await failed; // the clock does not move
        expect([error.code, error.cause, error.attempts > 0]).to.deep.equal(['ABORTED', reason, true]);
        expect(getEventListeners(controller.signal, 'abort').length).to.equal(0);
        await bench.time.advance(100);
        expectUndone(bench);
      });

      it(`${title}, by close in the middle of ${when}: CLOSED, and nothing is sent after`, async () => {
        const bench = start();
        const failed = rejection(bench.redlock.acquire('r', { waitMs: Infinity }));
        await bench.time.advance(atMs);
        const closed = bench.redlock.close();
        expect((await failed).code).to.equal('CLOSED');
        await bench.time.advance(200);
        await closed;
        expectUndone(bench);
      });
    }

    it(`N=${nodes}: in the turn of the event loop in which the quorum came: no lease, and the votes are undone`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const controller = new AbortController();
      const failed = rejection(redlock.acquire('r', { signal: controller.signal }));
      controller.abort();
      expect((await failed).code).to.equal('ABORTED');
      await time.advance(100);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}: a step after the quorum's last reply: granted is granted, and given back nothing is left`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const controller = new AbortController();
      const [last] = masters.slice(Math.floor(nodes / 2)); // the quorum is full with this one
      if (last === undefined) throw new Error('there is one');
      const send = last.call.bind(last);
      last.call = (command) => {
        const reply = send(command);
        void reply.then(() => Promise.resolve().then(() => controller.abort())); // one step after it was read
        return reply;
      };
      const lease = await redlock.acquire('r', { signal: controller.signal });
      expect([controller.signal.aborted, lease.status]).to.deep.equal([true, 'held']);
      await lease.release();
      await time.advance(100);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}: by a signal that was aborted before: nothing is sent`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const error = await rejection(redlock.acquire('r', { signal: AbortSignal.abort('before') }));
      expect([error.code, error.cause]).to.deep.equal(['ABORTED', 'before']);
      expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    });

    it(`N=${nodes}: an abort after the lease was acquired changes nothing`, async () => {
      const { redlock } = fakeCluster(nodes);
      const controller = new AbortController();
      const lease = await redlock.acquire('r', { signal: controller.signal });
      controller.abort();
      await settle();
      expect([lease.status, lease.signal.aborted]).to.deep.equal(['held', false]);
    });
  }
});
