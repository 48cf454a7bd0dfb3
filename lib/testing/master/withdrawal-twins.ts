/** Twins of the scripts that give votes back, one by one as in `lua/mutex.ts`, and of what `lua/taken.ts` does. */
import { MOST_TAKEN, TAKE } from '../../protocol/lua/taken.js';
import type { Script } from '../../redis/script.js';
import type { Reply } from './counter-twins.js';
import { WRONG_TYPE } from './keyspace.js';
import { type Direct, markedFor, type Waited } from './queue-line.js';
import { deleteVote, leave } from './queue-twins.js';
import type { Spare, Store, Twin } from './store.js';

/** One resource of a release or an undo. */
interface Given {
  readonly waited: Waited;
  readonly direct: Direct | undefined;
}

/** The resources of a release or an undo; a caller that gives a proposal names terms and counters, too. */
function given(keys: readonly string[], proposal: string | undefined): readonly Given[] {
  const n = keys.length / (proposal === undefined ? 3 : 5);
  const at = (part: number, i: number): string => keys[part * n + i] ?? '';
  return keys.slice(0, n).map((lock, i) => ({
    waited: [lock, at(1, i), at(2, i)],
    direct:
      proposal === undefined ? undefined : { terms: at(3, i), counter: at(4, i), proposal: Number(proposal) },
  }));
}

/**
 * Votes first, then queues.
 * @returns how many votes there were, and whether more waiters are gone than may be dropped
 */
function withdraw(
  store: Store,
  resources: readonly Given[],
  token: string,
  spare: Spare,
): { readonly deleted: number; readonly isMore: boolean } {
  const all = resources.map((resource) => ({ ...resource, ...deleteVote(store, resource.waited, token) }));
  const awaited = all.filter(({ isAwaited }) => isAwaited);
  const isMore = awaited.map((resource) => leave(store, resource, token, spare)).includes(true);
  return { deleted: all.filter(({ isGone }) => isGone).length, isMore };
}

export function undo(
  store: Store,
  keys: readonly string[],
  [token = '', proposal]: readonly string[],
  spare: Spare,
): Reply {
  const all = given(keys, proposal);
  const locks = all.map(({ waited: [lock] }) => lock);
  const isWrongType = locks.some((key) => store.get(key) === WRONG_TYPE);
  const own = [undefined, token, markedFor(token)];
  const others = locks.filter((key) => !own.includes(textAt(store, key)));
  const left = others.length === 0 ? -2 : longest(others.map((key) => store.pttl(key)));
  const { deleted, isMore } = withdraw(store, all, token, spare);
  return [deleted, left, (isWrongType ? 1 : 0) + (isMore ? 2 : 0)];
}

export function release(
  store: Store,
  keys: readonly string[],
  [token = '', proposal]: readonly string[],
  spare: Spare,
): number {
  const { deleted, isMore } = withdraw(store, given(keys, proposal), token, spare);
  return isMore ? -1 - deleted : deleted;
}

/** The value of a key, if it is a string. */
export function textAt(store: Store, key: string): string | undefined {
  const content = store.get(key);
  return content === WRONG_TYPE ? undefined : content;
}

/** Of times left, as PTTL gives them: −1 is without end. */
export function longest(ttls: readonly number[]): number {
  return ttls.includes(-1) ? -1 : Math.max(...ttls);
}

/** Splits the list off the keys of an extension that looks at it. */
export function takenAway(
  keys: readonly string[],
  creation: string | undefined,
  guard: number,
): { readonly keys: readonly string[]; readonly taken: string | undefined } {
  if (creation !== '2') return { keys, taken: undefined };
  const at = keys.length - (guard < 0 ? 1 : 2);
  return { keys: keys.filter((_key, i) => i !== at), taken: keys[at] };
}

export function isTaken(store: Store, taken: string | undefined, token: string): boolean {
  const found = taken === undefined ? undefined : store.get(taken);
  return typeof found === 'string' && found.includes(`\n${token}\n`);
}

function take(store: Store, [key = '']: readonly string[], [life, ...tokens]: readonly string[]): number {
  const found = store.get(key);
  const before = typeof found === 'string' ? found.split('\n') : [];
  const kept = before.filter((token) => token !== '' && !tokens.includes(token));
  const all = [...kept, ...tokens].slice(-MOST_TAKEN);
  store.set(key, `\n${all.join('\n')}\n`, Math.max(Number(life), store.pttl(key)));
  return all.length;
}

export const TAKEN_TWINS: readonly (readonly [Script, Twin])[] = [[TAKE, take]];
