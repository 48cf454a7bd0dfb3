/** What is put to which master until a quorum gives the same permits: answers arrive one by one. */
import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import type { Scope } from '../../lib/protocol/scope.js';
import { alignRest } from '../../lib/quorum/permit-agreement.js';
import { Round } from '../../lib/quorum/round.js';
import { plainScope } from '../support/commands.js';
import { entriesOf } from '../support/entries.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const TOKEN = 'token';
const ANN = 'ann';

/** Requests on their way to one master: `claim`, or the permits that are put to it. */
interface OnItsWay {
  readonly what: string;
  readonly run: () => void;
}

interface Scene {
  readonly masters: readonly FakeMaster[];
  readonly nodes: readonly Node[];
  readonly round: Round;
  /** By master. */
  readonly ways: readonly OnItsWay[][];
  /** The next request that is on its way to that master, 1 to N, arrives. */
  arrives(at: number): Promise<void>;
  /** What is on its way, by master. */
  underWay(): string[];
}

function semaphore(permits: number, wanted: number): Scope {
  return { ...plainScope('r'), kind: { name: 'semaphore', permits, wanted, slots: '' } };
}

/** Ann holds these permits there, and no others. */
function occupy(master: FakeMaster | undefined, slots: string, permits: number): void {
  if (master === undefined) throw new Error('no such master');
  const ends = Math.floor(master.micros() / 1_000) + 60_000;
  const anns = slots === '' ? undefined : `${slots}|${ends}|${permits}`;
  master.setFields('r', { [ANN]: anns });
  master.expire('r', 60_000);
}

/**
 * A claim on its way to as many masters as there are texts, each with the permits that are taken there.
 *
 * @param silent  masters that count as silent, 1 to N
 */
async function scene(
  taken: readonly string[],
  { permits = 3, wanted = 1, silent = [] as readonly number[] } = {},
): Promise<Scene> {
  const time = new FakeTime();
  const masters = taken.map((_, i) => new FakeMaster(`m${i + 1}`, time));
  const nodes = masters.map((master, i) => new Node(master, i, time));
  for (const [i, slots] of taken.entries()) if (slots !== '') occupy(masters[i], slots, permits);
  const ways = masters.map((master) => {
    const way: OnItsWay[] = [];
    const send = master.call.bind(master);
    master.call = (command) =>
      new Promise((resolve, reject) => {
        const what = entriesOf(command)[0]?.args.slots ?? 'claim';
        way.push({ what, run: () => void send(command).then(resolve, reject) });
      });
    return way;
  });
  const request = scriptedClaim(semaphore(permits, wanted), TOKEN, 60_000, 0);
  const round = new Round(nodes, request, time.now(), { onLateVote: () => undefined });
  for (const i of silent) nodes[i - 1]?.markSilent();
  void round.ask(nodes);
  await settle();
  return {
    masters,
    nodes,
    round,
    ways,
    arrives: async (at) => {
      const one = ways[at - 1]?.shift();
      if (one === undefined) throw new Error(`nothing is on its way to m${at}`);
      one.run();
      await settle();
    },
    underWay: () => ways.map((way) => way.map(({ what }) => what).join()),
  };
}

/** Whether the round is over, and with which permits. */
const end = ({ round }: Scene): unknown => (round.isWanted ? 'open' : (round.slots ?? round.decision));

