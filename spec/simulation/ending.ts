/** The end of a run, with nothing wrong any more: every client gets every lock, and closing leaves nothing behind. */
import type { SharedChecker } from './checker/shared-checker.js';
import type { Lease } from '../../lib/lease/public.js';
import type { AcquireOptions } from '../../lib/input/options.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import type { Player, Stage } from './world/stage.js';
import { describe } from './workers/worker.js';

/** How often the checker looks for violations that take a while to show. */
export const LOOK_EVERY_MS = 250;
/** No place in a queue outlives its wait by more than this. */
const PLACE_LIFE_MS = 2_600;

/** What stays: counters, the guard's marker, and records of jobs. */
const COUNTERS = /^quorate:(?:tagged:)?(?:fence|guard|record)/;

/** Acquires a lock of some kind. */
export type Acquire = (player: Player, options: AcquireOptions) => Promise<Lease>;

/** Checks periodically for violations that take a while to show, until the run is over. */
export function lookOnward(stage: Stage, sharedChecker: SharedChecker, isOver: () => boolean): void {
  const { checker, links, world } = stage;
  const again = (): void => {
    if (isOver()) return;
    checker.lookForLate();
    checker.lookForOrphans(links, (link) => stage.calmSinceMs(link));
    sharedChecker.lookForOthers(links, (link) => stage.calmSinceMs(link));
    world.after(LOOK_EVERY_MS, again);
  };
  again();
}

export class Ending {
  readonly #stage: Stage;
  readonly #maxTtlMs: number;

  constructor(stage: Stage, maxTtlMs: number) {
    this.#stage = stage;
    this.#maxTtlMs = maxTtlMs;
  }

  /** Acquires and releases it, which must not fail. @param acquire  how; by default, as an exclusive lock */
  async acquire(
    player: Player,
    resource: string,
    acquire: Acquire = ({ redlock }, options) => redlock.acquire(resource, options),
  ): Promise<void> {
    const { checker } = this.#stage;
    const { client } = player;
    const beginning = checker.begin();
    const settled = checker.expect(client, `acquire ${resource} at the end`, 2_000);
    try {
      const options = { ttlMs: this.#maxTtlMs, waitMs: 1_500, renew: true };
      const lease = await checker.call(client, [resource], () => acquire(player, options));
      settled();
      if (lease === undefined) return;
      checker.granted(client, lease, beginning);
      await this.pass(5);
      checker.ended(lease, true);
      await lease.release();
    } catch (error) {
      settled();
      checker.fail(
        'progress',
        `${client.name} does not get ${resource}, with nothing wrong: ${describe(error)}`,
      );
    }
    await this.pass(300);
  }

  /** Its instance was closed: nothing of it is left in its process. */
  checkClosed({ client, links, redlock }: Player): void {
    const { checker } = this.#stage;
    const { calls, waiting } = redlock.stats();
    if (calls !== 0 || waiting !== 0)
      checker.fail(
        'leftovers',
        `${client.name} counts ${calls} calls, and ${waiting} that wait, after close`,
      );
    if (client.pending > 0)
      checker.fail('leftovers', `${client.name} has ${client.pending} timers after close`);
    const listeners = links.reduce((sum, link) => sum + link.listeners, 0);
    if (listeners > 0) checker.fail('leftovers', `${client.name} has ${listeners} listeners after close`);
  }

  /** All instances were closed: after one ttl and one wait, no timer and no lock is left. A job's record may be. */
  async checkLeftovers(players: readonly Player[]): Promise<void> {
    const { checker, places } = this.#stage;
    await this.pass(Math.max(this.#maxTtlMs, PLACE_LIFE_MS) + 1_000);
    for (const { client } of players) {
      if (client.armed > 0)
        checker.fail('leftovers', `${client.name} has ${client.armed} timers of its event loop at the end`);
    }
    const left = (but: RegExp): readonly string[] =>
      places.flatMap(({ server }) => {
        const keys = server.names().filter((key) => !but.test(key));
        return keys.length > 0 ? [`${server.name} has ${keys.join()} at the end`] : [];
      });
    let found = left(/^quorate:(?:tagged:)?(?:fence|guard|record|looks|taken)/);
    if (found.length === 0 && left(COUNTERS).length > 0) {
      await this.pass(LONGEST_LIFE_MS); // looks may be left for as long as places live, and tokens that were taken for longer than a ttl
      found = left(COUNTERS);
    }
    for (const text of found) checker.fail('leftovers', text);
  }

  /** Lets virtual time pass. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#stage.world.after(ms, resolve));
  }
}
