/**
 * A simulated run of elections and jobs: clients campaign, watch, run a job and do something once, over masters that fail,
 * as `simulation.ts` has them. At the end all faults are healed; then everybody who campaigns leads, each tick is run, and
 * nothing is left.
 */
import { Checker, type Violation } from './checker/checker.js';
import { clockOfService } from './checker/service.js';
import { LeaderChecker } from './coordination/leader-checker.js';
import { ELECTION, GoingOn, leadAtTheEnd, Leading, LED, Watching } from './coordination/leading.js';
import { TickChecker } from './coordination/tick-checker.js';
import { JOB, ONCE, Ticking } from './coordination/ticking.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import type { JobOptions } from '../../lib/jobs/public.js';
import { drawPlan, type FaultKind } from './world/faults.js';
import { Seeded } from './world/seeded.js';
import { type Player, Stage } from './world/stage.js';
import { type HistoryLine, World } from './world/world.js';
import { drawWrong, makeWrong, type Wrong } from './world/wrong-servers.js';
import type { Routine } from './workers/routine.js';
import { describe } from './workers/worker.js';

export interface CoordinationOptions {
  /** Whether masters have a restart guard, and may lose their data; drawn by default. */
  readonly guarded?: boolean;
  /** The number of masters; drawn by default. */
  readonly nodes?: number;
  /** What becomes of ticks that are missed; drawn by default. */
  readonly missed?: JobOptions['missed'];
  /** No run begins sooner after the last one; drawn by default. */
  readonly atLeastForMs?: number;
  /** Whether a minority of masters is wrong for good, and gives nobody a vote; drawn by default. */
  readonly wrongServers?: boolean;
  /** Kinds of fault that are drawn more often. */
  readonly favoured?: readonly FaultKind[];
  /** Now and then a connection breaks when a script of this name is sent, and the script is lost; by default never. */
  readonly breaksAt?: string;
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

/** The result of a run. */
export interface CoordinationReport {
  readonly seed: number;
  readonly events: number;
  readonly tookMs: number;
  /** How many leaderships, runs of ticks, and successes of `once` there were. */
  readonly leaders: number;
  readonly starts: number;
  readonly once: number;
  readonly broken: 0;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const UNTIL_MS = 15_000;
const LONGEST_MS = 200_000;
const EVERY_MS = 500;
const ONCE_FOR_MS = 4_000;
const [DRIFT, SKEW_MS] = [0.009, 200];
/** How far clocks are apart by then: at first, by drift, and by readings of them that are ten seconds old. */
const APART_MS = 900;
const CALM_MS = 5_000;
/** The share of runs in which a minority of masters is wrong for good. */
const HAS_WRONG = 0.15;
/** What is locked. */
const NAMES = [ELECTION, LED, JOB, ONCE] as const;

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulateCoordination(
  seed: number,
  options: CoordinationOptions = {},
): Promise<CoordinationReport> {
  const run = new CoordinationRun(new Seeded(`coordination ${seed}`), options);
  await run.toItsEnd();
  const { checker, leaders, ticks, world } = run;
  return {
    seed,
    events: world.events,
    tookMs: Math.round(world.nowMs),
    ...{ leaders: leaders.leaders, starts: ticks.starts, once: ticks.once, broken: 0 },
    digest: world.digest.toString(16).padStart(8, '0'),
    violations: checker.violations,
    lines: world.lines ?? [],
  };
}

class CoordinationRun {
  readonly world: World;
  readonly checker: Checker;
  readonly leaders: LeaderChecker;
  readonly ticks: TickChecker;
  readonly #stage: Stage;
  readonly #seeded: Seeded;
  readonly #ttlMs: number;
  readonly #guardMs: number;
  readonly #job: JobOptions;
  readonly #wrong: ReadonlyMap<number, Wrong>;
  #isOver = false;

  constructor(seeded: Seeded, options: CoordinationOptions) {
    this.world = new World(options.history === true);
    this.checker = new Checker(this.world, { isBeyond: false });
    this.#seeded = seeded;
    const draw = seeded.fork('setting');
    const nodes = options.nodes ?? draw.pick([1, 3, 3, 3, 5]);
    this.#ttlMs = draw.pick([400, 800, 1_500]);
    const isGuarded = options.guarded ?? draw.chance(0.5);
    this.#guardMs = isGuarded ? Math.ceil(this.#ttlMs * 1.01) + 2 + draw.pick([0, 300]) : 0;
    const missed = options.missed ?? draw.pick(['skip', 'once', 'all'] as const);
    const atLeastForMs = options.atLeastForMs ?? draw.pick([0, 0, 0, 4_000]);
    const overlap = draw.pick(['skip', 'queue'] as const);
    this.#job = { every: EVERY_MS, missed, overlap, atLeastForMs, ttlMs: this.#ttlMs };
    const clients = 3;
    this.#stage = new Stage(this.world, this.checker, seeded.fork('stage'), {
      ...{ servers: nodes, clients, drift: DRIFT, skewMs: SKEW_MS, breaksAt: options.breaksAt },
      hasLatePushes: false,
      options: {
        ttlMs: this.#ttlMs,
        restartGuardMs: this.#guardMs,
        retry: { minDelayMs: 5, maxDelayMs: 100 },
      },
    });
    const servers = this.#stage.places.map(({ server }) => server);
    this.leaders = new LeaderChecker(this.world, this.checker, servers, ELECTION);
    this.ticks = new TickChecker(this.world, this.checker, servers, {
      everyMs: EVERY_MS,
      missed,
      atLeastForMs,
      ttlMs: this.#ttlMs,
      apartMs: APART_MS,
    });
    const terms = {
      servers: nodes,
      clients,
      untilMs: UNTIL_MS,
      isGuarded,
      beyond: undefined,
      awayMs: 0,
      isFull: false,
      failsOver: isGuarded && seeded.fork('fail-over').chance(0.3),
      silencesPushes: seeded.fork('silent pushes').chance(0.15),
    };
    const forWrong = seeded.fork('wrong');
    const hasWrong = options.wrongServers ?? forWrong.chance(HAS_WRONG);
    this.#wrong = hasWrong ? drawWrong(forWrong, nodes, isGuarded) : new Map();
    const favoured = options.favoured ?? [];
    this.#stage.schedule(drawPlan(seeded.fork('plan'), { ...terms, isCalm: false, favoured }));
  }

