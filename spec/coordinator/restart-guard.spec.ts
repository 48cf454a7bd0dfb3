/** The restart guard's contract under virtual time, and what is said there alone: exact instants. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { DEFAULTS } from '../../lib/input/options.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import type { Redlock } from '../../lib/redlock.js';
import { holdBack, kindsSentTo } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { bootstraps, deployments, markers, readiness } from '../support/guard/deployment.js';
import { leases, losses, minorities, periods, resends, shortPeriods } from '../support/guard/losses.js';
import { MemoryStand } from '../support/guard/memory.js';
import { guardContract } from '../support/guard/stand.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const SIZES = wide([1, 2, 3, 4, 5], [1, 3]);
const GUARD_MS = 5_000;
const GUARDED = { ttlMs: 1_000, restartGuardMs: GUARD_MS } as const;
const VALID_MS = 988; // 1000 − (10 + 2)

const inMemory = (nodes: number): Promise<MemoryStand> => Promise.resolve(new MemoryStand(nodes));
guardContract('masters in memory', SIZES, inMemory, [
  ...[losses, resends, minorities, periods, leases, shortPeriods],
  ...[bootstraps, readiness, markers, deployments],
]);

/** N masters that were declared to have forgotten nothing. */
async function started(nodes: number): Promise<Bench> {
  const bench = fakeCluster(nodes, GUARDED);
  await bench.redlock.bootstrap();
  return bench;
}

const attempt = (redlock: Redlock): Promise<Lease> => redlock.acquire('r', { waitMs: 0 });
const refused = (redlock: Redlock): Promise<RedlockError> => rejection(attempt(redlock));

function values(masters: readonly FakeMaster[]): (string | undefined)[] {
  return masters.map((master) => master.value('r'));
}

