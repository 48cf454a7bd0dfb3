/** Waiting at the door of a lock that several may hold: when the head claims, and what it leaves behind. */
import { expect } from 'chai';
import { Turnstile } from '../../lib/queue/turnstile.js';
import { Repairs } from '../../lib/quorum/repairs.js';
import type { Lease } from '../../lib/lease/public.js';
import { queueKey } from '../../lib/protocol/keys.js';
import { PERMIT_CLAIM } from '../../lib/protocol/lua/scripts.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { keysOf, kindOf, plainScope } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { askedAt, hold, queueBench, MINE, THIRD } from '../support/queue-bench.js';
import { GATE } from '../support/shared-bench.js';

const TTL_MS = 500;

interface Door extends Bench {
  /** Of the one who is in. */
  readonly lease: Lease;
  /** The head's, once it is in. */
  readonly wait: Promise<Lease>;
  /** When the head claimed. */
  readonly claimedAtMs: number[];
}

/** A semaphore of one permit that is taken, and one who waits for it. */
async function door(prepare: (master: FakeMaster, i: number) => void = () => undefined): Promise<Door> {
  const options = { ttlMs: 60_000, waitMs: 60_000 };
  const bench = fakeCluster(3, options, { hasPushes: true });
  const lease = await bench.other().redlock.semaphore('r', 1).acquire();
  const claimedAtMs: number[] = [];
  bench.masters.forEach((master, i) => {
    prepare(master, i);
    if (i > 0) return;
    const send = master.call.bind(master);
    master.call = (command) => {
      if (scriptOf(command) === PERMIT_CLAIM) claimedAtMs.push(bench.time.now());
      return send(command);
    };
  });
  const wait = bench.redlock.semaphore('r', 1).acquire({ ttlMs: TTL_MS, nodeTimeoutMs: 50 });
  return { ...bench, lease, wait, claimedAtMs };
}

/** Whom this master watches for. */
function watcherAt(master: FakeMaster): string {
  const fields = master.fields('r');
  return fields === WRONG_TYPE ? '' : ((fields.get('watch') ?? '').split('|')[0] ?? '');
}

/** The next claim is run as it comes; its reply stays on its way until the returned function is called. */
function holdNextClaim(master: FakeMaster): () => void {
  let arrive = (): void => undefined;
  const send = master.call.bind(master);
  master.call = (command) => {
    if (scriptOf(command) !== PERMIT_CLAIM) return send(command);
    master.call = send;
    const reply = send(command);
    return new Promise((resolve) => (arrive = () => resolve(reply)));
  };
  return () => arrive();
}

