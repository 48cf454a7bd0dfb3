/**
 * A long world: days to months of one job, in processes that come and go, over masters that are away now and then. The
 * production code runs under virtual time, as in `coordination-simulation.ts`; `tick-table.ts` judges it.
 */
import type { Job, JobRun } from '../../../lib/jobs/public.js';
import { RedlockError } from '../../../lib/runtime/errors.js';
import { Checker, type Violation } from '../checker/checker.js';
import { describe } from '../workers/worker.js';
import type { Fault } from '../world/faults.js';
import { Seeded } from '../world/seeded.js';
import { type Player, Stage } from '../world/stage.js';
import { type HistoryLine, World } from '../world/world.js';
import {
  type ByHand,
  drawSetting,
  type Life,
  type LongOptions,
  type LongSetting,
  MINUTE,
  type Outage,
  TTL_MS,
} from './setting.js';
import { type TickRun, TickTable } from './tick-table.js';

export interface LongReport {
  readonly seed: number;
  readonly events: number;
  readonly tookMs: number;
  /** How many ticks there were, and how many runs of them. */
  readonly ticks: number;
  readonly starts: number;
  readonly broken: 0;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const SKEW_MS = 200;
const RECONNECT_MS = 3_000;
const LONG_RUN = 0.05;

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulateLong(seed: number, options: LongOptions = {}): Promise<LongReport> {
  const seeded = new Seeded(`long ${seed}`);
  const setting = await drawSetting(seeded.fork('setting'), options);
  const run = new LongWorld(seeded, setting, options.history === true);
  await run.toItsEnd();
  const { checker, table, world } = run;
  return {
    seed,
    events: world.events,
    tookMs: Math.round(world.nowMs),
    ...{ ticks: setting.ticks.length, starts: table.starts, broken: 0 },
    digest: world.digest.toString(16).padStart(8, '0'),
    violations: checker.violations,
    lines: world.lines ?? [],
  };
}

class LongWorld {
  readonly world: World;
  readonly checker: Checker;
  readonly table: TickTable;
  readonly #setting: LongSetting;
  readonly #seeded: Seeded;
  readonly #stage: Stage;
  readonly #jobs = new Map<Player, Job<void>>();
  #handMs = 0;
  #living = 0;

