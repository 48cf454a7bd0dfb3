/**
 * What an instance tells of real masters that are killed, frozen and brought back; and what `health` says meanwhile. On a busy
 * machine other masters may be slow as well, and are told of.
 */
import { once } from 'node:events';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { hear, type Heard } from '../support/heard.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';

describe('events: real masters, N=3', () => {
  let masters: Masters;
  let redlock: Redlock;
  let heard: Heard;
  beforeEach(async () => {
    masters = await startMasters(3);
    redlock = Redlock.connect(masters.urls, { waitMs: PATIENT.waitMs });
    await redlock.ready(EVERY_MASTER);
    heard = hear(redlock);
  });
  afterEach(async () => {
    for (const master of masters.list) await master.thaw().catch(() => undefined);
    await redlock.close({ releaseHeld: true });
    await masters.stop();
  });

  it('killed and brought back: nodeDown with its cause, nodeUp with the time; locks go on', async () => {
    const [master] = masters.list;
    if (master === undefined) throw new Error('there are three');
    const node = `${master.host}:${master.port}`;
    const of = <Name extends 'nodeDown' | 'nodeUp'>(name: Name) =>
      heard.of(name).filter((event) => event.node === node);
    await master.kill();
    await eventually(() => of('nodeDown').some(({ reason }) => reason === 'disconnected'));
    expect(of('nodeDown').at(-1)?.cause.message).to.contain('not connected');
    const lease = await redlock.acquire('r', { ...PATIENT, renew: true });
    await eventually(() => heard.of('renewed').length > 0); // soon, since it lacks a vote
    await eventually(async () => (await redlock.health()).fit);
    expect((await redlock.health()).nodes[0]).to.include({ state: 'disconnected' });
    await master.restart();
    await eventually(() => of('nodeUp').length > 0);
    expect(of('nodeUp').at(-1)?.downMs).to.be.above(0);
    await lease.release();
    expect(heard.one('released').how).to.equal('released');
  });

  it('a quorum frozen: silent, the lease is lost, and health says so within its node timeout', async () => {
    const lease = await redlock.acquire('r', { ttlMs: 900, renew: true });
    for (const master of masters.list.slice(1)) await master.freeze();
    if (!lease.signal.aborted) await once(lease.signal, 'abort');
    await eventually(() => heard.of('lost').length === 1);
    expect(heard.one('lost').tally.map(({ outcome }) => outcome)).to.include('unknown');
    const frozen = masters.list.slice(1).map(({ host, port }) => `${host}:${port}`);
    const silent = (): readonly string[] =>
      heard.of('nodeDown').flatMap(({ node, reason }) => (reason === 'silent' ? [node] : []));
    await eventually(() => frozen.every((node) => silent().includes(node)));
    expect((await redlock.health()).problems).to.include('quorum');
    expect(redlock.stats().counts.lost).to.equal(1);
    for (const master of masters.list) await master.thaw();
    await eventually(() => frozen.every((node) => heard.of('nodeUp').some((event) => event.node === node)));
    await eventually(async () => (await redlock.health()).fit);
  });

  it('waiters are told of what they wait for, and get it', async () => {
    const first = await redlock.acquire('r', PATIENT);
    const second = redlock.acquire('r', { ...PATIENT, localTurns: 0 });
    await eventually(() => heard.of('waiting').length === 1);
    expect(redlock.stats().waiting).to.equal(1);
    await first.release();
    const lease = await second;
    expect(heard.of('acquired').at(-1)).to.include({ fence: lease.fence });
    expect([heard.of('contended').length, redlock.stats().waiting]).to.deep.equal([1, 0]);
  });
});
