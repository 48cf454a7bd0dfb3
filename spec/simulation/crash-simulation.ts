/**
 * A simulated run of crashes in bulk: many wait in the queue for one lock, half of them die at an instant, and then its holder
 * does, or lets go. Nothing else goes wrong. Whoever lives is served, within what docs/FAIRNESS.md allows for the dead (P11),
 * and places of the dead do not stay.
 */
import { Checker, type Violation } from './checker/checker.js';
import { ServiceClock } from './checker/service.js';
import type { Lease } from '../../lib/lease/public.js';
import { queueKey, turnKey } from '../../lib/protocol/keys.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import { RESERVE_MS } from '../../lib/protocol/lua/waiting.js';
import { Seeded, tokenFrom } from './world/seeded.js';
import { type Player, Stage } from './world/stage.js';
import { describe } from './workers/worker.js';
import { type HistoryLine, World } from './world/world.js';

export interface CrashOptions {
  /** The number of masters; drawn by default. */
  readonly nodes?: number;
  /** What is waited for; drawn by default. */
  readonly kind?: CrashKind;
  /** How many dead places stand before all others; drawn by default. */
  readonly byHand?: number;
  /** How many of those that die seem to hear pushes; drawn by default. */
  readonly deaf?: number;
  /** How many wait; drawn by default. */
  readonly waiters?: number;
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

export type CrashKind = 'mutex' | 'write' | 'permits';

/** The result of a run. */
export interface CrashReport {
  readonly seed: number;
  readonly events: number;
  readonly tookMs: number;
  readonly kind: CrashKind;
  /** How many lived, and were served. */
  readonly served: number;
  readonly dead: number;
  /** The longest time for which a lock was idle though a living client waited for it. */
  readonly longestIdleMs: number;
  /** From the end of the dead holder's votes, or from the release, to the first grant. */
  readonly firstAfterMs: number;
  readonly broken: 0;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const LOCK = 'r';
const TTL_MS = 3_000;
const WAIT_MS = 90_000;
const LONGEST_MS = 300_000;
const [DRIFT, SKEW_MS] = [0.009, 100];
/** What a waiter may need once a lock is free. */
const LATE_MS = 200;
/** Messages under way, and connections that were just opened. */
const CALM_MS = 100;

interface Setting {
  readonly nodes: number;
  readonly kind: CrashKind;
  readonly byHand: number;
  readonly deaf: number;
  readonly waiters: number;
  /** How many of the waiters one client has. */
  readonly perClient: number;
  /** Who dies: those at the front, or any. */
  readonly dies: 'front' | 'any' | 'all but the last';
  readonly restMs: number;
  readonly gapMs: number;
  readonly lets: 'die' | 'release';
}

function drawSetting(draw: Seeded, options: CrashOptions): Setting {
  const deaf = draw.pick([0, 0, 0, 4]);
  return {
    nodes: options.nodes ?? draw.pick([1, 3, 3, 5]),
    kind: options.kind ?? draw.pick(['mutex', 'mutex', 'write', 'permits']),
    byHand: options.byHand ?? draw.pick([0, 0, 100, 700]),
    deaf: options.deaf ?? deaf,
    waiters: options.waiters ?? draw.pick([9, 16, 40, 48]),
    perClient: draw.pick([1, 1, 4]),
    dies: draw.pick(['front', 'any', 'all but the last']),
    restMs: draw.between(200, 12_000),
    gapMs: draw.between(700, 2_500),
    lets: draw.pick(['die', 'die', 'release']),
  };
}

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulateCrashes(seed: number, options: CrashOptions = {}): Promise<CrashReport> {
  const run = new CrashRun(new Seeded(`crashes ${seed}`), options);
  await run.toItsEnd();
  const { checker, dead, firstAfterMs, served, service, setting, world } = run;
  return {
    seed,
    events: world.events,
    tookMs: Math.round(world.nowMs),
    kind: setting.kind,
    served,
    dead,
    firstAfterMs,
    longestIdleMs: service.longestMs,
    broken: 0,
    digest: world.digest.toString(16).padStart(8, '0'),
    violations: checker.violations,
    lines: world.lines ?? [],
  };
}

class CrashRun {
  readonly world: World;
  readonly checker: Checker;
  readonly service: ServiceClock;
  readonly setting: Setting;
  served = 0;
  dead = 0;
  /** Of those that had the lock before they died. */
  firstAfterMs = Infinity;
  readonly #stage: Stage;
  readonly #seeded: Seeded;
  #freeAtMs = Infinity;
  #isOver = false;

  constructor(seeded: Seeded, options: CrashOptions) {
    this.#seeded = seeded;
    this.world = new World(options.history === true);
    this.checker = new Checker(this.world, { isBeyond: false });
    this.setting = drawSetting(seeded.fork('setting'), options);
    const { nodes, perClient, waiters } = this.setting;
    this.#stage = new Stage(this.world, this.checker, seeded.fork('stage'), {
      ...{ servers: nodes, clients: 1 + Math.ceil(waiters / perClient), drift: DRIFT, skewMs: SKEW_MS },
      ...{ breaksAt: undefined, hasLatePushes: false },
      options: { ttlMs: TTL_MS },
    });
    for (const link of this.#stage.links) link.isCalm = true;
    this.service = new ServiceClock(this.#stage, {
      limitMs: LATE_MS,
      calmMs: CALM_MS,
      fail: (text) => this.checker.fail('service', text),
    });
  }