describe('restart guard: to the millisecond', () => {
  for (const nodes of SIZES) {
    const spare = nodes - quorumOf(nodes);

    it(`N=${nodes}: a quarantine lasts one period from the first command on; no vote and no timer is left by who failed`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      await refused(redlock);
      await settle();
      expect([time.pending, Math.max(...masters.map(({ size }) => size))]).to.deep.equal([0, 0]);
      await time.advance(GUARD_MS - 1);
      expect(await refused(redlock)).to.include({ remainingMs: 1 });
      const { nodes: states } = await redlock.bootstrap();
      for (const state of states) expect(state).to.include({ state: 'unchanged', remainingMs: 1 });
      await time.advance(1);
      expect((await attempt(redlock)).status).to.equal('held');
    });

    it(`N=${nodes}: acquire waits for it, or fails with QUARANTINED after its waitMs`, async () => {
      const { redlock, time } = fakeCluster(nodes, GUARDED);
      const startedAtMs = time.now();
      const failed = rejection(redlock.acquire('r', { waitMs: 1_000 }));
      await time.advance(1_000);
      const left = { code: 'QUARANTINED', elapsedMs: 1_000, remainingMs: GUARD_MS - 1_000 };
      expect(await failed).to.include(left);
      expect(time.pending).to.equal(0);
      let grantedAtMs = 0;
      const acquired = redlock.acquire('r', { waitMs: 60_000 }).finally(() => (grantedAtMs = time.now()));
      await time.advance(GUARD_MS - 1_000 + DEFAULTS.maxDelayMs);
      await acquired;
      expect(grantedAtMs - startedAtMs).to.be.within(GUARD_MS, GUARD_MS + DEFAULTS.maxDelayMs);
    });

    it(`N=${nodes}: ready() resolves when the quarantine of a quorum is over, to the millisecond`, async () => {
      const guardMs = 5_300; // no whole number of seconds
      const { redlock, masters, time } = fakeCluster(nodes, { ...GUARDED, restartGuardMs: guardMs });
      let isReady = false;
      void redlock.ready().then(() => (isReady = true));
      await settle();
      for (const master of masters.slice(quorumOf(nodes))) master.become('lost');
      await time.advance(guardMs - 1);
      expect(isReady).to.equal(false);
      await time.advance(1);
      expect([isReady, time.pending]).to.deep.equal([true, 0]);
      await attempt(redlock);
    });

    for (const data of ['lost', 'kept'] as const) {
      it(`N=${nodes}, ${spare + 1} restarted, data ${data}: the validity of a lease stands to its end, renewed or not`, async () => {
        const { redlock, masters, time } = await started(nodes);
        const lease = await redlock.acquire('r');
        const renewed = await redlock.acquire('s', { renew: true });
        const { signal } = lease;
        for (const master of masters.slice(0, spare + 1)) master.restart(data);
        await time.advance(500);
        expect(await rejection(lease.extend())).to.include({ code: 'QUARANTINED' });
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS - 500]);
        await time.advance(VALID_MS - 501);
        expect(signal.aborted || lease.status === 'held').to.equal(true);
        await time.advance(1);
        expect([lease.status, renewed.status, signal.aborted]).to.deep.equal(['lost', 'lost', true]);
        expect(time.pending).to.equal(0);
      });
    }
  }

  it('N=3: what stats tell of a quarantine ends with a vote, and with bootstrap, and not with an answer that says nothing', async () => {
    for (const by of ['another', 'itself'] as const) {
      const { redlock, masters, other } = fakeCluster(3, GUARDED);
      const quarantinedMs = (): number[] => redlock.stats().nodes.map((node) => node.quarantinedMs);
      await refused(redlock);
      for (const master of masters) master.replies.push(serverError('LOADING it loads its data'));
      await redlock.health();
      expect(quarantinedMs()).to.deep.equal([GUARD_MS, GUARD_MS, GUARD_MS]);
      await (by === 'itself' ? redlock : other().redlock).bootstrap({ force: true });
      if (by === 'another') await redlock.health(); // asks who votes
      expect(quarantinedMs()).to.deep.equal([0, 0, 0]);
    }
  });

  it('N=3, one in quarantine, one away: ready() resolves within a second of its return', async () => {
    const { redlock, masters, time } = await started(3);
    const [, forgetful, away] = masters;
    forgetful?.restart('lost');
    away?.become('lost');
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    await time.advance(1_500);
    away?.become('ready');
    expect(isReady).to.equal(false);
    await time.advance(1_000);
    expect(isReady).to.equal(true);
    await ready;
  });

  it('N=3, ready(): masters are asked again when enough quarantines end, after a node timeout if none does', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ...GUARDED, nodeTimeoutMs: 50 });
    await refused(redlock);
    const [quarantined, ...others] = masters;
    if (quarantined === undefined) return;
    await time.advance(GUARD_MS - 700);
    for (const master of others) master.replies.push(...new Array<Error>(4).fill(serverError('ERR busy')));
    quarantined.sent.length = 0;
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    const asked = [];
    for (const ms of [699, 1, 49, 1, 50, 49]) {
      await time.advance(ms);
      asked.push(quarantined.sent.length);
    }
    expect([asked, isReady]).to.deep.equal([[1, 2, 2, 3, 4, 4], false]);
    await time.advance(1);
    await ready;
    expect([quarantined.sent.length, time.pending]).to.deep.equal([5, 0]);
  });

  it('N=3: an odd reply is no vote to ready(), which asks again', async () => {
    const { redlock, masters, time } = await started(3);
    for (const master of masters.slice(1)) master.replies.push([7, 0, 0]);
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    await settle();
    expect(isReady).to.equal(false);
    await time.advance(DEFAULTS.nodeTimeoutMs);
    await ready;
  });

  it('N=3: an odd reply to bootstrap() tells nothing of that master; of a quorum: NO_QUORUM', async () => {
    const { redlock, masters } = fakeCluster(3, GUARDED);
    masters[2]?.replies.push([7, 0, 0]);
    const { nodes } = await redlock.bootstrap();
    expect(nodes.map(({ state }) => state)).to.deep.equal(['declared', 'declared', 'unknown']);
    expect(nodes[2]).to.have.nested.property('cause.message', 'the reply does not fit the request');
    for (const master of masters.slice(1)) master.replies.push([7, 0, 0]);
    expect((await rejection(redlock.bootstrap())).code).to.equal('NO_QUORUM');
  });

  it('N=3: a quarantined master did not answer: an attempt that failed is undone there as well', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.restart('lost');
    await refused(redlock);
    await settle();
    for (const master of masters) expect(kindsSentTo(master).at(-1)).to.equal('undo');
  });

  it('N=3, one with another period, one in quarantine: ready() and acquire wait for the end of the quarantine', async () => {
    const { redlock, masters, time } = await started(3);
    const [other, forgetful] = masters;
    other?.set('quorate:guard', `1|${other.runId}|0|${GUARD_MS + 1}`);
    forgetful?.restart('lost');
    const ends: string[] = [];
    const calls = [redlock.ready(), redlock.acquire('r', { waitMs: 60_000 })].map((call) =>
      call.then(
        () => ends.push('well'),
        (error: unknown) => ends.push((error as RedlockError).code),
      ),
    );
    await time.advance(GUARD_MS - 1);
    expect(ends).to.deep.equal([]);
    await time.advance(2 * DEFAULTS.maxDelayMs);
    await Promise.all(calls);
    expect(ends).to.deep.equal(['well', 'well']);
    void redlock.close({ releaseHeld: true });
    await settle();
  });

  it('N=3: a vote that was forgotten before its fence was accepted does not count', async () => {
    const { redlock, masters } = await started(3);
    const [lagging, leading, taken] = masters;
    lagging?.set('quorate:fence:{r}', `${lagging.micros() + 1_000}`, 60_000);
    leading?.set('quorate:fence:{r}', `${leading.micros() + 2_000}`, 60_000);
    taken?.set('r', 'another', 60_000);
    const arrive = masters.map((master) => holdBack(master, 'accept'));
    const failed = refused(redlock);
    await settle();
    lagging?.restart('lost');
    if (lagging !== undefined) lagging.knowsScripts = true; // as another client has sent them by then
    for (const run of arrive) run();
    const error = await failed;
    const outcomes = error.tally.map(({ outcome }) => outcome);
    expect([error.code, ...outcomes]).to.deep.equal(['QUARANTINED', 'quarantined', 'granted', 'refused']);
    await settle();
    expect(values(masters)).to.deep.equal([undefined, undefined, 'another']);
  });

  for (const manner of ['answer', 'freeze'] as const) {
    it(`N=3, masters ${manner}: ready() ends with CLOSED, at once or within a node timeout; no timer is left`, async () => {
      const { redlock, masters, time } = fakeCluster(3, GUARDED);
      for (const master of masters) master.manner = manner;
      const failed = [rejection(redlock.ready())];
      if (manner === 'freeze') failed.push(rejection(redlock.bootstrap()));
      await settle();
      void redlock.close();
      await time.advance(manner === 'freeze' ? 250 : 0);
      const codes = (await Promise.all(failed)).map(({ code }) => code);
      expect([time.pending, codes.join()]).to.deep.equal([
        0,
        manner === 'freeze' ? 'CLOSED,NO_QUORUM' : 'CLOSED',
      ]);
    });
  }
});

