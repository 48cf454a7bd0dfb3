/** Whom masters watch for while an acquisition waits for a lock that several may hold, out of line. */
import { expect } from 'chai';
import { tokenFrom } from '../simulation/world/seeded.js';
import { fakeCluster } from '../support/fake-cluster.js';

const FAR_MS = 3_000_000;
const UNFAIR = { fair: false, ttlMs: 60_000 } as const;

describe('shared line: without a place at the gate', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: a wait for several permits at once keeps new holders out, and is the next to be let in`, async () => {
      const { redlock, other, time } = fakeCluster(nodes, UNFAIR);
      const theirs = other().redlock.semaphore('r', 2);
      const [first, second] = [await theirs.acquire(), await theirs.acquire()];
      const wait = redlock.semaphore('r', 2).acquire({ permits: 2 });
      await time.advance(20);
      await first.release();
      expect(await theirs.tryAcquire()).to.equal(null);
      await second.release();
      await time.advance(500);
      expect((await wait).status).to.equal('held');
    });

    it(`N=${nodes}: a wait for one permit, or to read, keeps nobody out`, async () => {
      const { redlock, other, time } = fakeCluster(nodes, UNFAIR);
      const theirs = other().redlock;
      for (const [waiting, held] of [
        [redlock.semaphore('s', 1), theirs.semaphore('s', 1)],
        [redlock.readWriteLock('r').read, theirs.readWriteLock('r').write],
      ] as const) {
        const lease = await held.acquire();
        const wait = waiting.acquire();
        await time.advance(20);
        await lease.release();
        const next = await held.tryAcquire();
        expect(next?.status).to.equal('held');
        await next?.release();
        await time.advance(500);
        await (await wait).release();
      }
    });

    it(`N=${nodes}: a single try keeps nobody out, and takes one call a master`, async () => {
      const { redlock, masters, other, random } = fakeCluster(nodes, UNFAIR);
      const reader = await other().redlock.readWriteLock('r').read.acquire();
      for (const master of masters) master.sent.length = 0;
      expect(await redlock.readWriteLock('r').write.tryAcquire()).to.equal(null);
      expect((await other('third').redlock.readWriteLock('r').read.tryAcquire())?.status).to.equal('held');
      const theirs = masters[0]?.sent.filter(({ args }) =>
        random.tokens.some((token) => args.includes(token)),
      );
      expect(theirs?.length).to.equal(1);
      await reader.release();
    });
  }

  it('N=3: a writer that was let in is watched for no more, also on a master that is slow to refuse it', async () => {
    const { redlock, masters, other, time } = fakeCluster(3, UNFAIR);
    const [gone, , slow] = masters;
    if (gone === undefined || slow === undefined) throw new Error('there are three');
    const ends = Math.floor(slow.micros() / 1_000) + FAR_MS;
    slow.setFields('r', { kind: 'rw1', [tokenFrom('killed', '1')]: `r|${ends}|` });
    slow.expire('r', FAR_MS);
    const reader = await other().redlock.readWriteLock('r').read.acquire();
    for (const master of masters) master.latencyMs = master === slow ? 50 : 1;
    const wait = redlock.readWriteLock('r').write.acquire();
    await time.advance(5);
    const released = reader.release();
    await time.advance(200);
    await released;
    for (const master of masters) master.latencyMs = 0;
    await (await wait).release();
    gone.become('lost');
    // it takes the slow one's vote, which nobody else is kept out of by now
    expect((await other('third').redlock.readWriteLock('r').read.tryAcquire())?.status).to.equal('held');
  });
});
