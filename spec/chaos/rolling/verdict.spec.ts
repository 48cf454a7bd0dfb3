import { expect } from 'chai';
import type { FromClient, Told } from './messages.js';
import { parseRolling } from './options.js';
import type { RollEvent, RollRecord } from './roll.js';
import { LEADER, SCENARIOS, TICK_EVERY_MS, timesOf } from './scenarios.js';
import { tableOf } from './table.js';
import { judgeRoll } from './verdict.js';
import { isWhole, wholenessOf } from './votes.js';

const TTL_MS = 3_000;
const END_T = 20_000;
const [SCENARIO] = SCENARIOS;
if (SCENARIO === undefined) throw new Error('there are scenarios');
const scenario = SCENARIO;

const by = (client: string, ...messages: readonly FromClient[]): Told[] =>
  messages.map((message) => ({ ...message, client }));

const event = (t: number, what: string, eroded: RollEvent['eroded'] = []): RollEvent => ({
  ...{ t, what, eroded, wholeAfterMs: 0, limitMs: 3_000 },
});

/** Each tick is begun by `a` in time. */
const ticks: Told[] = Array.from({ length: END_T / TICK_EVERY_MS }, (_, i) => {
  const t = i * TICK_EVERY_MS;
  return { e: 'tick', t: t + 5, tick: t, what: 'started', why: '', client: 'a' };
});

const RUNS = [
  { begunT: 10, endedT: undefined, code: undefined, complaints: '' },
  { begunT: undefined, endedT: undefined, code: undefined, complaints: '' },
] as const;

function recordOf(told: readonly Told[], changes: Partial<RollRecord> = {}): RollRecord {
  const events = [event(1_000, 'start'), event(5_000, 'm1 down'), event(9_000, 'm1 back')];
  return {
    ...{ scenario, ttlMs: TTL_MS, events, told: [...ticks, ...told], commands: RUNS, ended: [], endT: END_T },
    ...changes,
  };
}

const textsOf = (record: RollRecord): string[] => judgeRoll(record).violations.map(({ text }) => text);
const lost: FromClient = { e: 'lost', t: 7_000, lock: 'held-1', text: 'it was lost' };

describe('chaos --rolling: the verdict', () => {
  it('finds nothing where each lease is whole in time, and each tick is begun', () => {
    expect(textsOf(recordOf([]))).to.deep.equal([]);
  });

  it('a lease that lacks a vote in time, with its event', () => {
    const eroded = [{ lock: LEADER, holder: 'x', votes: 2, up: 3 }];
    const record = recordOf([], { events: [event(1_000, 'start'), event(9_000, 'm1 back', eroded)] });
    expect(textsOf(record)).to.deep.equal(['not whole 3000 ms after "m1 back": leader 2/3']);
    expect(tableOf(record, judgeRoll(record))).to.include('leader 2/3');
  });

  it('a lost lease, a deposed leader and a refused call stand in the row of the event before', () => {
    const ended: FromClient = { e: 'ended', t: 9_500, lock: LEADER, fence: 1, code: 'LOCK_LOST' };
    const refused: FromClient = { e: 'refused', t: 9_600, lock: 'hot', code: 'NO_QUORUM' };
    const { rows, violations } = judgeRoll(recordOf(by('a', lost, ended, refused)));
    expect(violations.map(({ text }) => text)).to.deep.equal([
      'a: it was lost',
      'a was deposed (LOCK_LOST)',
      'a was refused hot: NO_QUORUM',
    ]);
    expect(rows.map((row) => row.lost)).to.deep.equal([0, 1, 0]);
    expect(rows.map((row) => row.deposed)).to.deep.equal([0, 0, 1]);
  });

  it('a tick that nobody begins, that two begin, and that is told as missed', () => {
    const without = ticks.filter(({ t }) => t !== 4_005);
    expect(textsOf(recordOf([], { told: without }))).to.deep.equal(['tick 00:00:04 was not begun']);
    expect(textsOf(recordOf(ticks.slice(3, 4)))).to.deep.equal(['tick 00:00:03 was begun 2 times']);
    const missed: FromClient = { e: 'tick', t: 6_000, tick: 5_000, what: 'missed', why: 'unknown' };
    expect(textsOf(recordOf(by('b', missed)))).to.deep.equal(['tick 00:00:05 missed: unknown']);
    const byAnother: FromClient = { e: 'tick', t: 6_000, tick: 5_000, what: 'skipped', why: 'done' };
    expect(textsOf(recordOf(by('b', byAnother)))).to.deep.equal([]);
    expect(textsOf(recordOf([], { told: [] }))).to.deep.equal(['no tick was begun']);
  });

  it('the hot lock is free for longer than FAIRNESS allows, or two have it', () => {
    const stay = (askT: number, gotT: number, t: number): FromClient => ({ e: 'stay', t, askT, gotT });
    const inTurn = by('a', stay(0, 2_000, 2_050), stay(0, 5_000, 5_050));
    const { rows, violations } = judgeRoll(recordOf(inTurn));
    expect([violations, rows.map(({ freeMs }) => freeMs)]).to.deep.equal([[], [0, 2_950, 0]]);
    expect(textsOf(recordOf(by('a', stay(0, 2_000, 2_050), stay(0, 6_000, 6_050))))).to.deep.equal([
      'the hot lock was free for 3950 ms, and waited for',
    ]);
    expect(textsOf(recordOf(by('a', stay(0, 2_000, 2_050), stay(0, 2_040, 2_090))))).to.deep.equal([
      'two had the hot lock',
    ]);
  });

  it('two who rely on one lease, whatever the machine did meanwhile', () => {
    const held = (t: number, fence: number): FromClient => ({ e: 'held', t, lock: LEADER, fence });
    const late: FromClient = { e: 'late', t: 6_000, byMs: 5_000 };
    expect(textsOf(recordOf([...by('a', held(1_500, 1), late), ...by('b', held(5_000, 2))]))).to.deep.equal([
      'b and a both have leader',
    ]);
  });

  it('the command of quorate run is ended, or begun twice, and a client that ends', () => {
    const [first, second] = RUNS;
    const ended = { ...first, endedT: 8_000, code: 70, complaints: 'lost\n' };
    const again = { ...second, begunT: 8_100 };
    expect(textsOf(recordOf([], { commands: [ended, again] }))).to.deep.equal([
      'quorate run ended with 70: lost',
    ]);
    expect(textsOf(recordOf([], { commands: [first, { ...second, begunT: 20 }] }))).to.deep.equal([
      '2 commands of quorate run are under way at the end, not one',
    ]);
    expect(textsOf(recordOf([], { ended: ['b'] }))).to.deep.equal(['client b ended by itself']);
  });

  it('what the machine did is not judged: a third of the ttl without a processor, shortly before', () => {
    const late = (t: number, byMs: number): Told[] => by('b', { e: 'late', t, byMs });
    const { violations, excused, standstills } = judgeRoll(
      recordOf([...by('a', lost), ...late(6_500, 1_100)]),
    );
    expect([violations.length, excused.length]).to.deep.equal([0, 1]);
    expect(standstills).to.deep.equal({ count: 1, mostMs: 1_100 });
    expect(textsOf(recordOf([...by('a', lost), ...late(6_500, 900)]))).to.have.lengthOf(1);
    expect(textsOf(recordOf([...by('a', lost), ...late(9_000, 1_100)]))).to.have.lengthOf(1);
  });
});

