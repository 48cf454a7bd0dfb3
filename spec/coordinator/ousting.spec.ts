/** Locks that are taken away: the holder is told, stops, and the next one has a higher fencing token. */
import { expect } from 'chai';
import type { Lease as OwnLease } from '../../lib/lease/lease.js';
import type { Lease } from '../../lib/lease/public.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { holdBack, kindOf, tokenOf } from '../support/commands.js';
import { LONG } from '../support/contended.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { entriesOf } from '../support/entries.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TTL_MS = 30_000;
const TERMS = { ...LONG, ttlMs: TTL_MS } as const;

/** A lease of an instance that has no push connections. */
async function held(options = {}): Promise<Bench & { readonly holder: Lease }> {
  const bench = fakeCluster(3, { ...TERMS, ...options }, { hasPushes: true });
  const holder = await bench.other('holder').redlock.acquire('r');
  return { ...bench, holder };
}

/** A lease that came through the queue: its instance has push connections. */
async function handedOver(options = {}): Promise<Bench & { readonly holder: Lease }> {
  const bench = fakeCluster(3, TERMS, { hasPushes: true });
  const first = await bench.redlock.acquire('r');
  const wait = bench.other('holder').redlock.acquire('r', options);
  await bench.time.advance(100);
  await first.release();
  const holder = await wait;
  await settle();
  return { ...bench, holder };
}

/** A master loses the next claim, whose token it resolves with. */
function loseNextClaim(master: FakeMaster): Promise<string> {
  const send = master.call.bind(master);
  return new Promise((resolve) => {
    master.call = (command) => {
      if (kindOf(command) !== 'claim') return send(command);
      master.call = send;
      for (const entry of entriesOf(command)) resolve(tokenOf(entry));
      return Promise.reject(serverError('LOADING'));
    };
  });
}

function lossOf({ signal }: Lease): RedlockError | undefined {
  const reason: unknown = signal.reason;
  return RedlockError.is(reason) ? reason : undefined;
}

