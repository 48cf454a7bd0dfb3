/** What becomes of an attempt that failed: where it is undone, and what the undo sees there. */
import { expect } from 'chai';
import { undoingOf } from '../../lib/coordinator/undoing.js';
import type { Queue } from '../../lib/queue/queue.js';
import { Node } from '../../lib/node/node.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import { Round } from '../../lib/quorum/round.js';
import { holdBack, kindsSentTo, plainScope, sentTo } from '../support/commands.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

type State = 'free' | 'held' | 'foreign';

describe('undoing an attempt', () => {
  for (const [isSpread, undone] of [
    [false, [0, 1, 1]],
    [true, [1, 1, 1]],
  ] as const) {
    it(`N=3, ${isSpread ? 'in the queue on all masters: on each of them' : 'not in the queue: not where another holds it'}`, async () => {
      const time = new FakeTime();
      const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
      const nodes = masters.map((master, i) => new Node(master, i, time));
      masters[0]?.set('r', 'another', 60_000);
      const claim = scriptedClaim(plainScope('r'), 'token', 1_000, 0);
      const round = new Round(nodes, claim, time.now(), { onLateVote: () => undefined });
      void round.ask(nodes);
      await settle();
      const queue = { isSpread, sent: [] as const } as unknown as Queue; // all that is read of it
      void undoingOf(nodes, round, queue, 0, () => undefined).send();
      await settle();
      const undos = masters.map((master) => kindsSentTo(master).filter((kind) => kind === 'undo').length);
      expect(undos).to.deep.equal(undone);
      const named = masters.at(-1)?.sent.at(-1)?.keys.length; // a hand-over in the queue names more keys
      expect(named).to.equal(isSpread ? 5 : 3);
    });
  }

  const mixes: [string, readonly State[], string, readonly string[]][] = [
    ['held by others', ['held', 'held', 'free'], 'LOCK_TAKEN', ['refused', 'refused', 'pending']],
    ['two keys of another type', ['foreign', 'foreign', 'free'], 'WRONG_KIND', ['wrong', 'wrong', 'pending']],
    [
      'two of another type, one held',
      ['held', 'foreign', 'foreign'],
      'WRONG_KIND',
      ['refused', 'wrong', 'wrong'],
    ],
    [
      'one of another type, two held',
      ['foreign', 'held', 'held'],
      'LOCK_TAKEN',
      ['wrong', 'refused', 'refused'],
    ],
    [
      'one of another type, one held, one free',
      ['foreign', 'held', 'free'],
      'LOCK_TAKEN',
      ['wrong', 'refused', 'granted'],
    ],
  ];
  for (const [title, states, code, tally] of mixes) {
    it(`N=3, fencing off, ${title}: the look behind a plain claim tells ${code}`, async () => {
      const { redlock, masters, time } = fakeCluster(3, { fencing: false });
      for (const [i, master] of masters.entries()) {
        master.latencyMs = 1 + 2 * i; // a plain refusal may be the decision before the last one has answered
        if (states[i] === 'held') master.set('r', 'another', 60_000);
        else if (states[i] === 'foreign') master.setForeign('r');
      }
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(40);
      const error = await failed;
      const said = error.tally.map((one) =>
        one.outcome === 'refused' && one.wrongKind === true ? 'wrong' : one.outcome,
      );
      expect([error.code, said]).to.deep.equal([code, tally]);
      await time.advance(100);
      expect(masters.map((master) => master.value('r')?.startsWith('client'))).to.not.include(true);
    });
  }

  it('N=3, fencing off, two refuse: the third is not waited for', async () => {
    const { redlock, masters, time } = fakeCluster(3, { fencing: false });
    for (const [i, master] of masters.entries()) {
      master.latencyMs = i < 2 ? 1 : 40;
      if (i < 2) master.set('r', 'another', 60_000);
    }
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
    await time.advance(2);
    expect(await Promise.race([failed, settle()])).to.include({ code: 'LOCK_TAKEN', elapsedMs: 2 });
    await time.advance(100);
  });

  it('N=3, two have lost their connections: the third is not waited for', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const [i, master] of masters.entries()) {
      if (i === 0) master.latencyMs = 40;
      else master.become('lost');
    }
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
    expect(await Promise.race([failed, settle()])).to.include({ code: 'NO_QUORUM', elapsedMs: 0 });
    await time.advance(100);
  });

  for (const taken of ['held', 'foreign'] as const) {
    it(`N=3: a refusal that gives its reason (${taken}) is followed by nothing; no answer, and a yes, by an undo`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const [refusing, silent] = masters;
      if (taken === 'held') refusing?.set('r', 'another', 60_000);
      else refusing?.setForeign('r');
      if (silent !== undefined) silent.manner = 'lose-reply';
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      expect((await failed).code).to.equal('NO_QUORUM');
      expect(masters.map(sentTo)).to.deep.equal([['claim 1'], ['claim 1', 'undo 1'], ['claim 1', 'undo 1']]);
    });
  }

  it('N=3: a master that voted, and refuses the fencing token for a reason, is sent the undo of its vote', async () => {
    const { redlock, masters } = fakeCluster(3);
    const [lagging, leading, taken] = masters;
    lagging?.set(counterKey('r'), `${lagging.micros() + 1_000}`, 60_000);
    leading?.set(counterKey('r'), `${leading.micros() + 2_000}`, 60_000);
    taken?.set('r', 'another', 60_000);
    const arrive = masters.map((master) => holdBack(master, 'accept'));
    const failed = rejection(redlock.acquire('r', { waitMs: 0 }));
    await settle();
    lagging?.setForeign(counterKey('r'));
    for (const run of arrive) run();
    const { tally } = await failed;
    expect(tally[0]).to.include({ outcome: 'refused', wrongKind: true });
    await settle();
    expect(masters.map((master) => master.value('r'))).to.deep.equal([undefined, undefined, 'another']);
  });
});
