/** One run of a small world under one schedule, from its beginning to its end, with nothing drawn. */
import { Checker, type Violation } from '../checker/checker.js';
import { clockOfService } from '../checker/service.js';
import { Ending, lookOnward } from '../ending.js';
import { describe } from '../workers/worker.js';
import { type Player, Stage } from '../world/stage.js';
import { type HistoryLine, World } from '../world/world.js';
import { type Checkers, checkersOf } from './checkers.js';
import { type Schedule, TTL_MS } from './deviations.js';
import { Hands } from './hands.js';
import { type Menu, Scheduler } from './scheduler.js';
import { Steady } from './steady.js';
import { RESOURCE } from './programs.js';
import type { SmallWorld } from './worlds.js';

export interface SmallReport {
  readonly violations: readonly Violation[];
  /** What each step offered, in their order. */
  readonly steps: readonly Menu[];
  readonly events: number;
  /** Of the whole history. */
  readonly digest: number;
  /** The history, if it was asked for. */
  readonly lines: readonly HistoryLine[];
}

/** A run that is not over by then hangs. */
const LONGEST_MS = 120_000;
/** All are connected by then. */
const CONNECTED_MS = 25;
/** Repairs get through, and unwanted votes would be noticed. */
const SETTLED_MS = 5_000;

export async function runSmall(
  small: SmallWorld,
  schedule: Schedule,
  keepsLines = false,
): Promise<SmallReport> {
  const world = new World(keepsLines);
  const checker = new Checker(world, { isBeyond: false });
  const stage = new Stage(
    world,
    checker,
    new Steady({ resends: small.resends ?? false, clocks: clocksOf(small) }),
    {
      servers: small.masters,
      clients: small.programs.length,
      drift: 0.009,
      skewMs: 0,
      options: { ttlMs: TTL_MS, retry: { minDelayMs: 5, maxDelayMs: 100 }, ...small.options },
      breaksAt: undefined,
      hasLatePushes: false,
    },
  );
  const checkers = checkersOf(stage, checker, small);
  const service = clockOfService(stage);
  const scheduler = new Scheduler(stage, small, schedule);
  let isOver = false;
  world.after(0, () => {
    new Course(stage, small, scheduler, checkers)
      .run()
      .catch((error: unknown) => checker.fail('exception', describe(error)))
      .finally(() => (isOver = true));
  });
  world.onSettled = () => {
    checker.look();
    checkers.shared.look();
    checkers.leaders.look();
    service.look();
  };
  lookOnward(stage, checkers.shared, () => isOver);
  await world.run(() => isOver || world.nowMs > LONGEST_MS);
  if (!isOver) checker.fail('settling', 'the run did not come to its end');
  const { digest, events, lines = [] } = world;
  return { violations: checker.violations, steps: scheduler.steps, events, digest, lines };
}

const noProgram = (): Promise<void> => Promise.resolve();

/** A rate and an offset for each master, and a rate for each client. */
function clocksOf({ hasFastMasters = false, masters, programs }: SmallWorld): readonly number[] {
  if (!hasFastMasters) return [0.5];
  return [...Array.from({ length: masters }, () => [1, 0.5]).flat(), ...programs.map(() => 0)];
}

/** What happens in a run, one after the other. */
class Course {
  readonly #stage: Stage;
  readonly #small: SmallWorld;
  readonly #scheduler: Scheduler;
  readonly #checkers: Checkers;
  readonly #ending: Ending;

  constructor(stage: Stage, small: SmallWorld, scheduler: Scheduler, checkers: Checkers) {
    this.#stage = stage;
    this.#small = small;
    this.#scheduler = scheduler;
    this.#checkers = checkers;
    this.#ending = new Ending(stage, small.longestTtlMs ?? TTL_MS);
  }

  async run(): Promise<void> {
    await this.#prepare();
    this.#scheduler.open();
    await this.#programs();
    this.#scheduler.close();
    this.#stage.heal();
    await this.#ending.pass(SETTLED_MS);
    if (this.#living().length < this.#stage.players.length)
      await this.#ending.pass(this.#small.longestTtlMs ?? TTL_MS);
    for (const player of this.#living()) await this.#ending.acquire(player, RESOURCE, this.#small.acquire);
    await this.#small.ending?.(this.#stage, this.#living(), this.#checkers);
    for (const player of this.#living()) await player.redlock.close();
    for (const player of this.#living()) this.#ending.checkClosed(player);
    await this.#ending.checkLeftovers(this.#living());
  }

  /** Scripts are loaded, counters exist, and each client has measured its masters. */
  async #prepare(): Promise<void> {
    const { players } = this.#stage;
    const guardMs = this.#small.options?.restartGuardMs ?? 0;
    await this.#ending.pass(CONNECTED_MS);
    if (guardMs > 0) await players[0]?.redlock.bootstrap({ force: true });
    for (const player of players) await this.#ending.acquire(player, RESOURCE, this.#small.acquire);
    this.#small.prepare?.(this.#stage);
  }

  /** Until each client has done its part, or has crashed. */
  async #programs(): Promise<void> {
    const parts = this.#stage.players.map((player, i) => {
      const { client } = player;
      const hands = new Hands(this.#stage, player, this.#checkers, this.#scheduler.schedule);
      return new Promise<void>((resolve) => {
        client.onCrash = resolve;
        client.hear(() => void hands.run(this.#small.programs[i] ?? noProgram).then(resolve));
      });
    });
    await Promise.all(parts);
  }

  #living(): readonly Player[] {
    return this.#stage.players.filter(({ client }) => client.isAlive);
  }
}
