/** Taking a lock away from its holder, on somebody's order. */
import { quorumOf } from '../protocol/quorum.js';
import type { Election } from '../election/public.js';
import type { Redlock } from '../redlock.js';
import { isOurs } from '../runtime/random.js';
import { forbid, releaseAll, takeable } from '../upkeep/freeing.js';
import type { Operated } from '../upkeep/sight.js';
import type { ActionName, ActionsShown } from './public.js';

/** What an instance may offer besides. */
interface Stealing {
  steal?(name: string, options: { readonly graceMs: number }): Promise<unknown>;
}

interface Deposing {
  depose?(): Promise<unknown>;
}

/** What came of it. */
export interface ActionResult {
  readonly done: boolean;
  /** In words. */
  readonly outcome: string;
}

export type Act = (name: string) => Promise<ActionResult>;

/** The actions that this instance offers. */
export function actionsOver(operated: Operated, graceMs: number): Partial<Record<ActionName, Act>> {
  const { redlock } = operated;
  const stealing = redlock as Redlock & Stealing; // an instance may lack it
  const deposing = (name: string): Deposing => redlock.election(name) as Election & Deposing; // likewise
  return {
    free: (name) => free(operated, name),
    ...(stealing.steal === undefined ? {} : { steal: (name: string) => steal(stealing, name, graceMs) }),
    ...(deposing('any').depose === undefined ? {} : { depose: (name: string) => depose(deposing(name)) }),
  };
}

export function offered(actions: Partial<Record<ActionName, Act>>): ActionsShown {
  const has = (name: ActionName): boolean => actions[name] !== undefined;
  return { free: has('free'), steal: has('steal'), depose: has('depose') };
}

/** As `quorate unlock` does. */
async function free(operated: Operated, name: string): Promise<ActionResult> {
  const taking = await takeable(operated, name);
  const { held, seen, silent, taken } = taking;
  const quorum = quorumOf(operated.transports.length);
  if (seen.length < quorum) return not(`${silent} masters do not answer, so it may be held there`);
  if (held.length === 0) return not('nobody holds it');
  if (held.some(({ holders }) => holders.isEndless))
    return not('it holds a value without expiry, which is no lock');
  if (held.some(({ holders }) => holders.tokens.some((token) => !isOurs(token))))
    return not('it holds a value that quorate did not write; quorate unlock --force deletes it');
  await forbid(taking);
  await releaseAll(taking);
  const rest = silent === 0 ? '' : `; ${silent} did not answer, and votes there end by their ttl`;
  return {
    done: true,
    outcome: `released on ${taken.length} of ${operated.transports.length} masters${rest}`,
  };
}

async function steal(stealing: Stealing, name: string, graceMs: number): Promise<ActionResult> {
  await stealing.steal?.(name, { graceMs });
  return { done: true, outcome: 'taken from its holder' };
}

async function depose(election: Deposing): Promise<ActionResult> {
  await election.depose?.();
  return { done: true, outcome: 'the leader is deposed' };
}

function not(outcome: string): ActionResult {
  return { done: false, outcome };
}
