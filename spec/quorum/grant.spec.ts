import { expect } from 'chai';
import { Node, type Withdrawn } from '../../lib/node/node.js';
import { DOWNGRADED, WRITE } from '../../lib/protocol/scope.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import { Grant, grantOf } from '../../lib/quorum/grant.js';
import { Round } from '../../lib/quorum/round.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const FENCE = 7;
const time = new FakeTime();
const nodes = [0, 1, 2].map((i) => new Node(new FakeMaster(`m${i + 1}`, time), i, time));
const [first, second, third] = nodes as [Node, Node, Node]; // three

function granted(sentTo: readonly Node[] = nodes, fence = FENCE): Grant {
  return new Grant(plainScope('r'), 'token', fence, sentTo);
}

/** A request for a grant. @param onDrop  called when it is dropped */
function request(onDrop: () => void = () => undefined): Withdrawn {
  return { follow: () => false, owes: () => false, drop: onDrop };
}

describe('grant: its instants', () => {
  it('neither its validity nor the end of its votes moves back', () => {
    const grant = granted();
    for (const atMs of [5_000, 9_000, 7_000]) {
      grant.prolong(atMs);
      grant.keptUntil(atMs + 1);
    }
    expect([grant.validUntilMs, grant.expiredByMs]).to.deep.equal([9_000, 9_001]);
  });
});

describe('grant: how it was waited for', () => {
  it('an extension takes the mark of a hand-over from its votes, and changes nothing for others', () => {
    const origins = (['asked', 'queue', 'marked'] as const).map((origin) => {
      const grant = granted();
      grant.cameFrom(origin);
      grant.extended();
      return grant.origin;
    });
    expect(origins).to.deep.equal(['asked', 'queue', 'queue']);
  });
});

describe('grant: its turns', () => {
  it('each has the next fencing token of the block; without fencing none has any', () => {
    for (const [fence, expected] of [
      [FENCE, [FENCE, FENCE + 1, FENCE + 2]],
      [0, [0, 0, 0]],
    ] as const) {
      const grant = granted(nodes, fence);
      const turns = expected.map(() => {
        const turn = [grant.turn, grant.fence];
        grant.handOn();
        return turn;
      });
      expect(turns).to.deep.equal(expected.map((one, i) => [i, one]));
    }
  });
});

describe('grant: the masters that may hold its votes', () => {
  it('are those that it was sent to, each once, in the order of the instance', () => {
    const grant = granted([second]);
    grant.wasSentTo([second], nodes);
    expect(grant.sentTo).to.deep.equal([second]);
    grant.wasSentTo([first, second], nodes);
    expect(grant.sentTo).to.deep.equal([first, second]);
  });

  it('all of them: no list of its own, since there are many grants', () => {
    const grant = granted([second]);
    grant.wasSentTo([first, third], nodes);
    expect(grant.sentTo).to.equal(nodes);
    grant.wasSentTo([first], nodes);
    expect(grant.sentTo).to.equal(nodes);
  });
});

describe('grant: its end', () => {
  it('kept, handed over, ended', () => {
    const grant = granted();
    const look = (): boolean[] => [grant.isHeld, grant.isEnded];
    expect(look()).to.deep.equal([true, false]);
    grant.giveAway();
    expect(look()).to.deep.equal([false, false]);
    grant.end();
    expect(look()).to.deep.equal([false, true]);
  });

  it('lent: another process may go on with it, and with no other', () => {
    const [one, other] = [granted(), granted()];
    expect(one.isLent).to.equal(false);
    one.lend();
    expect([one.isLent, one.isHeld, other.isLent]).to.deep.equal([true, true, false]);
  });

  it('a write lock that is downgraded is a read lock, and nothing else about it changes', () => {
    const scope = { ...plainScope('r'), isFenced: true, marker: 'marker', guardMs: 5, kind: WRITE };
    const grant = new Grant(scope, 'token', FENCE, nodes);
    grant.downgrade();
    const { guardMs, isFenced, keys, kind, marker } = grant;
    expect({ guardMs, isFenced, keys, kind, marker }).to.deep.equal({ ...scope, kind: DOWNGRADED });
  });
});

describe('grant: its requests that some master has not answered', () => {
  it('the claim is open until the last master has answered; if all have, nothing is', async () => {
    const scope = plainScope('r');
    for (const isSlow of [true, false]) {
      const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
      const all = masters.map((master, i) => new Node(master, i, time));
      const [slow] = masters;
      if (isSlow && slow !== undefined) slow.manner = 'freeze';
      const claim = new Round(all, scriptedClaim(scope, 'token', 1_000, 0), time.now(), {
        onLateVote: () => undefined,
      });
      await claim.ask(all);
      await settle();
      const grant = grantOf(claim, scope, claim.sentTo, time.now() + 900);
      expect([grant.open, grant.isWhole]).to.deep.equal([isSlow ? [claim] : [], !isSlow]);
      slow?.thaw();
      await settle();
      expect([grant.open, grant.isWhole]).to.deep.equal([[], true]);
    }
  });

  it('are open until they are closed, whichever comes first', () => {
    const [one, two, three] = [request(), request(), request()] as const;
    const grant = granted();
    expect(grant.open).to.deep.equal([]);
    for (const sent of [one, two, three]) grant.opened(sent);
    expect(grant.open).to.have.ordered.members([one, two, three]);
    grant.closed(two);
    expect(grant.open).to.have.ordered.members([one, three]);
    grant.closed(two);
    expect(grant.open).to.have.ordered.members([one, three]);
    grant.closed(one);
    grant.closed(one);
    expect(grant.open).to.have.ordered.members([three]);
    grant.closed(three);
    grant.closed(three);
    expect(grant.open).to.deep.equal([]);
    grant.opened(one);
    expect(grant.open).to.have.ordered.members([one]);
  });

  it('it is whole while none is open, unless it lacks votes', () => {
    const [one, two] = [request(), request()] as const;
    const grant = granted();
    const look = (act: () => void): boolean => {
      act();
      return grant.isWhole;
    };
    const seen = [
      ...[() => undefined, () => grant.opened(one), () => grant.opened(two)],
      ...[() => grant.closed(one), () => grant.closed(two), () => grant.lacksVotes()],
    ].map(look);
    expect(seen).to.deep.equal([true, false, false, false, true, false]);
    expect(granted().isWhole).to.equal(true); // another one
  });

  it('it is given back: all of them are dropped', () => {
    const dropped: string[] = [];
    const grant = granted();
    for (const name of ['one', 'two']) grant.opened(request(() => dropped.push(name)));
    grant.setAside();
    expect(dropped).to.deep.equal(['one', 'two']);
  });
});
