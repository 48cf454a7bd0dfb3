/** Derives the leader from the masters' answers. Pure. */
import type { NoteReading } from '../protocol/note-requests.js';
import type { NoteReadings } from '../lease/notes.js';
import type { Leader } from './public.js';

/** What one look at all masters shows. */
export type LeaderReading =
  /** A quorum names this leader, and keeps its votes for `remainingMs` if it does nothing more. */
  | { readonly kind: 'leader'; readonly leader: Leader; readonly remainingMs: number }
  /** A quorum answered, and no quorum names one. */
  | { readonly kind: 'nobody' }
  /** Too few masters answered to decide. */
  | { readonly kind: 'unknown' };

/** A master names the holder of its vote, if the value there is that holder's. */
export function readLeader({ readings, isComplete }: NoteReadings, quorum: number): LeaderReading {
  const named = new Map<number, NoteReading[]>();
  for (const reading of readings) {
    if (reading?.isHolders !== true) continue;
    named.set(reading.fence, [...(named.get(reading.fence) ?? []), reading]);
  }
  for (const [fence, by] of named) {
    if (by.length < quorum) continue;
    const latest = by.reduce((one, other) => (other.seq > one.seq ? other : one));
    // the quorum lasts until fewer than a quorum of votes are left
    const times = by.map(({ remainingMs }) => remainingMs).sort((a, b) => b - a);
    return {
      kind: 'leader',
      leader: Object.freeze({ value: latest.text, fence, seq: latest.seq }),
      remainingMs: times[quorum - 1] ?? 0,
    };
  }
  return isComplete ? { kind: 'nobody' } : { kind: 'unknown' };
}
