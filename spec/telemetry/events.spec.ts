/** What an instance tells, event by event, over masters in memory. */
import { expect } from 'chai';
import { inspect } from 'node:util';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { AnyLease } from '../../lib/lease/public.js';
import { EVENT_NAMES } from '../../lib/telemetry/events.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { hear } from '../support/heard.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 3, 5];
const TTL_MS = 3_000;

const outcomesIn = ({ tally }: { readonly tally: readonly { readonly outcome: string }[] }): string[] =>
  tally.map(({ outcome }) => outcome);
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

function takenByAnother({ masters }: Bench, remainingMs = 600_000): void {
  for (const master of masters) master.set('r', 'another', remainingMs);
}

/** Masters that may have forgotten votes until `bootstrap`. */
function guarded(nodes: number, options: RedlockOptions = {}): Bench {
  return fakeCluster(nodes, { restartGuardMs: 5_000, ttlMs: TTL_MS, ...options });
}

for (const nodes of SIZES) {
  describe(`events, N=${nodes}: acquisitions`, () => {
    it('acquired: the call, its time, the fence, and the votes of a quorum; then released', async () => {
      const { redlock, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock);
      const lease = await redlock.acquire(['b', 'a']);
      const { tally, ...event } = heard.one('acquired');
      const facts = { resources: ['a', 'b'], kind: 'mutex', by: 'acquire', attempts: 1, elapsedMs: 0 };
      expect(event).to.deep.equal({ ...facts, ttlMs: TTL_MS, fence: lease.fence, local: false });
      expect(tally.map(({ node }) => node)).to.deep.equal(
        Array.from({ length: nodes }, (_, i) => `m${i + 1}`),
      );
      expect(tally.filter(({ outcome }) => outcome === 'granted').length).to.be.at.least(quorumOf(nodes));
      await time.advance(700);
      await lease.release();
      const { tally: confirmed, ...released } = heard.one('released');
      expect(released).to.deep.equal({
        ...{ resources: ['a', 'b'], kind: 'mutex', how: 'released', heldMs: 700, elapsedMs: 0 },
      });
      expect(confirmed.filter(({ outcome }) => outcome === 'granted').length).to.be.at.least(quorumOf(nodes));
      expect(heard.names).to.deep.equal(['acquired', 'released']);
    });

    it('contended and waiting come once for each call, however many attempts it makes', async () => {
      const bench = fakeCluster(nodes, { fair: false });
      takenByAnother(bench);
      const heard = hear(bench.redlock);
      const failed = rejection(bench.redlock.acquire('r', { waitMs: 2_000 }));
      await bench.time.advance(3_000);
      expect((await failed).attempts).to.be.above(5);
      expect(heard.names).to.deep.equal(['contended', 'waiting']);
      const contended = heard.one('contended');
      expect([contended.attempts, contended.elapsedMs]).to.deep.equal([1, 0]);
      expect(outcomesIn(contended)).to.include('refused');
      expect(heard.one('waiting').waitMs).to.equal(2_000);
    });

    it('in a queue: waiting, then acquired, with the time that it took', async () => {
      const bench = fakeCluster(nodes, {}, { hasPushes: true });
      const { redlock, time } = bench;
      const first = await bench.other().redlock.acquire('r');
      const heard = hear(redlock);
      const second = redlock.using('r', () => 'done');
      await time.advance(400);
      expect(heard.names).to.deep.equal(['contended', 'waiting']);
      void first.release();
      await time.advance(100);
      expect(await second).to.equal('done');
      const { attempts, by, elapsedMs } = heard.one('acquired');
      expect([attempts > 1, by, elapsedMs >= 400]).to.deep.equal([true, 'using', true]);
    });

    it('handed over directly: acquired, as often as there were grants', async () => {
      const bench = fakeCluster(nodes, { localTurns: 0 }, { hasPushes: true });
      const { redlock, time } = bench;
      const heard = hear(redlock);
      const turns = Array.from({ length: 4 }, () => redlock.using('r', () => time.wait(20, () => undefined)));
      await time.advance(500);
      await Promise.all(turns);
      const granted = heard.names.filter((name) => name === 'acquired').length;
      expect([granted, redlock.stats().counts.acquired]).to.deep.equal([4, 4]);
      const last = heard.of('acquired')[3] ?? expect.fail('there are four');
      expect(last.fence).to.be.a('number');
      expect(outcomesIn(last).filter((outcome) => outcome === 'granted').length).to.be.at.least(
        quorumOf(nodes),
      );
    });

    it('tryAcquire of a lock that is held: contended, and nothing else', async () => {
      const bench = fakeCluster(nodes);
      takenByAnother(bench);
      const heard = hear(bench.redlock);
      expect(await bench.redlock.tryAcquire('r')).to.equal(null);
      expect(heard.names).to.deep.equal(['contended']);
      expect(heard.one('contended').by).to.equal('tryAcquire');
    });

    it('an outage is no contention', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'freeze';
      const heard = hear(redlock);
      const failed = rejection(redlock.acquire('r', { waitMs: 2_000 }));
      await time.advance(5_000);
      expect((await failed).code).to.equal('NO_QUORUM');
      expect(heard.names.filter((name) => name !== 'nodeDown')).to.deep.equal(['waiting']);
      expect(outcomesIn(heard.one('waiting'))).to.deep.equal(masters.map(() => 'unknown'));
    });

    it('adopt: acquired by it; handle: released as handed over', async () => {
      const bench = fakeCluster(nodes);
      const [from, to] = [bench.redlock, bench.other().redlock];
      const [given, taken] = [hear(from), hear(to)];
      const lease = await from.acquire('r');
      await bench.time.advance(100);
      const adopted = await to.adopt(lease.giveAway());
      await settle();
      const { how, heldMs } = given.one('released');
      expect([how, heldMs]).to.deep.equal(['givenAway', 100]);
      const { by, fence } = taken.one('acquired');
      expect([by, fence]).to.deep.equal(['adopt', adopted.fence]);
    });
  });

  describe(`events, N=${nodes}: leases`, () => {
    it('renewed: by quorate itself, and by the holder; with what the masters said', async () => {
      const { redlock, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock);
      const lease = await redlock.acquire('r', { renew: true });
      await time.advance(TTL_MS / 2);
      const { tally, ...renewal } = heard.one('renewed');
      expect(renewal).to.deep.include({ resources: ['r'], kind: 'mutex', by: 'renewal', attempts: 1 });
      expect(renewal.remainingMs).to.be.above(TTL_MS * 0.9);
      expect(tally.filter(({ outcome }) => outcome === 'granted').length).to.be.at.least(quorumOf(nodes));
      heard.clear();
      await lease.extend(5_000);
      expect(heard.one('renewed')).to.include({ by: 'extend', ttlMs: 5_000 });
    });

    it('renewed: of many leases that share a call, each with its own tally', async () => {
      const { redlock, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock);
      const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
      await Promise.all(names.map((name) => redlock.acquire(name, { renew: true })));
      await time.advance(TTL_MS / 2);
      const renewed = heard.of('renewed');
      expect(renewed.flatMap(({ resources }) => resources).sort()).to.deep.equal([...names].sort());
      for (const event of renewed)
        expect(outcomesIn(event).filter((one) => one === 'granted').length).to.be.at.least(quorumOf(nodes));
    });

    it('renewalFailed, again and again while it lasts, then lost: with tally and cause', async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock, ['renewalFailed', 'lost']);
      const lease = await redlock.acquire('r', { renew: true });
      for (const master of masters) master.cut();
      await time.advance(TTL_MS);
      const failed = heard.of('renewalFailed');
      expect(failed.length).to.be.above(2);
      expect(failed.map(({ attempts }) => attempts)).to.deep.equal(failed.map((_, i) => i + 1));
      expect(failed[0]?.cause.code).to.equal('NO_QUORUM');
      expect(failed[0]?.tally.map(({ outcome }) => outcome)).to.include('unknown');
      const lost = heard.one('lost');
      expect([lost.cause, lost.tally]).to.deep.equal([lease.signal.reason, lost.cause.tally]);
      expect(lost.heldMs).to.be.within(TTL_MS * 0.9, TTL_MS);
      expect(heard.names.at(-1)).to.equal('lost');
    });

    it('lost: a lease that nobody renews or watches, when its validity ends, and not later', async () => {
      const { redlock, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock);
      await redlock.acquire('r');
      await time.advance(TTL_MS * 0.9);
      expect(heard.of('lost')).to.deep.equal([]);
      await time.advance(TTL_MS * 0.1);
      expect(heard.one('lost').cause.code).to.equal('LOCK_LOST');
      expect(time.pending).to.equal(0);
    });

    it('lost once, also where the loss is noticed in several ways', async () => {
      const { redlock, time } = fakeCluster(nodes, { ttlMs: TTL_MS });
      const heard = hear(redlock);
      const lease = await redlock.acquire('r', { renew: true });
      void lease.signal;
      time.stall(TTL_MS * 2);
      expect(lease.status).to.equal('lost');
      await time.advance(TTL_MS);
      await lease.release();
      expect(heard.names).to.deep.equal(['acquired', 'lost']);
    });
  });

  describe(`events, N=${nodes}: masters`, () => {
    it('nodeDown and nodeUp: a connection that is lost and comes back', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const heard = hear(redlock);
      const [master] = masters;
      master?.cut();
      await settle();
      expect(heard.one('nodeDown')).to.include({ node: 'm1', reason: 'disconnected' });
      expect(heard.one('nodeDown').cause.message).to.contain('not connected');
      await time.advance(1_500);
      master?.become('ready');
      await settle();
      expect(heard.one('nodeUp')).to.deep.equal({ node: 'm1', downMs: 1_500 });
    });

    it('nodeDown and nodeUp: a master that answers nothing, and then does', async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { nodeTimeoutMs: 50 });
      const heard = hear(redlock, ['nodeDown', 'nodeUp']);
      for (const master of masters) master.manner = 'freeze';
      void rejection(redlock.acquire('r', { waitMs: 0 }));
      await time.advance(100);
      const reasons = heard.of('nodeDown').map(({ node, reason }) => `${node} ${reason}`);
      expect(reasons).to.deep.equal(masters.map(({ name }) => `${name} silent`));
      for (const master of masters) master.thaw();
      await time.advance(100);
      expect(heard.of('nodeUp').map(({ node }) => node)).to.deep.equal(masters.map(({ name }) => name));
    });

    it('quarantined: once for each master and quarantine', async () => {
      const { redlock, time } = guarded(nodes);
      const heard = hear(redlock);
      const lease = redlock.acquire('r', { waitMs: 10_000, renew: true });
      await time.advance(3_000);
      const quarantined = heard.of('quarantined');
      expect(quarantined.map(({ node }) => node).sort()).to.deep.equal(
        Array.from({ length: nodes }, (_, i) => `m${i + 1}`),
      );
      for (const { remainingMs } of quarantined) expect(remainingMs).to.be.within(4_000, 5_000);
      await time.advance(5_000);
      expect((await lease).status).to.equal('held');
      expect(heard.of('quarantined').length).to.equal(nodes);
    });
  });
}

