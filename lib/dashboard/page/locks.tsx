/** The list of locks. */
import type { JSX } from 'preact';
import type { LockShown, LocksShown } from '../public.js';
import { count, counted, duration } from './format.js';
import type { Query } from './feed.js';
import { Empty, Holder, Pill, Since, type Tone, Votes } from './shown.js';

const SORTS = { waiters: 'most waiters', age: 'oldest', left: 'least time left', name: 'name' } as const;
const STATES: Readonly<Record<LockShown['state'], Tone>> = {
  held: 'good',
  free: 'quiet',
  contended: 'warn',
  unknown: 'bad',
};
const PAGE = 50;

export interface LocksProps {
  readonly locks: LocksShown;
  readonly query: Query;
  readonly now: number;
  readonly onQuery: (change: Partial<Query>) => void;
  readonly onOpen: (name: string) => void;
}

export function Locks({ locks, now, onOpen, onQuery, query }: LocksProps): JSX.Element {
  const { isPartial, known, matching, rows } = locks;
  return (
    <section class="locks" aria-labelledby="locks">
      <div class="heading">
        <h2 id="locks">Locks</h2>
        <span class="quiet" role="status">
          {query.search === '' ? counted(matching, 'lock') : `${count(matching)} of ${count(known)} match`}
          {isPartial ? ', and there may be more' : ''}
        </span>
        <label class="sort">
          <span class="quiet">Sort by</span>
          <select
            value={query.sort}
            onChange={(event) => onQuery({ sort: event.currentTarget.value, offset: 0 })}
          >
            {Object.entries(SORTS).map(([sort, text]) => (
              <option key={sort} value={sort}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {rows.length === 0 ? (
        <Empty>{query.search === '' ? 'No lock is held.' : 'No locks match.'}</Empty>
      ) : (
        <Table rows={rows} sort={query.sort} now={now} onOpen={onOpen} />
      )}
      <Pages locks={locks} onQuery={onQuery} />
    </section>
  );
}

function Table({
  now,
  onOpen,
  rows,
  sort,
}: {
  readonly rows: readonly LockShown[];
  readonly sort: string;
  readonly now: number;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  const sorted = (
    by: string,
    how: 'ascending' | 'descending',
  ): { 'aria-sort'?: 'ascending' | 'descending' } => (sort === by ? { 'aria-sort': how } : {});
  return (
    <div class="table" onKeyDown={moveAmongRows}>
      <table>
        <thead>
          <tr>
            <th scope="col" {...sorted('name', 'ascending')}>
              Name
            </th>
            <th scope="col">State</th>
            <th scope="col">Held by</th>
            <th scope="col" class="number" {...sorted('age', 'descending')}>
              Since
            </th>
            <th scope="col" class="number" {...sorted('left', 'ascending')}>
              Time left
            </th>
            <th scope="col" class="number" {...sorted('waiters', 'descending')}>
              Waiting
            </th>
            <th scope="col">Votes</th>
            <th scope="col" class="number fence">
              Fence
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((lock) => (
            <Row key={lock.name} lock={lock} now={now} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({
  lock,
  now,
  onOpen,
}: {
  readonly lock: LockShown;
  readonly now: number;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  const { endsAt, fence, holders, holding, name, since, state, votes, waiting, waitingSince } = lock;
  const [first] = holders;
  return (
    <tr onClick={() => onOpen(name)}>
      <NameCell lock={lock} onOpen={onOpen} />
      <td data-name="State">
        <Pill tone={STATES[state]}>{state}</Pill>
      </td>
      <td data-name="Held by">
        {first === undefined ? <span class="quiet">–</span> : <Holder holder={first} />}
        {holding > 1 ? <span class="quiet"> and {count(holding - 1)} more</span> : null}
      </td>
      <td class="number" data-name="Since">
        {since === undefined ? '–' : <Since at={since} now={now} />}
      </td>
      <td class="number" data-name="Time left">
        {first === undefined ? '–' : endsAt === undefined ? 'no end' : duration(endsAt - now)}
      </td>
      <td class="number" data-name="Waiting">
        {waiting === 0 ? <span class="quiet">0</span> : <strong>{count(waiting)}</strong>}
        {waitingSince === undefined ? null : <span class="quiet"> · {duration(now - waitingSince)}</span>}
      </td>
      <td data-name="Votes">
        <Votes votes={votes} />
      </td>
      <td class="number fence mono" data-name="Fence">
        {fence ?? '–'}
      </td>
    </tr>
  );
}

function NameCell({
  lock: { kind, name, note, use },
  onOpen,
}: {
  readonly lock: LockShown;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  return (
    <th scope="row">
      <button type="button" class="link name" onClick={() => onOpen(name)}>
        {name}
      </button>
      {use !== 'lock' || kind !== 'mutex' ? (
        <span class="quiet kind">{use === 'lock' ? kind : use}</span>
      ) : null}
      {note === undefined ? null : <span class="quiet note">{note}</span>}
    </th>
  );
}

/** The arrows, Home and End move among the names. */
function moveAmongRows(event: KeyboardEvent): void {
  const names = [...document.querySelectorAll<HTMLButtonElement>('.locks .name')];
  const at = names.findIndex((name) => name === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  names[Math.max(0, Math.min(to, names.length - 1))]?.focus();
}

function Pages({
  locks: { matching, offset, rows },
  onQuery,
}: Pick<LocksProps, 'locks' | 'onQuery'>): JSX.Element | null {
  if (matching <= PAGE) return null;
  const turnTo = (first: number): void => {
    onQuery({ offset: first });
    document.querySelector('#locks')?.scrollIntoView({ block: 'start' });
  };
  return (
    <nav class="pages" aria-label="Pages of locks">
      <button type="button" disabled={offset === 0} onClick={() => turnTo(Math.max(0, offset - PAGE))}>
        Previous
      </button>
      <span>
        {count(offset + 1)}–{count(offset + rows.length)} of {count(matching)}
      </span>
      <button type="button" disabled={offset + rows.length >= matching} onClick={() => turnTo(offset + PAGE)}>
        Next
      </button>
    </nav>
  );
}
