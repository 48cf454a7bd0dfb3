/**
 * Finds the holder of a lock that a call was refused, for its error and for events. What was found holds for a second: a caller
 * that fails again and again does not ask each time, and calls that fail together ask once.
 */
import type { Clock, Timers } from '../runtime/clock.js';
import type { HeldBy } from '../runtime/instance-info.js';
import type { Kind } from '../protocol/scope.js';
import type { Holders } from '../telemetry/observer.js';

/** For how long an answer holds. */
export const FRESH_MS = 1_000;
/** … if it has no label: an instance that has just begun writes its own in a moment. */
export const UNNAMED_MS = 100;
/** How many answers are kept, and how many look-ups may be under way. */
export const MOST_KEPT = 1_000;
export const MOST_UNDER_WAY = 64;
/** How many of a call's resources are looked at. */
const MOST_RESOURCES = 3;

/** Finds the holder of one resource; undefined if nobody is known to hold it. */
type Look = (resource: string, isShared: boolean) => Promise<HeldBy | undefined>;

interface Answer {
  readonly atMs: number;
  readonly heldBy: HeldBy | undefined;
}

interface Parts {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** The holder of one of a call's resources. */
export interface Found {
  readonly resource: string;
  readonly heldBy: HeldBy;
}

export class HolderLookups implements Holders {
  readonly #parts: Parts;
  readonly #look: Look;
  /** The holder, if it is this instance. */
  readonly #own: (resource: string) => HeldBy | undefined;
  /** By kind and resource, the oldest first. */
  readonly #answers = new Map<string, Answer>();
  readonly #underWay = new Map<string, Promise<HeldBy | undefined>>();

  constructor(parts: Parts, look: Look, own: (resource: string) => HeldBy | undefined) {
    this.#parts = parts;
    this.#look = look;
    this.#own = own;
  }

  /** As far as is known at once. If nothing is, it is looked up for the next who asks. */
  glance(resources: readonly string[], kind: Kind): HeldBy | undefined {
    const isShared = kind.name !== 'mutex';
    for (const resource of resources.slice(0, MOST_RESOURCES)) {
      const heldBy = this.#own(resource) ?? this.#fresh(resource, isShared)?.heldBy;
      if (heldBy !== undefined) return heldBy;
    }
    for (const resource of resources.slice(0, MOST_RESOURCES)) void this.#ask(resource, isShared);
    return undefined;
  }

  /** Resolves within that time, with undefined if nobody is known to hold any of them. */
  async find(resources: readonly string[], kind: Kind, withinMs: number): Promise<Found | undefined> {
    const asked = resources.slice(0, MOST_RESOURCES);
    let give = (_heldBy: readonly (HeldBy | undefined)[]): void => undefined;
    const given = new Promise<readonly (HeldBy | undefined)[]>((resolve) => (give = resolve));
    const timer = this.#parts.timers.deadline(withinMs, () => give([]));
    void Promise.all(asked.map((resource) => this.#ask(resource, kind.name !== 'mutex'))).then(give);
    const found = await given;
    timer.cancel();
    for (const [i, resource] of asked.entries()) {
      const heldBy = found[i];
      if (heldBy !== undefined) return { resource, heldBy };
    }
    return undefined;
  }

  /** What is known, or is found out. Never rejects. */
  async #ask(resource: string, isShared: boolean): Promise<HeldBy | undefined> {
    const own = this.#own(resource);
    if (own !== undefined) return own;
    const fresh = this.#fresh(resource, isShared);
    if (fresh !== undefined) return fresh.heldBy;
    const id = idOf(resource, isShared);
    const under = this.#underWay.get(id);
    if (under !== undefined || this.#underWay.size >= MOST_UNDER_WAY) return under;
    const asked = this.#look(resource, isShared)
      .catch(() => undefined) // as after `close`
      .then((heldBy) => {
        this.#underWay.delete(id);
        this.#keep(id, heldBy);
        return heldBy;
      });
    this.#underWay.set(id, asked);
    return asked;
  }

  #fresh(resource: string, isShared: boolean): Answer | undefined {
    const answer = this.#answers.get(idOf(resource, isShared));
    if (answer === undefined) return undefined;
    const { atMs, heldBy } = answer;
    const ageMs = Math.round(this.#parts.clock.earliest() - atMs);
    const isUnnamed = heldBy !== undefined && heldBy.label === undefined;
    if (ageMs >= (isUnnamed ? UNNAMED_MS : FRESH_MS)) return undefined;
    return heldBy?.heldMs === undefined
      ? answer
      : { atMs, heldBy: { ...heldBy, heldMs: heldBy.heldMs + ageMs } };
  }

  #keep(id: string, heldBy: HeldBy | undefined): void {
    this.#answers.delete(id);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size >= MOST_KEPT && oldest !== undefined) this.#answers.delete(oldest);
    this.#answers.set(id, { atMs: this.#parts.clock.earliest(), heldBy });
  }
}

function idOf(resource: string, isShared: boolean): string {
  return `${isShared ? 's' : 'x'}${resource}`;
}