describe('turnstile: the head at the door', () => {
  it('N=3: claims again after a moment drawn at random if a quorum said yes too late, since others are claiming as well', async () => {
    for (const [fraction, afterMs] of [
      [0, 1],
      [0.5, 5.5],
      [0.75, 7.75],
    ] as const) {
      const { claimedAtMs, lease, masters, random, time, wait } = await door();
      await time.advance(100);
      random.fractionValue = fraction;
      const [m1] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
      const send = m1.call.bind(m1);
      m1.call = (command) => {
        if (scriptOf(command) === PERMIT_CLAIM) {
          m1.call = send;
          time.stall(TTL_MS); // the next claim's validity is over when the answers are read
        }
        return send(command);
      };
      await lease.release();
      await settle();
      claimedAtMs.length = 0;
      const lateMs = time.now();
      await time.advance(20);
      expect((await wait).status).to.equal('held');
      expect(claimedAtMs.map((ms) => ms - lateMs)).to.deep.equal([afterMs]);
    }
  });

  it('N=3: claims once for pushes that are not true any more, and then waits for the next ones or for its time', async () => {
    const { claimedAtMs, lease, masters, time, wait } = await door((master) => (master.latencyMs = 1));
    await time.advance(100);
    claimedAtMs.length = 0;
    const [first, ...others] = masters as readonly [FakeMaster, ...FakeMaster[]];
    first.connection.tell(`f ${watcherAt(first)} r`); // late, and not true any more
    await time.advance(1);
    expect(claimedAtMs.length).to.equal(0); // one master alone cannot admit it
    for (const master of others) master.connection.tell(`f ${watcherAt(master)} r`);
    await time.advance(399);
    expect(claimedAtMs.length).to.equal(1);
    const released = lease.release();
    await time.advance(10);
    await released;
    expect((await wait).status).to.equal('held');
    expect(claimedAtMs.length).to.equal(2);
  });

  it('N=3: what a master granted, and what it was told meanwhile, is enough to claim again at once', async () => {
    const { claimedAtMs, masters, time, wait } = await door();
    await time.advance(100);
    const [m1, m2] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    m1.delete('r'); // it will grant
    const watcher = watcherAt(m2);
    const arrive = holdNextClaim(m2);
    await time.advance(420);
    const before = claimedAtMs.length;
    m2.delete('r');
    m2.connection.tell(`f ${watcher} r`); // it overtakes the refusal
    arrive();
    await settle();
    expect(claimedAtMs.length).to.equal(before + 1);
    expect((await wait).status).to.equal('held');
  });

  it('N=3, the lock is something else on one master: it looks again by its time all the same', async () => {
    const { lease, masters, time, wait } = await door((master, i) => {
      if (i === 0) master.setForeign('r');
    });
    await time.advance(100);
    for (const master of masters) master.deliversPushes = false;
    await lease.release();
    await time.advance(510);
    expect((await wait).status).to.equal('held');
  });

  it('N=3: it asks for its place at the gate once, and then only to keep it', async () => {
    const { lease, masters, time, wait } = await door();
    const [m1] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    const instants = askedAt(m1, time);
    await time.advance(2_000); // it has claimed several times
    expect(instants).to.deep.equal([0, 495, 990, 1_485, 1_980]);
    await lease.release();
    expect((await wait).status).to.equal('held');
  });

  it('N=3: the gate was free if every master gave its vote at once', async () => {
    for (const isHeld of [false, true]) {
      const bench = queueBench(3);
      for (const master of bench.masters.slice(0, isHeld ? 1 : 0)) hold(master, THIRD, GATE);
      const repairs = new Repairs(bench.nodes, bench.time, bench.time);
      const terms = {
        scope: plainScope('r'),
        watcher: MINE,
        ticket: () => 1,
        ttlMs: 30_000,
        nodeTimeoutMs: 50,
      };
      const turnstile = new Turnstile(
        { ...bench, repairs, driftFactor: 0.01 },
        { ...terms, untilMs: bench.time.now() + 1_000 },
      );
      void turnstile.turn();
      await settle();
      expect(turnstile.wasFree).to.equal(!isHeld);
      turnstile.end('ended');
    }
  });

  it('N=3, pushes are refused while it is at the door: it leaves the gate, and tries by itself', async () => {
    const { lease, masters, time, wait } = await door();
    await time.advance(100);
    for (const master of masters) {
      master.opensLines = false;
      master.connection.lose('NOPERM no channels', true);
    }
    expect(masters.map((master) => master.value(GATE))).to.not.include(undefined);
    await time.advance(500);
    expect(masters.map((master) => master.value(GATE))).to.deep.equal([undefined, undefined, undefined]);
    await lease.release();
    await time.advance(300);
    expect((await wait).status).to.equal('held');
  });

  it('N=3, a master gives the place at the gate two minutes after it was left: it is taken back there', async () => {
    const { lease, masters, time, wait } = await door((master, i) => {
      const send = master.call.bind(master);
      master.call = (command) => {
        if (i === 2 && scriptOf(command)?.name === 'queue') master.manner = 'freeze';
        return send(command);
      };
    });
    const [, , lost] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    await settle();
    lost.become('lost');
    lost.set(GATE, THIRD, 600_000);
    await lease.release();
    await (await wait).release();
    await time.advance(120_000);
    lost.become('ready');
    lost.thaw();
    await time.advance(1_000);
    expect(lost.members(queueKey(GATE))).to.deep.equal([]);
  });

  it('N=3: one undo follows the request for a place at the gate that a master has not answered, and no other comes after it', async () => {
    const atGate = ({ sent }: FakeMaster): string[] =>
      sent.filter((command) => keysOf(command)[0] === 'quorate:gate:{r}').map(kindOf);
    const { lease, masters, time, wait } = await door((master, i) => {
      const send = master.call.bind(master);
      master.call = (command) => {
        if (i === 2 && scriptOf(command)?.name === 'queue') master.manner = 'freeze';
        return send(command);
      };
    });
    const [, , slow] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    await settle();
    const released = lease.release();
    await (await wait).release();
    await released;
    await settle();
    expect(atGate(slow)).to.deep.equal(['queue', 'undo']);
    slow.thaw();
    await time.advance(1_000);
    expect(atGate(slow)).to.deep.equal(['queue', 'undo']);
    expect(slow.size).to.equal(0);
  });
});
