import { expect } from 'chai';
import {
  findFalls,
  findOverlaps,
  findTakeovers,
  isClean,
  judge,
  validity,
} from '../../../examples/jobs/checker.js';
import { accepted, effectOf, lateEffectOf, lease, refused } from './synthetic.js';

describe('examples/jobs: the judge', () => {
  it('finds nothing wrong with one lease and one effect for each job', () => {
    const leases = [lease(), lease({ job: 1, grantedAtMs: 20 })];
    const verdict = judge(
      2,
      leases,
      leases.map((each) => accepted(effectOf(each))),
    );
    expect(isClean(verdict)).to.equal(true);
    expect(verdict.effects).to.deep.equal({ least: 1, most: 1 });
  });

  it('finds a lost job', () => {
    const only = lease({ job: 1 });
    const verdict = judge(2, [only], [accepted(effectOf(only))]);
    expect(verdict.lost).to.deep.equal([0]);
    expect(verdict.effects).to.deep.equal({ least: 0, most: 1 });
    expect(isClean(verdict)).to.equal(false);
  });

  it('finds a double effect, also when no two leases overlap', () => {
    const leases = [lease(), lease({ worker: 'w2', grantedAtMs: 500 })];
    const verdict = judge(
      1,
      leases,
      leases.map((each) => accepted(effectOf(each))),
    );
    expect(verdict.doubled).to.deep.equal([0]);
    expect(verdict.effects).to.deep.equal({ least: 2, most: 2 });
    expect(verdict.overlaps).to.deep.equal([]);
    expect(isClean(verdict)).to.equal(false);
  });

  it('finds two leases of one job that were valid at once, also when one did nothing', () => {
    const first = lease();
    const second = lease({ worker: 'w2', grantedAtMs: 99, outcome: 'found-done' });
    const verdict = judge(1, [second, first], [accepted(effectOf(first))]);
    expect(verdict.overlaps).to.have.length(1);
    expect(verdict.overlaps[0]).to.include({ job: 0, first, second, byMs: 1 });
    expect(isClean(verdict)).to.equal(false);
  });

  it('finds an effect whose lease said “held” and was not valid, one of no lease, and one with another fencing token', () => {
    const late = lease({ validUntilMs: 40 });
    for (const wrong of [
      effectOf(late),
      effectOf(late, { claim: 'nobody', checkedAtMs: 10 }),
      effectOf(late, { worker: 'w9', checkedAtMs: 10 }),
      effectOf(late, { fence: 2, checkedAtMs: 10 }),
    ].map(accepted)) {
      expect(judge(1, [late], [wrong]).unfounded, JSON.stringify(wrong)).to.deep.equal([wrong]);
    }
    expect(judge(1, [late], [accepted(effectOf(late, { checkedAtMs: 39 }))]).unfounded).to.deep.equal([]);
  });

  it('counts an effect of a job that there is not as unfounded', () => {
    const other = lease({ job: 7 });
    const verdict = judge(1, [other], [accepted(effectOf(other))]);
    expect(verdict.unfounded).to.have.length(1);
    expect(verdict.lost).to.deep.equal([0]);
  });

  it('does not count a stale effect', () => {
    const [first, second] = [lease({ outcome: 'lost', endedAtMs: 3_000 }), lease({ grantedAtMs: 1_100 })];
    const verdict = judge(1, [first, second], [accepted(effectOf(second)), refused(lateEffectOf(first))]);
    expect(isClean(verdict)).to.equal(true);
  });

  it('takes a late effect that was accepted for the job’s one effect, and for one too many beside another', () => {
    const [first, second] = [lease(), lease({ worker: 'w2', grantedAtMs: 1_100 })];
    const late = accepted(lateEffectOf(first));
    expect(isClean(judge(1, [first, second], [late]))).to.equal(true);
    const both = judge(1, [first, second], [late, accepted(effectOf(second))]);
    expect(both.doubled).to.deep.equal([0]);
    expect(isClean(both)).to.equal(false);
  });

  it('finds a fence that does not rise, though no two leases overlap and each job has one effect', () => {
    const [first, second] = [
      lease({ fence: 7 }),
      lease({ grantedAtMs: 500, fence: 7, outcome: 'found-done' }),
    ];
    const verdict = judge(1, [first, second], [accepted(effectOf(first))]);
    expect(verdict.falls).to.deep.equal([{ job: 0, before: first, after: second }]);
    expect(verdict.overlaps).to.deep.equal([]);
    expect(isClean(verdict)).to.equal(false);
  });
});

