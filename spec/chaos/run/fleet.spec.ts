import { expect } from 'chai';
import { turnsOf } from './fleet.js';
import { type Files, fault, found, lease, life, modelOf } from './histories.js';
import { PRESENT } from './history.js';
import { judge } from './checker.js';

const EARLIER = 'f421120';

/** Two clients that take the lock in turns, each asking while the other holds it: `turns` grants from 1,000 on. */
function inTurns(turns: number, versions: readonly [string, string], mode?: 'read' | 'write'): Files {
  const events = [0, 1].map((side) =>
    Array.from({ length: turns }, (_, i) => i)
      .filter((i) => i % 2 === side)
      .flatMap((i) => {
        const t = 1_000 + i * 100;
        const terms = { op: i, askT: t - 50, t, until: t + 91, fence: 10 + i };
        return lease(`c${side + 1}.1`, mode === undefined ? terms : { ...terms, keys: ['rw'], mode });
      }),
  );
  return Object.fromEntries(events.map((own, side) => [`c${side + 1}.1`, life(own, 59_000, versions[side])]));
}

describe('chaos run: a fleet of two versions', () => {
  it('counts the grants that went from a holder of each version to a waiter of the other, and how long they took', () => {
    for (const mode of [undefined, 'write'] as const) {
      const run = modelOf(inTurns(5, [PRESENT, EARLIER], mode));
      const [there, back] = [
        { from: PRESENT, to: EARLIER, afterMs: 10 },
        { from: EARLIER, to: PRESENT, afterMs: 10 },
      ];
      expect(turnsOf(run)).to.deep.equal([there, back, there, back]);
      const { violations, judged } = judge(run);
      expect(violations).to.deep.equal([]);
      expect(judged.turns).to.equal(4);
    }
  });

  it('takes nobody for a waiter who asked after the release, and no lease that ended by itself for a release', () => {
    const first = lease('c1.1', { op: 1, askT: 90, t: 100, until: 1_100, fence: 10 });
    const later = lease('c2.1', { op: 1, askT: 1_099.5, t: 1_105, until: 2_000, fence: 11 });
    expect(turnsOf(modelOf({ 'c1.1': life(first), 'c2.1': life(later) }))).to.deep.equal([]);
    const lost = { e: 'lost', t: 1_150, lease: 'c1.1/1', code: 'LOCK_LOST' } as const;
    const waiter = lease('c2.1', { op: 1, askT: 500, t: 1_200, until: 2_000, fence: 11 });
    const files = { 'c1.1': life([...first.slice(0, 2), lost]), 'c2.1': life(waiter) };
    expect(turnsOf(modelOf(files))).to.deep.equal([]);
  });

  it('untried: a run in which no lock went from one of the versions to the other shows nothing', () => {
    expect(found(inTurns(2, [PRESENT, EARLIER])).kinds).to.deep.equal(['untried']);
    expect(found(inTurns(1, [PRESENT, EARLIER])).kinds).to.deep.equal(['untried', 'untried']);
    expect(found(inTurns(1, [PRESENT, PRESENT])).kinds, 'one version').to.deep.equal([]);
  });

  it('overlap and fence: between the versions as within one', () => {
    const fleet = inTurns(5, [PRESENT, EARLIER]);
    const beside = (terms: { fence: number; t: number }): Files => {
      const more = lease('c3.1', { op: 1, askT: terms.t - 1, until: terms.t + 9, ...terms });
      return { ...fleet, 'c3.1': life(more, 59_000, EARLIER) };
    };
    expect(found(beside({ t: 3_000, fence: 50 })).kinds).to.deep.equal([]);
    expect(found(beside({ t: 1_050, fence: 50 })).kinds).to.include('overlap');
    expect(found(beside({ t: 3_000, fence: 13 })).kinds, 'lower').to.deep.equal(['fence']);
    expect(found(beside({ t: 3_000, fence: 14 })).kinds, 'the same').to.deep.equal(['fence']);
  });

  it('no progress: a version without a grant after a heal, while the other goes on and refusals are honest', () => {
    const heal = fault('m1', 'kill', [1_900, 1_910, 2_000, 2_100]);
    const fleet = inTurns(5, [PRESENT, EARLIER]);
    const grant = (process: string) =>
      lease(process, { op: 9, askT: 3_000, t: 3_001, until: 3_500, fence: 60 });
    const no = [
      { e: 'ask', t: 2_500, op: 8, how: 'acquire', keys: ['k2'], boundMs: 1_000 } as const,
      { e: 'no', t: 3_500, op: 8, code: 'LOCK_TAKEN' } as const,
    ];
    const after = (one: Files[string], two: Files[string]): Files => ({
      'c1.1': [...(fleet['c1.1'] ?? []).slice(0, -1), ...one, { e: 'down', t: 59_000 }],
      'c2.1': [...(fleet['c2.1'] ?? []).slice(0, -1), ...two, { e: 'down', t: 59_000 }],
    });
    expect(found(after(grant('c1.1'), no), heal).kinds).to.deep.equal(['no progress']);
    expect(found(after(no, grant('c2.1')), heal).kinds).to.deep.equal(['no progress']);
    expect(found(after(no, [...no, ...grant('c2.1')]), heal).places).to.include('c1.1.jsonl');
    const late = lease('c2.1', { op: 9, askT: 11_500, t: 12_000, until: 12_500, fence: 61 });
    expect(found(after(grant('c1.1'), [...no, ...late]), heal).kinds, 'in time').to.deep.equal([]);
    const pause = fault('c2', 'pause', [4_000, 4_001, 5_000, 5_001]);
    expect(found(after(grant('c1.1'), no), [...heal, ...pause]).kinds, 'struck').to.deep.equal([]);
  });
});
