/**
 * Checks fencing tokens by true time (protocol A2, T1 and T2): those that were handed out, and what each master accepts.
 *
 * T1: what a master accepts for a key rises for ever, so tokens are unique, and rise in the order of grants. It needs
 * more than S + AHEAD + BACK from each loss of data to the master's next vote (with a guard S + AHEAD). T2: whatever is
 * lost, an acquisition that begins more than S + e after a token was handed out gets a higher one.
 */
import { AHEAD_US, BACK_US, FENCE_BLOCK } from '../../../lib/protocol/lua/stored.js';

/** What is known of clocks in a run where masters vote at once after a loss, without a guard: T1 has exceptions there. */
export interface Amnesia {
  /** S: how far the masters' clocks are apart at most, in ms. */
  readonly spreadMs: number;
  /** e: how far proposals may be from the masters' clocks, in ms. */
  readonly errorMs: number;
}

/** AHEAD + BACK, in ms. */
const NEAR_MS = (AHEAD_US + BACK_US) / 1_000;

/** How long a master must not vote after a loss without a guard, in ms (D), if its clock and others are so far apart. */
export function pauseAfterLossMs(spreadMs: number): number {
  return spreadMs + NEAR_MS + 1;
}

/** The instant at which an acquisition begins, and how many tokens were handed out by then. */
export interface Beginning {
  readonly atMs: number;
  readonly grants: number;
}

/** A token that was handed out. */
interface Handed {
  readonly fence: number;
  readonly name: string;
  readonly beganMs: number;
  readonly atMs: number;
  /** Its place in the order of hand-outs. */
  readonly serial: number;
}

/** What one counter of a master accepted. */
interface Accepted {
  highest: number;
  /** The same, since the master's last loss. */
  sinceLoss: number;
}

export type FenceFault = readonly [
  property: 'token order' | 'token uniqueness' | 'counter order',
  text: string,
];

export class Fences {
  readonly #amnesia: Amnesia | undefined;
  readonly #nowMs: () => number;
  readonly #handed = new Map<string, Handed[]>();
  readonly #accepted = new Map<string, Map<string, Accepted>>();
  /** When each master last lost data. */
  readonly #lostAtMs = new Map<string, number>();
  #grants = 0;

  /** @param amnesia  undefined where T1 has no exceptions */
  constructor(nowMs: () => number, amnesia: Amnesia | undefined) {
    this.#nowMs = nowMs;
    this.#amnesia = amnesia;
  }

  begin(): Beginning {
    return { atMs: this.#nowMs(), grants: this.#grants };
  }

  /** A token was handed out for these resources, to an acquisition that began then. */
  handedOut(
    resources: readonly string[],
    name: string,
    fence: number,
    beginning: Beginning,
  ): readonly FenceFault[] {
    const serial = this.#grants++;
    const one = { fence, name, beganMs: beginning.atMs, atMs: this.#nowMs(), serial };
    const faults: FenceFault[] = [];
    for (const resource of resources) {
      const handed = this.#handed.get(resource) ?? [];
      this.#handed.set(resource, handed);
      const fault = firstOf(handed, (other) => this.#compare(one, other, beginning));
      if (fault !== undefined) faults.push(fault);
      handed.push(one);
    }
    return faults;
  }

  /** A master has accepted a number for a key. */
  accepted(master: string, key: string, fence: number): FenceFault | undefined {
    const counters = this.#accepted.get(master) ?? new Map<string, Accepted>();
    this.#accepted.set(master, counters);
    const { highest, sinceLoss } = counters.get(key) ?? { highest: 0, sinceLoss: 0 };
    counters.set(key, { highest: Math.max(highest, fence), sinceLoss: Math.max(sinceLoss, fence) });
    const last = this.#hasJustLost(master) ? sinceLoss : highest;
    const isAbove = last === 0 || fence >= last + FENCE_BLOCK; // and so above the whole block (protocol C4)
    return isAbove ? undefined : ['counter order', `${master} ${key} accepted ${fence} after ${last}`];
  }

  /** A master lost data, or some of it, at that instant. */
  lost(master: string, atMs: number): void {
    this.#lostAtMs.set(master, atMs);
    for (const counter of this.#accepted.get(master)?.values() ?? []) counter.sinceLoss = 0;
  }

  #hasJustLost(master: string): boolean {
    if (this.#amnesia === undefined) return false;
    const lostAtMs = this.#lostAtMs.get(master) ?? -Infinity;
    return this.#nowMs() - lostAtMs <= this.#amnesia.spreadMs + NEAR_MS;
  }

  #compare(one: Handed, other: Handed, beginning: Beginning): FenceFault | undefined {
    const isAfter = other.serial < beginning.grants;
    if (isAfter ? one.fence > other.fence : one.fence !== other.fence) return undefined;
    if (this.#isExcused(one, other, isAfter)) return undefined;
    if (one.fence === other.fence)
      return ['token uniqueness', `${one.name} has ${one.fence}, as ${other.name} had`];
    const agoMs = (beginning.atMs - other.atMs).toFixed(1);
    return [
      'token order',
      `${one.name} has ${one.fence}, and ${other.name} had ${other.fence} ${agoMs} ms before it began`,
    ];
  }

  /** Masters lost data in the meantime, and it did not begin late enough for its proposal to be above the other. */
  #isExcused(one: Handed, other: Handed, isAfter: boolean): boolean {
    if (this.#amnesia === undefined) return false;
    const { spreadMs, errorMs } = this.#amnesia;
    const hasLost = Math.max(...this.#lostAtMs.values(), -Infinity) >= other.beganMs;
    return hasLost && !(isAfter && one.beganMs - other.atMs > spreadMs + errorMs);
  }
}

function firstOf<T, R>(all: readonly T[], look: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const found = look(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
