/** The wait for the last connection of a command that takes a lock: how long, and for whom. */
import { expect } from 'chai';
import { connecting } from '../../lib/command/run/connecting.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

interface Wait {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly controller: AbortController;
  /** How long it took; undefined as long as it lasts. */
  tookMs: number | undefined;
}

function begin(nodes: number): Wait {
  const time = new FakeTime();
  const masters = Array.from({ length: nodes }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  for (const master of masters) master.become('opening');
  const controller = new AbortController();
  const wait: Wait = { time, masters, controller, tookMs: undefined };
  void connecting(masters, controller.signal, { clock: time, timers: time }).then((ms) => (wait.tookMs = ms));
  return wait;
}

/** Nothing of it is left. */
function expectOver({ time, masters, tookMs }: Wait, ms: number): void {
  expect([tookMs, time.pending]).to.deep.equal([ms, 0]);
  for (const { listeners } of masters) expect(listeners).to.equal(0);
}

describe('a command waits for its connections', () => {
  for (const nodes of [1, 2, 3, 4, 5]) {
    const quorum = Math.floor(nodes / 2) + 1;

    it(`N=${nodes}: until the last is there`, async () => {
      const wait = begin(nodes);
      for (const master of wait.masters) {
        expect(wait.tookMs).to.equal(undefined);
        await wait.time.advance(10);
        master.become('ready');
      }
      await wait.time.advance(5_000);
      expectOver(wait, 10 * nodes);
    });

    if (quorum < nodes)
      it(`N=${nodes}: 200 ms for the others once there is a quorum, and no longer`, async () => {
        const wait = begin(nodes);
        await wait.time.advance(900);
        for (const master of wait.masters.slice(0, quorum)) master.become('ready');
        await wait.time.advance(199);
        expect(wait.tookMs).to.equal(undefined);
        await wait.time.advance(5_000);
        expectOver(wait, 1_100);
      });

    it(`N=${nodes}: a second for a quorum`, async () => {
      const wait = begin(nodes);
      for (const master of wait.masters.slice(0, quorum - 1)) master.become('ready');
      await wait.time.advance(5_000);
      expectOver(wait, 1_000);
    });

    it(`N=${nodes}: not for those that refuse`, async () => {
      const wait = begin(nodes);
      for (const master of wait.masters.slice(0, quorum)) master.become('ready');
      await wait.time.advance(10);
      for (const master of wait.masters.slice(quorum)) master.become('lost');
      await wait.time.advance(5_000);
      expectOver(wait, quorum < nodes ? 10 : 0);
    });
  }

  it('a signal ends it, whenever it comes', async () => {
    const wait = begin(3);
    await wait.time.advance(10);
    wait.controller.abort();
    await wait.time.advance(0);
    expectOver(wait, 10);
    const masters = [new FakeMaster('m1', wait.time)];
    masters[0]?.become('opening');
    const over = connecting(masters, wait.controller.signal, { clock: wait.time, timers: wait.time });
    expect(await over).to.equal(0);
  });
});
