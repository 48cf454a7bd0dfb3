/**
 * Checks what must hold at every instant of a simulated run, by true time. It only observes: it reads a lease's end, but
 * not its `status` while reading that could still change anything.
 */
import { type Holding, isOver } from './holding.js';
import { validUntilMsOf } from '../../support/insides.js';
import type { Lease } from '../../../lib/lease/public.js';
import type { Command } from '../../../lib/redis/transport.js';
import { SILENT_WINDOW } from '../../../lib/node/send-window.js';
import { Calls } from './calls.js';
import type { SimulatedClient } from '../world/client.js';
import { type Entry, entriesOf, locksOf } from '../../support/entries.js';
import { Expectations } from './expectations.js';
import { type Amnesia, type Beginning, Fences } from './fences.js';
import type { SimulatedLink } from '../world/link.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import { drawn, heldAgain, takenOver, type Token } from './token.js';
import { CountedVotes } from './counted-votes.js';
import { Thefts } from './thefts.js';
import { isOpen, Votes, votesOn } from './votes.js';
import type { World } from '../world/world.js';

/** See docs/SIMULATION.md. */
export type Property =
  | 'exclusion'
  | 'leader'
  | 'ticks'
  | 'permits'
  | 'token order'
  | 'token uniqueness'
  | 'counter order'
  | 'continuity'
  | 'erosion'
  | 'votes'
  | 'orphan'
  | 'settling'
  | 'codes'
  | 'progress'
  | 'fairness'
  | 'service'
  | 'commands'
  | 'leftovers'
  | 'exception';

export interface Violation {
  readonly property: Property;
  readonly atMs: number;
  readonly text: string;
}

/** How a run is judged. */
export interface Rules {
  /** Faults break exclusion in this run. */
  readonly isBeyond: boolean;
  /** Masters vote at once after they have lost data without a guard: T1 has exceptions. */
  readonly amnesia?: Amnesia | undefined;
}

/** Votes are undone within this time if nothing disturbs it: two attempts of the repairs with their node timeouts. */
const SETTLE_MS = 3_500;

/** Longer than any message takes on a link that is not slow. */
const ARRIVAL_MS = 100;

export class Checker {
  readonly violations: Violation[] = [];
  /** Violations of exclusion under faults beyond the model: they are only counted. */
  broken = 0;
  readonly #world: World;
  readonly #isBeyond: boolean;
  readonly #open = new Map<string, Holding[]>();
  readonly #fences: Fences;
  readonly #tokens = new Map<string, Token>();
  /** Tokens of leases that were given away. */
  readonly #givenAway = new Set<string>();
  readonly thefts = new Thefts();
  readonly #votes: Votes;
  readonly #counted = new CountedVotes();
  readonly #calls = new Calls<Token>();
  readonly #expected = new Expectations((text) => this.fail('settling', text));

  constructor(world: World, { isBeyond, amnesia }: Rules) {
    this.#world = world;
    this.#isBeyond = isBeyond;
    this.#fences = new Fences(() => world.nowMs, amnesia);
    this.#votes = new Votes(this.#fences);
  }

  get lines(): Votes['lines'] {
    return this.#votes.lines;
  }

