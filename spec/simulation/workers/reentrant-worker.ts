/** Clients that re-enter a mutex: in and out, also when its validity may be over. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { ReentrantLease } from '../../../lib/lease/public.js';
import { leaseBehind } from '../../support/insides.js';
import type { ReentrantMutex } from '../../../lib/locks/reentrance.js';
import type { SharedTerms } from './shared-worker.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import type { Deeds } from './worker.js';
import { Routine } from './routine.js';

/** The resource that is used in this way. */
const RESOURCE = 're-entered';
const SLACK_MS = 10;
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED', 'NOT_HELD'];

export class ReentrantWorker extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: SharedTerms;
  readonly #deeds: Deeds;
  readonly #mutex: ReentrantMutex;
  readonly #owner: string;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: SharedTerms, deeds: Deeds) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
    this.#deeds = deeds;
    this.#mutex = player.redlock.mutex(RESOURCE, { reentrant: true });
    this.#owner = player.client.name;
  }

  protected override async work(): Promise<void> {
    for (let call = 0; call < this.#terms.calls; call++) {
      await this.player.client.sleep(this.#seeded.between(0, 100));
      await this.#one();
    }
  }

  async #one(): Promise<void> {
    const { checker } = this.stage;
    const { client } = this.player;
    const beginning = checker.begin();
    this.#deeds.calls++;
    let outer: ReentrantLease | undefined;
    try {
      await checker.call(client, [RESOURCE], async () => {
        outer = await this.#acquire();
        return leaseBehind(outer);
      });
    } catch (error) {
      this.#count(error);
    }
    if (outer === undefined) return;
    this.#deeds.grants++;
    checker.granted(client, leaseBehind(outer), beginning);
    await this.#goInAndOut(outer);
  }

  async #acquire(): Promise<ReentrantLease> {
    const { client } = this.player;
    const ttlMs = this.#seeded.whole(120, this.#terms.maxTtlMs);
    const waitMs = this.#seeded.whole(0, 1_500);
    const allowedMs = waitMs + mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS;
    const settled = this.stage.checker.expect(client, `acquire ${RESOURCE} as an owner`, allowedMs);
    try {
      return await this.#mutex.acquire({
        owner: this.#owner,
        ttlMs,
        waitMs,
        renew: this.#seeded.chance(0.3),
      });
    } finally {
      settled();
    }
  }

  /** Re-entry sends no message, and a lost lock cannot be re-entered; inner leases may be released in any order. */
  async #goInAndOut(outer: ReentrantLease): Promise<void> {
    const { checker } = this.stage;
    const lease = leaseBehind(outer);
    const entries = [outer];
    for (let step = this.#seeded.whole(1, 4); step > 0; step--) {
      await this.player.client.sleep(this.#seeded.between(0, Math.min(lease.ttlMs * 0.8, 400)));
      try {
        entries.push(this.#mutex.reenter({ owner: this.#owner }));
      } catch (error) {
        this.#count(error);
        break;
      }
      if (lease.status !== 'held')
        checker.fail('exclusion', `${lease.token} was entered, and is ${lease.status}`);
    }
    for (const entry of entries.splice(1).sort(() => this.#seeded.between(-1, 1))) await entry.release();
    checker.ended(lease, lease.status === 'held');
    await outer.release();
  }

  #count(error: unknown): void {
    if (!RedlockError.is(error)) throw error;
    if (NEVER.includes(error.code) && !this.stage.excuses(error.code)) throw error;
    this.#deeds.errors.set(error.code, (this.#deeds.errors.get(error.code) ?? 0) + 1);
  }
}
