/** What the client of a small world does, told to the checkers as it happens. */
import type { AcquireOptions } from '../../../lib/input/options.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import { RedlockError } from '../../../lib/runtime/errors.js';
import { tokenIn } from '../../../lib/runtime/random.js';
import { judged } from '../checker/codes.js';
import type { Beginning } from '../checker/fences.js';
import type { LeaseHandle } from '../../../lib/lease/lease-handle.js';
import type { Lease } from '../../../lib/lease/public.js';
import type { Redlock } from '../../../lib/redlock.js';
import type { Checkers } from './checkers.js';
import { wholeAgainMs } from '../service-simulation.js';
import { describe } from '../workers/worker.js';
import type { Player, Stage } from '../world/stage.js';
import { type DeviationKind, type Schedule, TTL_MS } from './deviations.js';

/** Between a deadline and the code that notices it. */
const SLACK_MS = 10;
/** Whoever stands in the queue gets the lock within this time, while only these happen: longer than all holds together. */
const PROMPT_MS = TTL_MS + 100;
const GENTLE: readonly DeviationKind[] = ['next', 'unplug'];
/** Errors that no deviation excuses. */
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND'];

/** A lock that several may hold: how it is acquired, and how many permits that takes, if it is about permits. */
export interface SharedLock {
  readonly resource: string;
  readonly permits: number;
  readonly acquire: (redlock: Redlock, options: AcquireOptions) => Promise<Lease>;
}

export class Hands {
  readonly player: Player;
  readonly checkers: Checkers;
  readonly #stage: Stage;
  readonly #schedule: Schedule;
  /** The node timeouts that calls asked for; their leases use them, too. */
  readonly #asked = new WeakMap<Lease, number>();

  constructor(stage: Stage, player: Player, checkers: Checkers, schedule: Schedule) {
    this.#stage = stage;
    this.#schedule = schedule;
    this.player = player;
    this.checkers = checkers;
  }

  get redlock(): Redlock {
    return this.player.redlock;
  }

  /** Nothing goes wrong but what costs nobody any time. */
  get isGentle(): boolean {
    return this.#schedule.every(({ kind }) => GENTLE.includes(kind));
  }

  /** True time, which the masters' clocks show in a small world. */
  get nowMs(): number {
    return this.#stage.world.nowMs;
  }

  /** By its own clock. */
  pass(ms: number): Promise<void> {
    return this.player.client.sleep(ms);
  }

  /** A program, to its end: what it throws is a violation. */
  async run(program: (hands: Hands) => Promise<unknown>): Promise<void> {
    try {
      await program(this);
    } catch (error) {
      this.#stage.checker.fail('exception', describe(error));
    }
  }

  /** @returns undefined if it was not granted */
  async acquire(resource: string | readonly string[], options: AcquireOptions): Promise<Lease | undefined> {
    const resources = [resource].flat();
    const { nowMs } = this.#stage.world;
    const acquire = (): Promise<Lease> => this.redlock.acquire(resources, options);
    const granted = (lease: Lease, beginning: Beginning): void => this.holds(lease, beginning);
    const lease = await this.granted(resources, options, acquire, granted);
    if (options.fair !== false) this.#mustBePrompt(this.#stage.world.nowMs - nowMs);
    return lease;
  }

