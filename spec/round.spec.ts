import { expect } from 'chai';
import { Node } from '../lib/node.js';
import { scriptedClaim } from '../lib/request.js';
import { Round } from '../lib/round.js';
import { plainScope } from './support/commands.js';
import { FakeMaster } from './support/fake-master.js';
import { FakeTime, settle } from './support/fake-time.js';

describe('round: what is unanswered', () => {
  for (const knowsScripts of [true, false]) {
    it(`N=3, scripts ${knowsScripts ? 'known' : 'sent whole after NOSCRIPT'}: nothing once all have answered`, async () => {
      const time = new FakeTime();
      const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
      for (const master of masters) master.knowsScripts = knowsScripts;
      const nodes = masters.map((master, i) => new Node(master, i, time));
      const round = new Round(nodes, scriptedClaim(plainScope('a', 'b'), 'token', 1_000, 0), time.now(), {
        onLateVote: () => undefined,
      });
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