  async toItsEnd(): Promise<void> {
    const { checker, world } = this;
    world.after(0, () => {
      this.#direct()
        .catch((error: unknown) => checker.fail('exception', describe(error)))
        .finally(() => (this.#isOver = true));
    });
    const service = clockOfService(this.#stage);
    world.onSettled = () => {
      this.leaders.look();
      service.look();
    };
    await world.run(() => this.#isOver || world.nowMs > LONGEST_MS);
    if (!this.#isOver) checker.fail('settling', 'the run did not come to its end');
  }

  async #direct(): Promise<void> {
    const { players } = this.#stage;
    if (this.#guardMs > 0) await players[0]?.redlock.bootstrap({ force: true }).catch(() => undefined);
    const putRight = makeWrong(this.#stage, this.#wrong, NAMES);
    const tickers = players.map((player) => this.#tickingOf(player));
    const others = players.flatMap((player) =>
      this.#routinesOf(player).map((routine) => ({ player, routine })),
    );
    const all = tickers
      .map((ticker, i) => ({ player: players[i], routine: ticker as Routine }))
      .concat(others);
    for (const { player, routine } of all) player?.client.hear(() => void routine.run());
    while (!all.every(({ routine }) => routine.isOver)) await this.#pass(100);
    putRight();
    this.#stage.heal();
    await this.#pass(2 * this.#guardMs + 4 * this.#ttlMs + 4_000);
    const living = players.filter(({ client }) => client.isAlive);
    if (living.length > 0) await this.#checkCalm(living);
    await Promise.all(tickers.filter((_, i) => players[i]?.client.isAlive).map((ticker) => ticker.stop()));
    await Promise.all(living.map(({ redlock }) => redlock.close()));
    for (const { client } of living)
      if (client.pending > 0)
        this.checker.fail('leftovers', `${client.name} has ${client.pending} timers left`);
    await this.#checkLeftovers();
  }

  async #checkCalm(living: readonly Player[]): Promise<void> {
    const fromMs = this.#mastersMs();
    await leadAtTheEnd(this.#stage, living, this.leaders);
    await this.#pass(CALM_MS);
    if (this.#job.atLeastForMs === 0) this.ticks.expectAll(fromMs + APART_MS, this.#mastersMs() - APART_MS);
  }

  async #checkLeftovers(): Promise<void> {
    await this.#pass(LONGEST_LIFE_MS + 4_000); // looks may be left for as long as places live
    for (const { server } of this.#stage.places) {
      const left = server.names().filter((key) => !/^quorate:(?:fence|guard|record|value)/.test(key));
      if (left.length > 0) this.checker.fail('leftovers', `${server.name} has ${left.join()} at the end`);
    }
  }

  #tickingOf(player: Player): Ticking {
    const terms = { options: this.#job, ttlMs: this.#ttlMs, untilMs: UNTIL_MS, onceForMs: ONCE_FOR_MS };
    const own = this.#seeded.fork(`${player.client.name} ticking`);
    return new Ticking(this.#stage, player, own, terms, this.ticks);
  }

  #routinesOf(player: Player): readonly Routine[] {
    const fork = (what: string): Seeded => this.#seeded.fork(`${player.client.name} ${what}`);
    const terms = { ttlMs: this.#ttlMs, untilMs: UNTIL_MS };
    const going = this.#wrong.size === 0 ? [] : [new GoingOn(this.#stage, player, fork('going on'), terms)];
    return [
      ...going,
      new Leading(this.#stage, player, fork('leading'), terms, this.leaders),
      new Watching(this.#stage, player, fork('watching'), UNTIL_MS, this.leaders),
    ];
  }

  /** The earliest of the masters' clocks. */
  #mastersMs(): number {
    return Math.min(...this.#stage.places.map(({ server }) => server.micros() / 1_000));
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.world.after(ms, resolve));
  }
}
