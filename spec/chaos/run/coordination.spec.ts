import { expect } from 'chai';
import { fault, found, lease, life, modelOf } from './histories.js';
import { judge } from './checker.js';
import { type ClientEvent, PRESENT, type TickState, type ToldLeader } from './history.js';

/** The run of a tick, from its claim to its end. */
function ran(
  process: string,
  terms: {
    op: number;
    t: number;
    tick: number;
    fence: number;
    end?: TickState | 'lost' | 'none';
    ms?: number;
  },
): ClientEvent[] {
  const { op, t, tick, fence, end = 'done', ms = 100 } = terms;
  const id = `${process}/${op}`;
  const state = (state: TickState, at: number): ClientEvent => ({
    ...{ e: 'tick', t: at, lease: id, tick, wallMs: tick + 20, state },
  });
  const begun: ClientEvent[] = [
    { e: 'ask', t: t - 50, op, how: 'job', keys: ['job'], boundMs: 3_600_000 },
    { e: 'got', t, op, lease: id, keys: ['job'], fence, until: t + 1_000, renew: true },
    state('started', t + 1),
  ];
  if (end === 'none') return begun;
  if (end === 'lost') {
    const still = { e: 'still', t: t + ms, byMs: 1_000 } as const;
    return [...begun, still, { e: 'lost', t: t + ms, lease: id, code: 'LOCK_LOST' }];
  }
  const ended: ClientEvent[] = [
    { e: 'release', t: t + ms, lease: id, boundMs: 100 },
    { e: 'released', t: t + ms, lease: id },
  ];
  return end === 'started' ? [...begun, ...ended] : [...begun, ...ended, state(end, t + ms + 5)];
}

describe('chaos run: ticks of a job', () => {
  const first = { op: 1, t: 1_000, tick: 1_000, fence: 10 };
  const again = { op: 1, t: 3_000, tick: 1_000, fence: 11 };
  const kinds = (...args: Parameters<typeof found>): string[] => found(...args).kinds;

  it('one run of each tick is right; so is another where the first lost its lock, or failed', () => {
    const next = ran('c2.1', { ...again, tick: 3_000 });
    const { violations, judged } = judge(
      modelOf({ 'c1.1': life(ran('c1.1', first)), 'c2.1': life(next) }, [], 12_000),
    );
    expect(violations).to.deep.equal([]);
    expect(judged.ticks).to.equal(2);
    for (const end of ['lost', 'failed'] as const) {
      const files = { 'c1.1': life(ran('c1.1', { ...first, end })), 'c2.1': life(ran('c2.1', again)) };
      expect(kinds(files, [], 12_000), end).to.deep.equal([]);
    }
  });

  it('tick twice: after it was done, or when nothing was wrong with the first run', () => {
    for (const end of ['done', 'started'] as const) {
      const files = { 'c1.1': life(ran('c1.1', { ...first, end })), 'c2.1': life(ran('c2.1', again)) };
      const { kinds, places } = found(files, [], 12_000);
      expect(kinds, end).to.deep.equal(['tick twice']);
      expect(places).to.include.members(['c1.1.jsonl:4', 'c2.1.jsonl:4']);
    }
  });

  it('tick twice: whatever became of the first run, where interrupted ticks are only listed', () => {
    const files = {
      'c1.1': life(ran('c1.1', { ...first, end: 'lost' })),
      'c2.1': life(ran('c2.1', again)),
    };
    expect(kinds(files, [], 12_000, { missed: 'skip' })).to.deep.equal(['tick twice']);
    expect(kinds(files, [], 12_000, { missed: 'all' })).to.deep.equal([]);
  });

  it('a runner that was killed has not noted it as done; one that was alive has', () => {
    const killed = [
      { e: 'up', t: 1, pid: 1, version: PRESENT } as const,
      ...ran('c1.1', { ...first, end: 'none' }),
    ];
    const crash = fault('c1', 'crash', [1_200, 1_210, 30_000, 30_001]);
    const files = { 'c1.1': killed, 'c2.1': life(ran('c2.1', again)) };
    expect(kinds(files, crash, 12_000)).to.deep.equal([]);
    const early = { ...files, 'c2.1': life(ran('c2.1', { ...again, t: 1_500 })) };
    expect(kinds(early, crash, 12_000), 'under its validity').to.deep.equal(['overlap', 'tick twice']);
  });

  it('tick early: before its time by far more than the masters are apart', () => {
    const [ask, got, started, ...rest] = ran('c1.1', first);
    if (ask === undefined || got === undefined || started?.e !== 'tick') throw new Error('no tick');
    const at = (wallMs: number) => life([ask, got, { ...started, wallMs }, ...rest]);
    expect(kinds({ 'c1.1': at(200) }, [], 12_000)).to.deep.equal([]);
    expect(kinds({ 'c1.1': at(-500) }, [], 12_000)).to.deep.equal(['tick early']);
  });

  it('no progress: no tick for long, although somebody was there, and no majority was faulty', () => {
    const late = ran('c1.1', { op: 2, t: 30_000, tick: 30_000, fence: 11 });
    const answer = lease('c1.1', { op: 9, askT: 21_000, t: 21_001, until: 21_500, fence: 1, keys: ['k2'] });
    const files = { 'c1.1': life([...ran('c1.1', first), ...answer, ...late], 40_000) };
    expect(kinds(files, [], 41_000)).to.deep.equal(['no progress']);
    const cut = ['m1', 'm2'].flatMap((name) => fault(name, 'delay', [2_000, 2_001, 20_000, 20_001]));
    expect(kinds(files, cut, 41_000)).to.deep.equal([]);
    const slewed = ['m1', 'm2'].flatMap((name) => fault(name, 'clock-slew', [2_000, 2_001, 20_000, 20_001]));
    expect(kinds(files, slewed, 41_000)).to.deep.equal(['no progress']);
    const pause = fault('c1', 'starve', [3_000, 3_001, 20_000, 20_001]);
    expect(kinds(files, pause, 41_000)).to.deep.equal([]);
  });
});

