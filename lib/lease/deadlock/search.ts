/**
 * Looks for a circle of calls that wait for each other, from one of them on: what a call waits for is held by a routine in which
 * another call waits, and so on. An edge leads only to a holder beside whom the call cannot get the lock.
 */
import type { Kind } from '../../protocol/scope.js';
import { fingerprint } from '../../redis/transport.js';
import type { InstanceRecord } from '../instance-record.js';
import type { Lease } from '../lease.js';
import type { LockHolder } from './lock-holders.js';
import { excludes, type Waiting } from './waiting.js';

/** How many calls a circle has, at most. */
const MOST_STEPS = 8;
/** How many of a call's locks are looked at. */
const MOST_RESOURCES = 4;
/** How often the masters are asked, for all that is looked for at a time. */
const MOST_ASKED = 32;

/** A call of this instance, and what the routines hold that it was made in. */
export interface OwnWaiting {
  readonly waiting: Waiting;
  readonly leases: readonly Lease[];
}

/** Another lease that is in the way. */
interface Blocker extends Pick<LockHolder, 'id' | 'holder'> {
  readonly resource: string;
}

/** A call of a circle, and what holds it up. */
export interface Edge {
  readonly waiting: Waiting;
  readonly blocker: Blocker;
}

/** What is asked of others. Neither call rejects. */
export interface Sources {
  /** Whether a call of this instance has that exclusive lock. */
  isOwn(resource: string): boolean;
  holders(resource: string, kind: Kind): Promise<readonly LockHolder[]>;
  record(id: string): Promise<InstanceRecord | undefined>;
}

export class DeadlockSearch {
  /** As they were read for this search. */
  readonly records = new Map<string, InstanceRecord | undefined>();
  readonly #ownId: string;
  readonly #own: readonly OwnWaiting[];
  readonly #sources: Sources;
  readonly #holders = new Map<string, readonly LockHolder[]>();
  #asked = 0;

  constructor(ownId: string, own: readonly OwnWaiting[], sources: Sources) {
    this.#ownId = ownId;
    this.#own = own;
    this.#sources = sources;
  }

  /** Whether it may ask no more: what it has not found may be there. */
  get isSpent(): boolean {
    return this.#asked >= MOST_ASKED;
  }

  /** The circle that this call is in; undefined if none is known. */
  async from(start: Waiting): Promise<readonly Edge[] | undefined> {
    const path: Edge[] = [];
    const seen = new Set<string>();
    const leadsBack = async (waiting: Waiting): Promise<boolean> => {
      seen.add(`${waiting.id} ${waiting.call}`);
      if (path.length === MOST_STEPS) return false;
      for (const blocker of await this.#blockers(waiting)) {
        path.push({ waiting, blocker });
        if (holdsIt(start, blocker)) return true;
        for (const next of await this.#waitsUnder(blocker))
          if (!seen.has(`${next.id} ${next.call}`) && (await leadsBack(next))) return true;
        path.pop();
      }
      return false;
    };
    return (await leadsBack(start)) ? path : undefined;
  }

  async #blockers({ kind, resources }: Waiting): Promise<readonly Blocker[]> {
    const found: Blocker[] = [];
    for (const resource of resources.slice(0, MOST_RESOURCES)) {
      const own = this.#ownBlockers(resource, kind);
      found.push(...own);
      if (kind.name === 'mutex' && (own.length > 0 || this.#sources.isOwn(resource))) continue;
      const others = (await this.#holdersOf(resource, kind)).filter(
        (one) => one.id !== this.#ownId && excludes(kind, one.kind),
      );
      found.push(...others.map(({ holder, id }) => ({ holder, id, resource })));
    }
    return found;
  }

  #ownBlockers(resource: string, wanted: Kind): readonly Blocker[] {
    const leases = new Set(this.#own.flatMap((one) => one.leases));
    return [...leases]
      .filter(({ kind, resources }) => resources.includes(resource) && excludes(wanted, kind))
      .map(({ token }) => ({ id: this.#ownId, holder: fingerprint(token), resource }));
  }

  async #waitsUnder(blocker: Blocker): Promise<readonly Waiting[]> {
    const waits =
      blocker.id === this.#ownId
        ? this.#own.map(({ waiting }) => waiting)
        : ((await this.#recordOf(blocker.id))?.waits ?? []);
    return waits.filter((waiting) => holdsIt(waiting, blocker));
  }

  async #holdersOf(resource: string, kind: Kind): Promise<readonly LockHolder[]> {
    const id = `${kind.name} ${resource}`;
    const known = this.#holders.get(id);
    if (known !== undefined || this.isSpent) return known ?? [];
    this.#asked++;
    const found = await this.#sources.holders(resource, kind);
    this.#holders.set(id, found);
    return found;
  }

  async #recordOf(id: string): Promise<InstanceRecord | undefined> {
    if (this.records.has(id) || this.isSpent) return this.records.get(id);
    this.#asked++;
    const found = await this.#sources.record(id);
    this.records.set(id, found);
    return found;
  }
}

function holdsIt({ holds, id }: Waiting, blocker: Blocker): boolean {
  return id === blocker.id && holds.some(({ holder }) => holder === blocker.holder);
}
