/**
 * The *home master* of a resource: where waiters without a queue meet. It is the same for all clients.
 */
import type { Node } from '../node/node.js';
import type { Round } from '../quorum/round.js';
import { NOT_ASKED } from '../redis/server-errors.js';

/**
 * The first healthy master, in an order that depends on the resource; undefined with a single master.
 *
 * @param nodesByName  sorted alike by all clients
 */
export function homeMasterOf(nodesByName: readonly Node[], key: string): Node | undefined {
  if (nodesByName.length === 1) return undefined;
  const first = hash(key) % nodesByName.length;
  const order = [...nodesByName.slice(first), ...nodesByName.slice(0, first)];
  return order.find((node) => node.isHealthy);
}

/** Asks the other masters only if the home master grants. @returns whether all were asked */
export async function askHomeMasterFirst(nodes: readonly Node[], round: Round, home: Node): Promise<boolean> {
  await round.ask([home]);
  if (round.outcomes[home.index]?.kind === 'granted') {
    await round.ask(nodes.filter((node) => node !== home));
    return true;
  }
  round.end(NOT_ASKED, false);
  return false;
}

/** FNV-1a: spreads resources over the masters, alike in every client. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return sum;
}
