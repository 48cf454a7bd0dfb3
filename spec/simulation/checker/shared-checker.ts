/**
 * Checks what must hold at every instant for shared locks: a writer is alone, no more permits are held than there are,
 * and a holder has the same permits on each master.
 */
import { markerKey } from '../../../lib/protocol/keys.js';
import { validUntilMsOf } from '../../support/insides.js';
import type { Lease } from '../../../lib/lease/public.js';
import { WriteLease } from '../../../lib/lease/lease.js';
import type { Checker } from './checker.js';
import type { SimulatedClient } from '../world/client.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import type { SimulatedLink } from '../world/link.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';

/** A lease, as long as its holder may believe in it. */
interface Holding {
  readonly lease: Lease;
  readonly client: SimulatedClient;
  readonly sinceMs: number;
  /** 0 for readers and writers. */
  readonly permits: number;
  isOver: boolean;
  isTold: boolean;
}

/** After a grant, permits agree within this time if nothing disturbs it. */
const SETTLED_MS = 300;

export class SharedChecker {
  readonly #checker: Checker;
  readonly #nowMs: () => number;
  readonly #permits: number;
  readonly #open = new Map<string, Holding[]>();

  /** @param permits  how many each semaphore has */
  constructor(checker: Checker, nowMs: () => number, permits: number) {
    this.#checker = checker;
    this.#nowMs = nowMs;
    this.#permits = permits;
  }

  granted(client: SimulatedClient, lease: Lease, permits: number): void {
    const holding = { lease, client, permits, sinceMs: this.#nowMs(), isOver: false, isTold: false };
    for (const resource of lease.resources) {
      this.#open.set(resource, [...(this.#open.get(resource) ?? []), holding]);
    }
  }

  ended(lease: Lease): void {
    for (const [resource, list] of this.#open) {
      this.#open.set(
        resource,
        list.filter((holding) => holding.lease !== lease),
      );
    }
  }

  /** Runs after each event that woke a client. */
  look(): void {
    for (const [resource, list] of this.#open) {
      if (list.length < 2) continue;
      // a grace that is shorter than its validity allows an overlap
      const isHurried = ({ lease }: Holding): boolean => this.#checker.thefts.isHurried(lease.token);
      const believers = list.filter((holding) => !isHurried(holding) && believes(holding));
      const writer = believers.find(({ lease }) => lease instanceof WriteLease && lease.mode === 'write');
      if (writer !== undefined && believers.length > 1) this.#tell('exclusion', resource, believers);
      const held = believers.reduce((sum, { permits }) => sum + permits, 0);
      if (held > this.#permits) this.#tell('permits', resource, believers);
    }
  }

  /** Runs periodically: a holder of permits must have the same ones on every master where it has any. */
  lookForOthers(links: readonly SimulatedLink[], calmSinceMs: (link: SimulatedLink) => number): void {
    for (const holding of [...this.#open.values()].flat()) {
      const { client, lease, permits, sinceMs } = holding;
      if (permits === 0 || holding.isTold || !believes(holding)) continue;
      const own = links.filter((link) => link.client === client);
      const sets = own.map(({ server }) => slotsAt(server, lease));
      const [first] = sets
        .filter((slots) => slots !== undefined)
        .sort((a, b) => countOf(sets, b) - countOf(sets, a));
      own.forEach((link, i) => {
        const isCalm =
          calmSinceMs(link) < sinceMs && !link.isBlocked && !client.isPaused && takesPart(link.server);
        if (!isCalm || this.#nowMs() - sinceMs < SETTLED_MS) return;
        if (sets[i] === undefined || sets[i] === first) return;
        holding.isTold = true;
        this.#checker.fail(
          'permits',
          `${lease.token} has ${sets[i]} at ${link.server.name}, and ${first} elsewhere`,
        );
      });
    }
  }

  #tell(property: 'exclusion' | 'permits', resource: string, believers: readonly Holding[]): void {
    if (believers.some(({ isTold }) => isTold)) return;
    for (const holding of believers) holding.isTold = true;
    const names = believers.map(({ client, lease, permits }) => {
      const how = permits > 0 ? `${permits} permits` : lease instanceof WriteLease ? lease.mode : 'read';
      return `${lease.token} (${client.name}, ${how})`;
    });
    this.#checker.brokenBy(property, `${resource} is held by ${names.join(', ')}`);
  }
}

/** Whether its client is alive and can read a clock, and its lease is held by that clock. */
function believes(holding: Holding): boolean {
  const { client, lease } = holding;
  if (holding.isOver || client.isSuspended || !client.isAlive) return false;
  if (client.clock.now() < validUntilMsOf(lease) && lease.status === 'held') return true;
  holding.isOver = true;
  return false;
}

/** Whether it changes votes: it is not stopped, and not in quarantine. */
function takesPart(server: MemoryServer): boolean {
  const marker = server.get(markerKey(''));
  if (server.isStopped || typeof marker !== 'string') return !server.isStopped;
  const [, runId, since, period] = marker.split('|');
  return runId === server.runId && Number(since) + Number(period) < server.micros() / 1_000;
}

function slotsAt(server: MemoryServer, lease: Lease): string | undefined {
  const fields = server.fields(lease.resources[0] ?? '');
  const field = fields === WRONG_TYPE ? undefined : fields.get(lease.token);
  const [slots, ends] = field?.split('|') ?? [];
  return Number(ends) > Math.floor(server.micros() / 1_000) ? slots : undefined;
}

function countOf<T>(list: readonly T[], one: T): number {
  return list.filter((other) => other === one).length;
}
