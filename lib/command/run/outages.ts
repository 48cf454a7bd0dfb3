/** Says which masters are away, for commands that wait without end and would be silent meanwhile. */
import type { Redlock } from '../../redlock.js';
import { complain, shownTime } from '../terminal.js';

/** One line as a master goes, and one as it is back. */
export function tellOfOutages(redlock: Redlock): void {
  const away = new Set<string>();
  redlock.on('nodeDown', ({ node, cause }) => {
    away.add(node);
    complain(`${node} does not take part: ${cause.message}`);
  });
  redlock.on('nodeUp', ({ node, downMs }) => {
    if (away.delete(node)) complain(`${node} takes part again after ${shownTime(downMs)}`);
  });
}
