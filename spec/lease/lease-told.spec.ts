/** What is told of a lease: to those who listen to its instance, in its counts, and in its handle. */
import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TTL_MS = 3_000;
const VALID_MS = 2_968; // of it

describe('Lease: what is told of it', () => {
  it('its loss, when its validity ends, where somebody listens; no timer is set where nobody does', async () => {
    const { redlock, time } = fakeCluster(3, { ttlMs: TTL_MS });
    await redlock.acquire('a');
    expect(time.pending).to.equal(0);
    const lost: unknown[] = [];
    redlock.on('lost', ({ resources, heldMs }) => lost.push([resources, heldMs]));
    await redlock.acquire('b');
    expect(time.pending).to.equal(1);
    await time.advance(VALID_MS);
    expect([lost, time.pending]).to.deep.equal([[[['b'], VALID_MS - 1]], 0]); // by its end: a little before
  });

  it('each extension, with the number of those that failed before it', async () => {
    const { redlock, masters } = fakeCluster(3, { ttlMs: TTL_MS });
    const told: unknown[] = [];
    for (const event of ['renewed', 'renewalFailed'] as const)
      redlock.on(event, ({ attempts, by }) => told.push([event, by, attempts]));
    const lease = await redlock.acquire('r');
    await lease.extend();
    for (let i = 0; i < 2; i++) {
      for (const master of masters) master.replies.push(serverError('LOADING it loads its data'));
      await rejection(lease.extend());
    }
    await lease.extend();
    await lease.extend();
    expect(told).to.deep.equal([
      ['renewed', 'extend', 1],
      ['renewalFailed', 'extend', 1],
      ['renewalFailed', 'extend', 2],
      ['renewed', 'extend', 3],
      ['renewed', 'extend', 1],
    ]);
    expect(redlock.stats().counts).to.include({ renewed: 3, renewalsFailed: 2 });
  });

  it('its end: given back, with what the masters answered, or handed to another process', async () => {
    const { redlock } = fakeCluster(3, { ttlMs: TTL_MS });
    const told: unknown[] = [];
    redlock.on('released', ({ how, tally }) =>
      told.push([how, tally.filter(({ outcome }) => outcome === 'granted').length >= 2]),
    );
    await (await redlock.acquire('a')).release();
    (await redlock.acquire('b')).giveAway();
    await settle();
    expect(told).to.deep.equal([
      ['released', true],
      ['givenAway', false],
    ]);
    expect(redlock.stats().counts).to.include({ released: 1, givenAway: 1 });
  });
});

describe('Lease: the version of its handle', () => {
  it('is 2 while its votes have the mark of a hand-over, which earlier versions cannot extend, and else 1', async () => {
    const { redlock, other } = fakeCluster(3, { ttlMs: TTL_MS }, { hasPushes: true });
    const theirs = other().redlock;
    let lease = await theirs.acquire('r');
    for (const next of [redlock, theirs]) {
      const wait = next.acquire('r');
      await settle();
      await lease.release(); // the first one does not know that somebody waits, and reserves
      lease = await wait;
    }
    const handle = lease.giveAway();
    expect(handle.version).to.equal(2);
    expect((await redlock.adopt(handle)).giveAway().version).to.equal(1);
    expect((await redlock.acquire('s')).giveAway().version).to.equal(1);
  });
});