  constructor(seeded: Seeded, setting: LongSetting, keepsLines: boolean) {
    this.world = new World(keepsLines);
    this.checker = new Checker(this.world, { isBeyond: false });
    this.#seeded = seeded;
    this.#setting = setting;
    this.table = new TickTable(setting, (text) => this.checker.fail('ticks', text));
    this.#stage = new Stage(this.world, this.checker, seeded.fork('stage'), {
      ...{ servers: setting.masters, clients: setting.lives.length, drift: 0, skewMs: SKEW_MS },
      ...{ breaksAt: undefined, hasLatePushes: false, reconnectMs: RECONNECT_MS },
      options: { ttlMs: TTL_MS, retry: { minDelayMs: 50, maxDelayMs: 2_000 } },
    });
  }

  async toItsEnd(): Promise<void> {
    const { byHand, lives, outages, untilMs } = this.#setting;
    const { players } = this.#stage;
    this.#living = lives.length;
    for (const [i, life] of lives.entries()) {
      const player = players[i];
      if (player !== undefined) this.#lives(player, life);
    }
    for (const [i, outage] of outages.entries()) this.#strikes(outage, i);
    for (const one of byHand) this.world.at(one.atMs, () => this.#runByHand(one));
    await this.world.run(() => this.#living === 0 && this.world.nowMs > untilMs);
    this.table.judge();
  }

  #lives(player: Player, { crashes, fromMs, toMs }: Life): void {
    const { client } = player;
    const { world } = this;
    world.at(fromMs, () => client.hear(() => this.#guarded(() => this.#start(player, toMs))));
    if (!crashes) return;
    world.at(toMs, () => {
      client.crash();
      this.checker.crashed(client);
      this.table.crashed(world.nowMs);
      for (const link of player.links) {
        link.cut(false);
        link.cutPushes();
      }
      this.#jobs.delete(player);
      this.#living--;
    });
  }

  async #start(player: Player, toMs: number): Promise<void> {
    const { client, redlock } = player;
    const { table, world } = this;
    const seeded = this.#seeded.fork(`${client.name} runs`);
    const job = await redlock.job('job', this.#setting.job, (run) => this.#run(player, run, seeded));
    this.#jobs.set(player, job);
    let presence: ReturnType<TickTable['present']> | undefined;
    job.on('scheduled', () => (presence ??= table.present(world.nowMs)));
    for (const what of ['done', 'failed'] as const)
      job.on(what, ({ scheduledAt }) => table.ended(scheduledAt.getTime(), what, world.nowMs));
    for (const what of ['skipped', 'missed'] as const)
      job.on(what, ({ reason, scheduledAt }) => {
        world.note(client.name, `${what} ${scheduledAt.toISOString()} ${reason}`);
        table.told(scheduledAt.getTime(), { who: client.name, atMs: world.nowMs, what, reason });
      });
    await new Promise<void>((resolve) => void world.at(toMs, resolve));
    if (presence !== undefined) presence.toMs = world.nowMs;
    if (!client.isAlive) return;
    this.#jobs.delete(player);
    await job.stop();
    await redlock.close();
    client.crash(); // its process has ended
    this.checker.crashed(client);
    this.#living--;
  }

  async #run({ client }: Player, { scheduledAt, signal }: JobRun, seeded: Seeded): Promise<void> {
    const { runMs, longRunMs, ticks } = this.#setting;
    const tick = scheduledAt.getTime();
    const run: TickRun = {
      who: client.name,
      beganMs: this.world.nowMs,
      ...{ endedMs: undefined, ended: undefined },
      hasCrashed: () => !client.isAlive,
    };
    this.world.note(client.name, `runs ${scheduledAt.toISOString()}`);
    this.table.began(tick, run);
    const ownMs = seeded.chance(LONG_RUN) ? seeded.between(runMs, longRunMs) : seeded.between(10, runMs);
    client.onCrash = () => (run.endedMs ??= this.world.nowMs);
    const isAborted = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await Promise.race([client.sleep(ticks.includes(tick) ? ownMs : this.#handMs), isAborted]);
    run.endedMs = this.world.nowMs;
  }

  #runByHand({ takesMs }: ByHand): void {
    const [player, job] = this.#seeded
      .fork(`by hand ${this.world.nowMs}`)
      .pick([...this.#jobs, [undefined, undefined]] as const);
    if (player === undefined) return;
    player.client.hear(() =>
      this.#guarded(async () => {
        this.#handMs = takesMs;
        this.world.note(player.client.name, `run() for ${takesMs} ms`);
        await job.run({ waitMs: MINUTE }).catch((error: unknown) => {
          if (!RedlockError.is(error) || error.code === 'INVALID_ARGUMENT') throw error;
        });
      }),
    );
  }

  #strikes({ fromMs, kind, masters, toMs }: Outage, i: number): void {
    const first = i % this.#setting.masters;
    for (let nth = 0; nth < masters; nth++) {
      const fault: Fault = {
        ...{
          id: i,
          kind,
          atMs: fromMs,
          durationMs: toMs - fromMs,
          data: 'kept',
          snapshotAgeMs: 0,
          stepMs: 0,
        },
        ...{ server: (first + nth) % this.#setting.masters, client: 0, direction: 'both', drops: false },
      };
      this.world.at(fromMs, () => this.#stage.begin(fault));
    }
  }

  #guarded(what: () => Promise<void>): void {
    what().catch((error: unknown) => this.checker.fail('exception', describe(error)));
  }
}
