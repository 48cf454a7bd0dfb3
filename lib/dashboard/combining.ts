/** One lock, by what all masters say of it. Pure. */
import { quorumOf } from '../protocol/quorum.js';
import { agreed } from '../upkeep/sight.js';
import type { Published } from './instances.js';
import type { HolderShown, LockDetails, VoteShown, WaiterShown } from './public.js';
import { type HolderRead, type LockRead, MOST_NAMED, type NoteRead } from './reading.js';

/** What the masters said of a lock, in their order; undefined for one that gave no answer. */
export interface Answers {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly reads: readonly (LockRead | undefined)[];
  /** The masters' time. */
  readonly nowMs: number;
  /** What was known before. */
  readonly before: LockKnown | undefined;
  readonly published: Published;
}

/** A lock, and the notes beside it. */
export interface LockKnown extends LockDetails {
  readonly value: NoteRead | undefined;
  readonly record: NoteRead | undefined;
}

/** Ends that differ by less are the same: the time left is measured to within a round trip. */
const SAME_MS = 400;

/** @returns undefined if no master has anything of it */
export function combined(answers: Answers): LockKnown | undefined {
  const { before, name, nodes, nowMs, reads } = answers;
  const known = reads.filter((read) => read !== undefined);
  if (known.length === 0) return before;
  if (known.every(isNothing)) return undefined;
  const quorum = quorumOf(nodes.length);
  const found = withQuorum(known, quorum);
  const granted = found.map(({ holder }) => holder);
  const [value, record] = [latestOf(known, 'value'), latestOf(known, 'record')];
  const fence = fenceOf(known, quorum, { ...answers, holders: granted, notes: [value, record] });
  const holders = granted.map((holder) => shown(holder, fence, answers));
  const holding = Math.max(holders.length, holders.length < MOST_NAMED ? 0 : (middle(known) ?? 0));
  const since = Math.min(...holders.map((holder) => holder.since ?? Infinity));
  const votes = reads.map((read, i) => voteOf(nodes[i] ?? '', read, holders, nowMs));
  const latest = [...known].sort((a, b) => b.waiting - a.waiting)[0];
  const waiters = waitersOf(known, latest, answers);
  const [first] = waiters;
  const endsAt = endOf(found, nowMs, before?.endsAt);
  const note = holders
    .map(({ holder }) => answers.published.notes.get(holder))
    .find((one) => one !== undefined);
  return {
    name,
    kind: kindOf(known) ?? before?.kind ?? 'mutex',
    use: record !== undefined ? 'job' : value !== undefined ? 'election' : 'lock',
    state: stateOf(votes, holders.length, quorum),
    ...{ holders, holding },
    ...(fence === undefined ? {} : { fence }),
    ...(since === Infinity ? {} : { since }),
    ...(endsAt === undefined ? {} : { endsAt }),
    waiting: latest?.waiting ?? 0,
    ...(first === undefined ? {} : { waitingSince: first.since }),
    votes: votes.map(({ state }) => state),
    ...(note === undefined ? {} : { note }),
    nodes: votes,
    waiters,
    ...{ value, record },
  };
}

function isNothing({ holders, kind, record, value, waiting }: LockRead): boolean {
  const isFree = kind === 'none' || kind === 'foreign' || holders.length === 0;
  return isFree && waiting === 0 && record === undefined && value === undefined;
}

interface Quorum {
  readonly holder: HolderRead;
  /** By master, the longest first. */
  readonly remainingMs: number;
}

/** The holders that a quorum of masters know with the same role and permits. */
function withQuorum(reads: readonly LockRead[], quorum: number): readonly Quorum[] {
  const votes = new Map<string, HolderRead[]>();
  for (const holder of reads.flatMap((read) => read.holders)) {
    const id = `${holder.holder} ${holder.role} ${holder.slots.join()}`;
    votes.set(id, [...(votes.get(id) ?? []), holder]);
  }
  return [...votes.values()].flatMap((some) => {
    const [holder] = some;
    if (holder === undefined || some.length < quorum) return [];
    const times = some.map(({ remainingMs }) => remainingMs).sort((a, b) => b - a);
    return [{ holder, remainingMs: times[quorum - 1] ?? 0 }]; // until fewer than a quorum of votes are left
  });
}

/**
 * The masters forget a counter a minute after its last use. A holder's record, and the note of a leader or a job's run, keep the
 * token; and a holder that is the same has the same.
 */
