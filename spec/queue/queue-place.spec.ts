/** A place by itself: what it knows of its master, and when that is asked again. */
import { expect } from 'chai';
import { pollMs, QueuePlace } from '../../lib/queue/queue-place.js';
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

  it('is asked for again sooner the fewer are ahead, and by all waiters alike if a foreign client holds the lock', () => {
    const ranks = [0, 1, 6, 7, 1_000];
    expect(ranks.map((rank) => pollMs(rank, false))).to.deep.equal([2_000, 4_000, 14_000, 15_000, 15_000]);
    expect(ranks.map((rank) => pollMs(rank, true))).to.deep.equal(ranks.map(() => 250));
  });
});
