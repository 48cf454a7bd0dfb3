/** What becomes of leases that may have been waited for in the queue, and what an instance leaves behind. */
import { expect } from 'chai';
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import type { Lease } from '../../lib/lease/public.js';
import type { Ask, Withdrawn } from '../../lib/node/node.js';
import { MUTEX, NO_MARKER, SettledScope } from '../../lib/protocol/scope.js';
import { Grant, type GrantOrigin } from '../../lib/quorum/grant.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { holdReplies, kindOf, kindsSentTo, plainScope } from '../support/commands.js';
import { held } from '../support/contended.js';
import { FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TERMS: AcquisitionTerms = {
  resources: ['b'],
  scope: plainScope('b'),
  ttlMs: 1_000,
  nodeTimeoutMs: 50,
  waitMs: 0,
  minDelayMs: 10,
  maxDelayMs: 10,
  fair: true,
  handOver: 'direct',
  localTurns: 0,
  observer: undefined,
};

type Masters = readonly [FakeMaster, FakeMaster, FakeMaster];

interface Bench {
  readonly time: FakeTime;
  readonly masters: Masters;
  readonly coordinator: Coordinator;
  /** A lease on these keys, by hand; masters do not hold it. */
  grant(keys: readonly string[], origin?: GrantOrigin): Grant;
  /** This instance has asked for `b`, which another holds. */
  meetsAnother(times?: number): Promise<void>;
}

function bench(prepare: (masters: Masters) => unknown = () => undefined, isFenced = false): Bench {
  const time = new FakeTime();
  const masters: Masters = [
    new FakeMaster('m1', time),
    new FakeMaster('m2', time),
    new FakeMaster('m3', time),
  ];
  prepare(masters);
  const coordinator = coordinatorOver(masters, time, isFenced);
  return {
    ...{ time, masters, coordinator },
    grant(keys, origin = 'asked') {
      const setting = { isFenced: false, marker: undefined, guardMs: NO_MARKER, kind: MUTEX };
      const grant = new Grant(new SettledScope(keys, setting), 'us:token', 0, coordinator.nodes);
      grant.cameFrom(origin);
      grant.prolong(time.now() + 900);
      grant.keptUntil(time.now() + 1_100);
      return grant;
    },
    async meetsAnother(times = 1) {
      for (const master of masters) master.set('b', 'them:token', 60_000);
      for (let i = 0; i < times; i++) await rejection(coordinator.acquire(TERMS, new Cancellation()));
      for (const master of masters) master.sent.length = 0;
    },
  };
}

function coordinatorOver(masters: readonly FakeMaster[], time: FakeTime, isFenced = false): Coordinator {
  return new Coordinator(
    { transports: masters, clock: time, timers: time, random: new FakeRandom() },
    { driftFactor: 0.01, fencing: isFenced, maxWaiters: Infinity },
  );
}

/** A request for it that some masters have not answered. @param owed  their indexes */
function unanswered(owed: readonly number[] = []): Withdrawn & { isDropped: boolean } {
  return {
    isDropped: false,
    follow: () => false,
    owes: ({ index }) => owed.includes(index),
    drop() {
      this.isDropped = true;
    },
  };
}

/** How many keys the last command names: a hand-over in the queue names more than the lock's. */
const keysSentTo = (master: FakeMaster): number => master.sent.at(-1)?.keys.length ?? 0;

describe('coordinator: whether a lease is given back in the queue', () => {
  const LONE = 3; // the lock's, and its queue's
  const QUEUED = 5;

  for (const [how, giveBack] of [
    ['release', (of: Coordinator, grant: Grant) => void of.release(grant, 50)],
    ['abandon', (of: Coordinator, grant: Grant) => of.abandon(grant)],
  ] as const) {
    for (const [origin, keys] of [
      ['asked', LONE],
      ['queue', QUEUED],
      ['marked', QUEUED],
    ] as const)
      it(`${how}, a lease that was ${origin}: ${keys} keys are named`, async () => {
        const { coordinator, grant, masters } = bench();
        giveBack(coordinator, grant(['a'], origin));
        await settle();
        expect(masters.map(keysSentTo)).to.deep.equal([keys, keys, keys]);
      });

    it(`${how}: in the queue also where another was met lately, at one of its locks, by who could have queued`, async () => {
      const { coordinator, grant, masters, meetsAnother } = bench();
      await meetsAnother();
      giveBack(coordinator, grant(['a', 'b']));
      await settle();
      expect(keysSentTo(masters[0])).to.equal(2 * QUEUED);
    });

    it(`${how}: not where a client of another library was found lately, which polls`, async () => {
      const { coordinator, grant, masters } = bench();
      for (const master of masters) master.set('b', 'a token of another library', 60_000);
      const fenced = { ...TERMS, scope: { ...TERMS.scope, isFenced: true } }; // a plain claim sees no holder
      await rejection(coordinator.acquire(fenced, new Cancellation()));
      giveBack(coordinator, grant(['b']));
      await settle();
      expect(keysSentTo(masters[0])).to.equal(LONE);
    });

    it(`${how}: not where one of the masters is a cluster`, async () => {
      const { coordinator, grant, masters } = bench(([m1]) => (m1.isCluster = true));
      giveBack(coordinator, grant(['a'], 'queue'));
      await settle();
      expect(keysSentTo(masters[1])).to.equal(LONE);
    });
  }

  it('a release is urgent if one of its locks is likely to be waited for', async () => {
    for (const [keys, isUrgent] of [
      [['a', 'b'], true],
      [['a'], false],
    ] as const) {
      const { coordinator, grant, meetsAnother } = bench();
      await meetsAnother(6);
      const [node] = coordinator.nodes;
      const asks: Ask[] = [];
      if (node !== undefined) node.withdraw = (ask) => void asks.push(ask);
      void coordinator.release(grant(keys), 50);
      expect(asks.map((ask) => ask.isUrgent)).to.deep.equal([isUrgent]);
    }
  });
});

describe('coordinator: pushes for a lease that was waited for', () => {
  /** Three masters on which another has handed the lock over; a short ttl, so that push connections outlive it. */
  async function handedOver(options: RedlockOptions = { ttlMs: 1_000, nodeTimeoutMs: 50 }): Promise<{
    lease: Lease;
    masters: Masters;
    time: FakeTime;
    /** Whether a push for its vote is answered by giving that vote back. */
    isDeclined(): boolean;
  }> {
    const line = await held(3, options);
    const [wait] = [line.redlock.acquire('r'), await settle()];
    await line.lease.release();
    const lease = await wait;
    const masters = line.masters as Masters;
    const [m1] = masters;
    const isDeclined = (): boolean => {
      const before = m1.sent.length;
      m1.connection.tell(`g ${m1.micros()} ${lease.token} r`);
      return m1.sent.slice(before).map(kindOf).includes('yield');
    };
    return { lease, masters, time: line.time, isDeclined };
  }

  it('are no news while it is held, nor before each master has answered its release', async () => {
    const { isDeclined, lease, masters } = await handedOver();
    expect(isDeclined()).to.equal(false);
    const arrive = holdReplies(masters[2], 'release');
    await lease.release();
    expect(isDeclined()).to.equal(false);
    arrive();
    await settle();
    expect(isDeclined()).to.equal(true);
  });

  it('are declined once it is lost', async () => {
    const { isDeclined, lease, time } = await handedOver();
    expect(lease.signal.aborted).to.equal(false); // it is watched
    await time.advance(1_000);
    expect([lease.status, isDeclined()]).to.deep.equal(['lost', true]);
  });
});

describe('coordinator: the end of a lease', () => {
  it('drops what was not sent for it yet: when it is set aside, lost, given back, or another process takes it over', () => {
    for (const end of ['setAside', 'abandon', 'release', 'giveAway'] as const) {
      const { coordinator, grant } = bench();
      const [one, request] = [grant(['a']), unanswered()];
      one.opened(request);
      void coordinator[end](one, 50);
      expect(request.isDropped, end).to.equal(true);
    }
  });

  it('a release tells the answers by then, right before it resolves', async () => {
    const { coordinator, grant, masters } = bench();
    masters[2].latencyMs = 10;
    const told: unknown[] = [];
    const released = coordinator.release(grant(['a']), 50, Infinity, {
      onSettled: ({ outcomes }) => told.push(outcomes.map((one) => one?.kind)),
    });
    await released.then(() => told.push('resolved'));
    expect(told).to.deep.equal([['granted', 'granted', undefined], 'resolved']);
  });

  it('a release that is settled, and is not sent yet to a master that does not answer, is left to the repairs', async () => {
    const { coordinator, grant, masters } = bench();
    masters[2].become('opening');
    await coordinator.release(grant(['a']), 50);
    expect([coordinator.nodes[2]?.waiting, coordinator.owed]).to.deep.equal([0, 1]);
  });

  it('a lost lease is undone where masters answer, or have a request for it in flight; nothing waits for the others', async () => {
    const { coordinator, grant, masters } = bench();
    const [first, second] = coordinator.nodes;
    first?.markSilent(new Error('silent'));
    second?.markSilent(new Error('silent'));
    const one = grant(['a']);
    one.opened(unanswered([1]));
    one.opened(unanswered());
    coordinator.abandon(one);
    await settle();
    expect(masters.map(kindsSentTo)).to.deep.equal([[], ['undo'], ['undo']]);
    expect(coordinator.nodes.map(({ waiting }) => waiting)).to.deep.equal([0, 0, 0]);
  });

  it('a lost lease: an undo that cannot be sent at once does not wait', () => {
    const { coordinator, grant, masters } = bench();
    masters[0].become('opening');
    const one = grant(['a']);
    one.opened(unanswered([0]));
    coordinator.abandon(one);
    expect(coordinator.nodes[0]?.waiting).to.equal(0);
  });

  it('a lease that is lost after the end of the instance is not undone', async () => {
    const { coordinator, grant, masters } = bench();
    await coordinator.close(50);
    coordinator.abandon(grant(['a']));
    await settle();
    expect(masters.flatMap(kindsSentTo)).to.deep.equal([]);
  });

  it('a lease that another process takes over is not held here any more', () => {
    const { coordinator, grant } = bench();
    const one = grant(['a']);
    coordinator.giveAway(one);
    expect([one.isHeld, one.isEnded]).to.deep.equal([false, false]);
  });

  it('pushes for it are no news for a while, unless the instance ends', async () => {
    const { coordinator, grant, time } = bench();
    coordinator.giveAway(grant(['a'], 'queue'));
    coordinator.giveAway(grant(['b']));
    expect(time.pending).to.equal(1);
    await coordinator.close(50);
    expect(time.pending).to.equal(0);
    coordinator.giveAway(grant(['c'], 'queue'));
    expect(time.pending).to.equal(0);
  });
});

describe('coordinator: an instance', () => {
  it('asks the same master first for a lock, in whatever order the masters were given', async () => {
    const homes = async (isReversed: boolean, key: string): Promise<string[]> => {
      const { masters, time } = bench();
      const given = isReversed ? masters.toReversed() : masters;
      for (const master of masters) master.set(key, 'them:token', 60_000);
      const terms = { ...TERMS, resources: [key], scope: plainScope(key), fair: false, waitMs: 15 };
      const failed = rejection(coordinatorOver(given, time).acquire(terms, new Cancellation()));
      await time.advance(10);
      const asked = masters.filter(
        (master) => kindsSentTo(master).filter((kind) => kind === 'claim').length > 1,
      );
      await time.advance(100);
      await failed;
      return asked.map(({ name }) => name);
    };
    const all = new Set<string>();
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const [home = ''] = await homes(false, key);
      expect(await homes(true, key), key).to.deep.equal([home]);
      all.add(home);
    }
    expect(all.size).to.be.above(1);
  });

  it("reads the masters' clocks at once where locks are fenced, and not else", async () => {
    for (const isFenced of [true, false]) {
      const { masters } = bench(undefined, isFenced);
      await settle();
      expect(masters.map(({ looks }) => looks)).to.deep.equal(masters.map(() => (isFenced ? 1 : 0)));
    }
  });

  it('that ends listens to no connection any more', async () => {
    const { coordinator, masters } = bench(
      (all) => all.forEach((master) => (master.state = 'opening')),
      true,
    );
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([1, 1, 1]);
    const closed = coordinator.close(50);
    await closed;
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
  });

  it('that ends waits for what is in flight, for a node timeout at most, and leaves no timer', async () => {
    const { coordinator, grant, masters, time } = bench();
    masters[2].latencyMs = 30;
    await coordinator.release(grant(['a']), 50);
    const startMs = time.now();
    let tookMs = -1;
    void coordinator.close(50).then(() => (tookMs = time.now() - startMs));
    await time.advance(30);
    expect([tookMs, time.pending]).to.deep.equal([30, 0]);
  });
});
