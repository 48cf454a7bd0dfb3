/** A place by itself: what it knows of its master, and when that is asked again. */
import { expect } from 'chai';
import { lookAgainMs, placeLifeMs, pollMs, QueuePlace } from '../../lib/queue/queue-place.js';
import { Node } from '../../lib/node/node.js';
import { unknown } from '../../lib/protocol/quorum.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

function aNode(): Node {
  const time = new FakeTime();
  return new Node(new FakeMaster('m1', time), 0, time);
}

const VOTE = { validUntilMs: 5_000, fence: 7, slots: '' };
const LESS = { validUntilMs: 4_000, fence: 6, slots: '' };
const GONE = unknown(new Error('gone'));
const REFUSED = {
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: false,
  isForeignClient: false,
} as const;

function placeWithVote(): QueuePlace {
  const place = new QueuePlace();
  place.has(7, VOTE);
  return place;
}

describe('queue place', () => {
  it('has no reservation, no outcome and nothing under way at first', () => {
    const place = new QueuePlace();
    expect(place).to.include({ state: 'open', serial: 0, yielded: 0, inquired: 0, refusedAtUs: 0 });
    expect(place).to.include({ dueAtMs: Infinity, sentAtMs: 0, isAwaited: false });
    expect([place.outcome, place.vote, place.yielding]).to.deep.equal([undefined, undefined, undefined]);
  });

  it('that is shelved has no reservation, and is due when it is told', () => {
    const place = placeWithVote();
    place.shelve(GONE, 1_234);
    expect(place).to.include({ state: 'failed', serial: 0, outcome: GONE, dueAtMs: 1_234, vote: undefined });
  });

  it('that failed takes part again as soon as it is asked; any other stays what it is', () => {
    const [failed, queued, mine] = [new QueuePlace(), new QueuePlace(), placeWithVote()];
    failed.shelve(GONE, 1_234);
    queued.queues(REFUSED);
    for (const place of [failed, queued, mine]) {
      place.asks(1_000, 50);
      expect(place).to.include({ sentAtMs: 1_000, dueAtMs: 1_050, isAwaited: true });
    }
    expect([failed.state, queued.state, mine.state]).to.deep.equal(['open', 'queued', 'mine']);
    expect([failed.outcome, queued.outcome]).to.deep.equal([GONE, REFUSED]);
  });

  it('knows the longest that it was told of a vote; of one that it had before it failed it knows nothing', () => {
    const [same, later, again] = [placeWithVote(), placeWithVote(), placeWithVote()];
    again.shelve(GONE, 1_234);
    for (const place of [same, again]) place.has(7, LESS);
    later.has(8, LESS);
    expect([same, later, again].map(({ vote }) => vote)).to.deep.equal([VOTE, LESS, LESS]);
    expect([same, later, again].map(({ serial, state }) => [state, serial])).to.deep.equal([
      ['mine', 7],
      ['mine', 8],
      ['mine', 7],
    ]);
  });

  it('that is reserved has a vote that is worth nothing; one that it knows already stays', () => {
    const [reserved, known] = [new QueuePlace(), placeWithVote()];
    for (const place of [reserved, known]) place.has(7);
    expect([reserved.vote, known.vote]).to.deep.equal([
      { validUntilMs: -Infinity, fence: 0, slots: '' },
      VOTE,
    ]);
  });

  it('that is told of its vote without the permits keeps those that it knows; a vote for others replaces them', () => {
    const [reserved, others] = [new QueuePlace(), new QueuePlace()];
    for (const place of [reserved, others]) place.has(7, { ...VOTE, slots: '0,3' });
    reserved.has(7);
    others.has(7, { ...VOTE, slots: '0,4' });
    expect([reserved, others].map(({ vote }) => vote?.slots)).to.deep.equal(['0,3', '0,4']);
  });

  it('that gives its reservation back is queued, as one that was refused for a time that nobody knows', () => {
    const place = placeWithVote();
    place.giveBack(1_234);
    expect(place).to.include({ state: 'queued', serial: 0, dueAtMs: 1_234, vote: undefined });
    expect(place.outcome).to.deep.equal(REFUSED);
  });

  for (const answer of ['a reply', 'a failure'] as const) {
    it(`waits for the answer to its latest yield, and ${answer} to an earlier one is none`, () => {
      const [node, place] = [aNode(), new QueuePlace()];
      const [first, second] = [place.yields(7), place.yields(8)];
      const answered = (sink: typeof first): void =>
        answer === 'a reply' ? sink.onReply(node, 1) : sink.onFailure(node, new Error('gone'));
      expect([place.yielded, place.yielding]).to.deep.equal([8, second]);
      answered(first);
      expect(place.yielding).to.equal(second);
      answered(second);
      expect(place.yielding).to.equal(undefined);
    });
  }

  it('that yields an earlier vote once more still takes nothing up to the latest that it yielded', () => {
    const place = new QueuePlace();
    for (const serial of [8, 7]) place.yields(serial);
    expect(place.yielded).to.equal(8);
  });

  it('is asked for again sooner the fewer are ahead, and by all waiters alike if a foreign client holds the lock', () => {
    const ranks = [0, 1, 6, 7, 1_000];
    expect(ranks.map((rank) => pollMs(rank, false))).to.deep.equal([2_000, 4_000, 14_000, 15_000, 15_000]);
    expect(ranks.map((rank) => pollMs(rank, true))).to.deep.equal(ranks.map(() => 250));
  });

  it('lives for the rest of the wait and a second, in whole ms, for a second after it, and for a minute at most', () => {
    expect([500.5, 0, -5_000, 70_000].map(placeLifeMs)).to.deep.equal([1_501, 1_000, 1_000, 60_000]);
  });
});

describe('how long after a refusal a waiter looks again', () => {
  const looks = (more: { pollInMs?: number; isRenewed?: boolean }, fraction = 0): number[] => {
    const refused = { freeInMs: 100, pollInMs: 2_000, isRenewed: false, ...more };
    return [0, 1, 10, 1_000].map((rank) => lookAgainMs({ ...refused, rank }, fraction));
  };

  it('when the vote may be free, one after another; those of a crowd at random, and soon all the same', () => {
    expect(looks({})).to.deep.equal([100, 103, 130, 170]);
    expect(looks({}, 1)).to.deep.equal([100, 106, 160, 240]);
  });

  it('not before a pause for each that is ahead, half a second at most, if the owner renews its vote', () => {
    expect(looks({ isRenewed: true })).to.deep.equal([100, 103, 250, 500]);
  });

  it('at its poll, unless the vote may be free by then, or within the pause after it', () => {
    expect(looks({ pollInMs: 90 })).to.deep.equal([90, 103, 130, 170]);
    expect(looks({ pollInMs: 78 })).to.deep.equal([78, 103, 130, 170]);
    expect(looks({ pollInMs: 77 })).to.deep.equal([77, 77, 130, 170]);
  });
});
