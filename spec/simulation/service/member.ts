/** A process that wants its locks all the time: it waits for each, and keeps it until it is to be given on. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Lease } from '../../../lib/lease/public.js';
import type { Player, Stage } from '../world/stage.js';
import { Routine } from '../workers/routine.js';

/** The wait of a member that does not give up. */
const WAIT_MS = 3_600_000;
const AGAIN_MS = 100;

/** A lease, and since when its holder has had it by true time. */
export interface Kept {
  readonly member: Member;
  readonly lease: Lease;
  readonly sinceMs: number;
}

export interface MemberTerms {
  readonly resource: string;
  readonly ttlMs: number;
  readonly fair: boolean;
  readonly handOver: 'direct' | 'reserve';
}

export class Member extends Routine {
  kept: Kept | undefined;
  readonly #terms: MemberTerms;
  #isStopped = false;
  #giveOn: () => void = () => undefined;

  constructor(stage: Stage, player: Player, terms: MemberTerms) {
    super(stage, player);
    this.#terms = terms;
  }

  get resource(): string {
    return this.#terms.resource;
  }

  get name(): string {
    return this.player.client.name;
  }

  /** Begins in its client's process. */
  start(): void {
    this.player.client.hear(() => void this.run());
  }

  /** Releases the lock that it has, and waits for it again. */
  giveOn(): void {
    this.#giveOn();
  }

  stop(): void {
    this.#isStopped = true;
    this.#giveOn();
  }

  protected override async work(): Promise<void> {
    const { client, redlock } = this.player;
    const { checker } = this.stage;
    const stop = new AbortController();
    while (!this.#isStopped) {
      const beginning = checker.begin();
      this.#giveOn = () => {
        if (this.#isStopped) stop.abort();
      };
      try {
        const { fair, handOver, resource, ttlMs } = this.#terms;
        const lease = await redlock.acquire(resource, {
          ...{ ttlMs, fair, handOver, waitMs: WAIT_MS, renew: true, signal: stop.signal },
        });
        checker.granted(client, lease, beginning);
        await this.#keep(lease);
      } catch (error) {
        if (!RedlockError.is(error)) throw error; // waits that fail are other properties' affair
      }
      if (!this.#isStopped) await client.sleep(AGAIN_MS);
    }
  }

  async #keep(lease: Lease): Promise<void> {
    const { checker, world } = this.stage;
    this.kept = { member: this, lease, sinceMs: world.nowMs };
    await new Promise<void>((resolve) => {
      this.#giveOn = resolve;
      lease.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.kept = undefined;
    if (lease.signal.aborted) {
      checker.fail('erosion', `${this.name} loses ${this.resource}: ${String(lease.signal.reason)}`);
      return checker.ended(lease, false);
    }
    checker.ended(lease, true);
    await lease.release();
  }
}
