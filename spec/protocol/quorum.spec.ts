import { expect } from 'chai';
import {
  type Counts,
  countNodes,
  countOutcomes,
  decideClaim,
  type Decision,
  GRANTED,
  type Outcome,
  quorumBackInMs,
  quorumOf,
  unknown,
  unknownBy,
  verdict,
} from '../../lib/protocol/quorum.js';

const SIZES = [1, 2, 3, 4, 5];
const CLASSES = ['granted', 'held', 'wrongType', 'quarantined', 'misconfigured', 'unknown'] as const;
const THREE = ['granted', 'held', 'unknown'] as const;
type Answer = (typeof CLASSES)[number];

/** All sequences of that length: each combination of answers in each order of arrival. */
function sequences<T>(of: readonly T[], length: number): T[][] {
  if (length === 0) return [[]];
  return sequences(of, length - 1).flatMap((start) => of.map((last) => [...start, last]));
}

/** The same without regard to order: one of each. */
function combinations(length: number): Answer[][] {
  return sequences(CLASSES, length).filter((one) =>
    one.every((answer, i) => rank(answer) >= rank(one[i - 1])),
  );
}

function rank(answer: Answer | undefined): number {
  return answer === undefined ? -1 : CLASSES.indexOf(answer);
}

function countsOf(answers: readonly Answer[], nodes: number): Counts {
  const counts = {
    granted: 0,
    held: 0,
    wrongType: 0,
    quarantined: 0,
    misconfigured: 0,
    unknown: 0,
    pending: 0,
  };
  for (const answer of answers) counts[answer]++;
  return { ...counts, pending: nodes - answers.length };
}

/** The rules in other words than lib's: a cause explains a failure if all the others' yes would not have helped. */
function naive(answers: readonly Answer[]): Decision {
  const isMajority = (count: number): boolean => count * 2 > answers.length;
  const without = (...causes: readonly Answer[]): number =>
    answers.filter((one) => !causes.includes(one)).length;
  if (isMajority(answers.filter((one) => one === 'granted').length)) return 'granted';
  if (!isMajority(without('held'))) return 'held';
  if (!isMajority(without('held', 'wrongType'))) return 'wrongType';
  if (!isMajority(without('held', 'wrongType', 'quarantined'))) return 'quarantined';
  if (!isMajority(without('held', 'wrongType', 'quarantined', 'misconfigured'))) return 'misconfigured';
  return 'unknown';
}

/** What every way to go on leads to, if they all lead to the same. */
function settled(answers: readonly Answer[], nodes: number): Decision | undefined {
  const ends = combinations(nodes - answers.length).map((rest) => naive([...answers, ...rest]));
  return new Set(ends).size === 1 ? ends[0] : undefined;
}

describe('quorum', () => {
  it('is the least number of which two sets must meet: 1, 2, 2, 3, 3, 4, 4 of N = 1 to 7', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(quorumOf)).to.deep.equal([1, 2, 2, 3, 3, 4, 4]);
    for (let nodes = 1; nodes <= 100; nodes++) {
      expect(2 * quorumOf(nodes)).to.be.greaterThan(nodes);
      expect(2 * (quorumOf(nodes) - 1)).to.be.at.most(nodes);
    }
  });

  it('counts every node once', () => {
    expect(
      countNodes({
        granted: 1,
        held: 2,
        wrongType: 3,
        quarantined: 4,
        misconfigured: 5,
        unknown: 6,
        pending: 7,
      }),
    ).to.equal(28);
  });
});

describe('outcomes', () => {
  const refused = (isWrongType: boolean): Outcome => ({
    kind: 'refused',
    remainingMs: undefined,
    isWrongType,
    isForeignClient: false,
  });
  const OUTCOMES: Readonly<Record<Answer, Outcome>> = {
    granted: GRANTED,
    held: refused(false),
    wrongType: refused(true),
    quarantined: { kind: 'quarantined', remainingMs: 1 },
    misconfigured: unknown(new Error('no rights'), true),
    unknown: unknown(new Error('no reply')),
  };

  it('each is counted in its class, and a node without one as pending: N in all', () => {
    for (let answered = 0; answered <= 3; answered++) {
      for (const answers of combinations(answered)) {
        const outcomes = answers.map((answer) => OUTCOMES[answer]);
        expect(countOutcomes(outcomes, 3), answers.join()).to.deep.equal(countsOf(answers, 3));
      }
    }
  });

  it('an error in place of a reply is a fault of the set-up only if the server says that it cannot take part', () => {
    for (const [message, isMisconfigured] of [
      ["NOPERM this user has no permissions to run the 'set' command", true],
      ['LOADING Redis is loading the dataset in memory', false],
      ['Connection is closed.', false],
    ] as const) {
      const cause = new Error(message);
      expect(unknownBy(cause)).to.deep.equal({ kind: 'unknown', cause, isMisconfigured });
    }
  });
});

