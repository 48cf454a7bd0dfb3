/** What `quorate run` says on a terminal while it waits: when, how often, and in which words. */
import { expect } from 'chai';
import { sightOf } from '../../lib/command/commands/wait-sight.js';
import type { LockSeen } from '../../lib/upkeep/sight.js';
import { type Sight, WaitNotice } from '../../lib/command/run/wait-notice.js';
import type { Inspection } from '../../lib/lease/inspection.js';
import type { NodeHolders } from '../../lib/lease/shared-inspection.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { FakeTime } from '../support/fake-time.js';

interface Ground {
  readonly time: FakeTime;
  readonly told: string[];
  readonly notice: WaitNotice;
  looks: number;
  sight: Sight | Error | undefined;
}

function ground(sight: Ground['sight']): Ground {
  const time = new FakeTime();
  const told: string[] = [];
  const look = async (): Promise<Sight | undefined> => {
    one.looks++;
    if (one.sight instanceof Error) throw one.sight;
    return one.sight;
  };
  const notice = new WaitNotice(time, look, (text) => void told.push(text));
  const one: Ground = { time, told, notice, looks: 0, sight };
  return one;
}

describe('the notice of a wait: when', () => {
  it('not within the first 0.3 s, then once, and again when something has changed', async () => {
    const one = ground({ id: 'a', text: 'held by a' });
    await one.time.advance(299);
    expect([one.looks, one.told]).to.deep.equal([0, []]);
    await one.time.advance(1);
    expect(one.told).to.deep.equal(['held by a']);
    one.sight = { id: 'a', text: 'held by a, for less' };
    await one.time.advance(5_000);
    expect(one.told, 'the time that is left is no change').to.deep.equal(['held by a']);
    one.sight = { id: 'b', text: 'held by b' };
    await one.time.advance(1_000);
    expect(one.told).to.deep.equal(['held by a', 'held by b']);
    one.notice.end();
    expect(one.time.pending).to.equal(0);
  });

  it('however often it changes: a line a second, and after half a minute one in ten', async () => {
    const one = ground(undefined);
    const change = (): void => {
      one.sight = { id: String(one.time.now()), text: 'changed' };
      one.time.background(10, change);
    };
    change();
    await one.time.advance(30_000);
    expect(one.told).to.have.length(30);
    await one.time.advance(100_000);
    expect(one.told).to.have.length(40);
    expect(one.looks).to.equal(40);
  });

  it('nothing to say, or a look that fails: no line, and it looks on', async () => {
    const one = ground(undefined);
    await one.time.advance(2_000);
    one.sight = new Error('closed');
    await one.time.advance(2_000);
    expect(one.told).to.deep.equal([]);
    one.sight = { id: 'a', text: 'held' };
    await one.time.advance(1_000);
    expect(one.told).to.deep.equal(['held']);
  });

  it('nothing once the wait is over, also if a look was under way', async () => {
    const time = new FakeTime();
    const told: string[] = [];
    let answer = (_sight: Sight): void => undefined;
    const look = (): Promise<Sight> => new Promise((resolve) => (answer = resolve));
    const notice = new WaitNotice(time, look, (text) => void told.push(text));
    await time.advance(300);
    notice.end();
    answer({ id: 'a', text: 'held' });
    await time.advance(5_000);
    expect([told, time.pending]).to.deep.equal([[], 0]);
  });
});

describe('the notice of a wait: in which words', () => {
  const OWN = 'client:own';
  const others = (many: number) => Array.from({ length: many }, (_, i) => fingerprint(`client:${i}`));
  const line = (before: number) => [...others(before), fingerprint(OWN), fingerprint('client:later')];

  const NOBODY = { waiting: 0, turn: undefined };

  function held(queue: readonly string[], waiting = queue.length): Inspection {
    const node = { node: 'a:1', state: 'held', holder: 'f00', remainingMs: 9_000, waiting, queue } as const;
    const seen = { resource: 'x', state: 'held', holder: 'f00', remainingMs: 9_000, waiting } as const;
    return { ...seen, waiters: [], nodes: [node], local: NOBODY };
  }
  const text = (seen: LockSeen) => sightOf(seen, ['client:first', OWN])?.text;
  const HELD = 'waiting for x: held by f00, for another 9.0 s unless it is renewed';

  it('who holds it, and how many wait before this one', () => {
    expect(text(held(line(0)))).to.equal(`${HELD}; this one is next`);
    expect(text(held(line(1)))).to.equal(`${HELD}; 1 waits before this one`);
    expect(text(held(line(2)))).to.equal(`${HELD}; 2 wait before this one`);
    expect(text(held(others(32), 50)), 'masters show the first 32').to.equal(
      `${HELD}; 32 or more wait before this one`,
    );
    expect(text(held(others(3))), 'in no line').to.equal(HELD);
  });

  it('masters that know of different waiters: the most', () => {
    const [short, long] = [held(line(1)), held(line(3))];
    expect(text({ ...long, nodes: [...short.nodes, ...long.nodes] })).to.equal(
      `${HELD}; 3 wait before this one`,
    );
  });

  it('a change of the time that is left is none; of the holder, or of the place, it is', () => {
    const id = (seen: LockSeen) => sightOf(seen, [OWN])?.id;
    expect(id({ ...held(line(2)), remainingMs: 100 })).to.equal(id(held(line(2))));
    expect(id({ ...held(line(2)), holder: 'bad' })).to.not.equal(id(held(line(2))));
    expect(id(held(line(1)))).to.not.equal(id(held(line(2))));
  });

  it('a shared lock: who holds it, and how many wait before this one', () => {
    const node: NodeHolders = {
      node: 'a:1',
      state: 'held',
      holders: [],
      waiting: 3,
      queue: line(1),
    };
    const shared: LockSeen = {
      kind: 'shared',
      resource: 'x',
      state: 'held',
      readers: ['f00'],
      writer: undefined,
      holders: [],
      heldBy: [],
      waiting: 3,
      waiters: [],
      nodes: [node],
    };
    expect(text(shared)).to.equal('waiting for x: held by reader f00; 1 waits before this one');
  });

  it('nobody holds it: said where that lasts, and not where it is about to be taken', () => {
    const without = (state: 'contended' | 'unknown' | 'free'): LockSeen => ({
      ...{ resource: 'x', state, waiting: 0, waiters: [], nodes: [], local: NOBODY },
    });
    expect(text(without('contended'))).to.equal('waiting for x: nobody has a quorum');
    expect(text(without('unknown'))).to.equal('waiting for x: too few masters answer');
    expect(text(without('free'))).to.equal(undefined);
  });
});
