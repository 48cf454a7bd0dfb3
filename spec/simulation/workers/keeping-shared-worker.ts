/**
 * Clients that hold many renewed read-write locks and semaphores at a time: their claims, renewals and releases share
 * calls, those of different kinds included, and entries for one lock are in one call.
 */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Lease } from '../../../lib/lease/public.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import type { SharedState, SharedTerms } from './shared-worker.js';
import { Routine } from './routine.js';

/** How many read-write locks there are, and how many semaphores; every such client wants all of them. */
const KEPT = 5;
const SLACK_MS = 10;
const WAIT_MS = 400;
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED'];

export class KeepingSharedWorker extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: SharedTerms;
  readonly #shared: SharedState;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: SharedTerms, shared: SharedState) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
    this.#shared = shared;
  }

  protected override async work(): Promise<void> {
    for (let round = 0; round < Math.ceil(this.#terms.calls / 3); round++) await this.#round();
  }

  /** Takes as many as it can, some of them twice, keeps them for a while, and releases them one by one. */
  async #round(): Promise<void> {
    const { client } = this.player;
    const seeded = this.#seeded;
    await client.sleep(seeded.between(0, 200));
    const ttlMs = seeded.whole(200, Math.min(this.#terms.maxTtlMs, 1_200));
    const wanted = Array.from({ length: 3 * KEPT }, () => seeded.whole(0, 2 * KEPT - 1));
    const taken = await Promise.all(wanted.map((number) => this.#take(number, ttlMs)));
    const leases = taken.filter((lease) => lease !== undefined);
    while (leases.length > 0) {
      await client.sleep(seeded.between(0, ttlMs));
      const gone = leases.splice(0, seeded.whole(1, KEPT));
      await Promise.all(gone.map((lease) => this.#letGo(lease)));
    }
  }

  async #take(number: number, ttlMs: number): Promise<Lease | undefined> {
    const { checker } = this.stage;
    const { client } = this.player;
    const isReadWrite = number < KEPT;
    const permits = isReadWrite ? 0 : this.#seeded.whole(1, Math.min(2, this.#terms.permits));
    const name = isReadWrite ? `kept:rw${number}` : `kept:{s}${number}`;
    const beginning = checker.begin();
    const settled = checker.expect(
      client,
      `acquire ${name}`,
      WAIT_MS + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS,
    );
    const { deeds, sharedChecker } = this.#shared;
    deeds.calls++;
    try {
      const lease = await checker.call(client, [name], () => this.#acquire(name, permits, ttlMs));
      if (lease === undefined) return undefined;
      deeds.grants++;
      checker.grantedShared(client, lease, beginning);
      sharedChecker.granted(client, lease, permits);
      return lease;
    } catch (error) {
      if (!RedlockError.is(error) || NEVER.includes(error.code)) throw error;
      deeds.errors.set(error.code, (deeds.errors.get(error.code) ?? 0) + 1);
      return undefined;
    } finally {
      settled();
    }
  }

  #acquire(name: string, permits: number, ttlMs: number): Promise<Lease> {
    const { redlock } = this.player;
    const options = { ttlMs, waitMs: WAIT_MS, renew: true };
    if (permits > 0) return redlock.semaphore(name, this.#terms.permits).acquire({ ...options, permits });
    const { read, write } = redlock.readWriteLock(name);
    return this.#seeded.chance(0.25) ? write.acquire(options) : read.acquire(options);
  }

  async #letGo(lease: Lease): Promise<void> {
    const { checker } = this.stage;
    const { client } = this.player;
    const isHeld = lease.status === 'held';
    const isGivenAway = isHeld && this.#seeded.chance(0.1);
    this.#shared.sharedChecker.ended(lease);
    checker.ended(lease, isHeld && !isGivenAway);
    if (isGivenAway) return void lease.giveAway(); // nobody takes it over
    const settled = checker.expect(
      client,
      `release ${lease.token}`,
      mostNodeTimeoutMs({ ttlMs: lease.ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS,
    );
    await lease.release();
    settled();
  }
}
