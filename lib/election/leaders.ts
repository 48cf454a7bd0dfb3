/** The leader, by the masters' answers, and the leaders before. Pure. */
import type { NoteReading } from '../protocol/lone-requests.js';
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

/** How many elections are remembered: those with the latest looks. */
const MOST_ELECTIONS = 1_000;

/** Whether the first is later than the second, or the same. */
export function isAtLeast(one: Pick<Leader, 'fence' | 'seq'>, other: Pick<Leader, 'fence' | 'seq'>): boolean {
  return one.fence > other.fence || (one.fence === other.fence && one.seq >= other.seq);
}

/** The latest leaders that an instance has announced, so that it never goes back to an earlier one. */
export class SeenLeaders {
  readonly #latest = new Map<string, Leader>();

  /**
   * A quorum names this leader. @returns what may be announced: the latest value seen of that leader, or null if it is
   * earlier than a leader that was announced
   */
  see(election: string, leader: Leader): Leader | null {
    const latest = this.#latest.get(election);
    if (latest !== undefined && latest.fence > leader.fence) return null;
    const told = latest !== undefined && isAtLeast(latest, leader) ? latest : leader;
    this.#latest.delete(election);
    this.#latest.set(election, told);
    if (this.#latest.size > MOST_ELECTIONS)
      for (const oldest of this.#latest.keys()) return this.#forget(oldest, told);
    return told;
  }

  #forget(oldest: string, told: Leader): Leader {
    this.#latest.delete(oldest);
    return told;
  }
}
