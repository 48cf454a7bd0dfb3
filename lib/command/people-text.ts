/** Holders and waiters in words. Their texts have no control characters: what is read is checked (`input/texts.ts`). */
import type { HeldBy, Waiter } from '../runtime/instance-info.js';
import { shownTime, table } from './terminal.js';

/** How many waiters are listed. */
const MOST_LISTED = 10;

/** A holder by its label and its fingerprint, or by its fingerprint alone. */
export function named(holder: string, known: readonly HeldBy[]): string {
  const label = known.find((one) => one.holder === holder)?.label;
  return label === undefined ? holder : `${label} (${holder})`;
}

/** What is known of each holder beside its name, one line each. */
export function detailsOf(known: readonly HeldBy[]): readonly string[] {
  return known.flatMap((one) => {
    const facts = [
      ...(one.heldMs === undefined ? [] : [`held for ${shownTime(one.heldMs)}`]),
      ...(one.note === undefined ? [] : [`note: ${one.note}`]),
      ...(one.host === undefined ? [] : [`host ${one.host}`]),
      ...(one.pid === undefined ? [] : [`pid ${one.pid}`]),
      ...(one.version === undefined ? [] : [`quorate ${one.version}`]),
    ];
    if (facts.length === 0) return [];
    const name = known.length > 1 && one.holder !== undefined ? `${named(one.holder, known)}: ` : '';
    return [`${name}${facts.join('   ')}`];
  });
}

/** A table of the first waiters; empty without any. */
export function waitersTable(waiters: readonly Waiter[], waiting: number): readonly string[] {
  if (waiters.length === 0) return [];
  const listed = waiters.slice(0, MOST_LISTED);
  const rows = listed.map(({ label = '', waitedMs, waiter }, i) => [
    String(i + 1),
    label,
    waiter,
    waitedMs === undefined ? '' : shownTime(waitedMs),
  ]);
  const more = waiting - listed.length;
  return ['', table([['', 'waiter', '', 'waits for'], ...rows]), ...(more > 0 ? [`and ${more} more`] : [])];
}