function fenceOf(
  reads: readonly LockRead[],
  quorum: number,
  {
    before,
    holders,
    notes,
    published,
  }: Pick<Answers, 'before' | 'published'> & {
    readonly holders: readonly HolderRead[];
    readonly notes: readonly (NoteRead | undefined)[];
  },
): number | undefined {
  const counted = agreed(
    reads.map((read) => read.fence),
    quorum,
  );
  const isSame = holders.length > 0 && before?.holders[0]?.holder === holders[0]?.holder;
  const noted = notes.find((note) => note?.isHolders === true);
  const told = published.grants.get(holders[0]?.holder ?? '')?.fence;
  return told ?? counted ?? noted?.fence ?? (isSame ? before?.fence : undefined);
}

/** When the last of the holders has no quorum any more; a renewal moves it, the measurement does not. */
function endOf(found: readonly Quorum[], nowMs: number, beforeMs: number | undefined): number | undefined {
  if (found.length === 0) return undefined;
  const leftMs = Math.max(...found.map(({ remainingMs }) => remainingMs));
  if (leftMs === Infinity) return undefined;
  const endsAt = Math.round(nowMs + leftMs);
  return beforeMs !== undefined && Math.abs(endsAt - beforeMs) < SAME_MS ? beforeMs : endsAt;
}

function shown(
  holding: HolderRead,
  fence: number | undefined,
  { before, published }: Pick<Answers, 'before' | 'published'>,
): HolderShown {
  const { client, holder, role, slots } = holding;
  const since =
    grantOf(holding, fence, published) ?? before?.holders.find((one) => one.holder === holder)?.since;
  return {
    holder,
    client,
    role,
    slots,
    ...(since === undefined ? {} : { since }),
    ...published.instances.get(client),
  };
}

/** The last fencing token is a writer's: it does not show since when readers and holders of permits have the lock. */
function grantOf(
  { holder, role }: HolderRead,
  fence: number | undefined,
  { grants }: Published,
): number | undefined {
  const own = grants.get(holder);
  const counted = role === 'holder' || role === 'writer' ? fence : undefined;
  const token = own?.fence ?? counted;
  return own?.sinceMs ?? (token === undefined ? undefined : Math.round(token / 1_000));
}

function voteOf(
  node: string,
  read: LockRead | undefined,
  holders: readonly HolderShown[],
  nowMs: number,
): VoteShown {
  if (read === undefined) return { node, state: 'unknown', cause: 'no answer' };
  if (read.kind === 'foreign') return { node, state: 'foreign' };
  const ids = holders.map(({ holder }) => holder);
  const own = read.holders.find(({ holder }) => ids.includes(holder));
  const one = own ?? read.holders[0];
  if (one === undefined) return { node, state: 'free' };
  const ends = one.remainingMs === Infinity ? {} : { endsAt: Math.round(nowMs + one.remainingMs) };
  return { node, state: own === undefined ? 'other' : 'granted', holder: one.holder, ...ends };
}

function stateOf(votes: readonly VoteShown[], held: number, quorum: number): LockDetails['state'] {
  if (held > 0) return 'held';
  const count = (state: VoteShown['state']): number => votes.filter((vote) => vote.state === state).length;
  if (count('free') >= quorum) return 'free';
  return count('unknown') > votes.length - quorum ? 'unknown' : 'contended';
}

function kindOf(reads: readonly LockRead[]): LockDetails['kind'] | undefined {
  const kinds = reads.map(({ kind }) => kind);
  return kinds.find((kind): kind is LockDetails['kind'] => kind !== 'none' && kind !== 'foreign');
}

/** How many hold it by the master in the middle, of those that know of most. */
function middle(reads: readonly LockRead[]): number | undefined {
  return reads.map(({ holding }) => holding).sort((a, b) => b - a)[quorumOf(reads.length) - 1];
}

/** In the order of the master that knows of most. */
function waitersOf(
  reads: readonly LockRead[],
  latest: LockRead | undefined,
  { published: { instances } }: Answers,
): readonly WaiterShown[] {
  const places = new Map<string, number>();
  for (const { waiter } of reads.flatMap(({ waiters }) => waiters))
    places.set(waiter, (places.get(waiter) ?? 0) + 1);
  return (latest?.waiters ?? []).map(({ client, sinceMs, waiter }) => ({
    ...{ waiter, client, since: Math.round(sinceMs), places: places.get(waiter) ?? 1 },
    ...instances.get(client),
  }));
}

function latestOf(reads: readonly LockRead[], what: 'value' | 'record'): NoteRead | undefined {
  const notes = reads.flatMap((read) => read[what] ?? []);
  return notes.reduce<NoteRead | undefined>(
    (one, other) => (one === undefined || isLater(other, one) ? other : one),
    undefined,
  );
}

/** Of the same write, that which a vote confirms. */
function isLater(one: NoteRead, other: NoteRead): boolean {
  if (one.fence !== other.fence) return one.fence > other.fence;
  return one.seq > other.seq || (one.seq === other.seq && one.isHolders && !other.isHolders);
}
