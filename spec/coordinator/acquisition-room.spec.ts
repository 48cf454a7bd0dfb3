/** Many acquisitions at once: there is room for some of them, and the others wait unsent. */
import { expect } from 'chai';
import { FIRST_LIMIT, MOST_LIMIT } from '../../lib/coordinator/admission.js';
import type { Lease } from '../../lib/lease/public.js';
import { MOST_HELD_MS } from '../../lib/node/pace.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import { kindsSentTo, refuseNext } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const SIZES = wide([1, 2, 3, 4, 5], [3]);
const many = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `r${i}`);

/** An instance with no room left: its masters were frozen, and the attempts under way have a second yet. */
async function crowded(nodes: number, options: RedlockOptions = {}): Promise<Bench> {
  const bench = fakeCluster(nodes, { nodeTimeoutMs: 1_000, ttlMs: 60_000, ...options });
  for (const master of bench.masters) master.manner = 'freeze';
  for (const name of many(FIRST_LIMIT))
    void bench.redlock.acquire(`early ${name}`, { waitMs: 0 }).catch(() => 0);
  await settle();
  return bench;
}

const unanswered = ({ masters }: Bench): readonly number[] => masters.map((master) => master.unanswered);

/** So many attempts of this instance are under way at once; by default as many as at first. */
async function expectRoom(
  redlock: Redlock,
  masters: Bench['masters'],
  time: Bench['time'],
  room = FIRST_LIMIT,
): Promise<void> {
  for (const master of masters) Object.assign(master, { latencyMs: 0, manner: 'freeze' });
  for (const master of masters) master.sent.length = 0;
  const calls = many(1_000).map((name) => rejection(redlock.tryAcquire(name)));
  await settle();
  expect(masters.map(({ sent }) => sent.length)).to.deep.equal(masters.map(() => room));
  await time.advance(1_000);
  await Promise.all(calls);
}

