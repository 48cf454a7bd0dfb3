import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo } from '../support/commands.js';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

describe('Lease.giveAway and Redlock.adopt', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: a lease goes from one instance to another through JSON, and is never free in between`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const given = await redlock.acquire(['a', 'b'], { ttlMs: 3_000, renew: true });
      const text = JSON.stringify(given.giveAway());
      expect([given.status, given.remainingMs(), time.pending]).to.deep.equal(['released', 0, 0]);
      await given.release(); // nothing: it is not its any more
      await time.advance(1_000);
      const handle = JSON.parse(text) as ReturnType<typeof given.giveAway>;
      const adopted = await other('second').redlock.adopt(handle, { renew: true });
      expect(adopted.token).to.equal(given.token);
      expect([adopted.resources, adopted.ttlMs, adopted.remainingMs()]).to.deep.equal([
        ['a', 'b'],
        3_000,
        2_968,
      ]);
      await time.advance(20_000);
      expect(adopted.status).to.equal('held');
      for (const master of masters) expect(kindsSentTo(master)).to.not.include('release');
      await adopted.release();
      await settle();
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}: the giver's extension that is under way does not hurt the taker`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const given = await redlock.acquire('r', { ttlMs: 3_000 });
      for (const master of masters) master.latencyMs = 10;
      const extended = rejection(given.extend());
      await time.advance(5);
      const handle = given.giveAway();
      const adopting = other('second').redlock.adopt(handle);
      await time.advance(100);
      expect((await extended).code).to.equal('NOT_HELD');
      expect((await adopting).status).to.equal('held');
      await time.advance(2_000);
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => given.token));
    });

    it(`N=${nodes}: what of the giver's extension was not sent yet is never sent: it could set the keys again`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const given = await redlock.acquire('r', { ttlMs: 3_000 });
      for (const master of masters) master.become('opening');
      const extended = rejection(given.extend());
      await settle();
      given.giveAway();
      for (const master of masters) master.become('ready');
      await time.advance(100);
      expect((await extended).code).to.equal('NOT_HELD');
      for (const master of masters) expect(kindsSentTo(master)).to.deep.equal(['claim']);
    });

    it(`N=${nodes}: what ran out, or was released, is not set again: LOCK_LOST`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const first = (await redlock.acquire('a', { ttlMs: 3_000 })).giveAway();
      await time.advance(3_000);
      expect((await rejection(other('x').redlock.adopt(first))).code).to.equal('LOCK_LOST');
      const second = (await redlock.acquire('b', { ttlMs: 3_000 })).giveAway();
      await (await other('y').redlock.adopt(second)).release();
      await settle();
      const error = await rejection(other('z').redlock.adopt(second));
      expect([error.code, error.resources]).to.deep.equal(['LOCK_LOST', ['b']]);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: another holds it by now: LOCK_LOST, and the other keeps it`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r', { ttlMs: 3_000 })).giveAway();
      await time.advance(3_000);
      const theirs = await other('x').redlock.acquire('r');
      expect((await rejection(other('y').redlock.adopt(handle))).code).to.equal('LOCK_LOST');
      await settle();
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => theirs.token));
    });

    it(`N=${nodes}: votes of fewer than a quorum are no lease; keys that are gone stay gone`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r', { ttlMs: 3_000 })).giveAway();
      const forgetful = masters.slice(0, nodes - quorumOf(nodes) + 1);
      for (const master of forgetful) master.forget();
      expect((await rejection(other('x').redlock.adopt(handle))).code).to.equal('LOCK_LOST');
      await settle();
      for (const master of forgetful) expect(master.size).to.equal(0);
    });

    it(`N=${nodes}, ${nodes - quorumOf(nodes)} gone: a quorum is enough, and a release clears what is left`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r', { ttlMs: 3_000 })).giveAway();
      for (const master of masters.slice(quorumOf(nodes))) master.forget();
      const adopted = await other('x').redlock.adopt(handle);
      await adopted.release();
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}, masters that err: tried again within waitMs; then NO_QUORUM, and the votes stay`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r', { ttlMs: 10_000 })).giveAway();
      for (const master of masters) master.replies.push(serverError('ERR one'), serverError('ERR two'));
      const adopting = other('x').redlock.adopt(handle);
      await time.advance(1_000);
      expect((await adopting).status).to.equal('held');
      const again = (await adopting).giveAway();
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(other('y').redlock.adopt(again, { waitMs: 200, nodeTimeoutMs: 50 }));
      await time.advance(300);
      const { code, attempts } = await failed;
      expect([code, attempts > 1]).to.deep.equal(['NO_QUORUM', true]);
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => handle.token));
    });

    it(`N=${nodes}: the caller's signal and close end it; the votes stay`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r', { ttlMs: 60_000 })).giveAway();
      for (const master of masters) master.manner = 'lose-request';
      const controller = new AbortController();
      const second = other('x').redlock;
      const aborted = rejection(second.adopt(handle, { signal: controller.signal, waitMs: Infinity }));
      const closed = rejection(second.adopt(handle, { waitMs: Infinity }));
      await time.advance(500);
      controller.abort('enough');
      expect(await aborted).to.include({ code: 'ABORTED', cause: 'enough' });
      const closing = second.close();
      expect((await closed).code).to.equal('CLOSED');
      await time.advance(980);
      await closing;
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => handle.token));
      expect(time.pending).to.equal(0);
    });
  }

  it('N=3: validity is counted from the sending of the adoption', async () => {
    const { redlock, masters, time, other } = fakeCluster(3);
    const handle = (await redlock.acquire('r', { ttlMs: 3_000 })).giveAway();
    for (const master of masters) master.latencyMs = 25;
    const adopting = other('x').redlock.adopt(handle);
    await time.advance(25);
    expect((await adopting).remainingMs()).to.equal(2_968 - 25);
  });

  it('N=3: a handle of a lease that is lost or released is refused', async () => {
    const { redlock, time } = fakeCluster(3);
    const [lost, released] = [await redlock.acquire('a', { ttlMs: 3_000 }), await redlock.acquire('b')];
    await released.release();
    time.stall(3_000);
    expect(thrown(() => lost.giveAway()).code).to.equal('LOCK_LOST');
    expect(thrown(() => released.giveAway()).code).to.equal('NOT_HELD');
    const given = await redlock.acquire('c');
    given.giveAway();
    expect(thrown(() => given.giveAway()).code).to.equal('NOT_HELD');
  });

  it('N=3: while a lease that was handed over may be taken over, a late push about its vote declines nothing', async () => {
    const { redlock, masters, time, other } = fakeCluster(3, { ttlMs: 9_000 }, { hasPushes: true });
    const first = await other().redlock.acquire('r');
    const second = redlock.acquire('r');
    await settle();
    await first.release();
    const lease = await second;
    const leftMs = lease.remainingMs();
    const { token } = lease.giveAway();
    const decline = (): number => {
      for (const master of masters) master.connection.tell(`g ${Number.MAX_SAFE_INTEGER} ${token} r`);
      return masters.flatMap(kindsSentTo).filter((kind) => kind === 'yield').length;
    };
    void redlock.acquire('r', { waitMs: 60_000 }); // keeps push connections open
    await time.advance(leftMs - 1);
    expect(decline()).to.equal(0);
    await time.advance(2);
    expect(decline()).to.equal(3);
    await redlock.close();
  });
});
