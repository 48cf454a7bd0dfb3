/** What an election tells, in its order. */
import type { ElectionEvents } from '../../lib/election/public.js';
import type { Listenable } from '../../lib/runtime/listenable.js';

export type Change = {
  readonly [Name in keyof ElectionEvents]: { readonly state: Name } & ElectionEvents[Name];
}[keyof ElectionEvents];

/** All that it tells from now on. */
export function changesOf(election: Listenable<ElectionEvents>): readonly Change[] {
  const changes: Change[] = [];
  election
    .on('leading', (event) => changes.push({ state: 'leading', ...event }))
    .on('ended', (event) => changes.push({ state: 'ended', ...event }))
    .on('failed', (event) => changes.push({ state: 'failed', ...event }));
  return changes;
}