  #mustBePrompt(tookMs: number): void {
    if (tookMs <= PROMPT_MS || !this.isGentle) return;
    const { name } = this.player.client;
    this.#stage.checker.fail('progress', `${name} stands in the queue for ${tookMs.toFixed(0)} ms`);
  }

  /** An exclusive lock was granted. */
  holds(lease: Lease, beginning: Beginning): void {
    this.#stage.checker.granted(this.player.client, lease, beginning);
  }

  /** It must still be held; only a deviation excuses that it is not. */
  mustHold(lease: Lease, why: string): void {
    if (lease.status === 'held' || this.#schedule.length > 0) return;
    this.#stage.checker.fail('progress', `${why}: its lease is ${lease.status}`);
  }

  /** P10: a renewal and two seconds after anything went wrong, a renewed lease is held, and has the votes of all masters. */
  mustBeWhole(
    lease: Lease,
    { ttlMs, grantedAtMs }: { readonly ttlMs: number; readonly grantedAtMs: number },
  ): void {
    const [resource = ''] = lease.resources;
    const { checker, links, places, world } = this.#stage;
    const calmSinceMs = Math.max(grantedAtMs, ...links.map((link) => this.#stage.calmSinceMs(link)));
    if (world.nowMs - calmSinceMs < wholeAgainMs(ttlMs)) return;
    const others = places
      .map(({ server }) => ({ name: server.name, value: server.get(resource) }))
      .filter(({ value }) => tokenIn(String(value)) !== lease.token);
    if (lease.status !== 'held' || others.length > 0)
      checker.fail('erosion', `the lease is ${lease.status}; not its votes: ${JSON.stringify(others)}`);
  }

  /** A routine begins under it. */
  worksUnder(lease: Lease): void {
    this.#stage.checker.worksUnder(lease);
  }

  /** Its instance was closed; it gets a new one. */
  wasClosed(): void {
    this.#stage.checker.closed(this.player.client);
    this.#stage.renew(this.player);
  }

  acquireShared(lock: SharedLock, options: AcquireOptions): Promise<Lease | undefined> {
    const acquire = (): Promise<Lease> => lock.acquire(this.redlock, options);
    return this.granted([lock.resource], options, acquire, (lease, beginning) => {
      this.#stage.checker.fenced(lease, beginning);
      this.checkers.shared.granted(this.player.client, lease, lock.permits);
    });
  }

  /** A call that acquires. @param onGranted  before anything else of this client runs */
  async granted(
    resources: readonly string[],
    { ttlMs = TTL_MS, waitMs = 0, nodeTimeoutMs = 0 }: AcquireOptions,
    acquire: () => Promise<Lease>,
    onGranted: (lease: Lease, beginning: Beginning) => void,
  ): Promise<Lease | undefined> {
    const { checker } = this.#stage;
    const { client } = this.player;
    const beginning = checker.begin();
    const allowedMs = waitMs + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs }) + SLACK_MS;
    const settled = checker.expect(client, `acquire ${resources.join()}`, allowedMs);
    this.note(`acquires ${resources.join('+')}, wait ${waitMs}`);
    try {
      const lease = await checker.call(client, resources, () => judged(checker, client, waitMs, acquire));
      if (lease === undefined) return undefined;
      onGranted(lease, beginning);
      this.#asked.set(lease, nodeTimeoutMs);
      this.note(`holds ${resources.join('+')} by ${lease.token}, fence ${lease.fence}`);
      return lease;
    } catch (error) {
      this.excuse(error);
      return undefined;
    } finally {
      settled();
    }
  }

  async extend(lease: Lease | undefined, ttlMs: number): Promise<void> {
    if (lease?.status !== 'held') return;
    await this.settles(lease, 'extend', () => lease.extend(ttlMs));
    this.note(`extended ${lease.token} by ${ttlMs}, if it was in time`);
  }

  giveAway(lease: Lease): LeaseHandle {
    const handle = lease.giveAway();
    this.#stage.checker.givenAway(lease);
    this.note(`hands ${lease.token} over`);
    return handle;
  }

  /** @returns undefined if it could not be taken over */
  async adopt(handle: LeaseHandle): Promise<Lease | undefined> {
    try {
      const lease = await this.redlock.adopt(handle, { waitMs: TTL_MS });
      this.#stage.checker.adopted(this.player.client, lease);
      this.note(`adopts ${lease.token}`);
      return lease;
    } catch (error) {
      this.excuse(error);
      return undefined;
    }
  }

  async release(lease: Lease | undefined): Promise<void> {
    if (lease === undefined) return;
    this.ended(lease, lease.status === 'held');
    this.note(`releases ${lease.token}`);
    await this.settles(lease, 'release', () => lease.release());
  }

  /** It is not used any more. */
  ended(lease: Lease, isReleased: boolean): void {
    this.#stage.checker.ended(lease, isReleased);
    this.checkers.shared.ended(lease);
  }

  /** Something about a lease that may take two node timeouts. */
  async settles(lease: Lease, what: string, run: () => Promise<unknown>): Promise<void> {
    const nodeTimeoutMs = this.#asked.get(lease) ?? 0;
    const allowedMs = 2 * mostNodeTimeoutMs({ ttlMs: lease.ttlMs, nodeTimeoutMs }) + SLACK_MS;
    const settled = this.#stage.checker.expect(this.player.client, `${what} ${lease.token}`, allowedMs);
    try {
      await run();
    } catch (error) {
      this.excuse(error);
    } finally {
      settled();
    }
  }

  note(what: string): void {
    this.#stage.world.note(this.player.client.name, what);
  }

  /** @throws what no deviation excuses */
  excuse(error: unknown): void {
    if (!RedlockError.is(error) || NEVER.includes(error.code)) throw error;
    this.note(error.code);
  }
}
