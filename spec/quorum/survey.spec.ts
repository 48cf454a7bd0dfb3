/** Asking every master for its own answer: when that is over, and what stands for an answer that is missing. */
import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { inspection } from '../../lib/protocol/request.js';
import { type SurveyAnswer, survey, type SurveyHooks } from '../../lib/quorum/survey.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const TIMEOUT_MS = 50;

interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly nodes: readonly Node[];
  /** How it ended: a word for each master; empty until then. */
  readonly end: string[];
  ask(hooks?: SurveyHooks): void;
}

function bench(): Bench {
  const time = new FakeTime();
  const masters = [
    new FakeMaster('m1', time),
    new FakeMaster('m2', time),
    new FakeMaster('m3', time),
  ] as const;
  const nodes = masters.map((master, i) => new Node(master, i, time));
  const end: string[] = [];
  return {
    ...{ time, masters, nodes, end },
    ask: (hooks = {}) =>
      void survey(nodes, time, { request: inspection('r'), nodeTimeoutMs: TIMEOUT_MS, ...hooks }).then(
        (answers) => end.push(...answers.map(wordOf)),
      ),
  };
}

function wordOf(answer: SurveyAnswer): string {
  return answer.kind === 'answered' ? 'answered' : answer.cause.message;
}

describe('survey', () => {
  it('is over when all have answered, by their order, and leaves no timer', async () => {
    const { ask, end, masters, time } = bench();
    masters[0].latencyMs = 20;
    ask();
    await time.advance(19);
    expect(end).to.deep.equal([]);
    await time.advance(1);
    expect([end, time.pending]).to.deep.equal([['answered', 'answered', 'answered'], 0]);
  });

  it('answers that are there at once leave no timer', async () => {
    const { ask, end, time } = bench();
    ask();
    await settle();
    expect([end.length, time.pending]).to.deep.equal([3, 0]);
  });

  it('one that fails counts as one that answered', async () => {
    const { ask, end, masters, time } = bench();
    masters[1].replies.push(new Error('ERR no'));
    ask();
    await settle();
    expect([end, time.pending]).to.deep.equal([['answered', 'ERR no', 'answered'], 0]);
  });

  it('is over after the node timeout: a silent one is silent, and what was not sent is not sent any more', async () => {
    const { ask, end, masters, time } = bench();
    masters[0].manner = 'freeze';
    masters[2].state = 'opening';
    ask();
    await time.advance(TIMEOUT_MS - 1);
    expect(end).to.deep.equal([]);
    await time.advance(1);
    expect(end).to.deep.equal(['no reply within 50 ms', 'answered', 'not connected within 50 ms']);
    masters[2].become('ready');
    masters[0].thaw();
    await time.advance(1_000);
    expect(masters.map(({ sent }) => sent.length)).to.deep.equal([1, 1, 0]);
    expect(end).to.have.lengthOf(3);
  });

  it('one that connects before that is asked then', async () => {
    const { ask, end, masters, time } = bench();
    masters[2].state = 'opening';
    ask();
    await time.advance(TIMEOUT_MS - 1);
    masters[2].become('ready');
    await settle();
    expect([end, time.pending]).to.deep.equal([['answered', 'answered', 'answered'], 0]);
  });

  it('where all are lost it is over at once, and leaves no timer', async () => {
    const { ask, end, masters, time } = bench();
    for (const master of masters) master.become('lost');
    ask();
    await settle();
    expect([end.length, time.pending]).to.deep.equal([3, 0]);
  });

  it('a reply that comes after the node timeout is told, and changes nothing', async () => {
    const { ask, end, masters, nodes, time } = bench();
    const told: string[] = [];
    masters[0].latencyMs = TIMEOUT_MS + 1;
    ask({ onReply: (node) => told.push(node.name) });
    await time.advance(TIMEOUT_MS);
    expect(told).to.deep.equal([nodes[1]?.name, nodes[2]?.name]);
    await time.advance(1);
    expect(told).to.deep.equal([nodes[1]?.name, nodes[2]?.name, nodes[0]?.name]);
    expect(end).to.deep.equal(['no reply within 50 ms', 'answered', 'answered']);
  });

  it('is over as soon as the answers are enough; the others are not awaited', async () => {
    const { ask, end, masters, time } = bench();
    masters[0].latencyMs = 10;
    masters[1].latencyMs = 20;
    masters[2].latencyMs = 30;
    const seen: number[] = [];
    ask({
      isEnough(answers) {
        seen.push(answers.filter((answer) => answer !== undefined).length);
        return seen.length === 2;
      },
    });
    await time.advance(20);
    expect([seen, end]).to.deep.equal([
      [1, 2],
      ['answered', 'answered', 'the caller stopped waiting'],
    ]);
    await time.advance(10);
    expect(time.pending).to.equal(0);
  });
});
