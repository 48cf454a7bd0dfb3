/** What one viewer looks at: a search, an order, a page, and the lock whose details are open. Pure. */
import type { LockKnown } from './combining.js';
import type { LockDetails, LockShown, LocksShown } from './public.js';

/** The orders in which locks are listed. */
const ORDERS = ['waiters', 'age', 'name', 'left'] as const;
/** One of them. */
export type Order = (typeof ORDERS)[number];

export interface View {
  /** A part of the name, or of its holder's label or fingerprint; with `*` or `?`, a pattern for the whole name. */
  readonly search: string;
  readonly order: Order;
  readonly offset: number;
  readonly limit: number;
  readonly lock: string | undefined;
}

const LIMIT = 50;
const MOST_LISTED = 200;
const LONGEST_SEARCH = 200;

/** Anything that makes no sense counts as left out. */
export function viewOf(query: URLSearchParams): View {
  const order = ORDERS.find((one) => one === query.get('sort')) ?? 'waiters';
  const lock = query.get('lock') ?? '';
  return {
    search: (query.get('search') ?? '').trim().slice(0, LONGEST_SEARCH),
    order,
    offset: count(query.get('offset'), 0, Number.MAX_SAFE_INTEGER),
    limit: Math.max(1, count(query.get('limit'), LIMIT, MOST_LISTED)),
    lock: lock === '' ? undefined : lock,
  };
}

function count(text: string | null, otherwise: number, most: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Math.min(Number(text), most) : otherwise;
}

/** The locks of a page. */
export function pageOf(
  locks: readonly LockKnown[],
  { limit, offset, order, search }: View,
): Omit<LocksShown, 'known' | 'isPartial'> {
  const isWanted = wanted(search);
  const matching = locks.filter((lock) => isListed(lock) && isWanted(lock)).sort(COMPARE[order]);
  const from = Math.min(offset, Math.max(0, Math.floor((matching.length - 1) / limit) * limit));
  return { rows: matching.slice(from, from + limit).map(rowOf), offset: from, matching: matching.length };
}

/** A job between two ticks is in its own list. */
export function isListed({ holding, state, waiting }: LockShown): boolean {
  return holding > 0 || waiting > 0 || state === 'contended' || state === 'unknown';
}

function rowOf({
  nodes: _nodes,
  waiters: _waiters,
  value: _value,
  record: _record,
  ...row
}: LockKnown): LockShown {
  return row;
}

export function detailsOf({ value: _value, record: _record, ...details }: LockKnown): LockDetails {
  return details;
}

const COMPARE: Readonly<Record<Order, (one: LockKnown, other: LockKnown) => number>> = {
  waiters: (one, other) => other.waiting - one.waiting || byAge(one, other),
  age: byAge,
  name: byName,
  left: (one, other) => (one.endsAt ?? Infinity) - (other.endsAt ?? Infinity) || byName(one, other),
};

/** The oldest first; those whose age is not known come last. */
function byAge(one: LockKnown, other: LockKnown): number {
  const [a, b] = [one.since ?? Infinity, other.since ?? Infinity];
  return a === b ? byName(one, other) : a - b;
}

function byName(one: LockKnown, other: LockKnown): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

function wanted(search: string): (lock: LockShown) => boolean {
  if (search === '') return () => true;
  if (/[*?]/.test(search)) {
    const matches = globbed(search);
    return ({ name }) => matches(name);
  }
  const part = search.toLowerCase();
  const isIn = (text: string | undefined): boolean => text?.toLowerCase().includes(part) === true;
  return ({ holders, name, note }) =>
    isIn(name) ||
    isIn(note) ||
    holders.some(({ client, holder, label }) => isIn(label) || isIn(holder) || isIn(client));
}

/** Whether a whole text matches a pattern with `*` and `?`. Runs of stars count as one, so it takes no longer than the product. */
export function globbed(pattern: string): (text: string) => boolean {
  const parts = pattern.replace(/\*+/g, '*');
  return (text) => {
    let [i, j, star, from] = [0, 0, -1, 0];
    while (i < text.length) {
      if (parts[j] === '*') [star, from] = [j++, i];
      else if (j < parts.length && (parts[j] === '?' || parts[j] === text[i])) [i, j] = [i + 1, j + 1];
      else if (star >= 0) [i, j] = [++from, star + 1];
      else return false;
    }
    while (parts[j] === '*') j++;
    return j === parts.length;
  };
}
