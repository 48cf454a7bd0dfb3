/** Waiting at the door of a lock that several may hold: when the head claims, and what it leaves behind. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { SEM_CLAIM } from '../../lib/protocol/lua/shared-scripts.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { scriptOf } from '../../lib/testing/master/twins.js';
import { keysOf, kindOf } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';

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
      if (scriptOf(command) === SEM_CLAIM) claimedAtMs.push(bench.time.now());
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
        if (scriptOf(command) === SEM_CLAIM) {
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
    for (const master of masters) master.line.tell(`f ${watcherAt(master)} r`); // late, and not true any more
    await time.advance(400);
    expect(claimedAtMs.length).to.equal(1);
    const released = lease.release();
    await time.advance(10);
    await released;
    expect((await wait).status).to.equal('held');
    expect(claimedAtMs.length).to.equal(2);
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
