import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { GRANTED } from '../../lib/protocol/quorum.js';
import { inspection, undo } from '../../lib/protocol/request.js';
import { Withdrawal, type WithdrawalOptions } from '../../lib/quorum/withdrawal.js';
import { kindsSentTo, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { IGNORED_ANSWER } from '../../lib/node/sink.js';

/** As many requests as may be in flight to a master. */
const WINDOW = 1_000;

interface Bench {
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly nodes: readonly [Node, Node, Node];
  readonly withdrawal: Withdrawal;
  /** Where it did not get through. */
  readonly failed: string[];
  /** Has what the spec waits for happened? */
  isSettled: boolean;
}

/** The undo of a claim that three masters granted, not sent yet. */
function bench(options: Omit<WithdrawalOptions, 'onFailed'> = {}): Bench {
  const time = new FakeTime();
  const master = (i: number): FakeMaster => new FakeMaster(`m${i}`, time);
  const masters = [master(1), master(2), master(3)] as const;
  const nodes = masters.map((one, i) => new Node(one, i, time)) as [Node, Node, Node];
  for (const one of masters) one.set('r', 'token', 60_000);
  const failed: string[] = [];
  const onFailed = ({ name }: Node): void => void failed.push(name);
  const request = undo(plainScope('r'), 'token');
  const withdrawal = new Withdrawal(request, nodes, [], { ...options, onFailed });
  return { masters, nodes, withdrawal, failed, isSettled: false };
}

function send(scene: Bench): void {
  scene.withdrawal.sendThen(() => (scene.isSettled = true));
}

describe('withdrawal: how long its caller waits', () => {
  it('by default until all masters have answered', async () => {
    const scene = bench();
    const { failed, masters, withdrawal } = scene;
    masters[0].manner = 'freeze';
    send(scene);
    await settle();
    expect(scene.isSettled).to.equal(false);
    masters[0].thaw();
    await settle();
    expect([scene.isSettled, ...failed]).to.deep.equal([true]);
    expect(withdrawal.outcomes).to.deep.equal([GRANTED, GRANTED, GRANTED]);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('until enough masters have confirmed', async () => {
    const scene = bench({ enough: 2 });
    const { masters } = scene;
    for (const master of masters) master.manner = 'freeze';
    send(scene);
    for (const [i, isSettled] of [false, true, true].entries()) {
      masters[i]?.thaw();
      await settle();
      expect(scene.isSettled).to.equal(isSettled);
    }
  });

  it('says that it is done when the last master has answered or failed, and not before', async () => {
    let done = 0;
    const scene = bench({ enough: 1, onDone: () => void done++ });
    const { masters } = scene;
    for (const master of masters) master.manner = 'freeze';
    masters[1].replies.push(new Error('ERR busy'));
    send(scene);
    for (const [i, times] of [0, 0, 1].entries()) {
      masters[i]?.thaw();
      await settle();
      expect(done, `after master ${i}`).to.equal(times);
    }
  });

  it('an error or an odd reply is an answer, and no confirmation', async () => {
    const scene = bench({ enough: 2 });
    const { failed, masters } = scene;
    masters[0].replies.push(new Error('ERR busy'));
    masters[1].replies.push('OK');
    masters[2].manner = 'freeze';
    send(scene);
    await settle();
    expect([scene.isSettled, ...failed.toSorted()]).to.deep.equal([false, 'm1', 'm2']);
    masters[2].thaw();
    await settle();
    expect([scene.isSettled, ...failed.toSorted()]).to.deep.equal([true, 'm1', 'm2']);
  });

  it('all are sent it, also those whose answers are not waited for', async () => {
    const scene = bench({ counts: ({ index }) => index === 1 });
    const { masters } = scene;
    masters[1].manner = 'freeze';
    send(scene);
    await settle();
    expect(scene.isSettled).to.equal(false);
    masters[1].thaw();
    await settle();
    expect(scene.isSettled).to.equal(true);
    expect(masters.map(kindsSentTo)).to.deep.equal([['undo'], ['undo'], ['undo']]);
  });

  it('no confirmation of a master that does not count settles it', async () => {
    const scene = bench({ counts: ({ index }) => index > 0, enough: 1 });
    for (const master of scene.masters.slice(1)) master.manner = 'freeze';
    send(scene);
    await settle();
    expect(scene.isSettled).to.equal(false);
  });

  it('not at all if no answer counts', () => {
    const scene = bench({ counts: () => false });
    send(scene);
    expect(scene.isSettled).to.equal(true);
    expect(scene.masters.map(kindsSentTo)).to.deep.equal([['undo'], ['undo'], ['undo']]);
  });

  it('it is urgent only if its caller says so', () => {
    for (const isUrgent of [undefined, false, true]) {
      const scene = bench(isUrgent === undefined ? {} : { isUrgent });
      const told: unknown[] = [];
      for (const node of scene.nodes) node.withdraw = (ask) => void told.push(ask.isUrgent);
      send(scene);
      expect(told).to.deep.equal(scene.nodes.map(() => isUrgent === true));
    }
  });

  it('no longer than until time is up', async () => {
    const scene = bench();
    for (const master of scene.masters) master.manner = 'freeze';
    send(scene);
    await settle();
    scene.withdrawal.end();
    expect(scene.isSettled).to.equal(true);
  });
});

describe('withdrawal: waiting on for all masters', () => {
  async function waitsOn(scene: Bench): Promise<void> {
    await settle();
    void scene.withdrawal.all().then(() => (scene.isSettled = true));
    await settle();
  }

  it('goes on until the last one has answered, whether or not it counted', async () => {
    const scene = bench({ counts: ({ index }) => index < 2, enough: 1 });
    const { masters } = scene;
    for (const master of masters) master.manner = 'freeze';
    void scene.withdrawal.send();
    masters[0].thaw();
    await waitsOn(scene);
    expect(scene.isSettled).to.equal(false);
    masters[1].thaw();
    await settle();
    expect(scene.isSettled).to.equal(false);
    masters[2].cut();
    await settle();
    expect([scene.isSettled, ...scene.failed]).to.deep.equal([true, 'm3']);
  });

  it('is over at once if all have answered already', async () => {
    const scene = bench();
    void scene.withdrawal.send();
    await waitsOn(scene);
    expect(scene.isSettled).to.equal(true);
  });

  it('is over at once if time is up', async () => {
    const scene = bench();
    for (const master of scene.masters) master.manner = 'freeze';
    void scene.withdrawal.send();
    scene.withdrawal.end();
    await waitsOn(scene);
    expect(scene.isSettled).to.equal(true);
  });
});

describe('withdrawal: time is up', () => {
  it('masters that it was sent to may still answer; a failure is told even then', async () => {
    const scene = bench();
    const { failed, masters, withdrawal } = scene;
    for (const master of masters) master.manner = 'freeze';
    send(scene);
    await settle();
    withdrawal.end();
    expect(failed).to.deep.equal([]);
    masters[0].cut();
    masters[1].thaw();
    await settle();
    expect([failed, masters[1].size]).to.deep.equal([['m1'], 0]);
  });

  it('a master that is still connecting is left to the repairs', async () => {
    const { failed, masters, withdrawal } = bench();
    masters[0].state = 'opening';
    void withdrawal.send();
    await settle();
    withdrawal.end();
    masters[0].become('ready');
    await settle();
    expect([failed, masters[0].sent.length]).to.deep.equal([['m1'], 0]);
  });

  /** The first master has no room for it, and time is up. */
  async function crowded(): Promise<Bench> {
    const scene = bench();
    const { masters, nodes, withdrawal } = scene;
    const [master] = masters;
    master.manner = 'freeze';
    for (let i = 0; i < WINDOW; i++) nodes[0].send({ request: inspection('other'), sink: IGNORED_ANSWER });
    await settle();
    send(scene);
    await settle();
    withdrawal.end();
    expect([scene.isSettled, kindsSentTo(master).includes('undo'), ...scene.failed]).to.deep.equal([
      true,
      false,
    ]);
    return scene;
  }

  it('a healthy master without room is sent it as soon as there is room', async () => {
    const { failed, masters } = await crowded();
    masters[0].thaw();
    await settle();
    expect([masters[0].size, ...failed]).to.deep.equal([0]);
  });

  it('if that master turns out to be silent, it is left to the repairs', async () => {
    const { failed, nodes } = await crowded();
    nodes[0].markSilent();
    expect(failed).to.deep.equal(['m1']);
  });
});

describe('withdrawal: when it is written', () => {
  /** How often the caller learned that it is, which it does once. */
  function watched(): Bench & { readonly calls: () => number } {
    let calls = 0;
    const scene = bench({ onWritten: () => calls++ });
    return { ...scene, calls: () => calls };
  }

  /** Nothing more is written to the first master. */
  async function withoutRoom(): Promise<ReturnType<typeof watched>> {
    const scene = watched();
    const { masters, nodes } = scene;
    masters[0].manner = 'freeze';
    for (let i = 0; i < WINDOW; i++) nodes[0].send({ request: inspection('other'), sink: IGNORED_ANSWER });
    await settle();
    send(scene);
    await settle();
    expect(scene.calls()).to.equal(0);
    return scene;
  }

  it('to all, before any of them answers; once, also when time is up later', async () => {
    const scene = watched();
    for (const master of scene.masters) master.manner = 'freeze';
    send(scene);
    await settle();
    expect([scene.calls(), scene.isSettled]).to.deep.equal([1, false]);
    scene.withdrawal.end();
    expect(scene.calls()).to.equal(1);
  });

  it('where nobody is told, it is not asked for', async () => {
    const scene = bench();
    let asked = 0;
    for (const master of scene.masters) Object.assign(master, { whenWritten: () => void asked++ });
    send(scene);
    await settle();
    expect([scene.isSettled, asked]).to.deep.equal([true, 0]);
  });

  it('at once if no master is connected', () => {
    const scene = watched();
    for (const master of scene.masters) master.become('opening');
    send(scene);
    expect(scene.calls()).to.equal(1);
  });

  it('a master without room is waited for, until it is written to, or lost, or time is up', async () => {
    for (const end of ['thaw', 'cut', 'time'] as const) {
      const { calls, masters, withdrawal } = await withoutRoom();
      if (end === 'time') withdrawal.end();
      else masters[0][end]();
      await settle();
      expect(calls(), end).to.equal(1);
    }
  });
});

describe('withdrawal: more waiters are gone than one call drops', () => {
  it('it is sent there again until the lock is handed over; its caller does not wait for that', async () => {
    const scene = bench();
    const { masters, nodes } = scene;
    const UNFINISHED = [1, -2, 2];
    masters[0].replies.push(UNFINISHED, UNFINISHED);
    send(scene);
    await settle();
    expect(scene.isSettled).to.equal(true);
    expect(masters.map((master) => kindsSentTo(master).length)).to.deep.equal([3, 1, 1]);
    expect(nodes.map((node) => scene.withdrawal.outcomes[node.index])).to.deep.equal([
      GRANTED,
      GRANTED,
      GRANTED,
    ]);
    expect(masters[0].size).to.equal(0);
  });
});