describe('a lock that is stolen', () => {
  it('nobody holds it: it is acquired', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    const lease = await redlock.steal('r');
    expect(lease.status).to.equal('held');
    await lease.release();
  });

  it('its holder is told, its signal aborts, and the next one has it in the same instant, with a higher fence', async () => {
    const { holder, redlock, time } = await handedOver();
    const { signal } = holder;
    const fromMs = time.now();
    const lease = await redlock.steal('r');
    expect(time.now()).to.equal(fromMs);
    expect(signal.aborted).to.equal(true);
    expect(lossOf(holder)?.code).to.equal('LOCK_LOST');
    expect(lossOf(holder)?.message).to.match(/took it away/);
    expect(lease.fence).to.be.above(holder.fence ?? Infinity);
    await lease.release();
  });

  it('a holder keeps its push connections for as long as it holds something, and no longer', async () => {
    const { holder, masters, redlock, time } = await handedOver({ renew: true });
    const open = (): number =>
      masters.flatMap(({ connections }) => connections).filter(({ isClosed }) => !isClosed).length;
    await time.advance(10 * TTL_MS);
    const fromMs = time.now();
    const lease = await redlock.steal('r');
    expect([holder.status, time.now()]).to.deep.equal(['lost', fromMs]);
    await lease.release();
    await time.advance(20_000);
    expect(open()).to.equal(0);
  });

  it('a holder without push connections keeps it until its validity ends', async () => {
    const { holder, redlock, time } = await held();
    let lease: Lease | undefined;
    void redlock.steal('r').then((one) => (lease = one));
    await time.advance(TTL_MS - 500);
    expect([holder.status, lease]).to.deep.equal(['held', undefined]);
    await time.advance(1_000);
    expect([holder.status, lease?.status]).to.deep.equal(['lost', 'held']);
    await lease?.release();
  });

  it('it cannot extend it; it is over then, and the next one has it at once', async () => {
    const { holder, redlock, time } = await held();
    const steal = redlock.steal('r');
    await time.advance(1_000);
    const failed = await rejection(holder.extend());
    expect([failed.code, failed.message]).to.deep.equal([
      'LOCK_LOST',
      'the lease on "r" was lost: it was taken away.',
    ]);
    await (await steal).release();
  });

  it('with a shorter grace, it has it when that is over', async () => {
    const { holder, redlock, time } = await held();
    const steal = redlock.steal('r', { graceMs: 5_000 });
    await time.advance(4_900);
    expect(await redlock.tryAcquire('r')).to.equal(null);
    await time.advance(200);
    const lease = await steal;
    expect(holder.status).to.equal('held'); // it was not told
    expect(lease.fence).to.be.above(holder.fence ?? Infinity);
    await lease.release();
  });

  it('comes after those that wait, unless it is to pass them', async () => {
    for (const passWaiters of [false, true]) {
      const bench = await handedOver();
      const order: string[] = [];
      const take = async (name: string, wait: Promise<Lease>): Promise<void> => {
        const lease = await wait;
        order.push(name);
        await lease.release();
      };
      const waiter = take('waiter', bench.other('waiter').redlock.acquire('r'));
      await bench.time.advance(100);
      const thief = take('thief', bench.redlock.steal('r', { passWaiters }));
      await bench.time.advance(1_000);
      await Promise.all([waiter, thief]);
      expect(order).to.deep.equal(passWaiters ? ['thief', 'waiter'] : ['waiter', 'thief']);
    }
  });

  it('its claim with the votes that were taken is lost: it is undone, and the next one has a token of its own', async () => {
    const { masters, random, redlock, time } = await handedOver();
    const lost = masters.map(loseNextClaim);
    const steal = redlock.steal('r', { passWaiters: true });
    await time.advance(5_000);
    const lease = await steal;
    for (const token of await Promise.all(lost)) {
      expect(random.tokens).to.include(token);
      expect(lease.token).to.not.equal(token);
    }
    await lease.release();
  });

  it('held by another library: LOCK_TAKEN, and nothing is taken', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    for (const master of masters) master.set('r', 'theirs', 60_000);
    const error = await rejection(redlock.steal('r'));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.message).to.match(/another library/);
    for (const master of masters) expect(master.value('r')).to.equal('theirs');
  });

  it('a holder without push connections that renews stops at its next renewal, and says so then', async () => {
    const { holder, redlock, time } = await held({ renew: true });
    const fromMs = time.now();
    let lease: Lease | undefined;
    void redlock.steal('r').then((one) => (lease = one));
    await time.advance(TTL_MS / 3 - 100);
    expect([holder.status, lease?.status]).to.deep.equal(['held', undefined]);
    await time.advance(200);
    expect([holder.status, lease?.status]).to.deep.equal(['lost', 'held']);
    expect(time.now() - fromMs).to.be.below(TTL_MS / 2);
    await lease?.release();
  });

  it('its lease holds other resources too: these are given back, and it is over', async () => {
    const { other, redlock, time } = fakeCluster(3, TERMS, { hasPushes: true });
    const first = await redlock.acquire(['a', 'r']);
    const wait = other('holder').redlock.acquire(['a', 'r']);
    await time.advance(100);
    await first.release();
    const holder = await wait;
    await settle();
    const lease = await redlock.steal('r');
    await time.advance(100);
    expect(holder.status).to.equal('lost');
    await (await other('next').redlock.acquire('a', { waitMs: 0 })).release();
    await lease.release();
  });

  it('the label of who takes it is in the error of who had it', async () => {
    const { holder, other } = await handedOver();
    const { signal } = holder;
    const lease = await other('thief', { label: 'deploy % 1' }).redlock.steal('r');
    expect(signal.aborted && lossOf(holder)?.stolenBy).to.equal('deploy % 1');
    expect(lossOf(holder)?.message).to.equal('the lease on "r" was lost: deploy % 1 took it away.');
    await lease.release();
  });

  it('without a quorum of masters: NO_QUORUM; what was taken on the others ends as the votes would have', async () => {
    const { holder, masters, redlock, time } = await held();
    for (const master of masters.slice(1)) master.manner = 'lose-request';
    const failed = rejection(redlock.steal('r', { waitMs: 0 }));
    await time.advance(1_000);
    expect((await failed).code).to.equal('NO_QUORUM');
    for (const master of masters.slice(1)) master.thaw();
    expect(holder.status).to.equal('held');
    expect(await redlock.tryAcquire('r')).to.equal(null); // its vote still counts
    await time.advance(TTL_MS);
    await (await redlock.acquire('r')).release();
  });

  it('a holder whose quorum is not seen in full, since a master is silent, is told as well', async () => {
    const { holder, masters, redlock, time } = await handedOver();
    for (const master of masters.slice(1, 2)) master.manner = 'lose-request';
    masters[2]?.delete('r');
    const steal = redlock.steal('r');
    await time.advance(TTL_MS / 10);
    expect(holder.status).to.equal('lost');
    await (await steal).release();
  });

  it('fails on all but one of the two masters that the holder counts: that vote stays taken while it is valid', async () => {
    const { holder, masters, other, redlock, time } = await held();
    masters[2]?.delete('r');
    for (const master of masters.slice(1)) holdBack(master, 'oust');
    const failed = rejection(redlock.steal('r', { waitMs: 0 }));
    await time.advance(TTL_MS / 3);
    expect((await failed).code).to.equal('NO_QUORUM');
    expect(holder.status).to.equal('held');
    expect(await other('next').redlock.tryAcquire('r')).to.equal(null);
  });

  for (const [how, open] of [
    ['is told by a push', handedOver],
    ['learns of it by its next renewal', () => held({ renew: true })],
  ] as const)
    it(`a lease that another process may go on with, and its holder ${how}: nobody says that it is over, and its votes are waited for`, async () => {
      const { holder, redlock, time } = await open();
      (holder as OwnLease).lend();
      let lease: Lease | undefined;
      void redlock.steal('r').then((one) => (lease = one));
      await time.advance(TTL_MS - 1_000);
      expect([holder.status, lease]).to.deep.equal(['lost', undefined]);
      await time.advance(2_000);
      expect(lease?.status).to.equal('held');
      await lease?.release();
    });

  it('without a quorum for a while: it tries again within its wait', async () => {
    const { masters, redlock, time } = await handedOver();
    for (const master of masters.slice(1)) master.manner = 'lose-request';
    const steal = redlock.steal('r', { waitMs: 10_000 });
    await time.advance(3_000);
    for (const master of masters.slice(1)) master.thaw();
    await time.advance(TTL_MS);
    const lease = await steal;
    expect(lease.status).to.equal('held');
    await lease.release();
  });

  it('a signal ends the wait; what was taken ends as the votes would have, or with the grace', async () => {
    for (const [graceMs, leftMs] of [
      [undefined, TTL_MS],
      [5_000, 7_000],
    ] as const) {
      const { masters, redlock, time } = await held();
      const controller = new AbortController();
      const failed = rejection(redlock.steal('r', { graceMs, signal: controller.signal }));
      await time.advance(1_000);
      controller.abort();
      expect((await failed).code).to.equal('ABORTED');
      await time.advance(leftMs - 1_100);
      for (const master of masters) expect(master.value('r')).to.not.equal(undefined);
      await time.advance(200);
      for (const master of masters) expect(master.value('r')).to.equal(undefined);
    }
  });

  it('a process that holds it by another instance of its own is told as well', async () => {
    const { holder, other } = await handedOver();
    void holder.signal;
    const lease = await other('thief').redlock.steal('r', { passWaiters: true });
    expect(holder.status).to.equal('lost');
    await lease.release();
  });

  it('options are checked before anything is sent', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    for (const options of [{ graceMs: -1 }, { graceMs: 0.5 }, { passWaiters: 1 }, { grace: 1 }]) {
      const error = await rejection(redlock.steal('r', options as never));
      expect(error.code).to.equal('INVALID_ARGUMENT');
    }
    for (const master of masters) expect(master.sent).to.deep.equal([]);
  });
});