  async toItsEnd(): Promise<void> {
    const { checker, world } = this;
    world.after(0, () => {
      this.#direct()
        .catch((error: unknown) => checker.fail('exception', describe(error)))
        .finally(() => (this.#isOver = true));
    });
    world.onSettled = () => {
      checker.look();
      this.service.look();
    };
    await world.run(() => this.#isOver || world.nowMs > LONGEST_MS);
    if (!this.#isOver) checker.fail('settling', 'the run did not come to its end');
  }

  async #direct(): Promise<void> {
    const [holder, ...others] = this.#stage.players;
    if (holder === undefined) throw new Error('somebody holds it');
    await Promise.all(this.#stage.players.map(({ redlock }) => redlock.ready()));
    const lease = await this.#acquire(holder);
    this.#lineUpByHand();
    const waits = await this.#lineUp(others);
    await this.#pass(this.setting.restMs);
    this.#strike(others);
    await this.#pass(this.setting.gapMs);
    await this.#letGo(holder, lease);
    await Promise.all(waits.filter(({ player }) => player.client.isAlive).map(({ wait }) => wait));
    this.#judge();
    await this.#checkLeftovers(others);
  }

  /** One place after another is taken. */
  async #lineUp(
    players: readonly Player[],
  ): Promise<{ readonly player: Player; readonly wait: Promise<void> }[]> {
    const draw = this.#seeded.fork('arrivals');
    const waits = [];
    for (let i = 0; i < this.setting.waiters; i++) {
      const player = players[i % players.length];
      if (player === undefined) continue;
      waits.push({ player, wait: this.#wait(player) });
      await this.#pass(draw.between(2, 30));
    }
    return waits;
  }

  async #wait(player: Player): Promise<void> {
    try {
      const lease = await this.#acquire(player);
      this.firstAfterMs = Math.min(this.firstAfterMs, this.world.nowMs - this.#freeAtMs);
      this.served++;
      await player.client.sleep(10);
      this.checker.ended(lease, true);
      await lease.release();
    } catch (error) {
      this.checker.fail('progress', `${player.client.name} is not served: ${describe(error)}`);
    }
  }

  async #acquire({ client, redlock }: Player): Promise<Lease> {
    const beginning = this.checker.begin();
    const options = { ttlMs: TTL_MS, waitMs: WAIT_MS, renew: true };
    const lease = await (this.setting.kind === 'mutex'
      ? redlock.acquire(LOCK, options)
      : this.setting.kind === 'write'
        ? redlock.readWriteLock(LOCK).write.acquire(options)
        : redlock.semaphore(LOCK, 2).acquire({ ...options, permits: 2 }));
    this.checker.granted(client, lease, beginning);
    return lease;
  }

  /** Places that nobody has, before all others. */
  #lineUpByHand(): void {
    const { byHand } = this.setting;
    this.dead += byHand;
    for (const { server } of this.#stage.places) {
      for (let i = 0; i < byHand; i++)
        server.addMember(queueKey(LOCK), tokenFrom(`gone${i}`, String(i)), i + 1);
      server.expire(queueKey(LOCK), LONGEST_LIFE_MS);
      if (byHand > 0) server.set(turnKey(LOCK), '0||', LONGEST_LIFE_MS);
    }
  }

  /** They die. Some are deaf: the servers do not notice, and push to connections that nobody reads. */
  #strike(players: readonly Player[]): void {
    const draw = this.#seeded.fork('strike');
    const count =
      this.setting.dies === 'all but the last' ? players.length - 1 : Math.floor(players.length / 2);
    const order = players.map((player) => ({ player, at: draw.next() }));
    if (this.setting.dies === 'any') order.sort((one, other) => one.at - other.at);
    for (const [i, { player }] of order.slice(0, count).entries()) {
      this.world.note(
        'PLAN',
        `${player.client.name} dies${i < this.setting.deaf ? ', and seems to hear' : ''}`,
      );
      this.#crash(player, i < this.setting.deaf);
    }
  }

  #crash({ client, links }: Player, isDeaf: boolean): void {
    client.crash();
    this.checker.crashed(client);
    this.dead++;
    for (const link of links) {
      link.cut(false);
      if (!isDeaf) link.cutPushes();
    }
  }

  async #letGo(holder: Player, lease: Lease): Promise<void> {
    this.world.note('PLAN', `${holder.client.name}, which holds it, is to ${this.setting.lets}`);
    if (this.setting.lets === 'die') {
      this.#crash(holder, false);
      this.#freeAtMs = this.world.nowMs + TTL_MS;
      return;
    }
    this.#freeAtMs = this.world.nowMs;
    this.checker.ended(lease, true);
    await lease.release();
  }

  /** From the end of the ttl on, or the release, until the first of those that live. */
  #judge(): void {
    const { deaf, dies, lets } = this.setting;
    // to one that looked just before: it seems to be the holder
    const isDirect = lets === 'release';
    const eachMs = isDirect ? TTL_MS + LATE_MS : RESERVE_MS + LATE_MS;
    const mostMs = LATE_MS + deaf * eachMs;
    if (this.firstAfterMs > mostMs)
      this.checker.fail(
        'service',
        `the first is served ${this.firstAfterMs.toFixed(0)} ms later, ${mostMs} at most (${dies})`,
      );
  }

  /** Those behind the last that lives stay as long as places do. */
  async #checkLeftovers(players: readonly Player[]): Promise<void> {
    await Promise.all(players.filter(({ client }) => client.isAlive).map(({ redlock }) => redlock.close()));
    await this.#pass(LONGEST_LIFE_MS + TTL_MS);
    for (const { server } of this.#stage.places) {
      const left = server.members(queueKey(LOCK));
      if (typeof left === 'symbol' || left.length > 0)
        this.checker.fail('leftovers', `${server.name} has places in its queue, and nobody waits`);
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.world.after(ms, resolve));
  }
}