describe('chaos --rolling: votes', () => {
  const wholeOf = (...votes: Parameters<typeof wholenessOf>[0]): boolean => isWhole(wholenessOf(votes));

  it('whole: each master that is up has the token, also as it was handed over', () => {
    expect(wholeOf('x', 'x', 'x')).to.equal(true);
    expect(wholeOf('x', 'x+', 'x')).to.equal(true);
    expect(wholeOf('x', undefined, 'x')).to.equal(true);
  });

  it('not whole: another token, none, or no quorum of all masters', () => {
    expect(wholeOf('x', 'y', 'x')).to.equal(false);
    expect(wholeOf('x', '~', 'x')).to.equal(false);
    expect(wholeOf('x', null, 'x')).to.equal(false);
    expect(wholeOf('x', undefined, undefined)).to.equal(false);
    expect(wholeOf(null, null, null)).to.equal(false);
    expect(wholenessOf(['x', 'x', 'y', 'x', undefined])).to.deep.equal({ holder: 'x', votes: 3, up: 4 });
  });
});

describe('chaos --rolling: its options', () => {
  it('all scenarios, each once, with a ttl of 3 s; or what was asked for', () => {
    expect(parseRolling(['--rolling'])).to.deep.equal({
      ...{ mode: 'run', ttlMs: 3_000, rounds: 1, scenarios: SCENARIOS },
    });
    const given = parseRolling(['--rolling', '--ttl', '10', '--rounds', '4', '--only', 'empty-3,freeze-3']);
    expect(given.scenarios.map(({ name }) => name)).to.deep.equal(['empty-3', 'freeze-3']);
    expect([given.ttlMs, given.rounds]).to.deep.equal([10_000, 4]);
  });

  it('what is wrong is named', () => {
    for (const [args, text] of [
      [['--ttl', '0'], '--ttl must be a whole number from 1 to 300; got 0'],
      [['--rounds', ''], '--rounds must be a whole number from 1 to 10000; got '],
      [['--only', 'nothing'], 'got nothing'],
    ] as const)
      expect(() => parseRolling(args)).to.throw(text);
  });

  it('a master is away past the ttl where its votes would still be there, and back for a renewal and two seconds', () => {
    for (const one of SCENARIOS) {
      const { awayMs, settleMs } = timesOf(one, TTL_MS);
      expect(settleMs).to.be.at.least((TTL_MS / 3) * (17 / 16) + 2_000);
      if (one.persist || one.blow === 'freeze') expect(awayMs).to.be.greaterThan(TTL_MS);
    }
  });
});
