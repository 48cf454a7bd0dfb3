import { expect } from 'chai';
import { simulateOneMaster } from './one-master.js';
import { Fences, pauseAfterLossMs } from './checker/fences.js';
import { drawSetting } from './setting.js';
import { wide } from '../support/breadth.js';
import { Seeded } from './world/seeded.js';
import { BEYOND } from './world/faults.js';
import { AHEAD_US, BACK_US } from '../../lib/protocol/lua/stored.js';

describe('simulation of one master among coordinators that do anything', function () {
  for (const seeds of wide([60, 300], [60])) {
    it(`${seeds} seeds: whatever it accepts rises; each seed gives one history`, () => {
      let accepted = 0;
      for (let seed = 1; seed <= seeds; seed++) {
        const report = simulateOneMaster(seed);
        expect(report.violations, `seed ${seed}`).to.deep.equal([]);
        accepted += report.accepted;
      }
      expect(accepted).to.be.above(50 * seeds);
      expect(simulateOneMaster(7).lines).to.deep.equal(simulateOneMaster(7).lines);
    });
  }
});

describe('simulation: how fencing tokens are judged', () => {
  const AMNESIA = { spreadMs: 50, errorMs: 300 };
  const NEAR_MS = (AHEAD_US + BACK_US) / 1_000;

  function stand(amnesia: typeof AMNESIA | undefined) {
    const clock = { nowMs: 0 };
    const fences = new Fences(() => clock.nowMs, amnesia);
    const hand = (fence: number, beginning = fences.begin()): readonly string[] =>
      fences.handedOut(['a'], `token ${fence}`, fence, beginning).map(([property]) => property);
    return { clock, fences, hand };
  }

  it('a lower token after a higher one, and the same again, are violations; concurrent ones may be in any order', () => {
    const { fences, hand } = stand(undefined);
    const early = fences.begin();
    expect(hand(5)).to.deep.equal([]);
    expect(hand(4)).to.deep.equal(['token order']);
    expect(hand(5)).to.deep.equal(['token uniqueness']);
    expect(hand(3, early)).to.deep.equal([]);
    expect(hand(3, early)).to.deep.equal(['token uniqueness']);
  });

  it('masters lose data at once: a lower token is excused up to S + e after the higher one, and not beyond', () => {
    for (const [gapMs, faults] of [
      [350, []],
      [350.1, ['token order']],
    ] as const) {
      const { clock, fences, hand } = stand(AMNESIA);
      hand(5);
      fences.lost('m1', clock.nowMs);
      clock.nowMs += gapMs;
      expect(hand(4), `${gapMs} ms`).to.deep.equal(faults);
    }
  });

  it('nothing is excused where no data was lost since the first of the two began, or in a run without amnesia', () => {
    const kept = stand(AMNESIA);
    kept.fences.lost('m1', 0);
    kept.clock.nowMs = 10;
    kept.hand(5);
    expect(kept.hand(4)).to.deep.equal(['token order']);
    const strict = stand(undefined);
    strict.hand(5);
    strict.fences.lost('m1', 0);
    expect(strict.hand(4)).to.deep.equal(['token order']);
  });

  it('what a master accepts rises; soon after a loss it is compared with what was accepted since', () => {
    for (const [afterMs, property] of [
      [NEAR_MS + AMNESIA.spreadMs, undefined],
      [NEAR_MS + AMNESIA.spreadMs + 1, 'counter order'],
    ] as const) {
      const { clock, fences } = stand(AMNESIA);
      expect(fences.accepted('m1', 'k', 5)).to.equal(undefined);
      expect(fences.accepted('m1', 'k', 5)?.[0]).to.equal('counter order');
      expect(fences.accepted('m2', 'k', 3)).to.equal(undefined);
      fences.lost('m1', clock.nowMs);
      clock.nowMs += afterMs;
      expect(fences.accepted('m1', 'k', 3)?.[0], `${afterMs} ms`).to.equal(property);
      expect(fences.accepted('m1', 'k', 2)?.[0]).to.equal('counter order');
    }
  });

  it('runs keep to what T1 needs: guards are above S + AHEAD, masters without one stay away for S + AHEAD + BACK', () => {
    for (const beyond of [undefined, ...BEYOND]) {
      for (let seed = 1; seed <= 300; seed++) {
        const options = beyond === undefined ? {} : { beyond };
        const { amnesia, clocks, guardMs, plan } = drawSetting(new Seeded(`setting ${seed}`), options);
        if (guardMs > 0) expect(guardMs).to.be.above(clocks.spreadMs + AHEAD_US / 1_000);
        expect(amnesia !== undefined).to.equal(beyond === 'amnesia');
        if (beyond !== 'restarts') continue;
        expect(plan.some(({ kind }) => kind === 'server emptied' || kind === 'server replaced')).to.equal(
          false,
        );
        for (const { durationMs, kind } of plan)
          if (kind === 'server crash') expect(durationMs).to.be.least(pauseAfterLossMs(clocks.spreadMs));
      }
    }
  });
});
