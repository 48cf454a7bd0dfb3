/** What a master can be made to do beside kill, freeze and cut: delay, half-open connections, full memory, a clock of its own. */
import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { needs } from '../../support/parts.js';
import { whyNoClocks } from './clock.js';
import { type ChaosMasters, startChaosMasters } from './masters.js';

describe('chaos kit: masters that are struck', () => {
  let masters: ChaosMasters;
  let client: Redis;
  const master = () => {
    const [first] = masters.list;
    if (first === undefined) throw new Error('no master');
    return first;
  };
  const open = async (): Promise<Redis> => {
    const opened = new Redis(master().url);
    opened.on('error', () => undefined);
    await once(opened, 'ready');
    return opened;
  };

  before(async () => {
    masters = await startChaosMasters(1, { persist: false });
    client = await open();
  });
  after(async () => {
    client.disconnect();
    await masters.stop();
  });

  it('delay: each message takes so long, in order, and delays do not add up', async () => {
    master().proxy.delay(60);
    const startMs = performance.now();
    const replies = await Promise.all([client.set('k', '1'), client.incr('k'), client.get('k')]);
    expect(performance.now() - startMs).to.be.at.least(118);
    expect(replies).to.deep.equal(['OK', 2, '2']);
    await master().heal();
    expect(await client.get('k')).to.equal('2');
    expect(client.status, 'the connection lost nothing').to.equal('ready');
  });

  it('half-open: an old connection stays open and hears nothing, a new one works; healed, the old one is closed', async () => {
    master().proxy.halfOpen();
    const later = await open();
    expect(await later.set('k', '3')).to.equal('OK');
    const lost = client.set('k', '4');
    expect(await later.get('k')).to.equal('3');
    expect(client.status).to.equal('ready');
    const closed = once(client, 'close');
    await master().heal();
    await closed;
    expect(await lost, 'sent again by the client').to.equal('OK');
    expect(await later.ping(), 'it is not touched').to.equal('PONG');
    later.disconnect();
  });

  it('full: nothing more is stored, and what is there can be read, until it is emptied', async () => {
    await client.set('k', '5');
    await master().fill();
    const refused: unknown = await client.set('k', '6').catch((error: unknown) => error);
    expect(String(refused)).to.include('OOM');
    expect(await client.get('k')).to.equal('5');
    await master().empty();
    expect(await client.set('k', '6')).to.equal('OK');
  });
});

describe("chaos kit: a master's clock", () => {
  it('is set back at once and no further than 400 ms, and then runs fast by less than one in a hundred', async function () {
    needs(this, 'libfaketime');
    expect(await whyNoClocks()).to.equal(undefined);
    await using masters = await startChaosMasters(1, { persist: false, clocks: true });
    const [master] = masters.list;
    const clock = master?.clock;
    if (master === undefined || clock === undefined) throw new Error('it has no clock');
    const client = new Redis(master.url);
    /** By the server's clock, less ours; the round trip makes it larger. */
    const ahead = async (): Promise<number> => {
      const sentMs = Date.now();
      const [seconds, micros] = await client.time();
      return Number(seconds) * 1_000 + Number(micros) / 1_000 - sentMs;
    };
    expect(await ahead()).to.be.within(-2, 5_000);
    clock.setBack(250);
    clock.setBack(250);
    expect(clock.offsetMs).to.equal(-400);
    expect(await ahead()).to.be.within(-402, 0);
    const [startMs, from] = [performance.now(), clock.offsetMs];
    clock.slewTo(0, 0.008);
    await client.set('waits', '1', 'PX', 300);
    while ((await client.exists('waits')) === 1);
    const gained = clock.offsetMs - from;
    expect(gained)
      .to.be.above(0)
      .and.at.most((performance.now() - startMs) * 0.01);
    client.disconnect();
  });
});
