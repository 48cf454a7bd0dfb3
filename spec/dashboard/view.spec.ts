/** What one viewer looks at. */
import { expect } from 'chai';
import { globbed, pageOf, type View, viewOf } from '../../lib/dashboard/view.js';
import { holderRead, lockKnown, NOW_MS, noteRead } from './support.js';

const view = (query: string): View => viewOf(new URLSearchParams(query));
const names = (locks: Parameters<typeof pageOf>[0], query: string): readonly string[] =>
  pageOf(locks, view(query)).rows.map(({ name }) => name);

describe('what a viewer asks for', () => {
  it('anything that makes no sense counts as left out, and a page has 200 locks at most', () => {
    expect(view('')).to.deep.equal({ search: '', order: 'waiters', offset: 0, limit: 50, lock: undefined });
    expect(view('sort=size&offset=-1&limit=9999&lock=')).to.deep.equal({ ...view(''), limit: 200 });
    expect(view('limit=0').limit).to.equal(1);
  });
});

describe('a page of locks', () => {
  const held = (name: string, waiting: number, ageMs: number): ReturnType<typeof lockKnown> =>
    lockKnown(name, {
      holders: [holderRead(`of-${name}`, { remainingMs: 60_000 - ageMs })],
      fence: (NOW_MS - ageMs) * 1_000,
      waiting,
    });
  const locks = [held('a', 0, 3_000), held('b', 2, 1_000), held('c', 2, 2_000), held('d:1', 0, 4_000)];

  it('by waiters and then by age, by age, by name, by time left', () => {
    expect(names(locks, '')).to.deep.equal(['c', 'b', 'd:1', 'a']);
    expect(names(locks, 'sort=age')).to.deep.equal(['d:1', 'a', 'c', 'b']);
    expect(names(locks, 'sort=name')).to.deep.equal(['a', 'b', 'c', 'd:1']);
    expect(names(locks, 'sort=left')).to.deep.equal(['d:1', 'a', 'c', 'b']);
  });

  it('a page, and how many match; an offset behind the end is that of the last page', () => {
    expect(pageOf(locks, view('sort=name&limit=2&offset=2'))).to.include({ offset: 2, matching: 4 });
    expect(names(locks, 'sort=name&limit=3&offset=50')).to.deep.equal(['d:1']);
  });

  it('search: a part of the name, of a holder or of its instance; with a star, the whole name', () => {
    expect(names(locks, 'search=D:')).to.deep.equal(['d:1']);
    expect(names(locks, 'search=of-b')).to.deep.equal(['b']);
    expect(names(locks, 'search=d:*')).to.deep.equal(['d:1']);
    expect(names(locks, 'search=?')).to.have.members(['a', 'b', 'c']);
  });

  it('a job between two ticks is no lock in the list', () => {
    expect(names([lockKnown('job', { record: noteRead('2|1|d|0|0|every 60000') })], '')).to.deep.equal([]);
  });

  it('a row has neither its waiters nor its masters nor its notes', () => {
    const [row] = pageOf(locks, view('')).rows;
    expect(row).to.not.have.any.keys('waiters', 'nodes', 'value', 'record');
  });
});

describe('a pattern', () => {
  it('a star for any letters, a question mark for one, and nothing else is special', () => {
    expect(['', 'a', 'a.c', 'abc'].map(globbed('*'))).to.deep.equal([true, true, true, true]);
    expect(['invoice:', 'invoice:42', 'xinvoice:4'].map(globbed('invoice:*'))).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect(['a.c', 'abc'].map(globbed('a.c'))).to.deep.equal([true, false]);
    expect(['a-b-c', 'a-c', 'ab'].map(globbed('a*-?'))).to.deep.equal([true, true, false]);
  });

  it('many stars against a long text take no longer than their product', () => {
    expect(globbed('*a'.repeat(100))('b'.repeat(4_000))).to.equal(false);
  });
});
