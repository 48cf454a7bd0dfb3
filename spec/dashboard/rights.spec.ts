/** The rights that docs/DASHBOARD.md gives to a user who only looks: they show everything, and without any of them less is shown. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { dashboard } from '../../lib/dashboard/dashboard.js';
import type { DashboardSnapshot } from '../../lib/dashboard/public.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { further } from '../support/breadth.js';
import { rightsOf, USER } from '../support/documented-rights.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';

const KEY_PREFIX = 'lock:';
const TOKEN = 'the-token-of-this-dashboard';
const HEX = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const RIGHTS = rightsOf('dashboard');
const GRANTED = RIGHTS.filter((rule) => rule.startsWith('+'));

/** What the doctor tries for locks, and ioredis as it connects. */
const OF_OTHERS = /^(?:publish|subscribe|quorate:push:.*|set|client(?:\|\w+)?)$/;

describe('the rights that the docs give to a user who only looks: N=1, real master', () => {
  let masters: Masters;
  let hand: Redis;
  let holder: Redlock;
  let waiter: Redlock;
  let viewer: Redlock;
  const ends: (() => Promise<unknown>)[] = [];
  before(async () => {
    masters = await startMasters(1, { backend: 'process' });
    hand = byHand(masters.list[0]?.port ?? 0);
    await hand.call('ACL', 'SETUSER', USER, ...RIGHTS);
    const password = RIGHTS.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
    const options = { ...PATIENT, keyPrefix: KEY_PREFIX };
    holder = Redlock.connect(masters.urls, { ...options, label: 'holder' });
    waiter = Redlock.connect(masters.urls, { ...options, label: 'waiter' });
    viewer = Redlock.connect(
      masters.list.map(({ port }) => ({ host: '127.0.0.1', port, username: USER, password })),
      options,
    );
    const stop = new AbortController();
    await holder.acquire('mutex', { note: 'import 42' });
    await holder.readWriteLock('shared').read.acquire();
    await holder.election('leader').campaign('10.0.0.7:80');
    await hand.set(`${KEY_PREFIX}legacy`, HEX, 'PX', 600_000);
    const job = await holder.job('job', { every: 3_600_000 }, () => undefined);
    await job.run();
    const waiting = waiter.acquire('mutex', { waitMs: Infinity, signal: stop.signal }).catch(() => undefined);
    await eventually(async () => (await holder.inspect('mutex')).waiters[0]?.label === 'waiter');
    ends.push(
      () => job.stop(),
      () => (stop.abort(), waiting),
    );
    await viewer.ready();
  });
  after(async () => {
    for (const end of ends) await end();
    await Promise.all([viewer, holder, waiter].map((one) => one.close({ releaseHeld: true, drainMs: 0 })));
    hand.disconnect();
    await masters.stop();
  });
  beforeEach(() => hand.call('ACL', 'LOG', 'RESET'));

  /** What a new dashboard shows. */
  async function look(): Promise<DashboardSnapshot> {
    const page = dashboard(viewer, { readOnly: true, token: TOKEN });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const ask = async (): Promise<DashboardSnapshot> => {
      const path = 'http://localhost/api/snapshot?lock=mutex&sort=name';
      const response = await page.fetch(new Request(path, { headers }));
      return (await response.json()) as DashboardSnapshot;
    };
    let shown = await ask();
    while (shown.findings === undefined) shown = await ask();
    page.close();
    return shown;
  }

  /** What the server refused to scripts and questions of a look. */
  async function refused(): Promise<readonly string[]> {
    const log = (await hand.call('ACL', 'LOG')) as (readonly unknown[])[];
    return [...new Set(log.map((entry) => String(entry[entry.indexOf('object') + 1])))];
  }

  it('everything is shown, and no question is refused', async () => {
    const { findings = [], jobs, leaders, lock, locks, masters: shown } = await look();
    expect(locks.rows.map(({ kind, name }) => [name, kind])).to.deep.equal([
      ...[
        ['leader', 'mutex'],
        ['legacy', 'other'],
        ['mutex', 'mutex'],
        ['shared', 'read-write'],
      ],
    ]);
    expect(lock?.holders[0]).to.include({ label: 'holder' });
    expect([lock?.note, lock?.waiters[0]?.label]).to.deep.equal(['import 42', 'waiter']);
    expect(lock?.since).to.be.a('number');
    expect([leaders[0]?.value, jobs[0]?.name]).to.deep.equal(['10.0.0.7:80', 'job']);
    expect(shown[0])
      .to.include({ state: 'up' })
      .and.include.keys('server', 'memoryBytes')
      .and.not.have.property('cause');
    expect(findings.map(({ code }) => code))
      .to.include('RIGHTS')
      .and.not.include('NOT_KNOWN');
    expect((await refused()).filter((what) => !OF_OTHERS.test(what))).to.deep.equal([]);
  });

  for (const right of GRANTED)
    further(`without ${right}: a question is refused`, async () => {
      await hand.call('ACL', 'SETUSER', USER, `-${right.slice(1)}`);
      await look();
      expect(await refused()).to.include(right.slice(1));
      await hand.call('ACL', 'SETUSER', USER, right);
    });
});
