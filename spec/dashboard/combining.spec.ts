/** One lock, by what three masters say of it. */
import { expect } from 'chai';
import { combined, type LockKnown } from '../../lib/dashboard/combining.js';
import { NOTHING_PUBLISHED, type Published } from '../../lib/dashboard/instances.js';
import type { LockRead } from '../../lib/dashboard/reading.js';
import { holderRead, lockRead, NOW_MS } from './support.js';

const NODES = ['a', 'b', 'c'];

function of(
  reads: readonly (LockRead | undefined)[],
  before?: LockKnown,
  grants: Published['grants'] = new Map(),
): LockKnown | undefined {
  const published = { ...NOTHING_PUBLISHED, grants };
  return combined({ name: 'x', nodes: NODES, reads, nowMs: NOW_MS, before, published });
}

describe('a lock by what its masters say: N=3', () => {
  const own = lockRead({ holders: [holderRead('h')] });
  const other = lockRead({ holders: [holderRead('o')] });
  const free = lockRead();

  it('a quorum names one holder: held, until fewer than a quorum of its votes are left', () => {
    const short = lockRead({ holders: [holderRead('h', { remainingMs: 4_000 })] });
    const lock = of([own, short, other]);
    expect(lock).to.include({ state: 'held', holding: 1, endsAt: NOW_MS + 4_000 });
    expect(lock?.votes).to.deep.equal(['granted', 'granted', 'other']);
  });

  it('votes that are split: contended; a quorum without a vote: free; a quorum that is silent: unknown', () => {
    expect(of([own, other, free])?.state).to.equal('contended');
    expect(of([own, free, free])?.state).to.equal('free');
    expect(of([own, undefined, undefined])?.state).to.equal('unknown');
  });

  it('no master has anything of it: it is none; no master answers: it stays as it was', () => {
    expect(of([free, free, undefined])).to.equal(undefined);
    const before = of([own, own, own]);
    expect(of([undefined, undefined, undefined], before)).to.equal(before);
  });

  it('time left that differs by the measurement only is the same; a renewal moves it', () => {
    const before = of([own, own, own]);
    const at = (remainingMs: number): LockRead => lockRead({ holders: [holderRead('h', { remainingMs })] });
    expect(of([at(10_150), at(10_150), at(10_150)], before)?.endsAt).to.equal(NOW_MS + 10_000);
    expect(of([at(30_000), at(30_000), at(30_000)], before)?.endsAt).to.equal(NOW_MS + 30_000);
    expect(of([at(Infinity), at(Infinity), at(Infinity)], before)).to.not.have.property('endsAt');
  });

  it('since: by the token of a quorum; it is kept when the masters have forgotten it, for the same holder only', () => {
    const fence = NOW_MS * 1_000 - 5_000_000;
    const told = lockRead({ holders: [holderRead('h')], fence });
    const high = lockRead({ holders: [holderRead('h')], fence: fence + 1_000 });
    const before = of([told, high, told]);
    expect(before).to.include({ fence, since: NOW_MS - 5_000 });
    expect(of([own, own, own], before)).to.include({ fence, since: NOW_MS - 5_000 });
    expect(of([other, other, other], before)).to.not.have.any.keys('fence', 'since');
  });

  it('since, of readers and holders of permits: as they have published it, and never by the token, which is of a writer', () => {
    const fence = NOW_MS * 1_000 - 9_000_000;
    for (const role of ['reader', 'permits'] as const) {
      const holders = ['h', 'i', 'j'].map((holder) => holderRead(holder, { role }));
      const read = lockRead({ kind: role === 'reader' ? 'read-write' : 'semaphore', holders, fence });
      const all = [read, read, read];
      expect(of(all)).to.not.have.property('since');
      const grants = new Map([
        ['h', { sinceMs: NOW_MS - 1_000 }],
        ['i', { sinceMs: NOW_MS - 3_000 }],
      ]);
      const published = of(all, undefined, grants);
      expect(published?.holders.map(({ since }) => since)).to.deep.equal([
        NOW_MS - 1_000,
        NOW_MS - 3_000,
        undefined,
      ]);
      expect(published?.since, 'of the one who has held it for longest').to.equal(NOW_MS - 3_000);
      expect(of(all, published)?.since, 'the record is gone').to.equal(NOW_MS - 3_000);
    }
  });

  it('since, of a writer that reads now: by the token that it has published', () => {
    const fence = NOW_MS * 1_000 - 9_000_000;
    const read = lockRead({ kind: 'read-write', holders: [holderRead('h', { role: 'reader' })] });
    expect(of([read, read, read], undefined, new Map([['h', { fence }]]))?.since).to.equal(NOW_MS - 9_000);
  });

  it('since, of a holder without fencing: as it has published it, whatever the counter is', () => {
    const read = lockRead({ holders: [holderRead('h')], fence: NOW_MS * 1_000 - 9_000_000 });
    expect(of([read, read, read], undefined, new Map([['h', { sinceMs: NOW_MS - 1_000 }]]))?.since).to.equal(
      NOW_MS - 1_000,
    );
  });

  it('waiters: in the order of the master that knows of most, with the number of masters on which each waits', () => {
    const place = (waiter: string, sinceMs: number): LockRead['waiters'][number] => ({
      waiter,
      client: waiter,
      sinceMs,
    });
    const both = lockRead({ waiting: 2, waiters: [place('p', 5), place('q', 7)] });
    const one = lockRead({ waiting: 1, waiters: [place('q', 6)] });
    const lock = of([one, both, one]);
    expect(lock).to.include({ waiting: 2, waitingSince: 5 });
    expect(lock?.waiters.map(({ places, waiter }) => [waiter, places])).to.deep.equal([
      ['p', 1],
      ['q', 3],
    ]);
  });

  it('a shared lock: each holder that a quorum knows in one role', () => {
    const reader = (name: string): LockRead['holders'][number] => holderRead(name, { role: 'reader' });
    const read = lockRead({ kind: 'read-write', holders: [reader('r'), reader('s')] });
    const lone = lockRead({ kind: 'read-write', holders: [reader('r')] });
    const lock = of([read, read, lone]);
    expect(lock?.holders.map(({ holder, role }) => [holder, role])).to.deep.equal([
      ['r', 'reader'],
      ['s', 'reader'],
    ]);
    expect(lock?.kind).to.equal('read-write');
  });

  it('what an instance has published names its holder and waiters', () => {
    const instances = new Map([['client-h', { label: 'api-3', host: 'web1', pid: 7 }]]);
    const lock = combined({
      ...{ name: 'x', nodes: NODES, reads: [own, own, own], nowMs: NOW_MS, before: undefined },
      published: { ...NOTHING_PUBLISHED, instances },
    });
    expect(lock?.holders[0]).to.include({ label: 'api-3', host: 'web1', pid: 7, client: 'client-h' });
  });
});