describe('a read-write lock that is stolen', () => {
  it('readers are told, their signals abort, and the writer has it in the same instant', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const lock = ({ redlock }: Pick<Bench, 'redlock'>) => redlock.readWriteLock('r');
    const first = await lock(bench).write.acquire();
    const waits = ['one', 'two'].map((name) => lock(bench.other(name)).read.acquire());
    await bench.time.advance(100);
    await first.release();
    const readers = await Promise.all(waits);
    await settle();
    for (const { signal } of readers) expect(signal.aborted).to.equal(false);
    const fromMs = bench.time.now();
    const lease = await lock(bench).steal();
    expect(bench.time.now()).to.equal(fromMs);
    expect(readers.map(({ status }) => status)).to.deep.equal(['lost', 'lost']);
    expect(lease.fence).to.be.above(first.fence ?? Infinity);
    await lease.release();
    await (await lock(bench).read.acquire({ waitMs: 0 })).release();
  });

  it('a reader without push connections keeps it until its validity ends, and cannot extend it', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const reader = await bench.other('reader').redlock.readWriteLock('r').read.acquire();
    let lease: Lease | undefined;
    void bench.redlock
      .readWriteLock('r')
      .steal()
      .then((one) => (lease = one));
    await bench.time.advance(1_000);
    expect(await bench.redlock.readWriteLock('r').read.tryAcquire()).to.equal(null);
    expect((await rejection(reader.extend())).code).to.equal('LOCK_LOST');
    await bench.time.advance(100);
    expect(lease?.status).to.equal('held'); // it said so then
    await lease?.release();
  });

  it('comes after those that wait, unless it is to pass them', async () => {
    for (const passWaiters of [false, true]) {
      const bench = fakeCluster(3, TERMS, { hasPushes: true });
      const order: string[] = [];
      const take = async (name: string, wait: Promise<Lease>): Promise<void> => {
        const lease = await wait;
        order.push(name);
        await lease.release();
      };
      const reader = await bench.other('reader').redlock.readWriteLock('r').read.acquire();
      const waiter = take('waiter', bench.other('waiter').redlock.readWriteLock('r').write.acquire());
      await bench.time.advance(100);
      const thief = take('thief', bench.redlock.readWriteLock('r').steal({ graceMs: 1_000, passWaiters }));
      await bench.time.advance(10_000);
      await Promise.all([waiter, thief]);
      expect([passWaiters, ...order]).to.deep.equal([
        passWaiters,
        ...(passWaiters ? ['thief', 'waiter'] : ['waiter', 'thief']),
      ]);
      await reader.release().catch(() => undefined);
    }
  });

  it('a lock of another kind: WRONG_KIND, and nothing is taken', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    const [mutex, semaphore] = [await redlock.acquire('m'), await redlock.semaphore('s', 2).acquire()];
    const failures = [
      redlock.readWriteLock('m').steal(),
      redlock.readWriteLock('s').steal(),
      redlock.steal('s'),
    ].map(async (steal) => (await rejection(steal)).code);
    expect(await Promise.all(failures)).to.deep.equal(['WRONG_KIND', 'WRONG_KIND', 'WRONG_KIND']);
    await Promise.all([mutex.release(), semaphore.release()]);
  });
});

