/** What every scenario is given. */
import type { Master } from '../../scripts/masters.js';
import type { ClientName } from '../contenders/connection.js';
import type { ContenderName } from '../contenders/index.js';
import { Trouble, type Team } from '../crew.js';
import type { Load, Plan } from '../plan.js';

export interface Scene {
  readonly team: Team;
  readonly masters: readonly Master[];
  readonly plan: Plan;
  readonly contenders: readonly ContenderName[];
  /** By which all of them are connected. */
  readonly client: ClientName;
  /** Says how far the scenario is: `share` from 0 to 1. */
  readonly tell: (what: string, share: number) => void;
}

export function urlsOf({ masters }: Scene, nodes: number): readonly string[] {
  return masters.slice(0, nodes).map(({ url }) => url);
}

export function sessionOf(nodes: number, delayMs = 0): string {
  return delayMs === 0 ? `n${nodes}` : `n${nodes}, ${delayMs} ms away`;
}

/** @returns what the contender did wrong, if it did. @throws everything else */
export async function troubleOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Trouble) return error.message;
    throw error;
  }
}

/** One turn. The answers that come in after the last quorum must not fall into the turn of the next one. */
export async function turn(
  scene: Scene,
  name: ContenderName,
  { nodes, inFlight, isOnce, works, delayMs }: Load,
  durationMs: number,
): Promise<void> {
  const { capMs, leadInMs } = scene.plan;
  const session = sessionOf(nodes, delayMs);
  const worker = await scene.team.opened(name, session, urlsOf(scene, nodes));
  const how = { ...(isOnce === undefined ? {} : { isOnce }), ...(works === undefined ? {} : { works }) };
  const order = { kind: 'run', session, leadInMs, durationMs, inFlight, ...how } as const;
  await worker.order(order, { capMs, durationMs: leadInMs + durationMs });
  await worker.order({ kind: 'settle', session }, { capMs });
}

/** Turns the list so that each is first, last and in the middle equally often. */
export function rotate<Item>(items: readonly Item[], by: number): readonly Item[] {
  const first = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