describe('chaos run: what is run once', () => {
  it('once twice: two successes in less than the time that was asked for, less what clocks may be apart', () => {
    const success = (op: number, t: number): ClientEvent[] => [
      { e: 'ask', t: t - 10, op, how: 'once', keys: ['once'], boundMs: 1_000 },
      { e: 'once', t: t + 10, op, beganT: t },
      { e: 'fine', t: t + 11, op },
    ];
    const twice = (t: number) => found({ 'c1.1': life(success(1, 1_000)), 'c2.1': life(success(1, t)) });
    expect(twice(3_000).kinds).to.deep.equal(['once twice']);
    expect(twice(3_000).places).to.deep.equal(['c1.1.jsonl:3', 'c2.1.jsonl:3']);
    expect(twice(7_000).kinds).to.deep.equal([]);
  });
});

describe('chaos run: leaders', () => {
  const led = (process: string, t: number, fence: number): ClientEvent[] => {
    const [ask, got, ...rest] = lease(process, {
      op: 1,
      askT: t - 5,
      t,
      until: t + 500,
      fence,
      keys: ['leader'],
    });
    if (ask === undefined || got === undefined) throw new Error('no lease');
    return [ask, got, { e: 'proclaim', t: t + 1, lease: `${process}/1`, value: `v${fence}` }, ...rest];
  };
  const told = (leader: ToldLeader | null, by: 'asking' | 'observing' = 'asking'): ClientEvent => ({
    ...{ e: 'told', t: 5_000, by, leader },
  });
  const of = (fence: number, seq = 1, value = `v${fence}`): ToldLeader => ({ fence, seq, value });
  const leaders = { 'c1.1': life(led('c1.1', 1_000, 10)), 'c2.1': life(led('c2.1', 2_000, 11)) };
  const kinds = (...events: ClientEvent[]): string[] => found({ ...leaders, 'c3.1': life(events) }).kinds;

  it('two leaders: both valid at the same time', () => {
    const both = { 'c1.1': life(led('c1.1', 1_000, 10)), 'c2.1': life(led('c2.1', 1_400, 11)) };
    expect(found(both).kinds).to.deep.equal(['two leaders']);
    expect(found(leaders).kinds).to.deep.equal([]);
  });

  it('leader: goes back within an instance, to an earlier leader or an earlier value', () => {
    expect(kinds(told(of(10)), told(null), told(of(11)), told(of(11, 2, 'v11')))).to.deep.equal([]);
    expect(kinds(told(of(11)), told(of(10)))).to.deep.equal(['leader']);
    expect(kinds(told(of(11, 2)), told(null), told(of(11, 1)))).to.deep.equal(['leader']);
    expect(kinds(told(of(11)), { e: 'renewed', t: 5_000 }, told(of(10)))).to.deep.equal([]);
    expect(kinds(told(of(11)), told(of(10), 'observing')), 'of another way to ask').to.deep.equal([]);
  });

  it('leader: named with what it never proclaimed; one that is not known, as it was killed, may be named', () => {
    expect(kinds(told(of(11, 1, 'v10')))).to.deep.equal(['leader']);
    expect(kinds(told(of(99, 1, 'anything')))).to.deep.equal([]);
  });
});
