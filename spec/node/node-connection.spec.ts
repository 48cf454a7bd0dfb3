import { expect } from 'chai';
import { Node, type Sink } from '../../lib/node/node.js';
import { SILENT_WINDOW } from '../../lib/node/send-window.js';
import { plainClaim } from '../../lib/protocol/request.js';
import type { TransportState } from '../../lib/redis/transport.js';
import { keysOf, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

/** One claim, and what became of it. */
class Claim implements Sink {
  isWanted = true;
  end: 'pending' | 'answered' | 'failed' = 'pending';

  onSent(): void {}

  onReply(): void {
    this.end = 'answered';
  }

  onFailure(): void {
    this.end = 'failed';
  }
}

function environment(state: TransportState = 'ready') {
  const time = new FakeTime();
  const master = new FakeMaster('m1', time);
  master.state = state;
  const node = new Node(master, 0, time);
  let claimed = 0;
  const claim = (): Claim => {
    const sink = new Claim();
    node.send({ request: plainClaim(plainScope(`k${++claimed}`), `token-${claimed}`, 30_000), sink });
    return sink;
  };
  const claims = (count: number): Claim[] => Array.from({ length: count }, claim);
  return { time, master, node, claim, claims };
}

describe('node: its connection (rule 10)', () => {
  it('lost: fails at once, and sends nothing', () => {
    const { master, claim } = environment('lost');
    expect(claim().end).to.equal('failed');
    expect(master.sent).to.deep.equal([]);
  });

  it('opening: waits, and goes out in order when it is ready', async () => {
    const { master, claims } = environment('opening');
    const waiting = claims(3);
    expect(master.sent).to.deep.equal([]);
    master.become('ready');
    await settle();
    expect(master.sent.map((command) => keysOf(command)[0])).to.deep.equal(['k1', 'k2', 'k3']);
    expect(waiting.map(({ end }) => end)).to.deep.equal(['answered', 'answered', 'answered']);
  });

  it('opening, then lost: all that waited fails at that moment', () => {
    const { master, claims } = environment('opening');
    const waiting = claims(3);
    master.become('lost');
    expect(waiting.map(({ end }) => end)).to.deep.equal(['failed', 'failed', 'failed']);
    master.become('ready');
    expect(master.sent).to.deep.equal([]);
  });

  for (const next of ['ready', 'lost'] as const) {
    it(`opening, then ${next}: one listener meanwhile, none after`, () => {
      const { master, claims } = environment('opening');
      claims(100);
      expect(master.listeners).to.equal(1);
      master.become(next);
      expect(master.listeners).to.equal(0);
    });
  }

  it('opening, and all attempts gave up: no listener is left', () => {
    const { master, node, claims } = environment('opening');
    for (const one of claims(10)) node.forget(one);
    expect([master.listeners, node.waiting]).to.deep.equal([0, 0]);
  });

  for (const [client, lose] of [
    ['gives up what was in flight', (master: FakeMaster) => master.cut()],
    ['keeps it, to send it again', (master: FakeMaster) => master.become('lost')],
  ] as const) {
    it(`lost while requests wait for room, and the client ${client}: what waits fails at once`, async () => {
      const { master, node, claims } = environment();
      master.manner = 'freeze';
      claims(SILENT_WINDOW);
      node.markSilent();
      const waiting = claims(5);
      lose(master);
      await settle();
      expect(waiting.map(({ end }) => end)).to.deep.equal(Array.from({ length: 5 }, () => 'failed'));
    });
  }

  it('back after a loss: what waited for room before does not keep it shut', async () => {
    const { master, node, claim, claims } = environment();
    master.manner = 'freeze';
    claims(SILENT_WINDOW);
    node.markSilent();
    claims(1);
    master.cut();
    await settle();
    master.manner = 'answer';
    master.become('ready');
    const next = claim();
    await settle();
    expect(next.end).to.equal('answered');
  });
});

describe('node: a client with a commandTimeout', () => {
  /** All of the window was sent, and the client gave all of it up by itself. */
  async function silent() {
    const bench = environment();
    bench.master.manner = 'freeze';
    const sent = bench.claims(SILENT_WINDOW);
    await settle();
    bench.master.timeOutByClient();
    await settle();
    return { ...bench, sent };
  }

  it('a command that it timed out is unknown, and still counts as in flight', async () => {
    const { node, sent, claims } = await silent();
    expect(new Set(sent.map(({ end }) => end))).to.deep.equal(new Set(['failed']));
    expect(node.window.inFlight).to.equal(SILENT_WINDOW);
    claims(1_000);
    expect(node.window.inFlight).to.be.at.most(SILENT_WINDOW + 1);
  });

  it('is asked again every few seconds, and back with the first answer', async () => {
    const { master, node, time, claim } = await silent();
    node.forget(claim()); // the probe, which is given up as well
    master.timeOutByClient();
    master.thaw();
    await time.advance(5_000);
    const probe = claim();
    await settle();
    expect(probe.end).to.equal('answered');
    expect(node.window.inFlight).to.equal(0);
  });

  it('is asked again every few seconds also while requests wait for room', async () => {
    const { master, time, claim } = await silent();
    claim(); // a probe
    master.timeOutByClient();
    await settle();
    const waiting = claim();
    master.thaw();
    for (let second = 0; second < 11; second++) {
      await time.advance(1_000);
      claim();
    }
    await settle();
    expect(waiting.end).to.equal('answered');
  });
});
