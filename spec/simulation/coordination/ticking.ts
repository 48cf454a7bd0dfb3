/** A client with a job, which also does something once now and then. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Job, JobOptions, JobRun } from '../../../lib/jobs/public.js';
import type { Player, Stage } from '../world/stage.js';
import { Routine } from '../workers/routine.js';
import type { Seeded } from '../world/seeded.js';
import type { TickChecker } from './tick-checker.js';

/** The names of the job, and of what is done once now and then. */
export const [JOB, ONCE] = ['job', 'once'] as const;

const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED', 'NOT_HELD'];

export interface TickingTerms {
  readonly options: JobOptions;
  readonly ttlMs: number;
  readonly untilMs: number;
  readonly onceForMs: number;
}

export class Ticking extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: TickingTerms;
  readonly #ticks: TickChecker;
  #job: Job<void> | undefined;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: TickingTerms, ticks: TickChecker) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
    this.#ticks = ticks;
  }

  /** Ends the job of a client that lives. */
  async stop(): Promise<void> {
    await this.#job?.stop();
  }

  protected override async work(): Promise<void> {
    const { redlock } = this.player;
    await this.player.client.sleep(this.#seeded.between(0, 2_000));
    this.#job = await redlock.job(JOB, this.#terms.options, (run) => this.#run(run));
    this.#job.on('done', ({ scheduledAt }) => this.#runs.get(scheduledAt.getTime())?.done());
    this.#job.on('failed', ({ scheduledAt }) => this.#runs.get(scheduledAt.getTime())?.failed());
    this.#job.on('skipped', ({ error }) => {
      const { checker } = this.stage;
      if (RedlockError.is(error) && NEVER.includes(error.code))
        checker.fail('codes', `${this.player.client.name} skips a tick: ${error.message}`);
    });
    while (this.stage.world.nowMs < this.#terms.untilMs) {
      await this.player.client.sleep(this.#seeded.between(100, 2_000));
      await this.#once();
    }
  }

  readonly #runs = new Map<number, { done(): void; failed(): void }>();

  async #run(run: JobRun): Promise<void> {
    const own = this.#ticks.started(this.player.client, run);
    this.#runs.set(run.scheduledAt.getTime(), {
      done: () => (own.isDone = true),
      failed: () => (own.hasFailed = true),
    });
    const isCalm = this.stage.world.nowMs >= this.#terms.untilMs;
    const isLong = !isCalm && this.#seeded.chance(0.1);
    await this.player.client.sleep(isLong ? this.#seeded.between(300, 2_000) : this.#seeded.between(1, 30));
  }

  async #once(): Promise<void> {
    const { client, redlock } = this.player;
    let beganMs = 0;
    try {
      const { executed } = await redlock.runOnce(
        ONCE,
        this.#terms.onceForMs,
        async () => {
          beganMs = this.stage.world.nowMs;
          await client.sleep(this.#seeded.between(1, 20));
          if (this.#seeded.chance(0.2)) throw new RedlockError('ABORTED', 'a routine that fails');
        },
        { waitMs: this.#seeded.pick([0, 300]), ttlMs: this.#terms.ttlMs },
      );
      if (executed) this.#ticks.succeededOnce(client, beganMs, this.#terms.onceForMs);
    } catch (error) {
      if (!RedlockError.is(error) || NEVER.includes(error.code)) throw error;
    }
  }
}
