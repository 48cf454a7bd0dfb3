/** What the restart guard promises where masters forget (protocol B). Each loss is shown without the guard and with it. */
import { expect } from 'chai';
import { DEFAULTS } from '../../../lib/input/options.js';
import type { Lease } from '../../../lib/lease/public.js';
import { BACK_US } from '../../../lib/protocol/lua/stored.js';
import { driftMs } from '../../../lib/protocol/validity.js';
import type { Redlock } from '../../../lib/redlock.js';
import { PATIENT } from '../patience.js';
import { type Event, MARKER, type Persistence, type Section, type Stand, UNGUARDED } from './stand.js';

const COUNTER = 'quorate:fence:{r}';
const { ttlMs: TTL_MS } = PATIENT;
/** Beyond the one attempt of the others. */
const WAITING = { waitMs: PATIENT.waitMs } as const;

/** How a lock is forgotten. A marker alone would not notice that its master came back with old data. */
const LOSSES: readonly (readonly [string, Event, Persistence])[] = [
  ['kill -9 without persistence', 'lost', 'none'],
  ['restart from a stale RDB', 'stale', 'RDB'],
  ['restart from an AOF that lacks its end (as everysec may)', 'stale', 'AOF'],
  ['FLUSHALL', 'FLUSHALL', 'none'],
  ['FLUSHDB', 'FLUSHDB', 'none'],
];

export const losses: Section = (rule) => {
  for (const [what, event, persistence] of LOSSES) {
    /** A lease that a quorum has forgotten. */
    const forgotten = async (stand: Stand, redlock: Redlock): Promise<Lease> => {
      for (const master of stand.quorum) await master.checkpoint();
      const lease = await stand.held(redlock);
      await stand.happen(event, stand.quorum);
      for (const master of stand.quorum) expect(await master.get('r')).to.equal(null);
      return lease;
    };

    rule(`${what}, no guard: there are two holders`, persistence, async (stand) => {
      const [a, b] = [await stand.connected(UNGUARDED), stand.open(UNGUARDED)];
      const lease = await forgotten(stand, a);
      await stand.past((lease.fence ?? 0) + BACK_US); // they may propose one that is so old
      const theirs = (await stand.decided(() => b.acquire('r'))) as Lease;
      expect([lease.status, theirs.status]).to.deep.equal(['held', 'held']);
      expect(theirs.fence).to.be.above(lease.fence ?? Infinity);
    });

    rule(
      `${what}: no vote, however it is asked for; the lease stands, is released`,
      persistence,
      async (stand) => {
        const [a, b] = [await stand.started(), stand.open()];
        const lease = await forgotten(stand, a);
        for (const master of stand.quorum)
          expect((await master.get(MARKER)) !== null).to.equal(event === 'stale');
        stand.expectQuarantined(await stand.noticed(() => b.acquire('r'), stand.quorum));
        stand.expectQuarantined(await stand.decided(() => b.tryAcquire('r')));
        stand.expectQuarantined(await stand.decided(() => b.using('r', () => 'ran')));
        for (const master of stand.quorum) expect(await master.get('r')).to.equal(null);
        expect(lease.status).to.equal('held');
        await stand.ok(lease.release()); // always allowed
        await stand.expectFree();
      },
    );
  }

  for (const event of ['RELOAD', 'SCRIPT FLUSH', 'CLIENT KILL'] as const) {
    rule(`${event} on all: nothing is forgotten, and they vote`, 'none', async (stand) => {
      const [a, b] = [await stand.started(), await stand.connected()];
      const lease = await stand.ok(a.acquire('r'));
      await stand.happen(event);
      expect(await stand.decided(() => b.tryAcquire('r'))).to.equal(null);
      await stand.decided(() => lease.extend());
      expect(lease.status).to.equal('held');
      await stand.ok(lease.release());
      await stand.expectFree();
      expect(await stand.decided(() => b.acquire('r'))).to.include({ status: 'held' });
    });
  }
};

/** A claim that is on its way as its master begins anew (T-B7). */
export const resends: Section = (rule) => {
  for (const isGuarded of [false, true]) {
    const end = isGuarded
      ? 'guarded: it is no vote'
      : 'no guard: it is a vote, though another may be forgotten';
    rule(`a claim that reaches another process, ${end}`, 'none', async (stand) => {
      const redlock = isGuarded ? await stand.started() : await stand.connected(UNGUARDED);
      const acquire = (): Promise<Lease> => redlock.acquire('r');
      const answer = await stand.acrossRestart(() => stand.decided(acquire));
      if (!isGuarded) return void expect(answer).to.include({ status: 'held' });
      stand.expectQuarantined(answer);
      expect(answer).to.include({ attempts: 1 });
      await stand.expectFree();
    });
  }
};