describe('a quorum that quarantine costs', () => {
  it('is back when enough masters vote again', () => {
    expect(quorumBackInMs([300, 100, 200], 0, 3)).to.equal(200);
    expect(quorumBackInMs([300, 100], 1, 3)).to.equal(100);
    expect(quorumBackInMs([300, 100], 0, 3)).to.equal(300); // the third is silent
    expect(quorumBackInMs([300], 2, 3)).to.equal(0);
    expect(quorumBackInMs([500], 0, 1)).to.equal(500);
    expect(quorumBackInMs([4, 3, 2, 1], 1, 5)).to.equal(2);
    expect(quorumBackInMs([4, 3, 2, 1], 0, 4)).to.equal(3);
    expect(quorumBackInMs([4, 3], 0, 4)).to.equal(4); // and then it is for the silent ones to come back
  });
});

describe('a full round', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: all ${3 ** nodes} combinations of granted, refused, unknown say what the rules say`, () => {
      for (const answers of sequences(THREE, nodes)) {
        const decision = naive(answers);
        expect(verdict(countsOf(answers, nodes)), answers.join()).to.equal(decision);
        expect(decideClaim(countsOf(answers, nodes)), answers.join()).to.equal(decision);
      }
    });

    it(`N=${nodes}: so do all ${6 ** nodes} combinations of the six classes`, () => {
      for (const answers of sequences(CLASSES, nodes)) {
        const decision = naive(answers);
        expect(verdict(countsOf(answers, nodes)), answers.join()).to.equal(decision);
        expect(decideClaim(countsOf(answers, nodes)), answers.join()).to.equal(decision);
      }
    });

    it(`N=${nodes}: how often each of the six classes came decides`, () => {
      for (const answers of combinations(nodes)) {
        expect(verdict(countsOf(answers, nodes)), answers.join()).to.equal(naive(answers));
      }
    });

    it(`N=${nodes}: unknown never counts as a grant, and never as a refusal`, () => {
      for (const answers of sequences(THREE, nodes)) {
        const counts = countsOf(answers, nodes);
        if (verdict(counts) === 'granted') expect(counts.granted).to.be.at.least(quorumOf(nodes));
        if (verdict(counts) === 'held') expect(nodes - counts.held).to.be.below(quorumOf(nodes));
      }
    });
  }

  it('ties of an even N are no quorum: N=2 at 1:1 and N=4 at 2:2 are held', () => {
    expect(decideClaim(countsOf(['granted', 'held'], 2))).to.equal('held');
    expect(decideClaim(countsOf(['granted', 'granted', 'held', 'held'], 4))).to.equal('held');
    expect(decideClaim(countsOf(['granted', 'unknown'], 2))).to.equal('unknown');
    expect(decideClaim(countsOf(['granted', 'granted', 'unknown', 'unknown'], 4))).to.equal('unknown');
  });
});

describe('a round under way', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: is decided as soon as no pending answer can change it, and not before`, () => {
      for (let answered = 0; answered <= nodes; answered++) {
        for (const answers of combinations(answered)) {
          expect(decideClaim(countsOf(answers, nodes)), answers.join()).to.equal(settled(answers, nodes));
        }
      }
    });

    it(`N=${nodes}: in every order of arrival, a decision once made is never changed by later answers`, () => {
      for (const answers of sequences(CLASSES, nodes)) {
        let made: Decision | undefined;
        for (let answered = 0; answered <= nodes; answered++) {
          const decision = decideClaim(countsOf(answers.slice(0, answered), nodes));
          if (made !== undefined) expect(decision, answers.join()).to.equal(made);
          made = decision;
        }
        expect(made, answers.join()).to.equal(naive(answers));
      }
    });

    it(`N=${nodes}: a yes is out with the quorum's last grant, a no with the first refusal too many`, () => {
      const quorum = quorumOf(nodes);
      const spare = nodes - quorum;
      const grants = (count: number): Answer[] => Array.from({ length: count }, () => 'granted');
      const refusals = (count: number): Answer[] => Array.from({ length: count }, () => 'held');
      expect(decideClaim(countsOf(grants(quorum), nodes))).to.equal('granted');
      expect(decideClaim(countsOf(grants(quorum - 1), nodes))).to.equal(undefined);
      expect(decideClaim(countsOf(refusals(spare + 1), nodes))).to.equal('held');
      expect(decideClaim(countsOf(refusals(spare), nodes))).to.equal(undefined);
    });
  }
});

describe('a round that time ended', () => {
  it('N=1..5: masters that did not answer count as unknown', () => {
    for (const nodes of SIZES) {
      for (let answered = 0; answered <= nodes; answered++) {
        for (const answers of sequences(THREE, answered)) {
          const silent = Array.from({ length: nodes - answered }, () => 'unknown' as const);
          expect(verdict(countsOf(answers, nodes))).to.equal(naive([...answers, ...silent]));
        }
      }
    }
  });
});