describe('restart guard: when a quorum is back (T-B9)', () => {
  /** When each restarted, in ms: all orders of three, and where two of five are still up. */
  const ORDERS = '0 100 250, 0 250 100, 100 0 250, 100 250 0, 250 0 100, 250 100 0, 0 100 –, – 250 100';
  const OTHERS = '0 100 250 – –, 250 – 100 – 0, 400 300 200 100 0, 0, 100 0';
  for (const order of [...ORDERS.split(', '), ...OTHERS.split(', ')]) {
    const atMs = order.split(' ').map((ms) => (ms === '–' ? undefined : Number(ms)));
    const nodes = atMs.length;
    const endsMs = atMs.map((ms) => (ms === undefined ? 0 : ms + GUARD_MS)).sort((a, b) => a - b);
    const backAtMs = endsMs[quorumOf(nodes) - 1] ?? 0;
    const allBackAtMs = endsMs.at(-1) ?? 0;
    const restarted = atMs.filter((ms) => ms !== undefined);
    // the answer that decides the round is the last one, so all are known
    const isExact = atMs.at(-1) !== undefined && restarted.length === nodes - quorumOf(nodes) + 1;
    it(`N=${nodes}, restarted after ${order} ms: a quorum votes again in ${backAtMs}, and by remainingMs at the latest`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const startedAtMs = time.now();
      const until = (ms: number): Promise<void> => time.advance(startedAtMs + ms - time.now());
      for (const ms of [0, 100, 200, 250, 300, 400]) {
        await until(ms);
        const now = masters.filter((_, i) => atMs[i] === ms);
        for (const master of now) master.restart('kept');
        if (now.length > 0) await redlock.bootstrap(); // changes nothing, but they notice
      }
      const error = await refused(redlock);
      expect(error.code).to.equal('QUARANTINED');
      // the round is over with the answers that decide it: those that are not in are not counted on
      const [firstMs, lastMs] = [backAtMs, isExact ? backAtMs : allBackAtMs];
      const toldMs = time.now() - startedAtMs + (error.remainingMs ?? 0);
      expect(toldMs).to.be.within(firstMs, lastMs);
      await until(backAtMs - 1);
      expect((await refused(redlock)).code).to.equal('QUARANTINED');
      await until(backAtMs);
      await (await attempt(redlock)).release();
      await until(toldMs);
      await attempt(redlock);
    });
  }

  for (const nodes of SIZES) {
    it(`N=${nodes}, as few restarted as cost the quorum, the others gone: remainingMs is exact`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const spare = nodes - quorumOf(nodes);
      for (const master of masters.slice(0, spare + 1)) master.restart('kept');
      await redlock.bootstrap();
      await time.advance(700);
      for (const master of masters.slice(spare + 1)) master.become('lost');
      expect(await refused(redlock)).to.include({ code: 'QUARANTINED', remainingMs: GUARD_MS - 700 });
    });
  }
});