describe('events: of every kind of lock', () => {
  const LOCKS: [string, (bench: Bench) => Promise<AnyLease>][] = [
    ['mutex', ({ redlock }) => redlock.mutex('r').acquire({ renew: true })],
    ['mutex', ({ redlock }) => redlock.mutex('r', { reentrant: true }).acquire({ renew: true })],
    ['read', ({ redlock }) => redlock.readWriteLock('r').read.acquire({ renew: true })],
    ['write', ({ redlock }) => redlock.readWriteLock('r').write.acquire({ renew: true })],
    ['semaphore', ({ redlock }) => redlock.semaphore('r', 2).acquire({ renew: true })],
  ];
  for (const [kind, acquire] of LOCKS) {
    it(`${kind}: acquired, renewed, released`, async () => {
      const bench = fakeCluster(3, { ttlMs: TTL_MS });
      const heard = hear(bench.redlock);
      const lease = await acquire(bench);
      await bench.time.advance(TTL_MS / 2);
      await lease.release();
      expect(heard.names).to.deep.equal(['acquired', 'renewed', 'released']);
      for (const name of ['acquired', 'renewed', 'released'] as const)
        expect(heard.one(name)).to.deep.include({ kind, resources: ['r'] });
    });
  }

  it('a writer that goes on as a reader is released as one', async () => {
    const { redlock } = fakeCluster(3);
    const heard = hear(redlock);
    const lease = await redlock.readWriteLock('r').write.acquire();
    await lease.downgrade();
    await lease.release();
    expect(heard.one('released').kind).to.equal('read');
  });

  it('entering again tells nothing: no master is asked', async () => {
    const { redlock } = fakeCluster(3);
    const heard = hear(redlock);
    const mutex = redlock.mutex('r', { reentrant: true });
    await mutex.using(() => mutex.using(() => undefined));
    expect(heard.names).to.deep.equal(['acquired', 'released']);
  });
});

