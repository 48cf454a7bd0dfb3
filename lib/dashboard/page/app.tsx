/** The page: what it asks for, what it got, and its parts. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { DashboardSnapshot } from '../public.js';
import { Jobs, Leaders } from './coordination.js';
import { Details } from './details.js';
import { type FeedState, follow, giveToken, paramsOf, type Query } from './feed.js';
import { Locks } from './locks.js';
import { Masters } from './masters.js';
import { Minute } from './minute.js';
import { Pill } from './shown.js';

/** The server's clock is the masters'; ours may be another. */
interface Known {
  readonly shown: DashboardSnapshot;
  /** The masters' time, less ours. */
  readonly aheadMs: number;
}

const SECOND_MS = 1_000;
/** While somebody types, the list is asked for once that long after the last letter, in ms. */
const TYPING_MS = 150;

export function App(): JSX.Element {
  const [query, setQuery] = useState(queryInUrl);
  const [state, setState] = useState<FeedState>({ kind: 'connecting' });
  const [token, setToken] = useState('');
  const known = useFeed(query, token, setState);
  const now = useNow(known?.aheadMs ?? 0);
  const change = useCallback((some: Partial<Query>) => setQuery((before) => ({ ...before, ...some })), []);
  const open = useCallback((lock: string) => change({ lock }), [change]);
  useSlashKey();
  useEffect(() => {
    const params = paramsOf(query).toString();
    history.replaceState(null, '', params === '' ? location.pathname : `?${params}`);
  }, [query]);

  if (state.kind === 'locked')
    return (
      <TokenForm
        isWrong={state.isWrong}
        onToken={(given) => {
          giveToken(given);
          setState({ kind: 'connecting' });
          setToken(given);
        }}
      />
    );
  return (
    <>
      <Header query={query} state={state} keyPrefix={known?.shown.keyPrefix ?? ''} onQuery={change} />
      {state.kind === 'lost' ? (
        <div class="banner" role="alert">
          Not connected: {state.reason}. Trying again… What is shown is old.
        </div>
      ) : null}
      <main>
        {known === undefined ? (
          <p class="empty">The masters are asked…</p>
        ) : (
          <Parts known={known} query={query} now={now} onQuery={change} onOpen={open} />
        )}
      </main>
      {query.lock === undefined || known === undefined ? null : (
        <Details
          name={query.lock}
          lock={
            known.shown.lock?.name === query.lock
              ? known.shown.lock
              : known.shown.lock === null
                ? null
                : undefined
          }
          now={now}
          actions={known.shown.actions}
          onClose={() => change({ lock: undefined })}
        />
      )}
    </>
  );
}

function Parts({
  known: { shown },
  now,
  onOpen,
  onQuery,
  query,
}: {
  readonly known: Known;
  readonly query: Query;
  readonly now: number;
  readonly onQuery: (change: Partial<Query>) => void;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  return (
    <>
      <Masters masters={shown.masters} findings={shown.findings} />
      <div class="columns">
        <Locks locks={shown.locks} query={query} now={now} onQuery={onQuery} onOpen={onOpen} />
        <div class="aside">
          <Minute minute={shown.minute} />
          <Leaders leaders={shown.leaders} now={now} onOpen={onOpen} />
          <Jobs jobs={shown.jobs} now={now} onOpen={onOpen} />
        </div>
      </div>
    </>
  );
}

const STATES = { connecting: 'connecting', live: 'live', locked: 'locked', lost: 'not connected' } as const;

function Header({
  keyPrefix,
  onQuery,
  query,
  state,
}: {
  readonly query: Query;
  readonly state: FeedState;
  readonly keyPrefix: string;
  readonly onQuery: (change: Partial<Query>) => void;
}): JSX.Element {
  const [typed, type] = useState(query.search);
  useEffect(() => {
    if (typed === query.search) return undefined;
    const timer = setTimeout(() => onQuery({ search: typed, offset: 0 }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <header class="top">
      <h1>
        quorate <span class="quiet">{keyPrefix === '' ? 'locks' : keyPrefix}</span>
      </h1>
      <div class="search">
        <input
          type="search"
          id="search"
          aria-label="Search locks by name, holder or note"
          aria-keyshortcuts="/"
          placeholder="Search, or invoice:*"
          value={typed}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') type('');
          }}
          autocomplete="off"
          spellcheck={false}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <span role="status" class="connection">
        <Pill tone={state.kind === 'live' ? 'good' : state.kind === 'lost' ? 'bad' : 'quiet'}>
          {STATES[state.kind]}
        </Pill>
      </span>
    </header>
  );
}

function TokenForm({
  isWrong,
  onToken,
}: {
  readonly isWrong: boolean;
  readonly onToken: (token: string) => void;
}): JSX.Element {
  const [typed, type] = useState('');
  return (
    <main class="token">
      <h1>quorate</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== '') onToken(typed);
        }}
      >
        <label>
          The token of this dashboard
          <input
            type="password"
            value={typed}
            onInput={(event) => type(event.currentTarget.value)}
            autocomplete="current-password"
          />
        </label>
        <p role="alert" class="bad-text">
          {isWrong ? 'This is not the token.' : ''}
        </p>
        <button type="submit">Show the locks</button>
      </form>
    </main>
  );
}

function queryInUrl(): Query {
  const params = new URLSearchParams(location.search);
  const offset = Number(params.get('offset') ?? 0);
  return {
    search: params.get('search') ?? '',
    sort: params.get('sort') ?? 'waiters',
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    lock: params.get('lock') ?? undefined,
  };
}

function useFeed(query: Query, token: string, onState: (state: FeedState) => void): Known | undefined {
  const [known, setKnown] = useState<Known | undefined>(undefined);
  useEffect(
    () =>
      follow(query, {
        onState,
        onChange: (change) => {
          const aheadMs = (change.at ?? 0) - Date.now();
          setKnown((before) => ({
            shown: { ...before?.shown, ...change } as DashboardSnapshot, // the first change of a stream has all parts
            aheadMs:
              before !== undefined && Math.abs(before.aheadMs - aheadMs) < SECOND_MS
                ? before.aheadMs
                : aheadMs,
          }));
        },
      }),
    [query.search, query.sort, query.offset, query.lock, token],
  );
  return known;
}

/** The masters' time, second by second. */
function useNow(aheadMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  return now + aheadMs;
}

/** A slash goes to the search, as long as nobody types elsewhere. */
function useSlashKey(): void {
  const listener = useRef((event: KeyboardEvent): void => {
    const { target } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    document.querySelector<HTMLInputElement>('#search')?.focus();
  });
  useEffect(() => {
    const { current } = listener;
    document.addEventListener('keydown', current);
    return () => document.removeEventListener('keydown', current);
  }, []);
}