describe("restart guard: a master's clock steps back", () => {
  for (const [nodes, after, passMs, backMs, leftMs] of [
    [1, 'the first claim', 1_000, 3_000, GUARD_MS],
    [1, 'the first claim', 3_000, 2_000, GUARD_MS - 1_000],
    [1, 'the first claim', 60_000, 61_000, GUARD_MS],
    [1, 'bootstrap', 0, 1, 1],
    [1, 'bootstrap', 0, 2_000, 2_000],
    [1, 'bootstrap', 0, 3_600_000, GUARD_MS],
    [1, 'bootstrap', 60_000, 60_000, 0],
    [3, 'the first claim', 60_000, 61_000, 0],
  ] as const) {
    it(`N=${nodes}, one by ${backMs} ms, ${passMs} ms after ${after}: QUARANTINED for ${leftMs} ms`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      const [one] = masters;
      await (after === 'bootstrap' ? redlock.bootstrap() : refused(redlock));
      await time.advance(passMs);
      if (one !== undefined) one.clockAheadUs -= backMs * 1_000;
      for (const ms of [leftMs, 1].filter((each, i) => each <= leftMs && leftMs > i)) {
        expect(await refused(redlock)).to.include({ remainingMs: ms });
        await time.advance(ms === 1 ? 1 : ms - 1);
      }
      const { token } = await attempt(redlock);
      await settle();
      expect(values(masters)).to.deep.equal(nodes === 1 ? [token] : [undefined, token, token]);
    });
  }
});
