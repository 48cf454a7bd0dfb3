/** What happened in a trial, step by step: what the picture is drawn from, and what the verdict rests on. */

/** Of these, two at a time is what must not be. */
interface Belief {
  readonly who: string;
  readonly from: number;
  /** Undefined while it lasts. */
  to: number | undefined;
}

export interface Step {
  readonly who: string;
  readonly text: string;
  readonly kind: 'plain' | 'fault' | 'bad' | 'good';
}

export class Tape {
  /** In the order in which they begin: the lanes of the picture. */
  readonly lanes: readonly string[];
  readonly steps: Step[] = [];
  readonly beliefs: Belief[] = [];

  constructor(...lanes: readonly string[]) {
    this.lanes = lanes;
  }

  say(who: string, text: string, kind: Step['kind'] = 'plain'): void {
    this.steps.push({ who, text, kind });
  }

  /** From this step on, it takes the lock for its own. */
  believes(who: string, text: string, kind: Step['kind'] = 'plain'): void {
    this.say(who, text, kind);
    this.beliefs.push({ who, from: this.steps.length - 1, to: undefined });
  }

  /** From this step on, it does not any more. */
  ends(who: string, text: string, kind: Step['kind'] = 'plain'): void {
    this.say(who, text, kind);
    const own = this.beliefs.find((belief) => belief.who === who && belief.to === undefined);
    if (own !== undefined) own.to = this.steps.length - 1;
  }

  /** From which step to which two took the lock for their own at the same time. */
  get overlaps(): readonly { readonly from: number; readonly to: number }[] {
    const last = this.steps.length;
    return this.beliefs.flatMap((one, i) =>
      this.beliefs.slice(i + 1).flatMap((other) => {
        const from = Math.max(one.from, other.from);
        const to = Math.min(one.to ?? last, other.to ?? last);
        return one.who !== other.who && from < to ? [{ from, to }] : [];
      }),
    );
  }
}

/** `holds`: the weakness did no harm. */
export type Verdict = 'holds' | 'breaks';

export interface Trial {
  readonly tape: Tape;
  readonly verdict: Verdict;
  /** What came of it, in a few words. */
  readonly outcome: string;
}

/** Broken if two took the lock for their own at the same time. */
export function judge(tape: Tape, broken: string, whole: string): Trial {
  return tape.overlaps.length > 0
    ? { tape, verdict: 'breaks', outcome: broken }
    : { tape, verdict: 'holds', outcome: whole };
}
