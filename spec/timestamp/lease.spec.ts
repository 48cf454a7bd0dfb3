/** Leases of timestamp locks under virtual time: validity by two clocks, extension, renewal, loss and release. */
import { expect } from 'chai';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';
import { TimestampBench } from '../support/timestamp-bench.js';

const METHODS = ['script', 'commands'] as const;
const MS = { unit: 'ms', ttlMs: 1_000, clockMarginMs: 100 } as const;

describe('timestamp lease: validity', () => {
  it('ends a margin before the ttl, by the monotonic clock, though no timer fires', async () => {
    const bench = new TimestampBench();
    const lock = bench.lock(MS);
    const [first, second, third] = [
      await lock.acquire('a'),
      await lock.acquire('b'),
      await lock.acquire('c'),
    ];
    bench.time.stall(899);
    expect([first.status, second.remainingMs(), third.signal.aborted]).to.deep.equal(['held', 1, false]);
    bench.time.stall(1);
    expect([first.status, second.remainingMs(), third.signal.aborted]).to.deep.equal(['lost', 0, false]);
    expect(thrown(() => first.assertHeld()).code).to.equal('LOCK_LOST');
    await bench.time.advance(0);
    expect(third.signal.aborted).to.equal(true);
  });

  it('a wall clock that is set forward ends it; one that is set back does not lengthen it', async () => {
    const bench = new TimestampBench();
    const clock = { aheadMs: 0 };
    const lock = bench.lock(MS, clock);
    const [early, late] = [await lock.acquire('a'), await lock.acquire('b')];
    clock.aheadMs = 500;
    expect(early.remainingMs()).to.equal(401); // its instant is ttl + 1 later
    clock.aheadMs = 902;
    expect(early.status).to.equal('lost');
    clock.aheadMs = -5_000;
    expect(late.remainingMs()).to.equal(900);
    bench.time.stall(900);
    expect(late.status).to.equal('lost');
  });

  it('it is measured from before the claim was sent', async () => {
    const bench = new TimestampBench();
    bench.server.latencyMs = 60;
    const acquired = bench.lock(MS).acquire('r');
    await bench.time.advance(60);
    expect((await acquired).remainingMs()).to.equal(840);
  });

  it('a signal aborts in time, with the loss as its reason, and a release does not abort it', async () => {
    const bench = new TimestampBench();
    const lock = bench.lock(MS);
    const { signal } = await lock.acquire('a');
    const kept = await lock.acquire('b');
    const quiet = kept.signal;
    await kept.release();
    await bench.time.advance(898);
    expect(signal.aborted).to.equal(false);
    await bench.time.advance(2);
    expect(signal.reason).to.include({ code: 'LOCK_LOST' });
    expect([quiet.aborted, bench.time.pending]).to.deep.equal([false, 0]);
    expect(thrown(() => kept.assertHeld()).code).to.equal('NOT_HELD');
  });
});

