/** Clients that hold many renewed locks at a time: renewals that are due together are sent together. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Lease } from '../../../lib/lease/public.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import type { Deeds } from './worker.js';
import { Routine } from './routine.js';

/** How many locks there are; every such client wants all of them. */
const KEPT = 14;
const SLACK_MS = 10;
const WAIT_MS = 400;
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED'];

export interface KeepingTerms {
  readonly rounds: number;
  readonly maxTtlMs: number;
  /** Whether some leases have no fencing tokens. */
  readonly mixesFencing: boolean;
}

export class KeepingWorker extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: KeepingTerms;
  readonly #deeds: Deeds;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: KeepingTerms, deeds: Deeds) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
    this.#deeds = deeds;
  }

  protected override async work(): Promise<void> {
    for (let round = 0; round < this.#terms.rounds; round++) await this.#round();
  }

  /** Takes as many as it can, keeps them for a while, and releases them one by one. */
  async #round(): Promise<void> {
    const { client } = this.player;
    const { maxTtlMs } = this.#terms;
    await client.sleep(this.#seeded.between(0, 200));
    const ttlMs = this.#seeded.whole(200, Math.min(maxTtlMs, 1_200));
    const names = Array.from({ length: KEPT }, (_, i) => `kept:${i}`);
    const wanted = names.filter(() => this.#seeded.chance(0.8));
    const taken = await Promise.all(wanted.map((name) => this.#take(name, ttlMs)));
    const leases = taken.filter((lease) => lease !== undefined);
    while (leases.length > 0) {
      await client.sleep(this.#seeded.between(0, ttlMs));
      const gone = leases.splice(0, this.#seeded.whole(1, Math.ceil(KEPT / 3)));
      await Promise.all(gone.map((lease) => this.#letGo(lease)));
    }
  }

  async #take(name: string, ttlMs: number): Promise<Lease | undefined> {
    const { checker } = this.stage;
    const { client, redlock } = this.player;
    const beginning = checker.begin();
    const settled = checker.expect(
      client,
      `acquire ${name}`,
      WAIT_MS + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS,
    );
    const fencing = this.#terms.mixesFencing ? { fencing: this.#seeded.chance(0.5) } : {};
    this.#deeds.calls++;
    try {
      const lease = await checker.call(client, [name], () =>
        redlock.acquire(name, { ttlMs, waitMs: WAIT_MS, renew: true, ...fencing }),
      );
      if (lease === undefined) return undefined;
      this.#deeds.grants++;
      checker.granted(client, lease, beginning);
      if (this.#seeded.chance(0.3)) void lease.signal; // with a listener
      return lease;
    } catch (error) {
      if (!RedlockError.is(error)) throw error;
      if (NEVER.includes(error.code) && !this.stage.excuses(error.code)) throw error;
      this.#deeds.errors.set(error.code, (this.#deeds.errors.get(error.code) ?? 0) + 1);
      return undefined;
    } finally {
      settled();
    }
  }

  async #letGo(lease: Lease): Promise<void> {
    const { checker } = this.stage;
    const { client } = this.player;
    const isHeld = lease.status === 'held';
    const isGivenAway = isHeld && this.#seeded.chance(0.1);
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
