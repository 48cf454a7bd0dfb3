import { expect } from 'chai';
import { History } from '../../../examples/jobs/history.js';

const GRANTED = {
  kind: 'granted',
  claim: 'w1#1',
  job: 3,
  fence: 17,
  manner: 'try',
  startedAtMs: 10,
  atMs: 12,
  validUntilMs: 1_000,
} as const;

describe('examples/jobs: the history', () => {
  it('follows a lease from its grant over renewals to its end', () => {
    const history = new History();
    history.take('w1', GRANTED);
    history.take('w1', { kind: 'extended', claim: 'w1#1', job: 3, atMs: 400, validUntilMs: 1_400 });
    history.take('w1', { kind: 'ended', claim: 'w1#1', job: 3, atMs: 600, outcome: 'done' });
    expect(history.leases).to.have.length(1);
    expect(history.leases[0]).to.include({
      id: 'w1#1',
      worker: 'w1',
      job: 3,
      fence: 17,
      grantedAtMs: 12,
      validUntilMs: 1_400,
      extensions: 1,
      endedAtMs: 600,
      outcome: 'done',
    });
  });

  it('keeps a lease open whose holder says nothing more', () => {
    const history = new History();
    history.take('w1', GRANTED);
    expect(history.leases[0]).to.include({ outcome: 'open', endedAtMs: undefined });
  });

  it('keeps calls that brought no lease, with their code', () => {
    const history = new History();
    const told = { claim: 'w1#2', job: 3, manner: 'wait', startedAtMs: 1, atMs: 5 } as const;
    history.take('w1', { kind: 'refused', ...told, code: 'LOCK_TAKEN' });
    expect(history.leases).to.deep.equal([]);
    expect(history.claims).to.deep.equal([
      {
        worker: 'w1',
        job: 3,
        manner: 'wait',
        startedAtMs: 1,
        endedAtMs: 5,
        granted: false,
        code: 'LOCK_TAKEN',
      },
    ]);
  });
});
