/** What is checked in a small world beside exclusive locks. */
import type { Checker } from '../checker/checker.js';
import { SharedChecker } from '../checker/shared-checker.js';
import { LeaderChecker } from '../coordination/leader-checker.js';
import { TickChecker } from '../coordination/tick-checker.js';
import type { Stage } from '../world/stage.js';
import { TTL_MS } from './deviations.js';
import { EVERY_MS } from './job-programs.js';
import { RESOURCE } from './programs.js';
import type { SmallWorld } from './worlds.js';

export interface Checkers {
  readonly shared: SharedChecker;
  readonly leaders: LeaderChecker;
  readonly ticks: TickChecker;
}

/** How far a client that was paused as it read the masters' clocks may be wrong about them. */
const APART_MS = 200;

export function checkersOf(stage: Stage, checker: Checker, { job, permits = 0 }: SmallWorld): Checkers {
  const { world } = stage;
  const servers = stage.places.map(({ server }) => server);
  return {
    shared: new SharedChecker(checker, () => world.nowMs, permits),
    leaders: new LeaderChecker(world, checker, servers, RESOURCE),
    ticks: new TickChecker(world, checker, servers, {
      everyMs: EVERY_MS,
      missed: job?.missed ?? 'skip',
      atLeastForMs: job?.atLeastForMs ?? 0,
      ttlMs: TTL_MS,
      apartMs: APART_MS,
    }),
  };
}
