/** Clients with shared locks: they read, write, downgrade and take permits, and release them or not. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Lease } from '../../../lib/lease/public.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import { WriteLease } from '../../../lib/lease/lease.js';
import type { SharedChecker } from '../checker/shared-checker.js';
import { judged } from '../checker/codes.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import type { Deeds } from './worker.js';
import { Routine } from './routine.js';
import { stolenBy } from './stealing.js';

/** The resources that are used in this way. */
export const SHARED_LOCKS = { readWrite: 'rw', semaphore: '{t}sem' } as const;

const LONG_HOLD_MS = 500;
const SLACK_MS = 10;
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED'];

export interface SharedTerms {
  readonly calls: number;
  readonly maxTtlMs: number;
  /** How many permits the semaphore has. */
  readonly permits: number;
  /** The share of calls that queue. */
  readonly inQueue: number;
  /** Many such locks are held at a time, too. */
  readonly isKept: boolean;
  /** Clients take read-write locks away from their holders. */
  readonly steals: boolean;
}

export interface SharedState {
  readonly deeds: Deeds;
  readonly sharedChecker: SharedChecker;
  /** The resources for which this client has a call under way. */
  readonly busy: Set<string>;
}

export class SharedWorker extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: SharedTerms;
  readonly #shared: SharedState;
  /** What is drawn for locks that are taken away. */
  readonly #stealing: Seeded;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: SharedTerms, shared: SharedState) {
    super(stage, player);
    this.#seeded = seeded;
    this.#stealing = seeded.fork('stealing');
    this.#terms = terms;
    this.#shared = shared;
  }

  protected override async work(): Promise<void> {
    for (let call = 0; call < this.#terms.calls; call++) {
      await this.player.client.sleep(this.#seeded.between(0, 60));
      await this.#one();
    }
  }

  async #one(): Promise<void> {
    const isReadWrite = this.#seeded.chance(0.5);
    const resource = isReadWrite ? SHARED_LOCKS.readWrite : SHARED_LOCKS.semaphore;
    const { busy, deeds, sharedChecker } = this.#shared;
    if (busy.has(resource)) return;
    busy.add(resource);
    deeds.calls++;
    const { client } = this.player;
    const { checker } = this.stage;
    const permits = isReadWrite ? 0 : this.#seeded.whole(1, Math.min(2, this.#terms.permits));
    let lease: Lease | undefined;
    try {
      const beginning = checker.begin();
      lease = await checker.call(client, [resource], () => this.#acquire(resource, permits));
      if (lease === undefined) return;
      deeds.grants++;
      checker.grantedShared(client, lease, beginning);
      sharedChecker.granted(client, lease, permits);
    } catch (error) {
      this.#count(error);
      return;
    } finally {
      busy.delete(resource);
    }
    await this.#hold(lease);
  }

  async #acquire(resource: string, permits: number): Promise<Lease | null> {
    const { client, redlock } = this.player;
    const seeded = this.#seeded;
    const ttlMs = seeded.whole(120, this.#terms.maxTtlMs);
    const isTry = seeded.chance(0.2);
    const waitMs = seeded.whole(0, 1_500);
    const own = { ttlMs, renew: seeded.chance(0.3) };
    const waiting = { ...own, waitMs, fair: seeded.chance(this.#terms.inQueue) };
    const toWrite = seeded.chance(0.4);
    if (permits === 0 && toWrite && this.#terms.steals && this.#stealing.chance(0.3))
      return this.#steal(resource, { ...own, waitMs });
    const what = permits > 0 ? `${permits} permits` : toWrite ? 'to write' : 'to read';
    const allowedMs = (isTry ? 0 : waitMs) + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS;
    const settled = this.stage.checker.expect(client, `acquire ${resource} ${what}`, allowedMs);
    this.#note(`${isTry ? 'tries' : 'acquires'} ${resource} ${what}, ttl ${ttlMs}, wait ${waitMs}`);
    try {
      const mayWaitMs = isTry ? 0 : waitMs;
      return await judged(this.stage.checker, client, mayWaitMs, () => {
        if (permits > 0) {
          const semaphore = redlock.semaphore(resource, this.#terms.permits);
          return isTry
            ? semaphore.tryAcquire({ ...own, permits })
            : semaphore.acquire({ ...waiting, permits });
        }
        const { read, write } = redlock.readWriteLock(resource);
        if (isTry) return toWrite ? write.tryAcquire(own) : read.tryAcquire(own);
        return toWrite ? write.acquire(waiting) : read.acquire(waiting);
      });
    } finally {
      settled();
    }
  }

  #steal(resource: string, options: { readonly ttlMs: number; readonly waitMs: number }): Promise<Lease> {
    const terms = { ...options, resource, maxTtlMs: this.#terms.maxTtlMs };
    return stolenBy(this.stage, this.player, this.#stealing, terms, (how) =>
      this.player.redlock.readWriteLock(resource).steal({ ...options, ...how }),
    );
  }

  async #hold(lease: Lease): Promise<void> {
    const { client } = this.player;
    const seeded = this.#seeded;
    this.#note(`holds ${lease.resources.join()} by ${lease.token}`);
    for (let step = seeded.whole(1, 3); step > 0; step--) {
      const isLong = seeded.chance(0.1);
      await client.sleep(
        seeded.between(0, isLong ? lease.ttlMs * 1.5 : Math.min(lease.ttlMs / 2, LONG_HOLD_MS)),
      );
      if (lease.status !== 'held') return this.#end(lease, false);
      if (lease instanceof WriteLease && seeded.chance(0.3)) await this.#settle(lease.downgrade());
      else if (seeded.chance(0.4)) await this.#settle(lease.extend());
    }
    if (seeded.chance(0.1)) await client.sleep(lease.ttlMs); // dawdles, and releases late
    this.#end(lease, lease.status === 'held');
    const settled = this.stage.checker.expect(
      client,
      `release ${lease.token}`,
      mostNodeTimeoutMs({ ttlMs: lease.ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS,
    );
    this.#note(`releases ${lease.token}`);
    await lease.release();
    settled();
  }

  #end(lease: Lease, isReleased: boolean): void {
    this.#shared.sharedChecker.ended(lease);
    this.stage.checker.ended(lease, isReleased);
  }

  async #settle(extension: Promise<void>): Promise<void> {
    try {
      await extension;
      this.#shared.deeds.extensions++;
    } catch (error) {
      this.#count(error);
    }
  }

  #count(error: unknown): void {
    if (!RedlockError.is(error) || NEVER.includes(error.code)) throw error;
    this.#note(error.code);
    this.#shared.deeds.errors.set(error.code, (this.#shared.deeds.errors.get(error.code) ?? 0) + 1);
  }

  #note(what: string): void {
    this.stage.world.note(this.player.client.name, what);
  }
}