describe('examples/jobs: fences that fall', () => {
  it('finds none where they rise with every grant of a job, with gaps and in any order of the records', () => {
    const leases = [5, 6, 90].map((fence, i) => lease({ fence, grantedAtMs: 200 * i }));
    expect(findFalls(leases.toReversed())).to.deep.equal([]);
  });

  it('finds a lower fence and an equal one', () => {
    for (const fence of [4, 5]) {
      const [before, after] = [lease({ fence: 5 }), lease({ fence, grantedAtMs: 200 })];
      expect(findFalls([before, after]), `${fence}`).to.deep.equal([{ job: 0, before, after }]);
    }
  });

  it('compares with the highest of those before, not with the last', () => {
    const [high, low, middle, higher] = [9, 3, 5, 10].map((fence, i) =>
      lease({ fence, grantedAtMs: 200 * i }),
    );
    expect(findFalls([high, low, middle, higher].filter((each) => each !== undefined))).to.deep.equal([
      { job: 0, before: high, after: low },
      { job: 0, before: high, after: middle },
    ]);
  });

  it('leaves fences of different jobs alone', () => {
    expect(findFalls([lease({ fence: 9 }), lease({ job: 1, fence: 3, grantedAtMs: 200 })])).to.deep.equal([]);
  });
});

describe('examples/jobs: overlapping leases', () => {
  it('ends a validity at the call of release or at its last known end, whichever is first', () => {
    expect(validity(lease()).toMs).to.equal(100);
    expect(validity(lease({ validUntilMs: 70 })).toMs).to.equal(70);
    expect(validity(lease({ endedAtMs: undefined, outcome: 'open' })).toMs).to.equal(1_000);
  });

  it('takes a grant at the very instant of the end for none', () => {
    expect(findOverlaps([lease(), lease({ grantedAtMs: 100 })])).to.deep.equal([]);
  });

  it('compares with the longest of those before, not with the last', () => {
    const long = lease({ endedAtMs: 900 });
    const inside = lease({ grantedAtMs: 200, endedAtMs: 300 });
    const after = lease({ grantedAtMs: 400, endedAtMs: 500 });
    expect(findOverlaps([long, inside, after]).map(({ first }) => first)).to.deep.equal([long, long]);
  });

  it('leaves leases of different jobs alone', () => {
    expect(findOverlaps([lease(), lease({ job: 1 })])).to.deep.equal([]);
  });
});

describe('examples/jobs: takeovers', () => {
  it('tells a job that a killed worker left from one that was released', () => {
    const killed = lease({ endedAtMs: undefined, outcome: 'open' });
    const taker = lease({ worker: 'w2', grantedAtMs: 1_050, endedAtMs: 1_100 });
    const later = lease({ worker: 'w3', grantedAtMs: 1_200, outcome: 'found-done' });
    const [takeover, ...more] = findTakeovers([later, taker, killed]);
    expect(takeover).to.include({ job: 0, from: killed, to: taker, afterEndMs: 50 });
    expect(more).to.deep.equal([]);
  });

  it('counts none when the same worker comes back', () => {
    const leases = [lease({ outcome: 'lost' }), lease({ grantedAtMs: 1_050 })];
    expect(findTakeovers(leases)).to.deep.equal([]);
  });
});
