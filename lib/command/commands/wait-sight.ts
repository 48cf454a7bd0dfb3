/** What somebody who waits for a lock wants to know: who holds it, and how many are before. */
import type { LockSeen } from '../../upkeep/sight.js';
import { fingerprint } from '../library.js';
import type { Sight } from '../run/wait-notice.js';
import { holderOf } from './status.js';

const ELSE: Readonly<Record<LockSeen['state'], string | undefined>> = {
  held: undefined,
  free: undefined, // it is about to be taken
  contended: 'nobody has a quorum',
  foreign: 'the key holds something else',
  unknown: 'too few masters answer',
};

/** @param drawn  the tokens of whoever waits */
export function sightOf(seen: LockSeen, drawn: readonly string[]): Sight | undefined {
  const holder = holderOf(seen);
  const who = holder ?? ELSE[seen.state];
  if (who === undefined) return undefined;
  const before = beforeIn(seen, new Set(drawn.map(fingerprint)));
  const id = `${'holder' in seen ? seen.holder : who} ${before}`; // without the time that is left
  return { id, text: `waiting for ${seen.resource}: ${who}${before}` };
}

/** The most that any master knows of: each knows those who reached it. */
function beforeIn({ nodes, waiting }: LockSeen, own: ReadonlySet<string>): string {
  const lines = nodes.flatMap((node) => ('queue' in node ? [node.queue] : []));
  const places = lines.map((line) => line.findIndex((one) => own.has(one))).filter((place) => place >= 0);
  if (places.length > 0) {
    const before = Math.max(...places);
    return before === 0 ? '; this one is next' : `; ${counted(before)} before this one`;
  }
  const shown = Math.max(0, ...lines.map((line) => line.length));
  return waiting > shown ? `; ${shown} or more wait before this one` : ''; // or it is in no line
}

function counted(before: number): string {
  return before === 1 ? '1 waits' : `${before} wait`;
}
