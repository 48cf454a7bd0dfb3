import { expect } from 'chai';
import { judge } from './checker.js';
import { type ClientEvent, PRESENT } from './history.js';
import { fault, found, lease, life, modelOf } from './histories.js';

describe('chaos run: the checker', () => {
  const first = lease('c1.1', { op: 1, askT: 90, t: 100, until: 1_100, fence: 10 });

  it('finds nothing in a history in which all went well', () => {
    const second = lease('c2.1', { op: 1, askT: 500, t: 1_101, until: 2_000, fence: 11 });
    const { violations, judged } = judge(modelOf({ 'c1.1': life(first), 'c2.1': life(second) }));
    expect(violations).to.deep.equal([]);
    expect(judged).to.include({ pairs: 2, fences: 2, calls: 4 });
  });

  it('overlap: two leases of a key are valid at the same time, and their lines are named', () => {
    const second = lease('c2.1', { op: 1, askT: 500, t: 1_098, until: 2_000, fence: 11 });
    const { kinds, places } = found({ 'c1.1': life(first), 'c2.1': life(second) });
    expect(kinds).to.deep.equal(['overlap']);
    expect(places).to.include.members(['c1.1.jsonl:3', 'c2.1.jsonl:3']);
  });

  it('overlap: also with a longer lease before the one just before, and in one of several keys', () => {
    const short = lease('c1.1', { op: 2, askT: 1_200, t: 1_300, until: 1_400, fence: 12, keys: ['k2'] });
    const long = lease('c2.1', { op: 1, askT: 1_200, t: 1_210, until: 3_000, fence: 11, keys: ['k1', 'k2'] });
    const late = lease('c1.1', { op: 3, askT: 2_000, t: 2_100, until: 2_900, fence: 13 });
    const { kinds } = found({ 'c1.1': life([...first, ...short, ...late]), 'c2.1': life(long) });
    expect(kinds).to.deep.equal(['overlap', 'overlap']);
  });

  it('overlap: a writer beside anybody, and more permits than there are; readers and permits in time are none', () => {
    const of = 3;
    const ops = (
      modes: readonly (undefined | 'read' | 'write' | number)[],
    ): ReturnType<typeof found>['kinds'] => {
      const events = modes.flatMap((mode, i) =>
        lease('c1.1', {
          op: i,
          askT: 90,
          t: 100 + i,
          until: 500 + i,
          fence: mode === 'write' || mode === undefined ? 10 + i : 0,
          ...(mode === undefined ? {} : { mode: typeof mode === 'number' ? { permits: mode, of } : mode }),
        }),
      );
      return found({ 'c1.1': life(events) }).kinds;
    };
    expect(ops(['read', 'read', 'read'])).to.deep.equal([]);
    expect(ops([1, 2])).to.deep.equal([]);
    expect(ops(['read', 'read', 'write'])).to.deep.equal(['overlap']);
    expect(ops(['write', 'read'])).to.deep.equal(['overlap']);
    expect(ops(['write', 'write'])).to.deep.equal(['overlap']);
    expect(ops([2, 2])).to.deep.equal(['overlap']);
    expect(ops([1, 1, 1, 1])).to.deep.equal(['overlap']);
    expect(ops(['read', 1]), 'of another kind').to.deep.equal(['overlap']);
    expect(ops([undefined, 'read']), 'of another kind').to.deep.equal(['overlap']);
  });

  it('overlap: a permit that was given back is free', () => {
    const permits = (op: number, t: number, until: number) =>
      lease('c1.1', { op, askT: 90, t, until, fence: 0, mode: { permits: 2, of: 3 } });
    expect(found({ 'c1.1': life([...permits(1, 100, 200), ...permits(2, 200, 300)]) }).kinds).to.deep.equal(
      [],
    );
    expect(found({ 'c1.1': life([...permits(1, 100, 200), ...permits(2, 198, 300)]) }).kinds).to.deep.equal([
      'overlap',
    ]);
  });

  it('fence: writers have one; readers and holders of permits have none, and none is asked for', () => {
    const one = (op: number, mode: 'read' | 'write', t: number) =>
      lease('c1.1', { op, askT: t - 1, t, until: t + 50, fence: 0, mode });
    expect(found({ 'c1.1': life([...one(1, 'read', 100), ...one(2, 'read', 200)]) }).kinds).to.deep.equal([]);
    expect(found({ 'c1.1': life([...one(1, 'write', 100), ...one(2, 'write', 200)]) }).kinds).to.deep.equal([
      'fence',
    ]);
  });

  it('overlap: the belief of a killed process lasts as long as its validity', () => {
    const cut = [...first.slice(0, 2)];
    const second = lease('c2.1', { op: 1, askT: 500, t: 900, until: 2_000, fence: 11 });
    const crash = fault('c1', 'crash', [150, 160, 400, 500]);
    const { kinds } = found(
      { 'c1.1': [{ e: 'up', t: 1, pid: 1, version: PRESENT }, ...cut], 'c2.1': life(second) },
      crash,
    );
    expect(kinds).to.deep.equal(['overlap']);
  });

  it('fence: lower than one that was handed out before it was asked for, or the same twice', () => {
    const lower = lease('c2.1', { op: 1, askT: 1_150, t: 1_200, until: 2_000, fence: 9 });
    expect(found({ 'c1.1': life(first), 'c2.1': life(lower) }).kinds).to.deep.equal(['fence']);
    const same = lease('c2.1', { op: 1, askT: 50, t: 1_200, until: 2_000, fence: 10 });
    expect(found({ 'c1.1': life(first), 'c2.1': life(same) }).kinds).to.deep.equal(['fence']);
  });

  it('fence: a lower one is no mistake when its acquisition began before the higher one was handed out', () => {
    const lower = lease('c2.1', { op: 1, askT: 95, t: 1_101, until: 2_000, fence: 9 });
    expect(found({ 'c1.1': life(first), 'c2.1': life(lower) }).kinds).to.deep.equal([]);
  });

  it('belief: a lease that goes on with nothing that extended it, comes back, or contradicts itself', () => {
    const [ask, got, ...rest] = first;
    if (ask === undefined || got === undefined) throw new Error('no lease');
    const more = { e: 'more', t: 900, lease: 'c1.1/1', until: 1_500 } as const;
    const odd = { e: 'odd', t: 900, lease: 'c1.1/1', text: 'held, with no validity left' } as const;
    expect(found({ 'c1.1': life([ask, got, more, ...rest]) }).kinds).to.deep.equal(['belief']);
    expect(found({ 'c1.1': life([ask, got, odd, ...rest]) }).kinds).to.deep.equal(['belief']);
    const extend = { e: 'extend', t: 840, lease: 'c1.1/1', boundMs: 100 } as const;
    const extended = { e: 'extended', t: 850, lease: 'c1.1/1' } as const;
    const failed = { ...extended, code: 'NO_QUORUM' } as const; // and answers that come later confirm it
    for (const end of [extended, failed])
      expect(found({ 'c1.1': life([ask, got, extend, end, more, ...rest]) }).kinds).to.deep.equal([]);
    const brief = { ...got, ttlMs: 1_000 } as ClientEvent;
    const tooLong = { ...more, until: failed.t + 1_001 };
    for (const [event, kinds] of [
      [more, []],
      [tooLong, ['belief']],
    ] as const)
      expect(found({ 'c1.1': life([ask, brief, extend, failed, event, ...rest]) }).kinds).to.deep.equal(
        kinds,
      );
    const lost = { e: 'lost', t: 870, lease: 'c1.1/1', code: 'LOCK_LOST' } as const;
    expect(found({ 'c1.1': life([ask, got, extend, extended, lost, more, ...rest]) }).kinds).to.deep.equal([
      'belief',
      'lost', // nothing was struck
    ]);
  });

  it('unreported loss: the validity ended and the holder was not notified, unless it was paused or killed', () => {
    const open = first.slice(0, 2);
    expect(found({ 'c1.1': life(open) }).kinds).to.deep.equal(['untold loss']);
    const lost = { e: 'lost', t: 1_150, lease: 'c1.1/1', code: 'LOCK_LOST' } as const;
    expect(found({ 'c1.1': life([...open, lost]) }).kinds).to.deep.equal([]);
    const late = { ...lost, t: 9_000 };
    expect(found({ 'c1.1': life([...open, late]) }).kinds).to.deep.equal(['untold loss']);
    const pause = fault('c1', 'pause', [200, 201, 8_900, 8_901]);
    expect(found({ 'c1.1': life([...open, late]) }, pause).kinds).to.deep.equal([]);
  });

  it('no quorum: a grant within the time in which a majority was certainly faulty', () => {
    const dead = [
      ...fault('m1', 'kill', [10, 20, 5_000, 5_100]),
      ...fault('m2', 'freeze', [10, 20, 5_000, 5_100]),
    ];
    expect(found({ 'c1.1': life(first) }, dead, 8_000).kinds).to.include('no quorum');
    const one = fault('m1', 'kill', [10, 20, 5_000, 5_100]);
    expect(found({ 'c1.1': life(first) }, one, 8_000).kinds).to.not.include('no quorum');
  });

  it('no quorum: a timestamp lock has its own server, and does not ask the masters', () => {
    const stamp = first.map((event) => (event.e === 'ask' ? { ...event, how: 'timestamp' as const } : event));
    const span = [10, 20, 5_000, 5_100] as const;
    const dead = ['m1', 'm2', 'm3'].flatMap((name) => fault(name, 'kill', [...span]));
    expect(found({ 'c1.1': life(stamp) }, dead, 8_000).kinds).to.not.include('no quorum');
    const frozen = fault('t1', 'freeze', [...span]);
    expect(found({ 'c1.1': life(stamp) }, frozen, 8_000).kinds).to.include('no quorum');
    expect(found({ 'c1.1': life(first) }, frozen, 8_000).kinds).to.not.include('no quorum');
    const delayed = fault('t1', 'delay', [...span]);
    expect(found({ 'c1.1': life(stamp) }, delayed, 8_000).kinds).to.not.include('no quorum');
  });

  it('unsettled: a call that never settles, or long after what is promised', () => {
    const ask = { e: 'ask', t: 100, op: 9, how: 'acquire', keys: ['k1'], boundMs: 1_000 } as const;
    expect(found({ 'c1.1': life([ask]) }).kinds).to.deep.equal(['unsettled']);
    const no = { e: 'no', t: 9_000, op: 9, code: 'LOCK_TAKEN' } as const;
    expect(found({ 'c1.1': life([ask, no]) }).kinds).to.deep.equal(['unsettled']);
    expect(found({ 'c1.1': life([ask, { ...no, t: 1_100 }]) }).kinds).to.deep.equal([]);
    const pause = fault('c1', 'pause', [200, 201, 8_900, 8_901]);
    expect(found({ 'c1.1': life([ask, no]) }, pause).kinds).to.deep.equal([]);
    expect(found({ 'c1.1': life([...first.slice(0, 3)]) }).kinds).to.deep.equal(['unsettled']);
  });

  it('no progress: a client without an answer after a heal', () => {
    const heal = fault('m1', 'kill', [1_000, 1_010, 2_000, 2_100]);
    expect(found({ 'c1.1': life(first) }, heal).kinds).to.deep.equal(['no progress']);
    const next = lease('c1.1', { op: 2, askT: 2_200, t: 2_300, until: 3_000, fence: 20 });
    expect(found({ 'c1.1': life([...first, ...next]) }, heal).kinds).to.deep.equal([]);
    const crash = fault('c1', 'crash', [2_500, 2_510, 3_000, 3_500]);
    const files = { 'c1.1': [{ e: 'up', t: 1, pid: 1, version: PRESENT } as const, ...first] };
    expect(found(files, [...heal, ...crash]).kinds).to.deep.equal([]);
  });

  it('no progress: a key that nobody holds while somebody waits for it, one after another', () => {
    const ask = (op: number, t: number) =>
      ({ e: 'ask', t, op, how: 'acquire', keys: ['k1'], boundMs: 5_000 }) as const;
    const no = (op: number, t: number) => ({ e: 'no', t, op, code: 'LOCK_TAKEN' }) as const;
    const one = life([...first, ask(2, 2_000), no(2, 7_000), ask(3, 7_100), no(3, 12_000)]);
    const { kinds, places } = found({ 'c1.1': one });
    expect(kinds).to.deep.equal(['no progress']);
    expect(places).to.deep.equal(['c1.1.jsonl:6', 'c1.1.jsonl:8']);
    const served = lease('c2.1', { op: 1, askT: 6_000, t: 6_001, until: 8_000, fence: 11 });
    expect(found({ 'c1.1': one, 'c2.1': life(served) }).kinds).to.deep.equal([]);
    const late = life([...first, ask(2, 2_000), no(2, 6_400), ask(3, 8_000), no(3, 12_000)]);
    expect(found({ 'c1.1': late }).kinds, 'nobody waits').to.deep.equal([]);
  });

  it('no progress: how long a key may be free depends on what struck', () => {
    const ask = { e: 'ask', t: 2_000, op: 2, how: 'acquire', keys: ['k1'], boundMs: 9_000 } as const;
    const waiting = (freeMs: number): Record<string, ClientEvent[]> => {
      const end = { e: 'no', t: 2_000 + freeMs, op: 2, code: 'LOCK_TAKEN' } as const;
      return { 'c1.1': life([...first, ask, end]) };
    };
    const kindsOf = (freeMs: number, ...more: Parameters<typeof found>[1][]): readonly string[] =>
      found(
        waiting(freeMs),
        more.flatMap((events) => events ?? []),
      ).kinds;
    // nothing struck: a ttl, for a handle on its way, and the slack of a busy machine
    expect(kindsOf(4_400)).to.deep.equal([]);
    expect(kindsOf(4_600)).to.deep.equal(['no progress']);
    // another client was paused: its ttl
    const paused = fault('c2', 'pause', [1_500, 1_501, 1_900, 1_901]);
    expect(kindsOf(6_400, paused)).to.deep.equal([]);
    expect(kindsOf(6_600, paused)).to.deep.equal(['no progress']);
    // a push was lost
    const killed = fault('m1', 'kill', [1_500, 1_501, 1_900, 1_901]);
    expect(kindsOf(6_400, killed)).to.deep.equal([]);
    expect(kindsOf(6_600, killed)).to.deep.equal(['no progress']);
    // push connections died in silence, and more: never more than 8 s
    const cut = fault('m1', 'half-open', [1_500, 1_501, 1_900, 1_901]);
    expect(kindsOf(7_900, cut, paused)).to.deep.equal([]);
    expect(kindsOf(8_100, cut, paused)).to.deep.equal(['no progress']);
    // it was stopped itself: nobody waited meanwhile
    expect(kindsOf(8_900, fault('c1', 'pause', [5_000, 5_001, 7_900, 7_901]))).to.deep.equal([]);
    expect(kindsOf(8_900, fault('c2', 'pause', [5_000, 5_001, 7_900, 7_901]))).to.include('no progress');
  });

  it('no progress: not while a majority is faulty; a lock is granted where only pushes are cut', () => {
    const ask = { e: 'ask', t: 2_000, op: 2, how: 'using', keys: ['k1'], boundMs: 20_000 } as const;
    const one = life([...first, ask, { e: 'no', t: 20_000, op: 2, code: 'LOCK_TAKEN' }]);
    const cut = (kind: 'cut' | 'cut-pushes') =>
      ['m1', 'm2'].flatMap((name) => fault(name, kind, [70, 80, 19_000, 19_001]));
    expect(found({ 'c1.1': one }).kinds).to.deep.equal(['no progress']);
    expect(found({ 'c1.1': one }, cut('cut')).kinds).to.deep.equal(['no quorum']);
    expect(found({ 'c1.1': one }, cut('cut-pushes')).kinds).to.deep.equal([]);
  });

  describe('beside another library', () => {
    const foreign = (process: string, t: number, until: number): ClientEvent[] => {
      const [ask, ...rest] = lease(process, { op: 7, askT: t - 10, t, until, fence: 0, mode: 'unfenced' });
      if (ask?.e !== 'ask') throw new Error('no call');
      return [{ ...ask, how: 'plain' }, ...rest];
    };
    const lost = [
      { e: 'strike', t: 300, target: 'm1', kind: 'kill', how: 'lost' },
      { e: 'mended', t: 400, target: 'm1', kind: 'kill', how: 'lost' },
    ] as const;

    it('overlap: its locks exclude ours, and need no fencing token', () => {
      const apart = { 'c1.1': life(first), 'c2.1': life(foreign('c2.1', 1_200, 2_000)) };
      expect(found(apart).kinds).to.deep.equal([]);
      const beside = { 'c1.1': life(first), 'c2.1': life(foreign('c2.1', 900, 2_000)) };
      expect(found(beside).kinds).to.deep.equal(['overlap']);
      const before = { 'c2.1': life(foreign('c2.1', 50, 500)), 'c1.1': life(first) };
      expect(found(before).kinds).to.deep.equal(['overlap']);
    });

    it('overlap: not where a master lost data before it claimed, since no guard holds it back; ours are held back', () => {
      const answer = (process: string) =>
        lease(process, { op: 8, askT: 3_000, t: 3_001, until: 3_100, fence: 1, keys: [process] });
      const ofC2 = (t: number, until: number) => life([...foreign('c2.1', t, until), ...answer('c2.1')]);
      const after = { 'c1.1': life([...first, ...answer('c1.1')]), 'c2.1': ofC2(900, 2_000) };
      expect(found(after, lost).kinds).to.deep.equal([]);
      const kept = fault('m1', 'kill', [300, 301, 390, 400]);
      expect(found(after, kept).kinds).to.deep.equal(['overlap']);
      const ours = lease('c1.1', { op: 1, askT: 490, t: 500, until: 1_100, fence: 10 });
      const before = { 'c2.1': ofC2(50, 600), 'c1.1': life([...ours, ...answer('c1.1')]) };
      expect(found(before, lost).kinds).to.deep.equal(['overlap']);
    });

    it('no answer of another library is one of this one', () => {
      const heal = fault('m1', 'kill', [1_000, 1_010, 2_000, 2_100]);
      const files = { 'c1.1': life([...first, ...foreign('c1.1', 5_000, 5_500)]) };
      expect(found(files, heal).kinds).to.deep.equal(['no progress']);
    });
  });

  it('error: MISCONFIGURED is right while a master takes no more data, and CLOSED of a call whose instance closes', () => {
    const ask = { e: 'ask', t: 100, op: 9, how: 'acquire', keys: ['k1'], boundMs: 1_000 } as const;
    const no = (code: string) => ({ e: 'no', t: 200, op: 9, code }) as const;
    const full = fault('m1', 'full', [150, 151, 400, 401]);
    expect(found({ 'c1.1': life([ask, no('MISCONFIGURED')]) }, full, 8_000).kinds).to.deep.equal([]);
    expect(found({ 'c1.1': life([ask, no('MISCONFIGURED')]) }).kinds).to.deep.equal(['error']);
    expect(found({ 'c1.1': life([ask, no('CLOSED')]) }).kinds).to.deep.equal(['error']);
    expect(found({ 'c1.1': life([{ ...ask, how: 'closing' }, no('CLOSED')]) }).kinds).to.deep.equal([]);
  });

  it('hasty: a call that fails before its wait is over, unless its caller or its instance ended it', () => {
    const ask = {
      e: 'ask',
      t: 100,
      op: 9,
      how: 'acquire',
      keys: ['k1'],
      boundMs: 1_000,
      waitMs: 800,
    } as const;
    const no = (code: string, t: number) => ({ e: 'no', t, op: 9, code }) as const;
    for (const code of ['LOCK_TAKEN', 'NO_QUORUM', 'QUARANTINED'])
      expect(found({ 'c1.1': life([ask, no(code, 700)]) }).kinds, code).to.deep.equal(['hasty']);
    expect(found({ 'c1.1': life([ask, no('LOCK_TAKEN', 900)]) }).kinds).to.deep.equal([]);
    const aborted = { ...ask, how: 'abort' } as const;
    expect(found({ 'c1.1': life([aborted, no('ABORTED', 300)]) }).kinds).to.deep.equal([]);
    const { waitMs: _unknown, ...unbounded } = ask;
    expect(found({ 'c1.1': life([unbounded, no('LOCK_TAKEN', 300)]) }).kinds).to.deep.equal([]);
  });

  it('unsettled: a close that takes longer than its drain and a node timeout', () => {
    const ask = { e: 'ask', t: 100, op: 9, how: 'close', keys: [], boundMs: 1_300 } as const;
    const fine = (t: number) => ({ e: 'fine', t, op: 9 }) as const;
    expect(found({ 'c1.1': life([ask, fine(1_300)]) }).kinds).to.deep.equal([]);
    expect(found({ 'c1.1': life([ask, fine(5_000)]) }).kinds).to.deep.equal(['unsettled']);
  });

  it('a master that is full, starved, delayed or half-open may vote; one whose clock is off is not faulty', () => {
    for (const kind of ['full', 'starve', 'delay', 'half-open', 'clock-back'] as const) {
      const struck = ['m1', 'm2'].flatMap((name) => fault(name, kind, [10, 20, 5_000, 5_100]));
      expect(found({ 'c1.1': life(first) }, struck, 8_000).kinds, kind).to.deep.equal([]);
    }
    const run = modelOf({ 'c1.1': life(first) }, fault('m1', 'clock-slew', [10, 20, 5_000, 5_100]));
    expect(judge(run).judged.heals).to.equal(0);
  });

  it('what happens to the server of the timestamp locks is no fault of a master', () => {
    const dead = fault('t1', 'kill', [10, 20, 5_000, 5_100]);
    const run = modelOf({ 'c1.1': life(first) }, dead);
    expect(judge(run)).to.deep.include({ violations: [] });
    expect(judge(run).judged.heals).to.equal(0);
  });

  it('error, exit, keys left, hand-over, unfounded: each is reported', () => {
    const ask = { e: 'ask', t: 100, op: 9, how: 'acquire', keys: ['k1'], boundMs: 1_000 } as const;
    const no = (code: string) => ({ e: 'no', t: 200, op: 9, code }) as const;
    expect(found({ 'c1.1': life([ask, no('NOT_HELD')]) }).kinds).to.deep.equal(['error']);
    expect(found({ 'c1.1': life([ask, no('ABORTED')]) }).kinds).to.deep.equal(['error']);
    expect(found({ 'c1.1': life([{ ...ask, how: 'abort' }, no('ABORTED')]) }).kinds).to.deep.equal([]);
    expect(found({ 'c1.1': [{ e: 'up', t: 1, pid: 1, version: PRESENT }] }).kinds).to.deep.equal(['exit']);
    expect(found({}, [{ e: 'exit', t: 5, client: 'c1', meant: false, text: 'code 1' }]).kinds).to.deep.equal([
      'exit',
    ]);
    const keysLeft = (key: string, ttlMs: number): readonly string[] =>
      found({}, [{ e: 'keys', t: 5, target: 'm1', left: [{ key, ttlMs }] }]).kinds;
    for (const [key, ttlMs] of [
      ['k1', 80],
      ['leader', 80],
      ['quorate:queue:{k1}', 80],
      ['quorate:looks:{x:leader}', -1],
      ['quorate:looks:{x:leader}', 70_000],
    ] as const)
      expect(keysLeft(key, ttlMs), key).to.deep.equal(['keys left']);
    expect(keysLeft('quorate:looks:{x:leader}', 50_000)).to.deep.equal([]); // a candidate's that died
    expect(keysLeft('quorate:client:x:{c1}', 59_000)).to.deep.equal([]);
    expect(keysLeft('quorate:client:x:{c1}', -1)).to.deep.equal(['keys left']);
    expect(keysLeft('quorate:foreign:{k1}', 599_000)).to.deep.equal([]);
    expect(keysLeft('quorate:foreign:{k1}', 601_000)).to.deep.equal(['keys left']);
    expect(found({ 'c1.1': life([no('LOCK_TAKEN')]) }).kinds).to.deep.equal(['unfounded']);
    const [asked, got, ...rest] = first;
    if (asked === undefined || got?.e !== 'got') throw new Error('no lease');
    expect(found({ 'c1.1': life([asked, { ...got, from: 'c2.1/7' }, ...rest]) }).kinds).to.deep.equal([
      'hand-over',
    ]);
  });
});
