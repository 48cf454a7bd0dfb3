/** Notes over all masters: when a write counts, which readings count, and what the errors tell. */
import { expect } from 'chai';
import { RedlockError } from '../../lib/runtime/errors.js';
import type { SurveyAnswer } from '../../lib/quorum/survey.js';
import {
  answered,
  FakeCoordination,
  NODE_TIMEOUT_MS,
  noteReply,
  SILENT,
} from '../support/fake-coordination.js';

const NOTE = { fence: 7, seq: 1, text: 'a', lifeMs: 60_000 };
const TAKEN = answered([1, 0, 0]);
const ODD = answered('OK');
const [OWN, ANOTHERS, NOBODYS] = [1, 2, 0].map((vote) => noteReply('a', { vote })) as [
  SurveyAnswer,
  SurveyAnswer,
  SurveyAnswer,
];
const FOR_EVER = answered([2, -1, 100_000_000, 0, 0, 1, 1, 'a']);

function notes(...answers: readonly SurveyAnswer[]) {
  const coordination = new FakeCoordination(answers.length);
  coordination.answers = () => answers;
  return { notes: coordination.notesOf('j'), awaited: () => coordination.sent.map((one) => one.awaited) };
}

const brief = ({ tally }: RedlockError): unknown[] =>
  tally.map((one) =>
    one.outcome === 'unknown'
      ? one.cause?.message
      : one.outcome === 'refused'
        ? one.remainingMs
        : one.outcome,
  );

/** What is read under the vote: the votes, or the error's code and tally. */
async function under(...answers: readonly SurveyAnswer[]): Promise<unknown> {
  const given = await notes(...answers).notes.readUnder('token', NODE_TIMEOUT_MS);
  if (!RedlockError.is(given)) return given.map(({ vote }) => vote);
  return [given.code, ...brief(RedlockError.is(given.cause) ? given.cause : given)];
}

describe('notes: a write', () => {
  it('N=3: counts once a quorum has taken it, and no more are waited for', async () => {
    const { awaited, ...one } = notes(TAKEN, TAKEN, TAKEN);
    expect(await one.notes.write('token', NOTE, NODE_TIMEOUT_MS)).to.equal(undefined);
    expect(awaited()).to.deep.equal([2]);
    const other = notes(SILENT, TAKEN, TAKEN);
    expect(await other.notes.write('token', NOTE, NODE_TIMEOUT_MS)).to.equal(undefined);
    expect(other.awaited()).to.deep.equal([3]);
  });

  it('N=3: too few have taken it: NO_QUORUM, with what each said', async () => {
    const error = await notes(TAKEN, SILENT, ODD).notes.write('token', NOTE, NODE_TIMEOUT_MS);
    expect(error).to.include({ code: 'NO_QUORUM' });
    expect(error?.resources).to.deep.equal(['j']);
    expect(error && brief(error)).to.deep.equal([
      ...['granted', 'silent', 'the reply does not fit the request'],
    ]);
  });

  it('N=3: others have the votes, or the keys hold something else: LOCK_LOST, with that as its cause', async () => {
    for (const [reply, code] of [
      [[0, 500, 0], 'LOCK_TAKEN'],
      [[2, 0, 0], 'WRONG_KIND'],
    ] as const) {
      const refused = answered(reply);
      const error = await notes(refused, refused, TAKEN).notes.write('token', NOTE, NODE_TIMEOUT_MS);
      expect(error).to.include({ code: 'LOCK_LOST' }).and.to.have.nested.property('cause.code', code);
    }
  });
});

describe('notes: reading', () => {
  it('N=3: each is waited for, and a quorum that could be read is enough', async () => {
    for (const [answers, isComplete] of [
      [[OWN, NOBODYS, OWN], true],
      [[OWN, SILENT, ANOTHERS], true],
      [[OWN, SILENT, ODD], false],
    ] as const) {
      const one = notes(...answers);
      const { readings, ...more } = await one.notes.read(NODE_TIMEOUT_MS);
      expect([more.isComplete, one.awaited()]).to.deep.equal([isComplete, [3]]);
      expect(readings.map((reading) => reading !== undefined)).to.deep.equal(
        answers.map((answer) => answer !== SILENT && answer !== ODD),
      );
    }
  });

  it('N=3, under a vote: masters that have it count, and no more than a quorum of them are waited for', async () => {
    const one = notes(OWN, OWN, OWN);
    await one.notes.readUnder('token', NODE_TIMEOUT_MS);
    expect(one.awaited()).to.deep.equal([2]);
    expect(await under(ANOTHERS, OWN, OWN)).to.deep.equal(['own', 'own']);
    expect(await under(SILENT, OWN, OWN)).to.deep.equal(['own', 'own']);
  });

  it('N=3, under a vote: too few have it: what each said is in the error', async () => {
    const odd = 'the reply does not fit the request';
    expect(await under(OWN, ANOTHERS, SILENT)).to.deep.equal(['NO_QUORUM', 'granted', 9_000, 'silent']);
    expect(await under(OWN, NOBODYS, ODD)).to.deep.equal([
      'NO_QUORUM',
      'granted',
      'the vote is not there',
      odd,
    ]);
    expect(await under(FOR_EVER, ANOTHERS, OWN)).to.deep.equal(['LOCK_LOST', Infinity, 9_000, 'granted']);
  });

  it('N=3, under a vote: no master that has anything else is taken for one of another type, or a foreign client', async () => {
    const error = await notes(ANOTHERS, ANOTHERS, OWN).notes.readUnder('token', NODE_TIMEOUT_MS);
    const { tally } = (error as RedlockError).cause as RedlockError;
    for (const one of tally.slice(0, 2)) expect(one).to.not.have.any.keys('wrongKind', 'foreign');
    expect(((error as RedlockError).cause as RedlockError).code).to.equal('LOCK_TAKEN');
  });
});