describe('events: the end', () => {
  it('closed: before close() resolves, once, with what was left to run out', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const heard = hear(redlock);
    await redlock.acquire('r');
    heard.clear();
    const close = redlock.close({ drainMs: 500 }).then(() => heard.names);
    void redlock.close();
    await time.advance(1_000);
    expect(await close).to.deep.equal(['closed']);
    expect(heard.one('closed')).to.deep.equal({ elapsedMs: 500, held: 1 });
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
  });

  it('a client has no listener more while nobody wants to hear of its master', () => {
    const { redlock, masters } = fakeCluster(3);
    const before = masters.map(({ listeners }) => listeners);
    const listener = (): void => undefined;
    redlock.on('acquired', listener).on('lost', listener);
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal(before);
    redlock.on('nodeUp', listener);
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal(before.map((count) => count + 1));
    redlock.off('nodeUp', listener);
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal(before);
  });
});

describe('events: no token', () => {
  it('in none of them, whatever happens', async () => {
    const bench = fakeCluster(3, { ttlMs: TTL_MS, restartGuardMs: 5_000 });
    const { masters, random, redlock, time } = bench;
    const events: unknown[] = [];
    for (const name of EVENT_NAMES) redlock.on(name, (event) => void events.push(event));
    await redlock.bootstrap();
    const lease = await redlock.acquire('r', { renew: true });
    await time.advance(TTL_MS);
    expect(await redlock.tryAcquire('r', { localTurns: 0 })).to.equal(null);
    await lease.release();
    const lost = await redlock.acquire('r', { renew: true });
    for (const master of masters) master.cut();
    await time.advance(2 * TTL_MS);
    expect(lost.status).to.equal('lost');
    for (const master of masters) master.become('ready');
    await redlock.close();
    const names = [
      'acquired',
      'contended',
      'renewed',
      'renewalFailed',
      'lost',
      'released',
      'nodeDown',
      'nodeUp',
    ];
    expect(events.length).to.be.above(names.length);
    expect(random.tokens.length).to.be.above(2);
    const text = events
      .map((event) => inspect(event, { depth: null, showHidden: true, customInspect: false }))
      .join('\n');
    for (const token of random.tokens) {
      expect(text).to.not.contain(token);
      expect(JSON.stringify(events)).to.not.contain(token);
    }
    expect(text).to.not.contain('secret-');
  });
});
