/** A lease regains the votes that it lacks, also where somebody waits for its lock (protocol C3a). */
import { expect } from 'chai';
import { Regains } from '../../lib/coordinator/regaining.js';
import { Node } from '../../lib/node/node.js';
import { Grant } from '../../lib/quorum/grant.js';
import { AT_REST } from '../../lib/runtime/random.js';
import { kindOf, plainScope } from '../support/commands.js';
import { rejection } from '../support/rejection.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';

const TTL_MS = 10_000;
const NODE_TIMEOUT_MS = 200;
/** A renewal, a sixteenth of it that it may be late, and the three pauses. */
const WHOLE_AGAIN_MS = (TTL_MS / 3) * (17 / 16) + 800;

interface Scene extends Bench {
  /** The masters that have the holder's vote, by their names. */
  voters(): string[];
  readonly lease: Awaited<ReturnType<Bench['redlock']['acquire']>>;
}

/** A renewed lease on N masters, and another client that waits for its lock all the time. */
async function awaited(nodes: number): Promise<Scene> {
  const options = { ttlMs: TTL_MS, waitMs: 600_000, nodeTimeoutMs: NODE_TIMEOUT_MS };
  const bench = fakeCluster(nodes, options, { hasPushes: true });
  const lease = await bench.redlock.acquire('r', { renew: true });
  const { redlock } = bench.other('waiter');
  redlock.acquire('r').catch(() => undefined);
  await bench.time.advance(100);
  const voters = (): string[] =>
    bench.masters.filter((master) => master.value('r') === lease.token).map(({ name }) => name);
  return { ...bench, lease, voters };
}

const namesOf = (masters: readonly FakeMaster[]): string[] => masters.map(({ name }) => name);
const extensions = ({ sent }: FakeMaster): number =>
  sent.filter((command) => kindOf(command) === 'extend').length;

