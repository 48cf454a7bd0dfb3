/**
 * The clients of a simulated run: they acquire one resource or several, in all possible ways, hold them, extend, write to
 * what the locks protect, hand over, release, or simply go away. Bounded, and drawn from the seed.
 */
import type { MemoryFence } from '../../../lib/fence/index.js';
import { RedlockError, type RedlockErrorCode } from '../../../lib/runtime/errors.js';
import type { LeaseHandle } from '../../../lib/lease/lease-handle.js';
import type { Lease } from '../../../lib/lease/public.js';
import type { AcquireOptions } from '../../../lib/input/options.js';
import { judged } from '../checker/codes.js';
import { leastNodeTimeoutMs, mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import { stolen } from './stealing.js';

/** Counts what has been done in a run. */
export interface Deeds {
  calls: number;
  grants: number;
  extensions: number;
  /** Leases that were taken over by another client. */
  adoptions: number;
  /** Grants without a message: of the clients' last instances. */
  localHandOvers: number;
  /** Writes to what is protected, and how many of them were refused as stale. */
  writes: number;
  stale: number;
  readonly errors: Map<RedlockErrorCode, number>;
}

/** Errors that no fault excuses. */
const NEVER: readonly RedlockErrorCode[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED'];
/** Leases with long ttls are usually held only briefly: it is their orphans that matter. */
const LONG_HOLD_MS = 600;
/** In a crowd. */
const SHORT_HOLD_MS = 12;
const CROWD_EVERY_MS = 40;
const CROWD_WITHIN_MS = 3;
/**
 * The share of calls with a node timeout of their own: with deadlines of many lengths, a short one may follow a long one.
 */
const OWN_NODE_TIMEOUT = 0.2;
const LONGEST_NODE_TIMEOUT_MS = 1_000;
/** Between a deadline and the client's code that notices it. */
const SLACK_MS = 10;
/** The pauses before an extension asks all masters again: 0.8 s, and more where round trips are long. */
const PAUSES_MS = 1_550;

export interface WorkTerms {
  readonly resources: readonly string[];
  readonly calls: number;
  readonly maxTtlMs: number;
  /** Whether calls may switch fencing off. */
  readonly mixesFencing: boolean;
  /** The share of calls that queue. */
  readonly inQueue: number;
  /** All clients want the same lock at the same times, and hold it for a moment. */
  readonly isCrowd: boolean;
  /** Calls of one client wait for each other: in the local line, unless `localTurns` says otherwise. */
  readonly sharesNames: boolean;
  /** Clients take locks away from their holders. */
  readonly steals: boolean;
}

/** What the workers of a run share. */
export interface Shared {
  readonly deeds: Deeds;
  /** What the locks protect. */
  readonly guarded: MemoryFence;
  /** The resources for which this client has a call under way. */
  readonly busy: Set<string>;
  /** All workers, including those that only go on with leases from others. */
  readonly crew: Worker[];
}

export class Worker {
  readonly #stage: Stage;
  readonly #player: Player;
  readonly #seeded: Seeded;
  readonly #terms: WorkTerms;
  readonly #shared: Shared;
  /** The node timeouts that calls asked for; their leases use them, too. */
  readonly #asked = new WeakMap<Lease, number>();
  /** What is drawn for locks that are taken away. */
  readonly #stealing: Seeded;
  isDone = false;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: WorkTerms, shared: Shared) {
    this.#stage = stage;
    this.#player = player;
    this.#seeded = seeded;
    this.#stealing = seeded.fork('stealing');
    this.#terms = terms;
    this.#shared = shared;
    shared.crew.push(this);
  }

  async run(): Promise<void> {
    try {
      for (let call = 0; call < this.#terms.calls; call++) {
        await this.#pause();
        await (!this.#terms.isCrowd && this.#seeded.chance(0.25) ? this.#many() : this.#one());
      }
    } catch (error) {
      this.#stage.checker.fail('exception', describe(error));
    }
    this.isDone = true;
  }

  #pause(): Promise<void> {
    const { client } = this.#player;
    if (!this.#terms.isCrowd) return client.sleep(this.#seeded.between(0, 60));
    const untilNextMs = CROWD_EVERY_MS - (this.#stage.world.nowMs % CROWD_EVERY_MS);
    return client.sleep(untilNextMs + this.#seeded.between(0, CROWD_WITHIN_MS));
  }

  /** Its work is over, or its client has died. */
  get isOver(): boolean {
    return this.isDone || !this.#player.client.isAlive;
  }

  /** Takes over a lease of another client. */
  async adopt(handle: LeaseHandle): Promise<void> {
    try {
      await this.#adopt(handle);
    } catch (error) {
      this.#stage.checker.fail('exception', describe(error));
    }
    this.isDone = true;
  }

  async #adopt(handle: LeaseHandle): Promise<void> {
    const { checker } = this.#stage;
    const { redlock, client } = this.#player;
    const waitMs = this.#seeded.whole(0, 300);
    const nodeTimeoutMs = mostNodeTimeoutMs({ ttlMs: handle.ttlMs, nodeTimeoutMs: 0 });
    const settled = checker.expect(client, 'adopt', waitMs + nodeTimeoutMs + SLACK_MS);
    try {
      const lease = await redlock.adopt(handle, { waitMs });
      this.#note(`adopted ${lease.token} for ${lease.remainingMs().toFixed(0)} ms`);
      checker.adopted(client, lease);
      this.#shared.deeds.adoptions++;
      settled();
      await this.#hold(lease);
    } catch (error) {
      this.#count(error);
    } finally {
      settled();
    }
  }

  async #one(): Promise<void> {
    const lease = await this.#call();
    if (lease !== undefined) await this.#hold(lease);
  }

  /**
   * Several calls in one turn of the event loop: their requests share calls to the masters, and so do their extensions
   * and releases.
   */
  async #many(): Promise<void> {
    const { client } = this.#player;
    const calls = Array.from({ length: this.#seeded.whole(2, 5) }, () => this.#call());
    const leases = (await Promise.all(calls)).filter((lease) => lease !== undefined);
    await client.sleep(this.#seeded.between(0, LONG_HOLD_MS / 4));
    if (this.#seeded.chance(0.5)) {
      const held = leases.filter((lease) => lease.status === 'held');
      await Promise.all(held.map((lease) => this.#extend(lease)));
      await client.sleep(this.#seeded.between(0, LONG_HOLD_MS / 4));
    }
    await Promise.all(leases.map((lease) => this.#letGo(lease)));
  }

  /** One call of acquire; undefined if it failed. */
  async #call(): Promise<Lease | undefined> {
    const resources = this.#resources();
    const { busy } = this.#shared;
    const isShared = this.#terms.sharesNames && resources.length === 1;
    if (!isShared && resources.some((name) => busy.has(name))) return undefined; // one call at a time for each resource
    if (!isShared) for (const name of resources) busy.add(name);
    this.#shared.deeds.calls++;
    const { client } = this.#player;
    try {
      return await this.#stage.checker.call(client, resources, () => this.#acquire(resources));
    } catch (error) {
      this.#count(error);
      return undefined;
    } finally {
      if (!isShared) for (const name of resources) busy.delete(name);
    }
  }

  #resources(): readonly string[] {
    const { resources } = this.#terms;
    const first = this.#seeded.pick(resources);
    const second = this.#seeded.pick(resources);
    return first === second || this.#seeded.chance(0.7) ? [first] : [first, second].sort();
  }

  async #steal(resource: string): Promise<Lease | undefined> {
    const beginning = this.#stage.checker.begin();
    const options = this.#options(false);
    const { maxTtlMs } = this.#terms;
    const lease = await stolen(this.#stage, this.#player, this.#stealing, { ...options, resource, maxTtlMs });
    this.#shared.deeds.grants++;
    this.#asked.set(lease, options.nodeTimeoutMs ?? 0);
    this.#stage.checker.granted(this.#player.client, lease, beginning);
    return lease;
  }

  async #acquire(resources: readonly string[]): Promise<Lease | undefined> {
    if (this.#terms.steals && resources.length === 1 && this.#stealing.chance(0.2))
      return this.#steal(resources[0] ?? '');
    const { checker } = this.#stage;
    const { redlock, client } = this.#player;
    const beginning = checker.begin();
    const isTry = this.#seeded.chance(0.25);
    const options = this.#options(isTry);
    const { ttlMs = 0, waitMs = 0, nodeTimeoutMs = 0 } = options;
    const allowedMs = waitMs + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs }) + SLACK_MS;
    const settled = checker.expect(client, `acquire ${resources.join()}`, allowedMs);
    this.#note(`${isTry ? 'tries' : 'acquires'} ${resources.join('+')}, ttl ${ttlMs}, wait ${waitMs}`);
    try {
      const { waitMs: _wait, fair: _fair, ...forTry } = options;
      const lease = await judged(checker, client, waitMs, () =>
        isTry ? redlock.tryAcquire(resources, forTry) : redlock.acquire(resources, options),
      );
      if (lease === null) return undefined;
      this.#shared.deeds.grants++;
      this.#asked.set(lease, nodeTimeoutMs);
      checker.granted(client, lease, beginning);
      this.#note(`holds ${resources.join('+')} by ${lease.token}, fence ${lease.fence}`);
      return lease;
    } finally {
      settled();
    }
  }

  #options(isTry: boolean): AcquireOptions {
    const seeded = this.#seeded;
    const ttlMs = seeded.whole(120, this.#terms.maxTtlMs);
    const controller = seeded.chance(0.1) ? new AbortController() : undefined;
    if (controller !== undefined) {
      this.#player.client.background(seeded.between(0, 300), () => controller.abort(new Error('enough')));
    }
    return {
      ttlMs,
      waitMs: isTry ? 0 : seeded.whole(0, 1_500),
      renew: seeded.chance(0.3),
      ...(seeded.chance(OWN_NODE_TIMEOUT)
        ? { nodeTimeoutMs: seeded.whole(10, LONGEST_NODE_TIMEOUT_MS) }
        : {}),
      ...(isTry ? {} : { fair: seeded.chance(this.#terms.inQueue) }),
      ...(this.#terms.mixesFencing ? { fencing: seeded.chance(0.5) } : {}),
      ...(this.#terms.sharesNames && seeded.chance(0.3) ? { localTurns: seeded.pick([0, 1, 2, 63]) } : {}),
      ...(controller === undefined ? {} : { signal: controller.signal }),
    };
  }

  async #hold(lease: Lease): Promise<void> {
    const { client } = this.#player;
    const seeded = this.#seeded;
    const steps = seeded.whole(1, 3);
    if (seeded.chance(0.2)) void lease.signal; // with a listener
    for (let step = 0; step < steps; step++) {
      const long = seeded.chance(0.1) && !this.#terms.isCrowd;
      await client.sleep(
        seeded.between(0, long ? lease.ttlMs * 1.5 : Math.min(lease.ttlMs / 2, this.#longestHoldMs)),
      );
      if (seeded.chance(0.5)) this.#write(lease); // a late write, too: the resource has to refuse it
      if (lease.status !== 'held') {
        this.#note(`has lost ${lease.token}`);
        this.#stage.checker.ended(lease, false);
        return;
      }
      if (seeded.chance(0.4)) await this.#extend(lease);
    }
    await this.#letGo(lease);
  }

  get #longestHoldMs(): number {
    return this.#terms.isCrowd ? SHORT_HOLD_MS : LONG_HOLD_MS;
  }

  async #extend(lease: Lease): Promise<void> {
    const { checker } = this.#stage;
    const ttlMs = this.#seeded.chance(0.5) ? lease.ttlMs : this.#seeded.whole(100, this.#terms.maxTtlMs);
    // one at a time: it waits for a renewal that is under way, which may be its second attempt
    const renewalMs = this.#nodeTimeoutOf(lease, lease.ttlMs) + leastNodeTimeoutMs(lease.ttlMs);
    const ownMs = this.#nodeTimeoutOf(lease, ttlMs);
    // where waiters' votes refuse it, each of the two asks up to three times more
    const againMs = 2 * PAUSES_MS + 3 * (renewalMs + ownMs);
    const allowedMs = renewalMs + ownMs + againMs + SLACK_MS;
    const settled = checker.expect(this.#player.client, `extend ${lease.token}`, allowedMs);
    try {
      await lease.extend(ttlMs);
      this.#shared.deeds.extensions++;
      this.#note(`extended ${lease.token} by ${ttlMs}`);
    } catch (error) {
      this.#count(error);
    } finally {
      settled();
    }
  }

  async #letGo(lease: Lease): Promise<void> {
    const { checker, players } = this.#stage;
    const { client } = this.#player;
    const way = this.#seeded.next();
    if (way < 0.12 && lease.status === 'held') {
      const handle = lease.giveAway();
      checker.givenAway(lease);
      const other = this.#seeded.pick(players.filter(({ isClosing }) => !isClosing));
      this.#note(`hands ${lease.token} over to ${other.client.name}`);
      const adopter = this.#as(other);
      this.#stage.world.after(this.#seeded.between(0, 50), () => {
        other.client.hear(() => void adopter.adopt(handle));
      });
      return;
    }
    if (way < 0.2 && this.#terms.calls > 0) await client.sleep(lease.ttlMs); // dawdles, and releases late
    const allowedMs = this.#nodeTimeoutOf(lease, lease.ttlMs) + SLACK_MS;
    const settled = checker.expect(client, `release ${lease.token}`, allowedMs);
    checker.ended(lease, lease.status === 'held');
    this.#note(`releases ${lease.token}`);
    await lease.release();
    settled();
  }

  #nodeTimeoutOf(lease: Lease, ttlMs: number): number {
    return mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: this.#asked.get(lease) ?? 0 });
  }

  #as(player: Player): Worker {
    return new Worker(this.#stage, player, this.#seeded.fork('adopter'), this.#terms, this.#shared);
  }

  #write(lease: Lease): void {
    if (lease.fence === undefined) return;
    this.#shared.deeds.writes++;
    for (const resource of lease.resources) {
      if (!this.#shared.guarded.accepts(resource, lease.fence)) {
        this.#shared.deeds.stale++;
        this.#note(`its write to ${resource} by ${lease.token} is refused as stale`);
      }
    }
  }

  #count(error: unknown): void {
    if (!RedlockError.is(error)) throw error;
    if (NEVER.includes(error.code) && !this.#stage.excuses(error.code)) throw error;
    this.#note(error.code);
    this.#shared.deeds.errors.set(error.code, (this.#shared.deeds.errors.get(error.code) ?? 0) + 1);
  }

  #note(what: string): void {
    this.#stage.world.note(this.#player.client.name, what);
  }
}

export function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
