/** Taking a lock away from its holder, on somebody's order. */
import { quorumOf } from '../protocol/quorum.js';
import { hasForeign, takeable, takeFrom } from '../upkeep/freeing.js';
import { look, type Operated } from '../upkeep/sight.js';
import type { ActionName, ActionsShown } from './public.js';

/** What came of it. */
export interface ActionResult {
  readonly done: boolean;
  /** In words. */
  readonly outcome: string;
}

export type Act = (name: string) => Promise<ActionResult>;

/** The actions that an instance offers. @param graceMs  how long a holder has to stop when its lock is stolen */
export function actionsOver(operated: Operated, graceMs: number): Readonly<Record<ActionName, Act>> {
  return {
    free: (name) => take(operated, name, 0),
    steal: (name) => take(operated, name, graceMs),
    depose: (name) => depose(operated, name, graceMs),
  };
}

export function offered(actions: Partial<Record<ActionName, Act>>): ActionsShown {
  const has = (name: ActionName): boolean => actions[name] !== undefined;
  return { free: has('free'), steal: has('steal'), depose: has('depose') };
}

/** As `quorate unlock` does. */
async function take(operated: Operated, name: string, graceMs: number): Promise<ActionResult> {
  const { redlock, transports } = operated;
  const [seen, taking] = await Promise.all([look(operated, name), takeable(operated, name)]);
  const { held, silent, taken } = taking;
  const quorum = quorumOf(transports.length);
  if (taking.seen.length < quorum) return not(`${silent} masters do not answer, so it may be held there`);
  if (held.length === 0) return not('nobody holds it');
  if (held.some(({ holders }) => holders.isEndless))
    return not('it holds a value without expiry, which is no lock');
  if (hasForeign(held))
    return not('it holds a value that quorate did not write; quorate unlock --force deletes it');
  await takeFrom(redlock, taking, seen, { graceMs });
  const rest = silent === 0 ? '' : `; ${silent} did not answer, and votes there end by their ttl`;
  return { done: true, outcome: `released on ${taken.length} of ${transports.length} masters${rest}` };
}

async function depose({ redlock }: Operated, name: string, graceMs: number): Promise<ActionResult> {
  const wasHeld = await redlock.election(name).depose({ graceMs });
  return wasHeld ? { done: true, outcome: 'the leader is deposed' } : not('nobody leads');
}

function not(outcome: string): ActionResult {
  return { done: false, outcome };
}