describe('regaining votes', () => {
  for (const nodes of [2, 3, 4, 5]) {
    it(`N=${nodes}: the vote that a waiter has of a master that lost its data is the holder's a renewal later`, async () => {
      const { lease, masters, time, voters } = await awaited(nodes);
      masters[0]?.forget();
      await time.advance(2_100); // the waiter looks
      expect(voters()).to.deep.equal(namesOf(masters.slice(1)));
      await time.advance(WHOLE_AGAIN_MS);
      expect([lease.status, voters()]).to.deep.equal(['held', namesOf(masters)]);
    });
  }

  for (const nodes of [3, 5]) {
    it(`N=${nodes}: masters that lose their data one after another, a renewal and two seconds apart, cost no lease`, async () => {
      const { lease, masters, time, voters } = await awaited(nodes);
      for (const master of [...masters, ...masters]) {
        master.forget();
        await time.advance(TTL_MS / 3 + 2_000 + TTL_MS / 48);
        expect([lease.status, voters()]).to.deep.equal(['held', namesOf(masters)]);
      }
    });
  }

  it('N=3: one master frozen and back, then another: the lease is held', async () => {
    const { lease, masters, time, voters } = await awaited(3);
    for (const master of masters) {
      master.manner = 'freeze';
      await time.advance(2 * TTL_MS);
      expect(lease.status).to.equal('held');
      master.thaw();
      await time.advance(WHOLE_AGAIN_MS + 2_000);
      expect([lease.status, voters()]).to.deep.equal(['held', namesOf(masters)]);
    }
  });

  it('N=3: a renewal without a quorum asks all masters again as soon as the vote rests, not at its next turn', async () => {
    const { lease, masters, time } = await awaited(3);
    const [first, second] = masters;
    first?.forget();
    await time.advance(2_100);
    if (second !== undefined) second.manner = 'freeze';
    await time.advance(TTL_MS / 3 - 2_200); // the renewal is next
    const before = masters.map(extensions);
    await time.advance(NODE_TIMEOUT_MS + 70);
    expect(masters.map(extensions)).to.deep.equal(before.map((count, i) => count + (i === 0 ? 3 : 2)));
    expect(lease.remainingMs()).to.be.above(TTL_MS - 300);
  });

  it('N=2: a waiter that hears of nothing for a while: the lease is held on, and has its vote once the waiter hears again', async () => {
    const { lease, masters, time, voters } = await awaited(2);
    const [first] = masters;
    if (first === undefined) throw new Error('there are two');
    first.forget();
    await time.advance(2_100);
    const publish = first.publish.bind(first);
    first.publish = (channel, text) => (text.startsWith('h ') ? 1 : publish(channel, text)); // lost
    await time.advance(TTL_MS / 3);
    expect([lease.status, voters()]).to.deep.equal(['held', ['m2']]);
    Reflect.deleteProperty(first, 'publish');
    await time.advance(1_500);
    expect([lease.status, voters()]).to.deep.equal(['held', ['m1', 'm2']]);
  });

  it('N=3: a waiter that has a quorum has the lock: the lease is lost at once', async () => {
    const { lease, masters, time } = await awaited(3);
    for (const master of masters.slice(1)) master.forget();
    await time.advance(TTL_MS / 3 + TTL_MS / 16);
    expect(lease.status).to.equal('lost');
    expect(() => lease.assertHeld()).to.throw('masters refuse to extend it');
  });

  it('N=3: a lease whose master was not connected at its claim is renewed after a second, and has its vote then', async () => {
    const bench = fakeCluster(3, { ttlMs: 30_000 }, { hasPushes: true });
    const [late] = bench.masters;
    late?.become('lost');
    const lease = await bench.redlock.acquire('r', { renew: true });
    late?.become('ready');
    await bench.time.advance(900);
    expect(bench.masters.map(extensions)).to.deep.equal([0, 0, 0]);
    await bench.time.advance(100);
    expect(bench.masters.map((master) => master.value('r'))).to.deep.equal(
      bench.masters.map(() => lease.token),
    );
  });

  it('N=3: a lease that has all votes is not renewed early', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 30_000 });
    await redlock.acquire('r', { renew: true });
    await time.advance(7_900);
    expect(masters.map(extensions)).to.deep.equal([0, 0, 0]);
    await time.advance(2_200);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('N=3, twenty leases renewed together: each regains its vote', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
    const bench = fakeCluster(3, { ttlMs: TTL_MS, waitMs: 600_000 }, { hasPushes: true });
    const leases = await Promise.all(names.map((name) => bench.redlock.acquire(name, { renew: true })));
    const { redlock } = bench.other('waiter');
    for (const name of names) redlock.acquire(name).catch(() => undefined);
    await bench.time.advance(100);
    bench.masters[0]?.forget();
    await bench.time.advance(2_100);
    await bench.time.advance(WHOLE_AGAIN_MS);
    for (const [i, name] of names.entries())
      expect(bench.masters[0]?.value(name), name).to.equal(leases[i]?.token);
  });

  it('a release during the pause ends it: nothing is extended, and no timer is left', async () => {
    const bench = await awaited(3);
    bench.masters[0]?.forget();
    await bench.time.advance(2_100);
    const before = bench.masters.map(extensions);
    await bench.time.advance(TTL_MS / 3 - 2_200 + 10); // the renewal was refused at one master
    expect(bench.masters.map(extensions)).to.deep.equal(before.map((count) => count + 1));
    await bench.lease.release();
    await bench.time.advance(TTL_MS);
    expect(bench.masters.map(extensions)).to.deep.equal(before.map((count) => count + 1));
  });

  it('a release during the pause of an extension without a quorum ends both at once', async () => {
    const { lease, masters, time } = await awaited(3);
    const [first, second] = masters;
    first?.forget();
    await time.advance(2_100);
    if (second !== undefined) second.manner = 'freeze';
    const failed = rejection(lease.extend());
    await time.advance(NODE_TIMEOUT_MS + 10); // it has failed, and pauses
    const before = masters.map(extensions);
    second?.thaw();
    await lease.release();
    expect((await failed).code).to.equal('NOT_HELD');
    await time.advance(2_000);
    expect(masters.map(extensions)).to.deep.equal(before);
  });

  it('nothing of it is left once the instance is closed', () => {
    const { masters, time } = fakeCluster(3);
    const nodes = masters.map((master, i) => new Node(master, i, time));
    const grant = new Grant(plainScope('r'), 'token', 0, nodes);
    const regains = new Regains(time, () => expect.fail('it is closed'));
    for (const node of nodes) regains.begin(grant, TTL_MS, node, 0);
    const pending = time.pending;
    regains.close();
    expect([pending - time.pending, grant.open]).to.deep.equal([1, []]);
  });

  it('without a holder, a key at rest costs its second: then the waiter has the lock', async () => {
    const { masters, redlock, time } = fakeCluster(1, { ttlMs: TTL_MS, waitMs: 5_000 }, { hasPushes: true });
    masters[0]?.set('r', AT_REST, 990);
    const wait = redlock.acquire('r');
    await time.advance(1_000);
    expect((await wait).status).to.equal('held');
  });
});
