/**
 * A Sentinel set (a master, its replica and a sentinel) as the one master, and as one of three: what a fail-over costs. The
 * replica gets the votes a little later than they are given, so a fail-over may lose the last ones. Here somebody takes
 * them from it, since how much it lags is chance.
 */
import { expect } from 'chai';
import type { Master } from '../../../lib/redis/masters.js';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { LONG_GUARD_MS, PATIENT } from '../../support/patience.js';
import { type AnyClient, CLIENT_KINDS, eventually } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';
import {
  NODE_REDIS_SENTINELS,
  type SentinelKind,
  SENTINELS_NAME,
  SentinelSet,
} from '../support/sentinel-set.js';

const KINDS: readonly SentinelKind[] = [
  ...CLIENT_KINDS.map(({ name, open }) => ({
    name,
    open: ({ address }: SentinelSet) => open(0, { ...address }),
  })),
  ...NODE_REDIS_SENTINELS,
];

describe('set-ups: Sentinel', function () {
  let set: SentinelSet;
  let others: Masters | undefined;
  const locks: Redlock[] = [];
  const clients: AnyClient[] = [];
  beforeEach(async () => {
    set = await SentinelSet.start();
  });
  afterEach(async () => {
    for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
    for (const client of clients.splice(0)) client.disconnect();
    await set.stop();
    await others?.stop();
    others = undefined;
  });

  function connect(options: RedlockOptions = {}, ...more: readonly Master[]): Redlock {
    const redlock = Redlock.connect([set.address, ...more], { ...PATIENT, ...options });
    locks.push(redlock);
    return redlock;
  }

  /** The instance has found the master again, and sees the lock held there. */
  function heldFor(redlock: Redlock): Promise<void> {
    return eventually(async () => (await redlock.inspect('r')).state === 'held');
  }

  it('as the one master: all that locks do', async () => {
    await expectPromises(connect(), connect());
    expect((await connect().inspect('r')).nodes[0]?.node).to.match(
      new RegExp(`^${SENTINELS_NAME}@${HOST}:\\d+$`),
    );
  });

  for (const kind of NODE_REDIS_SENTINELS) {
    it(`${kind.name}: all that locks do, and by pushes`, async () => {
      const open = (): Redlock => {
        const client = kind.open(set);
        const redlock = new Redlock([client], PATIENT);
        clients.push(client);
        locks.push(redlock);
        return redlock;
      };
      const [one, other] = [open(), open()];
      await untilAllAnswer(one, other);
      await expectPromises(one, other);
      expect((await one.diagnose()).findings.map(({ code }) => code)).to.include('SENTINEL');
      const lease = await one.acquire('r');
      const next = other.acquire('r');
      await eventually(async () => String(await set.master.client('LIST')).includes('name=quorate-pushes'));
      await lease.release();
      await (await next).release();
    });
  }

  for (const kind of KINDS) {
    it(`${kind.name}: a fail-over to a replica that has the vote: it stays held, and waiters are served`, async () => {
      const open = (): Redlock => {
        const client = kind.open(set);
        const redlock = new Redlock([client], PATIENT);
        clients.push(client);
        locks.push(redlock);
        return redlock;
      };
      const [one, other] = [open(), open()];
      const lease = await one.acquire('r', { renew: true });
      const next = other.acquire('r');
      await eventually(async () => (await one.inspect('r')).waiting === 1);
      await set.replicated();
      await set.failOver();
      for (const lock of [one, other]) await heldFor(lock);
      await lease.extend();
      expect(await other.tryAcquire('r')).to.equal(null);
      await lease.release();
      await (await next).release();
      await expectPromises(one, other);
    });
  }

  it('a fail-over that loses the vote: without a guard a second holder, whose fencing token is higher', async () => {
    const [one, other] = [connect(), connect()];
    const lease = await one.acquire('r');
    await set.lose();
    await set.failOver();
    const second = await other.acquire('r');
    expect([lease.status, second.status]).to.deep.equal(['held', 'held']); // docs/GUARANTEES.md, What this is not
    expect(second.fence).to.be.greaterThan(lease.fence ?? Infinity);
    await heldFor(one);
    expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
  });

  it('a fail-over that loses the vote, under a guard: the new master abstains, QUARANTINED', async () => {
    const [one, other] = [
      connect({ restartGuardMs: LONG_GUARD_MS }),
      connect({ restartGuardMs: LONG_GUARD_MS }),
    ];
    await one.bootstrap();
    await one.acquire('r');
    await set.lose();
    await set.failOver();
    await eventually(async () => (await other.inspect('r')).nodes[0]?.state !== 'unknown');
    const error = await rejection(other.acquire('r', { waitMs: 0 }));
    expect(error.code).to.equal('QUARANTINED');
    expect(await other.bootstrap({ force: true })).to.include({ changed: true }); // nobody holds anything, an operator says
    await (await other.acquire('r')).release();
  });

  it('one of three: its fail-over loses the vote: the other two keep the lock, and it votes again', async () => {
    others = await startMasters(2);
    const [one, other] = [connect({}, ...others.urls), connect({}, ...others.urls)];
    const isAllThere = async (): Promise<boolean> =>
      (await one.inspect('r')).nodes.every(({ state }) => state === 'held');
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r', { renew: true });
    await eventually(isAllThere);
    await set.lose();
    const over = set.failOver();
    expect(await other.tryAcquire('r')).to.equal(null);
    await over;
    expect(await other.tryAcquire('r')).to.equal(null);
    await eventually(async () => {
      await lease.extend(); // sets the vote again where nobody else has one
      return isAllThere();
    });
    await lease.release();
    await expectPromises(one, other);
  });
});