for (const method of METHODS) {
  describe(`timestamp lease by ${method}: release`, () => {
    it('deletes its own key, once', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      await lease.release();
      expect([bench.server.size, lease.status]).to.deep.equal([0, 'released']);
      const sent = bench.server.calls;
      await lease.release();
      expect(bench.server.calls).to.equal(sent);
    });

    it("after its validity it sends nothing: the key may be another's", async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      await bench.time.advance(900);
      const sent = bench.server.calls;
      await lease.release();
      expect([bench.server.calls, lease.status]).to.deep.equal([sent, 'lost']);
    });

    it("leaves another's lock alone, whose instant is more than a ttl later", async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      const others = String(bench.wallMs() + 2_100);
      bench.server.set('r', others, 'none');
      await lease.release();
      expect(bench.server.value('r')).to.equal(others);
    });

    for (const offMs of [-400, 1, 400]) {
      it(`deletes what a loser's GETSET wrote over it, ${offMs} ms off`, async () => {
        const bench = new TimestampBench();
        const lease = await bench.lock({ ...MS, method }).acquire('r');
        bench.server.set('r', String(Number(bench.server.value('r')) + offMs), 'none');
        await lease.release();
        expect(bench.server.size).to.equal(0);
      });
    }

    it('resolves by the node timeout when the server is silent, and when it is lost', async () => {
      const bench = new TimestampBench();
      const lock = bench.lock({ ...MS, method });
      const [silent, lost] = [await lock.acquire('a'), await lock.acquire('b')];
      bench.server.manner = 'freeze';
      let isOver = false;
      void silent.release().then(() => (isOver = true));
      await bench.time.advance(99);
      expect(isOver).to.equal(false);
      await bench.time.advance(1);
      expect(isOver).to.equal(true);
      bench.server.cut();
      await lost.release();
      expect(bench.time.pending).to.equal(0);
    });

    it('`await using` releases it, and JSON shows what it is', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      expect(JSON.parse(JSON.stringify(lease))).to.deep.equal({
        resources: ['r'],
        ttlMs: 1_000,
        status: 'held',
        remainingMs: 900,
      });
      await lease[Symbol.asyncDispose]();
      expect(bench.server.size).to.equal(0);
    });
  });

  describe(`timestamp lease by ${method}: extension`, () => {
    it('writes the new instant, and the lease lives for its ttl from then on', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      await bench.time.advance(500);
      await lease.extend();
      expect(lease.remainingMs()).to.equal(900);
      expect(bench.server.value('r')).to.equal(String(bench.wallMs() + 1_001));
      await bench.time.advance(800);
      await lease.release();
      expect(bench.server.size).to.equal(0);
    });

    it('never shortens, and takes a longer ttl', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      const before = bench.server.value('r');
      await lease.extend(300);
      expect([lease.remainingMs(), bench.server.value('r')]).to.deep.equal([900, before]);
      await lease.extend(5_000);
      expect(lease.remainingMs()).to.equal(4_900);
      expect((await rejection(lease.extend(0))).message).to.match(/^ttlMs .*got 0/);
      await lease.release();
      expect(bench.server.size).to.equal(0);
    });

    it("is a loss when the key is gone or another's, and what is there stays so", async () => {
      for (const content of [undefined, '9']) {
        const bench = new TimestampBench();
        const lease = await bench.lock({ ...MS, method }).acquire('r');
        const { signal } = lease;
        const others = content === undefined ? undefined : String(bench.wallMs() + 2_100);
        bench.server.forget();
        if (others !== undefined) bench.server.set('r', others, 'none');
        expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
        expect([lease.status, signal.aborted, bench.server.value('r')]).to.deep.equal(['lost', true, others]);
        expect(bench.time.pending).to.equal(0);
      }
    });

    it('without an answer it fails, and the old validity holds; release finds either instant', async () => {
      for (const manner of ['lose-reply', 'lose-request'] as const) {
        const bench = new TimestampBench();
        const lease = await bench.lock({ ...MS, method }).acquire('r');
        await bench.time.advance(700);
        bench.server.manner = manner;
        const failed = rejection(lease.extend());
        await bench.time.advance(100);
        expect((await failed).code).to.equal('NO_QUORUM');
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', 100]);
        bench.server.manner = 'answer';
        await lease.release();
        expect(bench.server.size, manner).to.equal(0);
      }
    });

    it('an answer after the old validity is no extension, and what it wrote is taken back', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      const before = bench.server.value('r');
      await bench.time.advance(10);
      bench.server.manner = 'freeze';
      const failed = rejection(lease.extend());
      await settle();
      bench.time.stall(900);
      bench.server.thaw();
      expect((await failed).code).to.equal('LOCK_LOST');
      await settle();
      // one script wrote it and takes it back; of several commands, the one that writes is not sent any more
      expect(bench.server.value('r')).to.equal(method === 'script' ? undefined : before);
      expect(lease.status).to.equal('lost');
    });

    it('a release while one is under way comes behind it, and deletes what it wrote', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      await bench.time.advance(600);
      bench.server.latencyMs = 10;
      const extended = rejection(lease.extend());
      await settle();
      const released = lease.release();
      await bench.time.advance(100);
      expect((await extended).code).to.equal('NOT_HELD');
      await released;
      expect(bench.server.size).to.equal(0);
    });

    it('two at a time come one after another', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r');
      bench.server.latencyMs = 10;
      const both = Promise.all([lease.extend(), lease.extend()]);
      await bench.time.advance(100);
      await both;
      expect(lease.remainingMs()).to.be.greaterThan(800);
    });
  });

  describe(`timestamp lease by ${method}: renewal`, () => {
    it('from a third of the ttl on, for as long as it is held', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method, renew: true }).acquire('r');
      for (let third = 0; third < 20; third++) {
        await bench.time.advance(333);
        expect(lease.remainingMs()).to.be.greaterThan(500);
      }
      await lease.release();
      expect([bench.server.size, bench.time.pending]).to.deep.equal([0, 0]);
    });

    it('one that fails is tried again in what is left', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r', { renew: true });
      bench.server.replies.push(...Array.from({ length: 4 }, () => serverError('LOADING')));
      await bench.time.advance(700);
      expect(bench.server.replies).to.deep.equal([]);
      expect(lease.remainingMs()).to.be.greaterThan(500);
    });

    it('a silent server: the signal fires for the loss by the end of validity', async () => {
      const bench = new TimestampBench();
      const lease = await bench.lock({ ...MS, method }).acquire('r', { renew: true });
      const { signal } = lease;
      bench.server.manner = 'lose-request';
      await bench.time.advance(900);
      expect([signal.aborted, lease.status]).to.deep.equal([true, 'lost']);
      await bench.time.advance(200);
      expect(bench.time.pending).to.equal(0);
    });
  });
}

describe('timestamp lease by commands: what comes between two of them', () => {
  it('a release that is slower than the lease lasts looks, and does not delete', async () => {
    const bench = new TimestampBench();
    const lease = await bench.lock({ ...MS, method: 'commands' }).acquire('r');
    bench.server.manner = 'freeze';
    const released = lease.release();
    await settle();
    bench.time.stall(900);
    bench.server.thaw();
    await released;
    await settle();
    expect(bench.sent()).to.deep.equal(['setnx', 'get']);
  });

  it("a key that somebody deleted in between stays nobody's", async () => {
    const bench = new TimestampBench();
    const lease = await bench.lock({ ...MS, method: 'commands' }).acquire('r');
    const own = bench.server.value('r');
    await bench.time.advance(10);
    bench.server.replies.push(own, null);
    expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
    expect(bench.server.size).to.equal(0);
  });

  it("another's instant: the lease is lost, and the other's lock lasts no shorter", async () => {
    const bench = new TimestampBench();
    const lease = await bench.lock({ ...MS, method: 'commands' }).acquire('r');
    const own = bench.server.value('r');
    bench.time.stall(800);
    bench.server.replies.push(own, String(bench.wallMs() + 1_300));
    expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
  });
});
