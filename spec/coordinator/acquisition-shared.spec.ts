/** Acquisitions of locks that several may hold: where they wait, what places they take, and what stays of a failed one. */
import { expect } from 'chai';
import { queueKey } from '../../lib/protocol/keys.js';
import { LEAN } from '../../lib/protocol/lua/entries.js';
import { MUTE_MS } from '../../lib/protocol/lua/waiting.js';
import type { Redlock } from '../../lib/redlock.js';
import { kindOf } from '../support/commands.js';
import { entriesOf, type Entry } from '../support/entries.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { SharedBench } from '../support/shared-bench.js';

const UNFAIR = { fair: false, ttlMs: 60_000, retry: { minDelayMs: 100, maxDelayMs: 100 } } as const;

const writing = ({ redlock }: { readonly redlock: Redlock }) => redlock.readWriteLock('r').write;
const reading = ({ redlock }: { readonly redlock: Redlock }) => redlock.readWriteLock('r').read;

const placesOf = (sent: readonly Entry[]): readonly (string | undefined)[] =>
  sent.filter(({ kind }) => kind === 'rw-claim').map(({ args }) => args.place);

const claims = ({ sent }: FakeMaster): number => sent.filter(({ kind }) => kind === 'rw-claim').length;

/** How many have a place there. */
function placesAt(master: FakeMaster | undefined): number {
  const members = master?.members(queueKey('r'));
  return Array.isArray(members) ? members.length : 0;
}

describe('an acquisition of a shared lock', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: waits in the queue, and is let in when the holder goes`, async () => {
      const bench = new SharedBench(nodes);
      const { holder, waiter } = await bench.ask({ holder: 'write', waiter: 'read' });
      expect(bench.queues).to.deep.equal(bench.everywhere('waiter'));
      await bench.releases(holder);
      expect(bench.order).to.deep.equal(['holder', 'waiter']);
      await bench.releases(waiter);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: the end of its wait gives up the place, and asks all masters why`, async () => {
      const bench = new SharedBench(nodes);
      const { holder } = await bench.ask({ holder: 'read' });
      const waiter = await bench.asks('waiter', 'write', { waitMs: 500 });
      await bench.time.advance(500);
      expect([waiter.code, bench.queues]).to.deep.equal(['LOCK_TAKEN', bench.everywhere('')]);
      // an undo of a shared lock does not see who is in the way; only the first claim leaves out what the queue tells
      const places = bench.masters.map((master) => placesOf(bench.sentBy('waiter', master)));
      expect(places).to.deep.equal(bench.everywhere([LEAN, undefined]));
      await bench.releases(holder);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: its signal ends the wait at once, and the place with it`, async () => {
      const bench = new SharedBench(nodes);
      const { holder } = await bench.ask({ holder: 'read' });
      const controller = new AbortController();
      const waiter = await bench.asks('waiter', 'write', { signal: controller.signal });
      controller.abort();
      await settle();
      expect([waiter.code, bench.queues]).to.deep.equal(['ABORTED', bench.everywhere('')]);
      await bench.releases(holder);
      await bench.expectNothingLeft();
    });
  }

  it('N=3: a first claim takes no mute place, since the queue is what follows it', async () => {
    const bench = new SharedBench(3);
    await bench.ask({ holder: 'read' });
    for (const master of bench.masters) master.latencyMs = 1;
    await bench.asks('waiter', 'write');
    expect([bench.claimsOf('waiter', bench.m1), ...bench.queues]).to.deep.equal([1, '', '', '']);
    await bench.time.advance(10);
    expect(bench.queues).to.deep.equal(['waiter', 'waiter', 'waiter']);
  });

  it('N=1, fair false: a single try takes no place, and so has none to take back', async () => {
    const bench = fakeCluster(1, UNFAIR);
    await reading(bench.other()).acquire();
    for (const master of bench.masters) master.sent.length = 0;
    expect(await writing(bench).tryAcquire()).to.equal(null);
    await settle();
    expect(bench.masters.map(({ sent }) => sent.length)).to.deep.equal([1]);
  });

  it('N=3: one whose turn it is does not ask masters that fail again and again without a pause', async () => {
    const bench = new SharedBench(3);
    const { holder } = await bench.ask({ holder: [1, 1] });
    const waiter = await bench.asks('waiter', [1, 1], { handOver: 'reserve' });
    const works = bench.masters.map((master) => {
      const call = master.call.bind(master);
      master.call = (command) => {
        if (kindOf(command) !== 'permit-claim') return call(command);
        master.sent.push(...entriesOf(command));
        return Promise.reject(serverError('OOM command not allowed'));
      };
      return () => (master.call = call);
    });
    for (const master of bench.masters) master.sent.length = 0;
    await bench.releases(holder);
    await bench.time.advance(500);
    expect(bench.claimsOf('waiter', bench.m1)).to.be.within(1, 20);
    for (const work of works) work();
    await bench.time.advance(5_000);
    await bench.releases(waiter);
    await bench.expectNothingLeft();
  });

  it('N=3, fair false: one that takes a mute place asks all masters each time', async () => {
    const bench = fakeCluster(3, UNFAIR, { hasPushes: true }); // it could queue, but is not to
    await reading(bench.other()).acquire();
    for (const master of bench.masters) master.sent.length = 0;
    const failed = rejection(writing(bench).acquire({ waitMs: 550 }));
    await bench.time.advance(550);
    const { attempts } = await failed;
    expect(attempts).to.be.greaterThan(3);
    expect(bench.masters.map(claims)).to.deep.equal(bench.masters.map(() => attempts));
  });

  it('N=3, fair false: one that takes no place asks the home master alone', async () => {
    const bench = fakeCluster(3, UNFAIR);
    await writing(bench.other()).acquire();
    for (const master of bench.masters) master.sent.length = 0;
    const failed = rejection(reading(bench).acquire({ waitMs: 550 }));
    await bench.time.advance(550);
    const { attempts } = await failed;
    expect(bench.masters.map(claims).sort((a, b) => a - b)).to.deep.equal([2, 2, attempts]);
  });

  it('N=3, fair false: a writer that got in at once has taken a place where it was refused, which ends by itself', async () => {
    const bench = fakeCluster(3, UNFAIR);
    const reader = await reading(bench.other()).acquire();
    for (const master of bench.masters.slice(0, 2)) master.delete('r');
    const last = bench.masters.at(-1);
    for (const master of bench.masters) master.latencyMs = master === last ? 1 : 2;
    const acquired = writing(bench).acquire();
    await bench.time.advance(1);
    expect(placesAt(last)).to.equal(1);
    await bench.time.advance(3);
    expect((await acquired).status).to.equal('held');
    await bench.time.advance(MUTE_MS);
    expect(bench.masters.map(placesAt)).to.deep.equal([0, 0, 0]);
    expect(reader.status).to.equal('held'); // but without a quorum
  });

  for (const latencyMs of [0, 20]) {
    it(`N=3: a master that gave another permit ${latencyMs} ms after the others gives it back`, async () => {
      const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000 });
      const [odd, ...others] = masters;
      await other().redlock.semaphore('r', 2).acquire();
      for (const master of others) master.delete('r'); // the first permit is taken at one alone
      if (odd !== undefined) odd.latencyMs = latencyMs;
      const lease = await redlock.semaphore('r', 2).acquire();
      await time.advance(2 * latencyMs);
      const holds = masters.map((master) => {
        const fields = master.fields('r');
        return fields instanceof Map && fields.has(lease.token);
      });
      expect([odd?.run.length, ...holds]).to.deep.equal([3, false, true, true]);
    });
  }
});