  fail(property: Property, text: string): void {
    this.#world.note('CHECK', `${property}: ${text}`);
    this.violations.push({ property, atMs: this.#world.nowMs, text });
  }

  /** More clients hold a lock than may. */
  brokenBy(property: 'exclusion' | 'permits', text: string): void {
    this.broken++;
    if (!this.#isBeyond) this.fail(property, text);
    else this.#world.note('CHECK', `broken, as faults beyond the model do: ${text}`);
  }

  /** The masters of the run. */
  watches(servers: readonly MemoryServer[]): void {
    this.#counted.servers = servers;
  }

  /** An acquisition begins. */
  begin(): Beginning {
    return this.#fences.begin();
  }

  /** A lease was granted, to an acquisition that began then. */
  granted(client: SimulatedClient, lease: Lease, beginning: Beginning): void {
    heldAgain(this.#tokens.get(lease.token));
    this.#hold(client, lease);
    this.grantedShared(client, lease, beginning);
  }

  /** The same, of a lock that several may hold. */
  grantedShared(client: SimulatedClient, lease: Lease, beginning: Beginning): void {
    const sentAtMs = this.#tokens.get(lease.token)?.firstSentMs ?? this.#world.nowMs;
    if (!this.#isBeyond) {
      const hasYielded = this.#votes.yieldedBy(lease.token);
      for (const fault of this.#counted.granted({ client, lease, sentAtMs, hasYielded }))
        this.fail('votes', fault);
    }
    this.fenced(lease, beginning);
  }

  /** Its fencing token must be above all that were handed out before its acquisition began. */
  fenced({ fence, resources, token }: Lease, beginning: Beginning): void {
    if (fence === undefined) return;
    for (const [property, text] of this.#fences.handedOut(resources, token, fence, beginning))
      this.fail(property, text);
  }

  /** A server lost data at that instant, or some of it. */
  lost(server: MemoryServer, atMs = this.#world.nowMs): void {
    this.#fences.lost(server.name, atMs);
    this.#counted.lost(server, atMs);
  }

  /** A lease was taken over from another client, with its token and its fencing token. */
  adopted(client: SimulatedClient, lease: Lease): void {
    takenOver(this.#tokens.get(lease.token), client);
    this.#hold(client, lease);
  }

  /** Its holder has given it away. Whoever takes it over and gives it back leaves no vote of it. */
  givenAway(lease: Lease): void {
    this.#letGo(lease);
    this.#givenAway.add(lease.token);
  }

  #hold(client: SimulatedClient, lease: Lease): void {
    const untilMs = validUntilMsOf(lease);
    const holding = { lease, client, untilMs, isWork: false, isOver: false, isTold: false };
    for (const resource of lease.resources) {
      const list = this.#open.get(resource);
      if (list === undefined) this.#open.set(resource, [holding]);
      else list.push(holding);
    }
  }

  /** A routine begins under it. */
  worksUnder(lease: Lease): void {
    for (const resource of lease.resources) {
      const holding = this.#open.get(resource)?.find((one) => one.lease === lease);
      if (holding !== undefined) holding.isWork = true;
    }
  }

  /**
   * A promise of a client has to settle within this much of the client's running time.
   * @returns to be called when it has settled
   */
  expect(client: SimulatedClient, what: string, withinMs: number): () => void {
    return this.#expected.expect(client, what, withinMs);
  }

  /** Runs periodically: finds promises that are late. */
  lookForLate(): void {
    this.#expected.lookForLate();
  }

  /** Its holder let go of it. */
  ended(lease: Lease, isReleased: boolean): void {
    this.#letGo(lease);
    const token = this.#tokens.get(lease.token);
    if (token === undefined) return;
    token.endedAtMs ??= this.#world.nowMs;
    if (!isReleased) token.isExempt = true; // lost: its votes expire
  }

  #letGo(lease: Lease): void {
    this.#counted.ended(lease);
    for (const resource of lease.resources) {
      const list = this.#open.get(resource);
      const at = list?.findIndex((holding) => holding.lease === lease) ?? -1;
      if (at >= 0) list?.splice(at, 1);
    }
  }

  /** All leases of this client have no holder any more. */
  crashed(client: SimulatedClient): void {
    this.#counted.crashed(client);
    for (const list of this.#open.values()) {
      for (let i = list.length - 1; i >= 0; i--) if (list[i]?.client === client) list.splice(i, 1);
    }
    for (const token of this.#tokens.values())
      if (token.client === client && !token.hasFailed) token.isExempt = true;
  }

  /** Its instance is closed: votes for which it still owed undos expire. */
  closed(client: SimulatedClient): void {
    for (const token of this.#tokens.values()) if (token.client === client) token.isExempt = true;
  }

  /** A command was sent; the first one with a token shows what the token is for. */
  sent(client: SimulatedClient, server: MemoryServer, command: Command): void {
    for (const entry of entriesOf(command)) {
      this.#sent(client, entry);
      this.#votes.sent(server, entry);
    }
  }

  #sent(client: SimulatedClient, entry: Entry): void {
    const { token: name } = entry;
    if (name === undefined || this.#tokens.has(name)) return;
    const token = drawn(client, this.#world.nowMs);
    this.#tokens.set(name, token);
    this.#calls.sent(client, locksOf(entry), token);
  }

  /** The answer to a command reached the client. */
  answered(server: MemoryServer, command: Command): void {
    for (const { token = '' } of entriesOf(command)) this.#tokens.get(token)?.answeredBy.add(server.name);
  }

  /** A call of acquire. Once it is over, only the token that it was granted remains in use. */
  async call(
    client: SimulatedClient,
    resources: readonly string[],
    acquire: () => Promise<Lease | null | undefined>,
  ): Promise<Lease | undefined> {
    const call = this.#calls.begin(client, resources);
    let lease: Lease | undefined;
    try {
      lease = (await acquire()) ?? undefined;
      return lease;
    } finally {
      this.#calls.end(call);
      const kept = lease === undefined ? undefined : this.#tokens.get(lease.token);
      for (const token of call.tokens) {
        if (token === kept) continue;
        token.endedAtMs ??= this.#world.nowMs;
        token.hasFailed = true;
      }
    }
  }

  /** A server has carried out a command. */
  executed(server: MemoryServer, command: Command, reply: unknown): void {
    this.#counted.ousted(this.thefts.carriedOut(command));
    for (const [property, text] of this.#votes.carriedOut(server, command, reply)) this.fail(property, text);
  }

  #exempt(name: string | undefined): void {
    const token = this.#tokens.get(name ?? '');
    if (token !== undefined) token.isExempt = true;
  }

  /** A server tells a client. */
  published(server: MemoryServer, text: string): void {
    const fault = this.#votes.published(server, text);
    if (fault !== undefined) this.fail(...fault);
  }

  /** The command ran on a connection that had broken: its undo may have come before it. */
  orphaned(command: Command): void {
    for (const { token } of entriesOf(command)) this.#exempt(token);
  }

  /**
   * A server that was paused has carried out everything that had arrived. An undo follows its claim on the same
   * connection and needs nothing else, so no vote of an attempt that was over by then may be left.
   */
  caughtUp(links: readonly SimulatedLink[]): void {
    for (const link of links) {
      const { client, server } = link;
      if (!client.isAlive || link.state !== 'ready' || link.isBlocked || link.slowness > 1 || link.awayMs > 0)
        continue;
      const isCrowded = link.unanswered >= SILENT_WINDOW;
      for (const [key, name] of votesOn(server)) {
        const token = this.#tokens.get(name);
        if (token?.client !== client || !token.hasFailed || token.isExempt) continue;
        if (isCrowded && token.answeredBy.has(server.name)) continue;
        const isThere = (token.endedAtMs ?? Infinity) < this.#world.nowMs - ARRIVAL_MS;
        if (!isThere || link.disturbedAtMs > token.firstSentMs || server.refusedAtMs > token.firstSentMs)
          continue;
        this.fail('orphan', `${key} on ${server.name} is ${name}'s, though its undo was carried out`);
      }
    }
  }

  /** A server is back, perhaps with old data: votes that were undone long ago may have come back with it. */
  restored(server: MemoryServer): void {
    this.#votes.restored(server);
    const held = new Set([...this.#open.values()].flat().map(({ lease }) => lease.token));
    for (const [, name] of votesOn(server)) {
      const token = held.has(name) ? undefined : this.#tokens.get(name);
      if (token !== undefined) token.isExempt = true; // of an attempt that failed, though its call may go on
    }
  }

  /** Runs after each event that woke a client. */
  look(): void {
    for (const fault of this.#counted.look()) this.fail('votes', fault);
    for (const [resource, list] of this.#open) {
      if (list.length === 0) continue;
      for (let i = list.length - 1; i >= 0; i--) {
        const holding = list[i];
        if (holding !== undefined && validUntilMsOf(holding.lease) !== holding.untilMs) this.#moved(holding);
      }
      if (list.length > 1) this.#exclude(resource, list);
    }
  }

  /** Runs periodically: finds votes that nobody wants, on masters that undos could have reached. */
  lookForOrphans(links: readonly SimulatedLink[], calmSinceMs: (link: SimulatedLink) => number): void {
    for (const link of links) {
      const { client, server } = link;
      // for longer than undisturbed undos would have needed
      if (!isOpen(link) || this.#world.nowMs - calmSinceMs(link) < SETTLE_MS) continue;
      for (const [key, name] of votesOn(server)) {
        const token = this.#tokens.get(name);
        if (token?.client !== client || token.isExempt || this.thefts.tookAway(name)) continue;
        // a dead client's undo was sent on the claim's connection; if nothing disturbed that, it is carried out
        if (!client.isAlive && !link.carriedOut(token.firstSentMs)) continue;
        if (token.endedAtMs === undefined || this.#world.nowMs - token.endedAtMs < SETTLE_MS) continue;
        // masters that did not hear that its votes may not be set again
        if (this.#givenAway.has(name) && calmSinceMs(link) > token.endedAtMs) continue;
        token.isExempt = true; // reported once
        const ageMs = Math.round(this.#world.nowMs - token.endedAtMs);
        this.fail('orphan', `${key} on ${server.name} is ${name}'s, which ended ${ageMs} ms ago`);
      }
    }
  }

  #moved(holding: Holding): void {
    const { client, lease, untilMs } = holding;
    holding.untilMs = validUntilMsOf(lease);
    if (validUntilMsOf(lease) < untilMs) this.fail('continuity', `${lease.token} was shortened`);
    const nowMs = client.clock.now();
    if (holding.isOver || nowMs >= untilMs) {
      const lateMs = (nowMs - untilMs).toFixed(1);
      this.fail('continuity', `${lease.token} was extended ${lateMs} ms after its end`);
    }
  }

  #exclude(resource: string, list: Holding[]): void {
    let believer: Holding | undefined;
    for (const holding of list) {
      if (holding.isOver || holding.isTold || this.thefts.isHurried(holding.lease.token)) continue;
      const { client, lease } = holding;
      if (client.isSuspended) continue; // nothing of it can read a clock now, or do anything
      if (client.clock.now() >= validUntilMsOf(lease) || isOver(holding)) {
        holding.isOver = true;
        continue;
      }
      if (believer === undefined) {
        believer = holding;
        continue;
      }
      holding.isTold = true;
      const pair = `${believer.lease.token} (${believer.client.name}) and ${lease.token} (${client.name})`;
      this.brokenBy('exclusion', `${resource} is held by ${pair}`);
    }
  }
}
