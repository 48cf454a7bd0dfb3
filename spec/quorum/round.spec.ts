import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import { Round } from '../../lib/quorum/round.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

interface Bench {
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly nodes: readonly Node[];
  readonly round: Round;
}

/** A claim of two resources at three masters, not sent yet. */
function bench(): Bench {
  const time = new FakeTime();
  const master = (i: number): FakeMaster => new FakeMaster(`m${i}`, time);
  const masters = [master(1), master(2), master(3)] as const;
  const nodes = masters.map((one, i) => new Node(one, i, time));
  const request = scriptedClaim(plainScope('a', 'b'), 'token', 1_000, 0);
  return { masters, nodes, round: new Round(nodes, request, time.now(), { onLateVote: () => undefined }) };
}

describe('round: requests in flight', () => {
  for (const knowsScripts of [true, false]) {
    it(`N=3, scripts ${knowsScripts ? 'known' : 'sent whole after NOSCRIPT'}: nothing once all have answered`, async () => {
      const { masters, nodes, round } = bench();
      for (const master of masters) master.knowsScripts = knowsScripts;
      const asked = round.ask(nodes);
      expect(round.isAnswered).to.equal(false);
      await asked;
      await settle();
      expect([round.isAnswered, ...nodes.map((node) => round.owes(node))]).to.deep.equal([
        true,
        false,
        false,
        false,
      ]);
      expect(round.sentTo).to.equal(nodes);
    });
  }
});

describe('round: which masters count as silent', () => {
  /** One answers, one does not, one is still connecting; then the round ends, and all of them are connected. */
  async function ended(isTimeout: boolean): Promise<boolean[]> {
    const { masters, nodes, round } = bench();
    masters[1].manner = 'freeze';
    masters[2].state = 'opening';
    void round.ask(nodes);
    await settle();
    round.end(new Error('no reply'), isTimeout);
    masters[2].become('ready');
    return nodes.map(({ isHealthy }) => isHealthy);
  }

  it('time is up: a master that was asked and did not answer, but none that was sent nothing', async () => {
    expect(await ended(true)).to.deep.equal([true, false, true]);
  });

  it('the caller stopped waiting: nobody', async () => {
    expect(await ended(false)).to.deep.equal([true, true, true]);
  });
});
