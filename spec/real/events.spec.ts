/** What an instance tells of real masters that are killed, frozen and brought back; and what `health` says meanwhile. */
import { once } from 'node:events';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { hear, type Heard } from '../support/heard.js';
import { eventually } from '../support/real.js';

describe('events: real masters, N=3', () => {
  let masters: Masters;
  let redlock: Redlock;
  let heard: Heard;
  beforeEach(async () => {
    masters = await startMasters(3);
    redlock = Redlock.connect(masters.urls);
    await redlock.ready({ timeoutMs: 10_000 });
    await eventually(() => redlock.stats().nodes.every(({ state }) => state === 'ready'));
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
    const lease = await redlock.acquire('r', { ttlMs: 1_500, renew: true });
    await master.kill();
    await eventually(() => heard.of('nodeDown').length === 1);
    expect(heard.one('nodeDown')).to.include({ reason: 'disconnected' });
    expect(heard.one('nodeDown').cause.message).to.contain('not connected');
    heard.clear();
    await eventually(() => heard.of('renewed').length > 0);
    const { fit, nodes } = await redlock.health();
    expect([fit, nodes[0]?.state, nodes[0]?.cause?.message]).to.deep.equal([
      ...[true, 'disconnected', nodes[0]?.cause?.message],
    ]);
    await master.restart();
    await eventually(() => heard.of('nodeUp').length === 1);
    expect(heard.one('nodeUp').downMs).to.be.above(0);
    await lease.release();
    expect(heard.one('released').how).to.equal('released');
  });

  it('a quorum frozen: silent, the lease is lost, and health says so within its node timeout', async () => {
    const lease = await redlock.acquire('r', { ttlMs: 900, renew: true });
    for (const master of masters.list.slice(1)) await master.freeze();
    if (!lease.signal.aborted) await once(lease.signal, 'abort');
    await eventually(() => heard.of('lost').length === 1);
    expect(heard.one('lost').tally.map(({ outcome }) => outcome)).to.include('unknown');
    expect(heard.of('renewalFailed').length).to.be.above(0);
    await eventually(() => heard.of('nodeDown').length === 2);
    expect(heard.of('nodeDown').map(({ reason }) => reason)).to.deep.equal(['silent', 'silent']);
    expect((await redlock.health()).problems).to.deep.equal(['quorum']);
    expect(redlock.stats().counts.lost).to.equal(1);
    for (const master of masters.list) await master.thaw();
    await eventually(() => heard.of('nodeUp').length === 2);
    await eventually(async () => (await redlock.health()).fit);
  });

  it('waiters are told of what they wait for, and get it', async () => {
    const first = await redlock.acquire('r', { ttlMs: 5_000 });
    const second = redlock.acquire('r', { ttlMs: 5_000 });
    await eventually(() => heard.of('waiting').length === 1);
    expect(redlock.stats().waiting).to.equal(1);
    await first.release();
    const lease = await second;
    expect(heard.of('acquired').at(-1)).to.include({ fence: lease.fence });
    expect([heard.of('contended').length, redlock.stats().waiting]).to.deep.equal([1, 0]);
  });
});