/** What it says where only some are in quarantine. */
export const minorities: Section = (rule, spared) => {
  spared('one taken, a minority in quarantine, the others free: QUARANTINED', 'none', async (stand) => {
    const spare = stand.minority.length;
    const redlock = await stand.started();
    await stand.masters[0]?.set('r', 'another');
    await stand.happen('FLUSHALL', stand.masters.slice(1, 1 + spare));
    const { code, tally } = await stand.refused(redlock.acquire('r'));
    expect(code).to.equal('QUARANTINED'); // neither alone made it impossible
    const outcomes = tally.map(({ outcome }) => outcome);
    expect(outcomes.slice(0, 1 + spare)).to.deep.equal([
      'refused',
      ...stand.minority.map(() => 'quarantined'),
    ]);
  });

  rule('as many taken as cost the quorum: LOCK_TAKEN, null from tryAcquire', 'none', async (stand) => {
    const redlock = await stand.started();
    for (const master of stand.decisive) await master.set('r', 'another');
    await stand.happen('FLUSHALL', stand.masters.slice(stand.decisive.length));
    const taken = { code: 'LOCK_TAKEN', remainingMs: undefined };
    expect(await stand.refused(redlock.acquire('r'))).to.include(taken);
    expect(await stand.ok(redlock.tryAcquire('r'))).to.equal(null);
  });

  spared('a minority in quarantine, one gone: NO_QUORUM', 'none', async (stand) => {
    const redlock = await stand.started();
    await stand.happen('FLUSHALL', stand.minority);
    await stand.masters.at(-1)?.kill();
    expect((await stand.refused(redlock.acquire('r'))).code).to.equal('NO_QUORUM');
  });

  spared('one is slow: its quarantine begins with a claim that the others decide', 'none', async (stand) => {
    const [slow] = stand.minority;
    const redlock = await stand.started();
    await slow?.happen('FLUSHALL');
    await slow?.freeze();
    await stand.ok(redlock.acquire('r'));
    await slow?.thaw();
    await stand.eventually(async () => (await slow?.get(MARKER)) !== null);
  });
};

/** When a quorum votes again (T-B9). */
export const periods: Section = (rule) => {
  for (const way of ['acquire', 'ready'] as const) {
    rule(
      `first start: ${way}() begins the quarantine, and waits until a quorum votes`,
      'none',
      async (stand) => {
        const redlock = stand.open({ ...UNGUARDED, ttlMs: 500, restartGuardMs: 1_000 });
        if (way === 'acquire') {
          stand.expectQuarantined(await stand.refused(redlock.acquire('r')), 1_000);
          await stand.expectFree();
          await stand.ok(redlock.acquire('r', WAITING));
        } else await stand.ok(redlock.ready());
        const votes = stand.masters.map(async (master) => {
          const [, , since, period] = (await master.get(MARKER))?.split('|') ?? [];
          return Number(since) + Number(period) <= (await master.micros()) / 1_000;
        });
        expect((await Promise.all(votes)).filter(Boolean)).to.have.length.at.least(stand.quorum.length);
        if (way === 'ready') await stand.ok(redlock.acquire('r', WAITING));
      },
    );
  }
};