describe('agreement on permits: which are put to whom', () => {
  it('N=3: none as long as an answer that is due soon may bring the agreement', async () => {
    const one = await scene(['0', '', '']);
    await one.arrives(1);
    await one.arrives(2);
    expect([end(one), ...one.underWay()]).to.deep.equal(['open', '', '', 'claim']);
    await one.arrives(3);
    expect([end(one), ...one.underWay()]).to.deep.equal(['0', '', '', '']);
  });

  it('N=3: silent masters are not waited for; of two sets, the one with the higher permit', async () => {
    const one = await scene(['0', '', ''], { silent: [3] });
    await one.arrives(2);
    await one.arrives(1);
    expect([end(one), ...one.underWay()]).to.deep.equal(['open', '', '1', 'claim']);
    await one.arrives(2);
    expect(end(one)).to.equal('1');
  });

  it('five masters: no answer that is due could bring it: they are put to all that gave others, once to each', async () => {
    const one = await scene(['', '0', '0,1', '0,1,2', '0,1,2,3'], { permits: 6 });
    for (const at of [1, 2, 3]) await one.arrives(at);
    expect(one.underWay()).to.deep.equal(['', '', '', 'claim', 'claim']);
    await one.arrives(4);
    expect(one.underWay()).to.deep.equal(['3', '3', '3', '', 'claim']);
    await one.arrives(1);
    expect(one.underWay()).to.deep.equal(['', '3', '3', '', 'claim']);
    await one.arrives(5); // a higher one by now, and it stays at the first
    expect(one.underWay()).to.deep.equal(['', '3', '3', '', '3']);
    await one.arrives(2);
    expect([end(one), ...one.underWay()]).to.deep.equal(['3', '', '', '3', '', '3']);
  });

  it('five masters: what was put to some of them stays, even if most of the others turn out to give another', async () => {
    const one = await scene(['', '0', '0,1', '0', '0'], { permits: 6, silent: [4, 5] });
    for (const at of [1, 2, 3]) await one.arrives(at);
    expect(one.underWay()).to.deep.equal(['2', '2', '', 'claim', 'claim']);
    for (const at of [4, 5]) await one.arrives(at);
    expect([end(one), ...one.underWay()]).to.deep.equal(['open', '2', '2', '', '2', '2']);
    for (const at of [4, 5]) await one.arrives(at);
    expect(end(one)).to.equal('2');
  });

  it('five masters: the set that most gave, even if another one has a higher permit', async () => {
    const one = await scene(['', '', '0,1,2', '0', ''], { permits: 6, silent: [5] });
    for (const at of [1, 2, 3, 4]) await one.arrives(at);
    expect(one.underWay()).to.deep.equal(['', '', '0', '0', 'claim']);
  });

  it('five masters: three sets, of which one master gave the highest, and two another', async () => {
    const one = await scene(['0,1,2', '0', '', '0', ''], { permits: 6, silent: [5] });
    for (const at of [1, 2, 4, 3]) await one.arrives(at);
    expect(one.underWay()).to.deep.equal(['1', '', '1', '', 'claim']);
  });

  for (const [title, taken, wanted, put] of [
    ['numbers are compared, not texts', ['0,1,2,3,4,5,6,7,8', '0,1,2,3,4,5,6,7,8,9'], 1, ['10', '']],
    ['whichever answers first', ['0,1,2,3,4,5,6,7,8,9', '0,1,2,3,4,5,6,7,8'], 1, ['', '10']],
    ['the highest of each set counts', ['1,2', '0'], 2, ['', '0,3']],
    ['of two with the same one, either, but always the same', ['0', '1'], 2, ['0,2', '']],
    ['of two with the same one, in the other order', ['1', '0'], 2, ['', '0,2']],
  ] as const) {
    it(`two masters: ${title}`, async () => {
      const one = await scene(taken, { permits: 12, wanted });
      for (const at of [1, 2]) await one.arrives(at);
      expect(one.underWay()).to.deep.equal(put);
    });
  }

  it('N=4: the round ends while they are put: no other master is sent anything', async () => {
    const one = await scene(['', '0', '0,1', ''], { permits: 6 });
    one.masters[3]?.replies.push(serverError('ERR busy'));
    for (const at of [4, 1, 2]) await one.arrives(at);
    one.masters[0]?.become('lost');
    await one.arrives(3);
    expect([end(one), ...one.underWay()]).to.deep.equal(['unknown', '', '', '', '']);
  });

  it('N=3: what waits for a connection is dropped when the round is over', async () => {
    const one = await scene(['0', '', ''], { silent: [3] });
    await one.arrives(2);
    one.masters[1]?.become('opening');
    await one.arrives(1);
    expect(one.masters[1]?.listeners).to.equal(1);
    one.round.drop();
    expect(one.masters[1]?.listeners).to.equal(0);
    one.masters[1]?.become('ready');
    await settle();
    expect(one.underWay()).to.deep.equal(['', '', 'claim']);
  });
});

describe('agreement on permits: a master cannot give those that are put to it', () => {
  const losses: [string, (master: FakeMaster) => void, object][] = [
    [
      'its vote has run out',
      (master) => master.setFields('r', { [TOKEN]: undefined }),
      { kind: 'unknown', isMisconfigured: false },
    ],
    [
      'another holds one of them by now',
      (master) => occupy(master, '1', 3),
      { kind: 'refused', isWrongType: false, remainingMs: 60_000 },
    ],
    [
      'another holds permits of another number',
      (master) => occupy(master, '0', 2),
      { kind: 'refused', permits: { theirs: 2, ours: 3 } },
    ],
    [
      'the key holds something else',
      (master) => {
        master.delete('r');
        master.setForeign('r');
      },
      { kind: 'unknown' },
    ],
    [
      'it may have forgotten votes',
      (master) => master.replies.push([-1, 700, 0]),
      { kind: 'quarantined', remainingMs: 700 },
    ],
    [
      'its restart guard is another',
      (master) => master.replies.push([-2, 700, 0]),
      { kind: 'unknown', isMisconfigured: true },
    ],
    [
      'it has no memory left',
      (master) => master.replies.push(serverError('OOM command not allowed')),
      { kind: 'unknown', isMisconfigured: true },
    ],
    ['it answers oddly', (master) => master.replies.push('OK'), { kind: 'unknown', isMisconfigured: false }],
  ];
  for (const [title, lose, outcome] of losses) {
    it(`two masters, one of which cannot, since ${title}: its vote does not count`, async () => {
      const one = await scene(['0', '']);
      for (const at of [1, 2]) await one.arrives(at);
      expect(one.underWay()).to.deep.equal(['', '1']);
      const [, second] = one.masters;
      if (second !== undefined) lose(second);
      await one.arrives(2);
      expect(one.round.outcomes[1]).to.include.keys(Object.keys(outcome)).and.to.deep.include(outcome);
      expect([one.round.granted, one.round.pending, one.round.isWanted]).to.deep.equal([1, 0, false]);
    });
  }
});

describe('agreement on permits: the masters that gave others than those held', () => {
  it('five masters: are told which they are, and no others are', async () => {
    const one = await scene(['0', '', '', '0,1', '']);
    for (const at of [1, 4, 2, 3, 5]) await one.arrives(at);
    expect([end(one), ...one.underWay()]).to.deep.equal(['0', '', '', '', '', '']);
    alignRest(one.nodes, one.round, one.round.request.scope);
    expect(one.underWay()).to.deep.equal(['0', '', '', '0', '']);
  });

  it('N=3: one that was not heard of is not among them', async () => {
    const one = await scene(['', '', '0']);
    for (const at of [1, 2]) await one.arrives(at);
    alignRest(one.nodes, one.round, one.round.request.scope);
    expect([end(one), ...one.underWay()]).to.deep.equal(['0', '', '', 'claim']);
  });

  it('nothing is held: nobody is told anything', async () => {
    const one = await scene(['0', '']);
    for (const at of [1, 2]) await one.arrives(at);
    const before = one.underWay();
    alignRest(one.nodes, one.round, one.round.request.scope);
    expect(one.underWay()).to.deep.equal(before);
  });
});
