/**
 * Checks that masters keep the votes that leases count (protocol C3). It reads no clock of a client: that may change what
 * the client knows of a suspension.
 */
import type { Lease } from '../../../lib/lease/public.js';
import { quorumOf } from '../../../lib/protocol/quorum.js';
import { driftMs } from '../../../lib/protocol/validity.js';
import { isOf } from '../../support/marks.js';
import { sharedVote } from '../../support/shared-votes.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import { validUntilMsOf } from '../../support/insides.js';
import type { SimulatedClient } from '../world/client.js';

const DRIFT_FACTOR = 0.01;
/** The part of the drift by which a vote that answers the claim outlives the validity, at least, when it is granted. */
const SURE = 0.8;

/** A lease whose votes are watched. */
interface Counting {
  readonly lease: Lease;
  readonly client: SimulatedClient;
  readonly resource: string;
  /** When its token was sent first, by true time. */
  readonly sentAtMs: number;
  /** The end of its validity when it was granted. */
  readonly untilMs: number;
  /** The client's clock is ahead of its monotonic clock by this, as long as its machine is not suspended. */
  readonly aheadMs: number;
  readonly suspendedMs: number;
  /** The masters whose votes it counted, as far as can be seen: they keep them until `untilMs`. */
  readonly voters: readonly MemoryServer[];
}

/** What is known of a lease as it is granted. */
export interface Granted {
  readonly client: SimulatedClient;
  readonly lease: Lease;
  readonly sentAtMs: number;
  /** Its vote on this master is on its way back. */
  readonly hasYielded: (server: MemoryServer, resource: string) => boolean;
}

export class CountedVotes {
  servers: readonly MemoryServer[] = [];
  readonly #counting = new Set<Counting>();
  /** Tokens of leases that were taken away, maybe before their holders knew that they have them. */
  readonly #ousted = new Set<string>();
  /** When each master last lost data: the guard stands in for the votes that it had. */
  readonly #lostAtMs = new Map<MemoryServer, number>();

  /**
   * Called as the client is told of the lease: it has just read its clock. A quorum must keep its votes to the end of its
   * validity, if nobody touches them. @returns what is wrong, in words
   */
  granted({ client, hasYielded, lease, sentAtMs }: Granted): readonly string[] {
    const nowMs = client.clock.now();
    const untilMs = validUntilMsOf(lease);
    // an acquisition may miss a suspension for a moment: its lease is over before its holder can read a clock
    if (nowMs >= untilMs || this.#ousted.has(lease.token)) return [];
    const [aheadMs, suspendedMs] = [nowMs - client.monotonicMs(), client.suspendedMs];
    const faults: string[] = [];
    for (const resource of lease.resources) {
      const leftMs = remainingOf(lease.token, resource, this.servers);
      const voters = this.servers.filter(
        (server) => leftMs(server) >= untilMs - nowMs && !hasYielded(server, resource),
      );
      // a vote of before its claim may have lived long enough by its master's clock, and not by true time
      const surelyMs = untilMs - nowMs + SURE * driftMs(lease.ttlMs, DRIFT_FACTOR);
      const sure = voters.filter((server) => leftMs(server) >= surelyMs);
      const terms = { client, lease, resource, sentAtMs, untilMs, aheadMs, suspendedMs, voters: sure };
      this.#counting.add(terms);
      const enough = this.servers.filter((server) => voters.includes(server) || this.#hasLost(terms, server));
      if (enough.length < quorumOf(this.servers.length))
        faults.push(
          `${lease.token} has ${resource}, and ${voters.length} masters keep its vote until its end`,
        );
    }
    return faults;
  }

  ended(lease: Lease): void {
    this.#drop((counting) => counting.lease === lease);
  }

  /** Another client takes these away. */
  ousted(tokens: readonly string[]): void {
    for (const token of tokens) this.#ousted.add(token);
    this.#drop(({ lease }) => tokens.includes(lease.token));
  }

  crashed(client: SimulatedClient): void {
    this.#drop((counting) => counting.client === client);
  }

  /** A master lost data. */
  lost(server: MemoryServer, atMs: number): void {
    this.#lostAtMs.set(server, atMs);
  }

  /** Runs after each event that woke a client. @returns what is wrong, in words */
  look(): readonly string[] {
    const faults: string[] = [];
    for (const counting of this.#counting) {
      const fault = this.#faultOf(counting);
      if (fault === undefined) continue;
      this.#counting.delete(counting); // its status says whether it was lost, and it is told once
      if (counting.lease.status === 'held') faults.push(fault);
    }
    return faults;
  }

  #faultOf(counting: Counting): string | undefined {
    const { client, aheadMs, lease, resource, suspendedMs, untilMs, voters } = counting;
    if (client.isSuspended || client.suspendedMs !== suspendedMs) return undefined;
    const nowMs = client.monotonicMs() + aheadMs;
    if (nowMs >= validUntilMsOf(lease)) return undefined;
    const told = `${lease.token} counts its votes for ${resource}`;
    const leftMs = remainingOf(lease.token, resource, this.servers);
    const keeps = (server: MemoryServer): boolean =>
      leftMs(server) > -Infinity || this.#hasLost(counting, server);
    const lost = nowMs < untilMs ? voters.find((server) => !keeps(server)) : undefined;
    if (lost !== undefined) return `${told}, and ${lost.name} has lost one`;
    const kept = this.servers.filter(keeps).length;
    return kept < quorumOf(this.servers.length) ? `${told}, and ${kept} masters have one` : undefined;
  }

  #hasLost({ sentAtMs }: Pick<Counting, 'sentAtMs'>, server: MemoryServer): boolean {
    return (this.#lostAtMs.get(server) ?? -Infinity) >= sentAtMs;
  }

  #drop(isMeant: (counting: Counting) => boolean): void {
    for (const counting of this.#counting) if (isMeant(counting)) this.#counting.delete(counting);
  }
}

/**
 * How long each master keeps that token's vote, in ms; −∞ if it has none. Of permits, those that most masters gave are the
 * lease's: another set is not counted.
 */
function remainingOf(
  token: string,
  resource: string,
  servers: readonly MemoryServer[],
): (server: MemoryServer) => number {
  const own = servers.map((server) => sharedVote(server, resource, token));
  const counts = new Map<string, number>();
  for (const vote of own) if (vote !== undefined) counts.set(vote.what, (counts.get(vote.what) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return (server) => {
    const vote = own[servers.indexOf(server)];
    if (vote === undefined) return isOf(token, server.get(resource)) ? server.pttl(resource) : -Infinity;
    const isOther = /\d/.test(vote.what) && (counts.get(vote.what) ?? 0) < most;
    return isOther ? -Infinity : vote.remainingMs;
  };
}