describe('many acquisitions at once', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: all of 3,000 are granted, in their order, and never more than ${MOST_LIMIT} are under way`, async () => {
      const bench = fakeCluster(nodes, { ttlMs: 60_000 });
      for (const master of bench.masters) master.latencyMs = 40;
      const slow = nodes > 2 ? bench.masters.at(-1) : undefined;
      if (slow !== undefined) slow.latencyMs = 150;
      const granted: string[] = [];
      const calls = many(3_000).map(async (name) => {
        const lease = await bench.redlock.acquire(name);
        granted.push(name);
        return lease;
      });
      let most = 0;
      for (let ms = 0; granted.length < 3_000 && ms < 10_000; ms++) {
        await bench.time.advance(1);
        most = Math.max(most, Math.max(...bench.masters.map(({ sent }) => sent.length)) - granted.length);
      }
      expect(granted).to.deep.equal(many(3_000));
      expect(most).to.be.within(FIRST_LIMIT, MOST_LIMIT);
      const leases = await Promise.all(calls);
      await Promise.all([...leases.map((lease) => lease.release()), bench.time.advance(500)]);
      expect(bench.masters.map((master) => master.value('r2999'))).to.deep.equal(
        bench.masters.map(() => undefined),
      );
      // all were released, and none of that was left to the background, which takes back by undos
      for (const master of bench.masters)
        expect(new Set(kindsSentTo(master))).to.deep.equal(new Set(['claim', 'release']));
      expect(bench.time.pending).to.equal(0);
    });

    it(`N=${nodes}: after time ran out for those under way, half as many are`, async () => {
      const bench = await crowded(nodes, { waitMs: 0 });
      await bench.time.advance(1_000);
      for (const master of bench.masters) master.thaw();
      await bench.time.advance(2_000);
      for (const master of bench.masters) master.latencyMs = 40;
      for (const master of bench.masters) master.sent.length = 0;
      const calls = many(1_000).map((name) =>
        rejection(bench.redlock.tryAcquire(name, { nodeTimeoutMs: 30 })),
      );
      await settle();
      expect(bench.masters.map(({ sent }) => sent.length)).to.deep.equal(
        bench.masters.map(() => FIRST_LIMIT / 2),
      );
      await bench.time.advance(1_000);
      await Promise.all(calls);
    });

    it(`N=${nodes}: a lease whose acquisition waited for room begins with its claim`, async () => {
      const bench = await crowded(nodes);
      const late = bench.redlock.acquire('late', { ttlMs: 10_000 });
      await bench.time.advance(800);
      for (const master of bench.masters) master.thaw();
      const lease = await late;
      expect(lease.remainingMs()).to.be.at.least(9_800);
      await lease.release();
    });

    it(`N=${nodes}: tryAcquire waits for room until no attempt has been answered for two node timeouts, and is not sent then`, async () => {
      const bench = await crowded(nodes);
      const before = unanswered(bench);
      let took = -1;
      const startMs = bench.time.now();
      const call = rejection(bench.redlock.tryAcquire('late', { nodeTimeoutMs: 400 })).then((error) => {
        took = bench.time.now() - startMs;
        return error;
      });
      await bench.time.advance(799);
      expect([took, unanswered(bench)]).to.deep.equal([-1, before]);
      await bench.time.advance(1);
      expect(took).to.equal(800);
      const { code, tally, message } = await call;
      expect([code, tally?.length]).to.deep.equal(['NO_QUORUM', nodes]);
      expect(message).to.contain(`not sent: ${FIRST_LIMIT} other attempts were under way`);
    });

    it(`N=${nodes}: an attempt that is let in has a node timeout for its answers`, async () => {
      const bench = await crowded(nodes);
      let took = -1;
      const startMs = bench.time.now();
      const call = rejection(bench.redlock.tryAcquire('late', { nodeTimeoutMs: 700 })).then((error) => {
        took = bench.time.now() - startMs;
        return error;
      });
      await bench.time.advance(1_699); // there was room after 1,000 ms
      expect(took).to.equal(-1);
      await bench.time.advance(1);
      expect(took).to.equal(1_700);
      expect((await call).message).to.contain('not sent within 700 ms');
    });

    it(`N=${nodes}: acquire waits for room up to the end of its wait, and ends in one node timeout more at the latest`, async () => {
      for (const waitMs of [200, 300, 5_000]) {
        const bench = await crowded(nodes);
        let took = -1;
        const startMs = bench.time.now();
        const calls = many(2_000).map(async (name) =>
          rejection(bench.redlock.acquire(name, { waitMs, nodeTimeoutMs: 200 })),
        );
        const all = Promise.all(calls).then((errors) => {
          took = bench.time.now() - startMs;
          return errors;
        });
        await bench.time.advance(waitMs + 200);
        expect(took, `waitMs ${waitMs}`).to.be.within(waitMs, waitMs + 200);
        expect([...new Set((await all).map(({ code }) => code))]).to.deep.equal(['NO_QUORUM']);
      }
    });
  }

  it('where each takes more than half of its time, no more are let in at a time', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 60_000, nodeTimeoutMs: 100 });
    for (const master of masters) master.latencyMs = 60;
    const calls = many(1_500).map((name) => redlock.acquire(name));
    for (let wave = 1; wave <= 4; wave++) {
      await time.advance(MOST_HELD_MS); // those whose answers come one by one go together
      expect(masters.map(({ sent }) => sent.length)).to.deep.equal(masters.map(() => wave * FIRST_LIMIT));
      await time.advance(60);
    }
    await Promise.all([...calls, time.advance(1_000)]);
  });

  it('a wait that is shorter than a node timeout gives it no less time than none', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 60_000, nodeTimeoutMs: 100 });
    for (const master of masters) master.latencyMs = 60;
    const calls = many(1_500).map((name) => redlock.acquire(name, { waitMs: 30 }));
    const [leases] = await Promise.all([Promise.all(calls), time.advance(1_000)]);
    expect(leases.length).to.equal(1_500);
  });

  it('an earlier refusal is the error, and not that there was no room to ask again', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000, fair: false });
    await other('holder').redlock.acquire('busy');
    const call = rejection(redlock.acquire('busy', { waitMs: 600 }));
    await settle();
    for (const master of masters) master.manner = 'freeze';
    const calls = many(2_000).map((name) => rejection(redlock.tryAcquire(name, { nodeTimeoutMs: 1_000 })));
    await time.advance(600);
    const { attempts, code, tally } = await call;
    expect([attempts, code]).to.deep.equal([2, 'LOCK_TAKEN']);
    expect(tally.map(({ outcome }) => outcome)).to.deep.equal(['refused', 'refused', 'refused']);
    await time.advance(10_000);
    await Promise.all(calls);
  });

  it('an acquisition that is cancelled waits no longer, and is not sent', async () => {
    const bench = await crowded(3);
    const controller = new AbortController();
    const aborted = rejection(bench.redlock.acquire('aborted', { signal: controller.signal }));
    const closed = rejection(bench.redlock.acquire('closed'));
    await settle();
    controller.abort(new Error('enough'));
    expect((await aborted).code).to.equal('ABORTED');
    const closing = bench.redlock.close();
    expect((await closed).code).to.equal('CLOSED');
    for (const master of bench.masters) master.thaw();
    await bench.time.advance(2_000);
    await closing;
    const names = JSON.stringify(bench.masters.map(({ sent }) => sent));
    expect([names.includes('early r0'), names.includes('aborted'), names.includes('closed')]).to.deep.equal([
      true,
      false,
      false,
    ]);
    expect(bench.time.pending).to.equal(0);
  });

  it('an acquisition that was refused, and queued then, has taken up room once', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 }, { hasPushes: true });
    const waiter = other('waiter', { waitMs: 60_000 });
    for (let i = 0; i < 20; i++) {
      const holder = await redlock.acquire(`busy ${i}`);
      const next = waiter.redlock.acquire(`busy ${i}`);
      await time.advance(100);
      await Promise.all([holder.release(), time.advance(500)]);
      await (await next).release();
    }
    await expectRoom(waiter.redlock, masters, time);
  });

  it('acquisitions that queued at once have taken up no room', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 }, { hasPushes: true });
    const waiter = other('waiter', { waitMs: 60_000 });
    for (let i = 0; i < 20; i++) {
      const holder = await redlock.acquire('busy');
      const next = waiter.redlock.acquire('busy'); // from the second on it queues, since the first was refused
      await time.advance(100);
      await Promise.all([holder.release(), time.advance(100)]);
      await (await next).release();
    }
    await expectRoom(waiter.redlock, masters, time);
  });

  it('claims that were refused in their turn leave as much room as there was', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 }, { hasPushes: true });
    const waiter = other('waiter', { waitMs: 60_000 });
    const holder = await redlock.acquire('busy');
    const next = waiter.redlock.acquire('busy');
    await time.advance(100);
    for (const master of masters) refuseNext(master);
    await Promise.all([holder.release(), time.advance(2_000)]);
    await (await next).release();
    await expectRoom(waiter.redlock, masters, time);
  });

  it('those that were refused, or ended by their signal, leave as much room as there was', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 });
    await other().redlock.acquire('busy');
    for (const master of masters) master.latencyMs = 10;
    for (let i = 0; i < 5; i++) {
      const controller = new AbortController();
      const calls = [redlock.tryAcquire('busy'), redlock.tryAcquire(`free ${i}`, controller)];
      await time.advance(5);
      controller.abort();
      await time.advance(100);
      await Promise.allSettled(calls);
    }
    await expectRoom(redlock, masters, time);
  });

  it('one that ran out of time leaves less room', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 60_000 });
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(redlock.tryAcquire('late'));
    await time.advance(1_000);
    await failed;
    for (const master of masters) master.thaw();
    await time.advance(1_000);
    await expectRoom(redlock, masters, time, FIRST_LIMIT / 2);
  });

  it('a wait as long as a node timeout ends in time', async () => {
    const { redlock, time } = await crowded(3);
    let took = -1;
    const startMs = time.now();
    const call = rejection(redlock.acquire('late', { waitMs: 400, nodeTimeoutMs: 400 })).then(
      () => (took = time.now() - startMs),
    );
    await time.advance(400);
    expect(took).to.equal(400);
    await call;
  });

  it('N=3: one that is ended by its signal while masters are slow does not have them taken for silent', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 60_000, nodeTimeoutMs: 1_000 });
    for (const master of masters) master.latencyMs = 100;
    const controller = new AbortController();
    const failed = rejection(redlock.acquire('aborted', { signal: controller.signal }));
    await time.advance(50);
    controller.abort();
    await failed;
    const calls = many(100).map((name) => redlock.acquire(name));
    await settle();
    // to a silent one, there would be few in flight
    expect(masters.map(({ sent }) => sent.length)).to.deep.equal(masters.map(() => 2 + 100));
    await Promise.all([...calls, time.advance(1_000)]);
  });

  it('an acquisition whose turn it is in the queue does not wait for room', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 }, { hasPushes: true });
    const holder = await redlock.acquire('busy');
    const waiter = other('waiter', { nodeTimeoutMs: 1_000, waitMs: 60_000 });
    const said: string[] = [];
    const take = async (name: string): Promise<Lease> => {
      const lease = await waiter.redlock.acquire(name);
      said.push(name);
      return lease;
    };
    const next = take('busy');
    await time.advance(500);
    for (const master of masters) master.latencyMs = 300;
    const crowd = many(3_000).map(take);
    await Promise.all([holder.release(), time.advance(20_000)]);
    expect(said.length).to.equal(3_001);
    expect(said.indexOf('busy')).to.be.within(1, 1_000);
    await Promise.all([next, ...crowd, time.advance(2_000)]);
  });
});

describe('many extensions at once', () => {
  /** So many leases, and what becomes of their extensions. */
  async function held(count: number, options: RedlockOptions = {}) {
    const bench = fakeCluster(3, { ttlMs: 60_000, ...options });
    const leases = await Promise.all(many(count).map((name) => bench.redlock.acquire(name)));
    for (const master of bench.masters) master.sent.length = 0;
    const said: string[] = [];
    const extend = async (lease: Lease): Promise<void> => {
      const [name = ''] = lease.resources;
      await lease.extend().then(
        () => said.push(name),
        (error: { code: string }) => said.push(`${name} ${error.code}`),
      );
    };
    return { ...bench, leases, said, extend };
  }

  it('all of 3,000 are done, in their order, and never more than there is room for are under way', async () => {
    const { extend, leases, masters, said, time } = await held(3_000);
    for (const master of masters) master.latencyMs = 40;
    for (const lease of leases) void extend(lease);
    let most = 0;
    for (let ms = 0; said.length < 3_000 && ms < 10_000; ms++) {
      await time.advance(1);
      most = Math.max(most, Math.max(...masters.map(({ sent }) => sent.length)) - said.length);
    }
    expect(said).to.deep.equal(many(3_000));
    expect(most).to.be.within(FIRST_LIMIT, MOST_LIMIT);
  });

  it('acquisitions under way do not keep them waiting', async () => {
    const { extend, leases, masters, redlock, said, time } = await held(1, { nodeTimeoutMs: 1_000 });
    for (const master of masters) master.latencyMs = 500;
    const calls = many(1_000).map((name) => redlock.tryAcquire(`other ${name}`).catch(() => undefined));
    for (const lease of leases) void extend(lease);
    await time.advance(500);
    expect(said).to.deep.equal(['r0']);
    await Promise.all([...calls, time.advance(2_000)]);
  });

  it('one that was released meanwhile is not sent; none waits for longer than its validity', async () => {
    const { extend, leases, masters, said, time } = await held(FIRST_LIMIT + 3, {
      nodeTimeoutMs: 5_000,
      ttlMs: 8_000,
    });
    const first = leases[FIRST_LIMIT];
    if (first === undefined) return;
    for (const master of masters) master.manner = 'freeze';
    for (const lease of leases) void extend(lease);
    await time.advance(3_000);
    for (const master of masters) master.thaw();
    void first.release();
    await settle();
    expect(said).to.have.members([
      ...many(FIRST_LIMIT + 3).filter((name) => !first.resources.includes(name)),
      `${first.resources[0]} NOT_HELD`,
    ]);

    said.length = 0;
    for (const master of masters) master.manner = 'freeze';
    for (const lease of leases) if (lease !== first) void extend(lease);
    const leftMs = Math.max(...leases.map((lease) => lease.remainingMs()));
    await time.advance(leftMs);
    expect(said.length).to.equal(FIRST_LIMIT + 2);
    expect(time.pending).to.equal(0);
  });
});
