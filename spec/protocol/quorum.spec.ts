import { expect } from 'chai';
import {
  type Counts,
  countNodes,
  countOutcomes,
  decideClaim,
  decideExtension,
  type Decision,
  GRANTED,
  holdersVerdict,
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

const isMajority = (count: number, answers: readonly Answer[]): boolean => count * 2 > answers.length;

/** Whether those that gave one of these answers are too many: the others' yes is not enough. */
function exclude(answers: readonly Answer[], ...causes: readonly Answer[]): boolean {
  return !isMajority(answers.filter((one) => !causes.includes(one)).length, answers);
}

/** Whether those that gave one of these answers are enough. */
function suffice(answers: readonly Answer[], ...yes: readonly Answer[]): boolean {
  return isMajority(answers.filter((one) => yes.includes(one)).length, answers);
}

/**
 * The rules in other words than lib's. A cause explains a failure if all the others' yes would not have helped. Where
 * none does, it is contention if the lock could not be had even if all that may vote soon had said yes, and could if
 * other claimants had not been there.
 */
function naive(answers: readonly Answer[]): Decision {
  if (suffice(answers, 'granted')) return 'granted';
  if (exclude(answers, 'held')) return 'held';
  if (exclude(answers, 'wrongType')) return 'wrongType';
  if (exclude(answers, 'wrongType', 'misconfigured')) return 'misconfigured';
  const isContended = exclude(answers, 'held', 'wrongType', 'misconfigured');
  if (isContended && suffice(answers, 'granted', 'held')) return 'held';
  return isLate(answers) ? 'quarantined' : 'unknown';
}

/** The same for what a holder asks: a refusal is a lost vote, whatever is there instead. */
function naiveForHolder(answers: readonly Answer[], isLost = exclude): Decision {
  if (suffice(answers, 'granted')) return 'granted';
  if (isLost(answers, 'held')) return 'held';
  if (isLost(answers, 'held', 'wrongType')) return 'wrongType';
  if (exclude(answers, 'wrongType', 'misconfigured')) return 'misconfigured';
  return isLate(answers) ? 'quarantined' : 'unknown';
}

/** Even if the silent ones had said yes, those in quarantine would be missing. */
function isLate(answers: readonly Answer[]): boolean {
  return answers.includes('quarantined') && !suffice(answers, 'granted', 'unknown');
}

/** What every way to go on leads to, if they all lead to the same. */
function settled(
  answers: readonly Answer[],
  nodes: number,
  rule: (answers: readonly Answer[]) => Decision,
): Decision | undefined {
  const ends = combinations(nodes - answers.length).map((rest) => rule([...answers, ...rest]));
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

/** How claims are decided, and what a holder asks; `tie` is what half of an even N decides by its refusals, the rest granting. */
const RULES = [
  { of: 'claims', decide: decideClaim, ends: verdict, rule: naive, tie: 'held' },
  {
    of: 'extensions of votes that are there',
    decide: (counts: Counts) => decideExtension(counts, false),
    ends: (counts: Counts) => holdersVerdict(counts),
    rule: (answers: readonly Answer[]) => naiveForHolder(answers),
    tie: 'held',
  },
  {
    of: 'extensions',
    decide: (counts: Counts) => decideExtension(counts, true),
    ends: (counts: Counts) => holdersVerdict(counts, true),
    rule: (answers: readonly Answer[]) => naiveForHolder(answers, suffice),
    tie: 'unknown',
  },
] as const;

for (const { of, decide, ends, rule, tie } of RULES) {
  describe(`a full round of ${of}`, () => {
    for (const nodes of SIZES) {
      it(`N=${nodes}: all ${3 ** nodes} combinations of granted, refused, unknown say what the rules say`, () => {
        for (const answers of sequences(THREE, nodes)) {
          const decision = rule(answers);
          expect(ends(countsOf(answers, nodes)), answers.join()).to.equal(decision);
          expect(decide(countsOf(answers, nodes)), answers.join()).to.equal(decision);
        }
      });

      it(`N=${nodes}: so do all ${6 ** nodes} combinations of the six classes`, () => {
        for (const answers of sequences(CLASSES, nodes)) {
          const decision = rule(answers);
          expect(ends(countsOf(answers, nodes)), answers.join()).to.equal(decision);
          expect(decide(countsOf(answers, nodes)), answers.join()).to.equal(decision);
        }
      });

      it(`N=${nodes}: how often each of the six classes came decides`, () => {
        for (const answers of combinations(nodes)) {
          expect(ends(countsOf(answers, nodes)), answers.join()).to.equal(rule(answers));
        }
      });

      it(`N=${nodes}: unknown never counts as a grant, and never as a refusal`, () => {
        for (const answers of sequences(THREE, nodes)) {
          const counts = countsOf(answers, nodes);
          if (ends(counts) === 'granted') expect(counts.granted).to.be.at.least(quorumOf(nodes));
          if (ends(counts) === 'held') expect(nodes - counts.held).to.be.below(quorumOf(nodes));
        }
      });
    }

    it(`ties of an even N are no quorum: N=2 at 1:1 and N=4 at 2:2 are ${tie}`, () => {
      expect(decide(countsOf(['granted', 'held'], 2))).to.equal(tie);
      expect(decide(countsOf(['granted', 'granted', 'held', 'held'], 4))).to.equal(tie);
      expect(decide(countsOf(['granted', 'held', 'held', 'held'], 4))).to.equal('held');
      expect(decide(countsOf(['granted', 'unknown'], 2))).to.equal('unknown');
      expect(decide(countsOf(['granted', 'granted', 'unknown', 'unknown'], 4))).to.equal('unknown');
    });
  });

  describe(`a round of ${of} under way`, () => {
    for (const nodes of SIZES) {
      it(`N=${nodes}: is decided as soon as no pending answer can change it, and not before`, () => {
        for (let answered = 0; answered <= nodes; answered++) {
          for (const answers of combinations(answered)) {
            expect(decide(countsOf(answers, nodes)), answers.join()).to.equal(settled(answers, nodes, rule));
          }
        }
      });

      it(`N=${nodes}: in every order of arrival, a decision once made is never changed by later answers`, () => {
        for (const answers of sequences(CLASSES, nodes)) {
          let made: Decision | undefined;
          for (let answered = 0; answered <= nodes; answered++) {
            const decision = decide(countsOf(answers.slice(0, answered), nodes));
            if (made !== undefined) expect(decision, answers.join()).to.equal(made);
            made = decision;
          }
          expect(made, answers.join()).to.equal(rule(answers));
        }
      });

      it(`N=${nodes}: a yes is out with the quorum's last grant, a no with the first refusal too many`, () => {
        const quorum = quorumOf(nodes);
        const enough = tie === 'held' ? nodes - quorum + 1 : quorum;
        const grants = (count: number): Answer[] => Array.from({ length: count }, () => 'granted');
        const refusals = (count: number): Answer[] => Array.from({ length: count }, () => 'held');
        expect(decide(countsOf(grants(quorum), nodes))).to.equal('granted');
        expect(decide(countsOf(grants(quorum - 1), nodes))).to.equal(undefined);
        expect(decide(countsOf(refusals(enough), nodes))).to.equal('held');
        expect(decide(countsOf(refusals(enough - 1), nodes))).to.equal(undefined);
      });
    }
  });

  describe(`a round of ${of} that time ended`, () => {
    it('N=1..5: masters that did not answer count as unknown', () => {
      for (const nodes of SIZES) {
        for (let answered = 0; answered <= nodes; answered++) {
          for (const answers of combinations(answered)) {
            const silent = Array.from({ length: nodes - answered }, () => 'unknown' as const);
            expect(ends(countsOf(answers, nodes)), answers.join()).to.equal(rule([...answers, ...silent]));
          }
        }
      }
    });
  });
}

describe('a minority of masters that give nobody a vote', () => {
  /** g: granted, h: held by others, w: wrong type, m: misconfigured, q: quarantined, u: unknown. */
  const LETTERS: Readonly<Record<string, Answer>> = {
    ...{ g: 'granted', h: 'held', w: 'wrongType', m: 'misconfigured', q: 'quarantined', u: 'unknown' },
  };
  const cases: readonly [string, Decision, string][] = [
    ['h', 'held', 'one master: it says all'],
    ['m', 'misconfigured', 'one master: it says all'],
    ['gm', 'misconfigured', 'of two, none may fail'],
    ['gw', 'wrongType', 'of two, none may fail'],
    ['hm', 'held', 'a tie: each alone excludes a quorum, and the vote of another is told first'],
    ['mq', 'misconfigured', 'a tie: waiting for the end of the quarantine would not help'],
    ['ghm', 'held', 'of the two others, one has voted for another'],
    ['ghw', 'held', 'of the two others, one has voted for another'],
    ['ghq', 'quarantined', 'when the quarantine ends, there is a quorum'],
    ['hhm', 'held', 'others hold it'],
    ['ghu', 'unknown', 'the silent one may have voted for it'],
    ['hmu', 'unknown', 'without the other claimant, the silent one would still be needed'],
    ['gmu', 'unknown', 'the silent one was needed'],
    ['gmm', 'misconfigured', 'they alone exclude a quorum'],
    ['hmm', 'misconfigured', 'they alone exclude a quorum'],
    ['hwm', 'misconfigured', 'together they exclude a quorum, and neither passes'],
    ['gww', 'wrongType', 'they alone exclude a quorum'],
    ['gmq', 'quarantined', 'when the quarantine ends, there is a quorum'],
    ['hwq', 'quarantined', 'without the other claimant, the one in quarantine would still be needed'],
    ['gghm', 'held', 'of the three others, all are needed'],
    ['gghu', 'unknown', 'the silent one may have voted for it'],
    ['gghh', 'held', 'a tie'],
    ['hhmm', 'held', 'a tie: the vote of another is told first'],
    ['ghmm', 'misconfigured', 'they alone exclude a quorum'],
    ['ggmu', 'unknown', 'the silent one was needed'],
    ['gghhm', 'held', 'of the four others, two have voted for another'],
    ['gghmw', 'held', 'of the three others, one has voted for another'],
    ['ghhmw', 'held', 'of the three others, two have voted for another'],
    ['gghhu', 'unknown', 'the silent one may have voted for it'],
    ['gghmu', 'unknown', 'the silent one may have voted for it'],
    ['ghhmu', 'held', 'whichever way the silent one voted, and all were there without the others'],
    ['ghmuu', 'unknown', 'the silent ones were needed'],
    ['hhmwq', 'quarantined', 'without the other claimants, the one in quarantine would still be needed'],
    ['ghhmq', 'held', 'whichever way the one in quarantine votes, and all were there without the others'],
    ['gghhq', 'quarantined', 'when the quarantine ends, there is a quorum'],
    ['ghmmw', 'misconfigured', 'together they exclude a quorum, and neither passes'],
  ];
  for (const [letters, decision, why] of cases) {
    it(`${letters}: ${decision}: ${why}`, () => {
      const answers = letters.split('').map((letter) => LETTERS[letter] ?? 'unknown');
      expect(verdict(countsOf(answers, answers.length))).to.equal(decision);
    });
  }

  for (const nodes of [...SIZES, 7]) {
    it(`N=${nodes}: a code is never blamed on fewer masters than it takes, other claimants aside`, () => {
      const spare = nodes - quorumOf(nodes);
      for (const answers of combinations(nodes)) {
        const { wrongType, misconfigured, quarantined, held } = countsOf(answers, nodes);
        const decision = verdict(countsOf(answers, nodes));
        if (decision === 'wrongType') expect(wrongType, answers.join()).to.be.above(spare);
        if (decision === 'misconfigured')
          expect(wrongType + misconfigured, answers.join()).to.be.above(spare);
        if (decision === 'quarantined') expect(quarantined, answers.join()).to.be.above(0);
        if (decision === 'held') expect(held, answers.join()).to.be.above(0);
      }
    });
  }
});
