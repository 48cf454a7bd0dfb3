/**
 * A client whose instance is closed repeatedly while routines run under its locks, as at each deployment. Some routines
 * stop when their signal aborts; some go on, even beyond the time that `close` gives them. Then the next instance begins.
 * Nobody else may be granted the lock while a routine runs whose lease was not lost.
 */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Beginning } from '../checker/fences.js';
import type { Lease } from '../../../lib/lease/public.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';
import { type Deeds, describe } from './worker.js';

const SLACK_MS = 150;
const LONGEST_WAIT_MS = 800;
/** A routine checks at least this often whether to stop. */
const STEP_MS = 40;
const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND'];

export interface ClosingTerms {
  readonly resources: readonly string[];
  /** How many instances there are, one after the other. */
  readonly lives: number;
  readonly maxTtlMs: number;
}

export class ClosingWorker {
  readonly #stage: Stage;
  readonly #player: Player;
  readonly #seeded: Seeded;
  readonly #terms: ClosingTerms;
  readonly #deeds: Deeds;
  #isDone = false;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: ClosingTerms, deeds: Deeds) {
    this.#stage = stage;
    this.#player = player;
    this.#seeded = seeded;
    this.#terms = terms;
    this.#deeds = deeds;
  }

  get isOver(): boolean {
    return this.#isDone || !this.#player.client.isAlive;
  }

  async run(): Promise<void> {
    this.#player.isClosing = true;
    try {
      for (let life = 0; life < this.#terms.lives; life++) await this.#live();
    } catch (error) {
      this.#stage.checker.fail('exception', describe(error));
    }
    this.#player.isClosing = false;
    this.#isDone = true;
  }

  async #live(): Promise<void> {
    const { checker } = this.#stage;
    const { client } = this.#player;
    const names = this.#terms.resources.filter(() => this.#seeded.chance(0.8));
    const routines = names.map((name) => this.#work(name, this.#seeded.chance(0.7)));
    await client.sleep(this.#seeded.between(20, 700));
    await this.#close();
    await Promise.all(routines); // those that `close` did not wait for
    checker.closed(client);
    this.#stage.renew(this.#player);
  }

  async #close(): Promise<void> {
    const { checker, world } = this.#stage;
    const { client, redlock } = this.#player;
    const drainMs = this.#seeded.pick([0, 50, 300, 1_500]);
    // routines wait for their cancellation; undos follow
    const { maxTtlMs: ttlMs } = this.#terms;
    const allowedMs = drainMs + 2 * mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs: 0 }) + SLACK_MS;
    const settled = checker.expect(client, `close, ${drainMs} ms to drain`, allowedMs);
    world.note(client.name, `closes, ${drainMs} ms to drain`);
    await redlock.close({ drainMs });
    world.note(client.name, 'is closed');
    settled();
  }

  /** Takes the lock, with `using` or by hand, and works under it. */
  async #work(resource: string, isUsing: boolean): Promise<void> {
    const { checker } = this.#stage;
    const { client, redlock } = this.#player;
    await client.sleep(this.#seeded.between(0, 200));
    const beginning = checker.begin();
    const ttlMs = this.#seeded.whole(150, Math.min(this.#terms.maxTtlMs, 1_200));
    const options = { ttlMs, waitMs: this.#seeded.whole(0, LONGEST_WAIT_MS), renew: true };
    this.#deeds.calls++;
    let working = Promise.resolve();
    const work = (lease: Lease): Promise<void> => (working = this.#underLease(lease, beginning));
    try {
      await checker.call(client, [resource], () =>
        isUsing
          ? new Promise<Lease>((resolve, reject) => {
              const routine = (lease: Lease): Promise<void> => {
                resolve(lease);
                return work(lease);
              };
              redlock.using(resource, options, routine).catch(reject);
            })
          : redlock.acquire(resource, options).then((lease) => {
              void work(lease).then(() => lease.release());
              return lease;
            }),
      );
    } catch (error) {
      this.#count(error);
    }
    await working;
  }

  /** Works until its signal aborts, or ignores that. */
  async #underLease(lease: Lease, beginning: Beginning): Promise<void> {
    const { checker, world } = this.#stage;
    const { client } = this.#player;
    this.#deeds.grants++;
    checker.granted(client, lease, beginning);
    checker.worksUnder(lease);
    const listens = this.#seeded.chance(0.6);
    world.note(client.name, `works under ${lease.token}${listens ? '' : ', and does not listen'}`);
    for (let steps = this.#seeded.whole(1, 50); steps > 0; steps--) {
      await client.sleep(this.#seeded.between(0, STEP_MS));
      if (listens && lease.signal.aborted) break;
    }
    const { status } = lease;
    world.note(client.name, `is done under ${lease.token}, which is ${status}`);
    checker.ended(lease, status === 'held');
  }

  #count(error: unknown): void {
    if (!RedlockError.is(error)) throw error;
    if (NEVER.includes(error.code) && !this.#stage.excuses(error.code)) throw error;
    this.#deeds.errors.set(error.code, (this.#deeds.errors.get(error.code) ?? 0) + 1);
  }
}
