/** What the server sends: a stream of changes, which is opened again whenever it is lost. */
import type { ActionName, DashboardSnapshot } from '../public.js';

/** What the page asks for. */
export interface Query {
  readonly search: string;
  readonly sort: string;
  readonly offset: number;
  readonly lock: string | undefined;
}

/** How it goes. `locked`: a token is needed, or the given one is wrong. */
export type FeedState =
  | { readonly kind: 'connecting' | 'live' }
  | { readonly kind: 'locked'; readonly isWrong: boolean }
  | { readonly kind: 'lost'; readonly reason: string };

export interface FeedListener {
  readonly onChange: (change: Partial<DashboardSnapshot>) => void;
  readonly onState: (state: FeedState) => void;
}

/** How long the stream may be silent before it counts as lost, in ms; the server sends something every half a second. */
const SILENCE_MS = 8_000;
const [AGAIN_MS, SLOWEST_MS] = [500, 5_000];
const TOKEN = 'quorate-token';
const LIVE: FeedState = { kind: 'live' };

export function paramsOf({ lock, offset, search, sort }: Query): URLSearchParams {
  const params = new URLSearchParams();
  if (search !== '') params.set('search', search);
  if (sort !== 'waiters') params.set('sort', sort);
  if (offset > 0) params.set('offset', String(offset));
  if (lock !== undefined) params.set('lock', lock);
  return params;
}

function headers(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

export function giveToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** @returns what ends it */
export function follow(query: Query, listener: FeedListener): () => void {
  const controller = new AbortController();
  void keepFollowing(query, listener, controller.signal);
  return () => controller.abort();
}

async function keepFollowing(query: Query, listener: FeedListener, signal: AbortSignal): Promise<void> {
  let pauseMs = AGAIN_MS;
  while (!signal.aborted) {
    const ending = await readOnce(query, listener, signal, () => (pauseMs = AGAIN_MS));
    if (signal.aborted) return;
    listener.onState(ending);
    if (ending.kind === 'locked') return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(2 * pauseMs, SLOWEST_MS);
  }
}

/** @returns why it ended */
async function readOnce(
  query: Query,
  { onChange, onState }: FeedListener,
  signal: AbortSignal,
  onLive: () => void,
): Promise<FeedState> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await fetch(`api/events?${paramsOf(query).toString()}`, {
      headers: headers(),
      cache: 'no-store',
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.status === 401) return { kind: 'locked', isWrong: headers()['authorization'] !== undefined };
    if (!response.ok || response.body === null) return { kind: 'lost', reason: await errorIn(response) };
    const events = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await events.read();
      if (done) return { kind: 'lost', reason: 'the server has ended the connection' };
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      onLive();
      onState(LIVE);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block.split('\n').find((line) => line.startsWith('data: '));
        if (data !== undefined)
          onChange(JSON.parse(data.slice('data: '.length)) as Partial<DashboardSnapshot>);
      }
    }
  } catch {
    return { kind: 'lost', reason: 'the server does not answer' };
  } finally {
    clearTimeout(timer);
  }
}

async function errorIn(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { readonly error?: unknown };
    return typeof error === 'string' ? error : `the server answered ${response.status}`;
  } catch {
    return `the server answered ${response.status}`;
  }
}

export interface ActionOutcome {
  readonly done: boolean;
  readonly outcome: string;
}

export async function act(action: ActionName, name: string, confirm: string): Promise<ActionOutcome> {
  try {
    const response = await fetch('api/actions', {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'application/json', 'x-quorate-dashboard': '1' },
      body: JSON.stringify({ action, name, confirm }),
    });
    const said = (await response.json()) as Partial<ActionOutcome> & { readonly error?: string };
    return {
      done: said.done === true,
      outcome: said.outcome ?? said.error ?? `the server answered ${response.status}`,
    };
  } catch {
    return { done: false, outcome: 'the server does not answer; look whether it was done' };
  }
}
