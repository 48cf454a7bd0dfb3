/**
 * Rights that the restart guard and the counters need: a server that denies one says so before a lock is promised.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { TimestampLock } from '../../lib/timestamp/lock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const GUARDED = { ...PATIENT, restartGuardMs: LONG_GUARD_MS } as const;
const UNGUARDED = PATIENT;
const USER = { username: 'locker', password: 'secret' } as const;

for (const nodes of [1, 3]) {
  describe(`rights: N=${nodes}`, () => {
    let masters: Masters;
    let hands: Redis[];
    let instances: Redlock[];
    beforeEach(async () => {
      masters = await startMasters(nodes, { backend: 'process' });
      hands = masters.list.map(({ port }) => byHand(port));
      instances = [];
      await allow('on', `>${USER.password}`, '~*', '&*', '+@all');
    });
    afterEach(async () => {
      for (const redlock of instances) await redlock.close({ releaseHeld: true });
      for (const hand of hands) hand.disconnect();
      await masters.stop();
    });

    /** Changes what the user of the instances may do, also on connections that are there. */
    async function allow(...rules: readonly string[]): Promise<void> {
      for (const hand of hands) await hand.call('ACL', 'SETUSER', USER.username, ...rules);
    }

    async function open(options: RedlockOptions): Promise<Redlock> {
      // ioredis asks INFO as it connects, and warns where it may not
      const login = { ...USER, enableReadyCheck: false };
      const clients = masters.list.map(({ host, port }) => ({ host, port, ...login }));
      const redlock = Redlock.connect(clients, options);
      instances.push(redlock);
      // without a guard this waits for the connections; with one that waits for the quarantine
      if (options.restartGuardMs === undefined) await redlock.ready();
      return redlock;
    }

    /** Another client of the same lock. */
    async function byHandSet(key: string): Promise<void> {
      for (const hand of hands) await hand.set(key, 'another', 'PX', PATIENT.ttlMs);
    }

    async function expectNoKeys(): Promise<void> {
      for (const hand of hands)
        expect((await hand.keys('*')).filter((key) => !key.startsWith('quorate:client:'))).to.deep.equal([]);
    }

    for (const denied of ['info', 'time']) {
      const named = new RegExp(`\\b${denied}\\b`, 'i');

      it(`${denied} denied: MISCONFIGURED at once, by acquire, fenced or not, ready and bootstrap; it is named, no key is left`, async () => {
        await allow(`-${denied}`);
        const [redlock, plain] = [await open(GUARDED), await open({ ...GUARDED, fencing: false })];
        for (const call of [
          () => redlock.acquire('r'),
          () => plain.acquire('r'),
          () => redlock.ready(),
          () => redlock.bootstrap(),
        ]) {
          const error = await rejection(call());
          expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
          expect(error.tally.map(({ outcome }) => outcome)).to.include('unknown');
          expect(error.message).to.match(named);
          await expectNoKeys();
        }
      });

      it(`${denied} denied after bootstrap: no further lock, the held lease stays, and the right given back is enough`, async () => {
        const redlock = await open(GUARDED);
        await redlock.bootstrap();
        const lease = await redlock.acquire('r');
        await allow(`-${denied}`);
        expect((await rejection(redlock.acquire('other'))).code).to.equal('MISCONFIGURED');
        expect((await rejection(lease.extend())).code).to.equal('MISCONFIGURED');
        expect(lease.status).to.equal('held');
        await allow(`+${denied}`);
        await lease.extend();
        await (await redlock.acquire('other')).release();
        await allow(`-${denied}`);
        await lease.release(); // needs neither
        for (const hand of hands) await eventually(async () => (await hand.exists('r', 'other')) === 0);
      });
    }

    for (const [title, options] of [
      ['guarded', GUARDED],
      ['no guard', UNGUARDED],
    ] as const) {
      it(`get denied, ${title}: reported as that, and not as a marker that holds something else; no key is left`, async () => {
        const redlock = await open(options);
        await allow('-get');
        const error = await rejection(redlock.acquire('r'));
        expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
        expect(error.message).to.match(/unknown \(NOPERM no right to run GET, which the scripts need\)/);
        expect(error.message).to.not.contain('holds something else');
        await expectNoKeys();
      });
    }

    it('the keys denied, in plain words', async () => {
      const redlock = await open(UNGUARDED);
      await allow('resetkeys', '~r');
      const { code, message } = await rejection(redlock.acquire('r'));
      expect(code).to.equal('MISCONFIGURED');
      expect(message).to.match(
        /unknown \(NOPERM no rights on the keys: the resources, and quorate:\* beside them\)/,
      );
      const client = byHand(masters.list[0]?.port ?? 0, { ...USER, enableReadyCheck: false });
      const denied = await rejection(new TimestampLock(client, PATIENT).acquire('x'));
      client.disconnect();
      expect(denied.message).to.match(/unknown \(NOPERM no rights on the keys: the resources\)/);
    });

    it('a command denied in scripts, in plain words', async () => {
      const redlock = await open(UNGUARDED);
      await allow('-pttl');
      await byHandSet('r');
      const { code, message } = await rejection(redlock.acquire('r'));
      expect(code).to.equal('MISCONFIGURED');
      expect(message).to.match(
        /unknown \(NOPERM no right to run (?:PTTL|a command), which the scripts need\)/,
      );
    });

    it('time denied, no guard: MISCONFIGURED for want of counters, and no key is left', async () => {
      await allow('-time');
      const error = await rejection((await open(UNGUARDED)).acquire('r'));
      expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
      await expectNoKeys();
      expect(error.message).to.match(/\btime\b/i);
    });

    for (const [denied, options] of [
      [['info'], UNGUARDED],
      [['info', 'time'], { ...UNGUARDED, fencing: false }],
    ] as const) {
      it(`${denied.join(' and ')} denied, not needed: no guard${'fencing' in options ? ', no fencing' : ''}`, async () => {
        await allow(...denied.map((name) => `-${name}`));
        const lease = await (await open(options)).acquire('r');
        await lease.extend();
        await lease.release();
      });
    }

    it("the marker's key denied: MISCONFIGURED, and no key is left", async () => {
      await allow('resetkeys', '~r*', '~quorate:fence:*');
      const error = await rejection((await open(GUARDED)).acquire('r'));
      expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
      await expectNoKeys();
    });

    if (nodes < 3) return;

    it('info denied by one of three: the others grant, and the cause is reported where it costs the quorum', async () => {
      const redlock = await open(GUARDED);
      await redlock.bootstrap();
      await hands[0]?.call('ACL', 'SETUSER', USER.username, '-info');
      await (await redlock.acquire('r')).release();
      expect(await hands[0]?.exists('r')).to.equal(0);
      await hands[1]?.call('ACL', 'SETUSER', USER.username, '-info');
      expect((await rejection(redlock.acquire('r'))).code).to.equal('MISCONFIGURED');
    });
  });
}