/** Leases that are held while masters forget (T-B10). */
export const leases: Section = (rule) => {
  rule('a minority without data: the lease goes on, and the others grant', 'none', async (stand) => {
    const [a, b] = [await stand.started(), stand.open()];
    const lease = await stand.held(a);
    await stand.happen('lost', stand.minority);
    await stand.noticed(() => lease.extend(), stand.minority);
    expect(lease.status).to.equal('held');
    stand.expectLeft(lease.remainingMs(), TTL_MS - driftMs(TTL_MS, DEFAULTS.driftFactor)); // the whole ttl again, without its drift
    await stand.expectHeld('r', lease.token, stand.minority);
    const adopted = await stand.decided(() => b.adopt(lease.giveAway()));
    await stand.ok((adopted as Lease).release());
    await stand.expectFree();
    const next = await stand.ok(b.acquire('r'));
    await stand.expectHeld('r', next.token, stand.minority);
  });

  rule('as many without data as cost the quorum: no grant, and no extension', 'none', async (stand) => {
    const redlock = await stand.started();
    const lease = await stand.held(redlock);
    await stand.happen('lost', stand.decisive);
    stand.expectQuarantined(await stand.decided(() => lease.extend()));
    const error = await stand.noticed(() => redlock.acquire('s'), stand.decisive);
    expect(error).to.include({ code: 'QUARANTINED' });
    await stand.expectFree('s');
    expect(lease.status).to.equal('held');
  });

  rule(
    'all with their data, ttl and counter: quarantined all the same, which is safe',
    'AOF',
    async (stand) => {
      const [a, b] = [await stand.started(), stand.open()];
      const lease = await stand.held(a);
      let counted = 0;
      await stand.happen('kept');
      for (const master of stand.masters) {
        expect(await master.get('r')).to.equal(lease.token);
        expect(await master.pttl('r')).to.be.within(1, TTL_MS);
        if (Number(await master.get(COUNTER)) >= (lease.fence ?? Infinity)) counted++;
        expect(await master.pttl(COUNTER)).to.be.within(1, 3_600_000);
      }
      expect(counted).to.be.at.least(stand.quorum.length);
      stand.expectQuarantined(await stand.noticed(() => b.acquire('r'), stand.masters));
      expect((await stand.refused(lease.extend())).code).to.equal('QUARANTINED');
      expect(lease.status).to.equal('held');
      const { code } = await stand.refused(b.adopt(lease.giveAway(), { waitMs: 0 }));
      expect(code).to.equal('QUARANTINED');
      await stand.expectHeld('r', lease.token);
    },
  );
};

/** Where a lease or a quarantine has to last for a while, and no longer: under virtual time. */
export const shortPeriods: Section = (rule, spared) => {
  for (const [data, event] of [
    ['without data', 'lost'],
    ['with old data, counters too', 'stale'],
  ] as const) {
    rule(
      `all are back within the ttl, ${data}: the next holder comes after the first`,
      'RDB',
      async (stand) => {
        const options = { ttlMs: 1_500, restartGuardMs: 1_600, nodeTimeoutMs: 5_000 };
        const [a, b] = [await stand.started(options), stand.open(options)];
        await stand.ok((await stand.ok(a.acquire('r'))).release());
        for (const master of stand.masters) await master.checkpoint();
        for (let turns = 0; turns < 5; turns++) await stand.ok((await stand.ok(a.acquire('r'))).release());
        const lease = await stand.held(a);
        const counts = (): Promise<number[]> =>
          Promise.all(stand.masters.map(async (master) => Number(await master.get(COUNTER))));
        const before = await counts();
        await stand.happen(event);
        for (const [i, count] of (await counts()).entries()) expect(count).to.be.below(before[i] ?? 0);
        stand.expectQuarantined(await stand.decided(() => b.acquire('r', { waitMs: 0 })), 1_600);
        const next = await stand.ok(b.acquire('r', WAITING));
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
        expect(next.fence).to.be.above(lease.fence ?? Infinity);
      },
    );
  }

  spared(
    'a minority without data, renewed: their votes are back once they vote again',
    'none',
    async (stand) => {
      const options = { ttlMs: 2_000, restartGuardMs: 2_100, nodeTimeoutMs: 5_000 };
      const lease = await stand.held(await stand.started(options), { renew: true });
      await stand.happen('lost', stand.minority);
      await stand.expectHeld('r', lease.token);
      expect(lease.status).to.equal('held');
    },
  );

  rule('as many without data as cost the quorum: no extension, then it is lost', 'none', async (stand) => {
    const redlock = await stand.started({ ttlMs: 3_000, restartGuardMs: 20_000, nodeTimeoutMs: 5_000 });
    const lease = await stand.held(redlock);
    await stand.happen('lost', stand.decisive);
    stand.expectQuarantined(await stand.decided(() => lease.extend()), 20_000);
    const acquire = (): Promise<Lease> => redlock.acquire('s', { waitMs: 0 });
    const error = await stand.noticed(acquire, stand.decisive);
    expect(error).to.include({ code: 'QUARANTINED' });
    await stand.expectFree('s');
    await stand.eventually(() => lease.signal.aborted);
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
    expect(lease.signal.reason).to.include({ code: 'LOCK_LOST' });
    expect((await stand.refused(lease.extend())).code).to.equal('LOCK_LOST');
  });
};
