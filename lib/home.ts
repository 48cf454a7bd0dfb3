/**
 * The *home* master of a resource: where contenders meet that do not wait in line, the same for all clients.
 */
import type { Node } from './node.js';

/**
 * The first that is healthy, in an order that goes by the resource; undefined where there is nothing to choose.
 *
 * @param nodesByName  in an order on which clients agree
 */
export function homeOf(nodesByName: readonly Node[], key: string): Node | undefined {
  if (nodesByName.length === 1) return undefined;
  const first = hash(key) % nodesByName.length;
  const order = [...nodesByName.slice(first), ...nodesByName.slice(0, first)];
  return order.find((node) => node.isHealthy);
}

/** FNV-1a: spreads resources over the masters, the same in every client. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return sum;
}