describe('a leader that is deposed', () => {
  it('nobody leads: false', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    expect(await redlock.election('r').depose()).to.equal(false);
  });

  it('its signal aborts, the next candidate leads with a higher fence, and it is a candidate again', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const stop = new AbortController();
    const led: string[] = [];
    const lead = (name: string): Promise<void> =>
      bench
        .other(name)
        .redlock.election('r')
        .lead(
          async ({ signal, fence }) => {
            led.push(`${name} ${fence}`);
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          },
          { signal: stop.signal },
        );
    const all = [lead('a'), lead('b')];
    await bench.time.advance(1_000);
    for (let turn = 0; turn < 3; turn++) {
      const deposed = bench.redlock.election('r').depose();
      await bench.time.advance(TTL_MS / 2);
      expect(await deposed).to.equal(true);
    }
    expect(led.map((one) => one.split(' ')[0])).to.deep.equal(['a', 'b', 'a', 'b']);
    const fences = led.map((one) => Number(one.split(' ')[1]));
    expect([...fences].sort((one, other) => one - other)).to.deep.equal(fences);
    stop.abort();
    await bench.time.advance(1_000);
    await Promise.all(all);
  });

  it('options are checked before anything is sent', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    for (const options of [{ graceMs: -1 }, { grace: 1 }, { signal: 1 }])
      expect((await rejection(redlock.election('r').depose(options as never))).code).to.equal(
        'INVALID_ARGUMENT',
      );
    for (const master of masters) expect(master.sent).to.deep.equal([]);
  });
});
