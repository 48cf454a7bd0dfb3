/**
 * A simulated run of timestamp locks: one server that never loses data, and clients with their own wall clocks, using
 * both methods on the same key. Messages are late, connections break, clients are paused and die. Everything is drawn
 * from the seed. At the end all faults are healed, and each client that lives must get the lock.
 *
 * The model: wall clocks agree to within the margin, and a message takes less time than another margin. A plain `DEL` or
 * `GETSET` that is under way for longer breaks the lock (a documented weakness), so where clients use plain commands,
 * nothing is held back. `apartMs` leaves the model: there, exclusion must break.
 */
import { TimestampLock } from '../../lib/timestamp/lock.js';
import { isValid } from '../support/insides.js';
import type { TimestampLease } from '../../lib/timestamp/public.js';
import type { Property, Violation } from './checker/checker.js';
import { SimulatedClient } from './world/client.js';
import { SimulatedLink } from './world/link.js';
import { Seeded, SeededRandom } from './world/seeded.js';
import { MemoryServer } from '../../lib/testing/master/server.js';
import { type HistoryLine, World } from './world/world.js';

export interface TimestampSimulationOptions {
  /** How far wall clocks differ at most, in ms. @default the margin */
  readonly apartMs?: number;
  /** All clients use scripts, and messages are held back for seconds; drawn by default. */
  readonly heldBack?: boolean;
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

/** The result of a run. */
export interface TimestampSimulationReport {
  readonly seed: number;
  readonly events: number;
  readonly tookMs: number;
  readonly grants: number;
  /** How many leases ended by their validity, and how many by a release. */
  readonly lost: number;
  readonly released: number;
  /** How often exclusion was broken; only with clocks that differ by more than the margin. */
  readonly broken: number;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const KEY = 'lock';
const MARGIN_MS = 100;
const WORK_MS = 20_000;
const LONGEST_MS = 120_000;
const DAY_MS = 1_790_000_000_000;
const PAUSES = 12;

interface Player {
  readonly client: SimulatedClient;
  readonly link: SimulatedLink;
  readonly lock: TimestampLock;
  readonly work: Seeded;
  lease: TimestampLease | undefined;
}

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulateTimestamps(
  seed: number,
  options: TimestampSimulationOptions = {},
): Promise<TimestampSimulationReport> {
  const run = new TimestampRun(new Seeded(`timestamps ${seed}`), options);
  await run.toItsEnd();
  const { world, counts, violations } = run;
  return {
    seed,
    events: world.events,
    tookMs: Math.round(world.nowMs),
    ...counts,
    digest: world.digest.toString(16).padStart(8, '0'),
    violations,
    lines: world.lines ?? [],
  };
}

class TimestampRun {
  readonly world: World;
  readonly violations: Violation[] = [];
  readonly counts = { grants: 0, lost: 0, released: 0, broken: 0 };
  readonly #seeded: Seeded;
  readonly #server: MemoryServer;
  readonly #players: readonly Player[];
  readonly #ttlMs: number;
  readonly #mayBreak: boolean;
  #isOver = false;
  #isOverlapping = false;

  constructor(seeded: Seeded, options: TimestampSimulationOptions) {
    const { apartMs = MARGIN_MS, history = false } = options;
    this.world = new World(history);
    this.#seeded = seeded;
    this.#mayBreak = apartMs > MARGIN_MS;
    const { world } = this;
    const trueMs = (): number => world.nowMs;
    this.#server = new MemoryServer('m1', { micros: () => Math.floor((DAY_MS + trueMs()) * 1_000), trueMs });
    const unit = seeded.pick(['s', 'ms'] as const);
    this.#ttlMs = unit === 's' ? seeded.whole(1, 3) * 1_000 : seeded.whole(400, 3_000);
    const onlyScripts = seeded.chance(0.3) || options.heldBack === true;
    this.#players = Array.from({ length: seeded.whole(2, 4) }, (_, i) => {
      const method = onlyScripts ? 'script' : seeded.pick(['script', 'commands'] as const);
      const own = seeded.fork(`c${i + 1}`);
      const client = new SimulatedClient(`c${i + 1}`, world, 1);
      client.wallStepMs = own.between(0, apartMs);
      const environment = { world, client, server: this.#server, seeded: own.fork('link') };
      const link = new SimulatedLink({
        ...environment,
        resends: false,
        hasLatePushes: false,
        tell: () => undefined,
      });
      const lock = new TimestampLock(
        {
          transport: link,
          clock: client.clock,
          timers: client,
          random: new SeededRandom(client.name, own.fork('random')),
          wallMs: () => DAY_MS + client.wallMs(),
        },
        { unit, method, ttlMs: this.#ttlMs, clockMarginMs: MARGIN_MS, pollMs: 40, nodeTimeoutMs: 90 },
      );
      return { client, link, lock, work: own.fork('work'), lease: undefined };
    });
    this.#drawFaults(onlyScripts);
  }

  async toItsEnd(): Promise<void> {
    const { world } = this;
    world.after(0, () => {
      this.#direct()
        .catch((error: unknown) => this.#fail('exception', String(error)))
        .finally(() => {
          this.#isOver = true;
        });
    });
    world.onSettled = () => this.#look();
    await world.run(() => this.#isOver || world.nowMs > LONGEST_MS);
    if (!this.#isOver) this.#fail('settling', 'the run did not come to its end');
  }

  async #direct(): Promise<void> {
    await Promise.all(this.#players.map((player) => this.#live(player)));
    this.world.note('PLAN', 'everything is put right');
    for (const { link } of this.#players) link.isCalm = true;
    const alive = this.#players.filter(({ client }) => client.isAlive);
    await Promise.all(alive.map((player) => this.#claimAtTheEnd(player)));
    await alive[0]?.client.sleep(this.#ttlMs + 2_000);
    for (const { client } of alive) {
      if (client.pending > 0) this.#fail('leftovers', `${client.name} has ${client.pending} timers left`);
    }
  }

  /** Works until the time is over, or until the client dies: promises of a dead process never settle. */
  #live(player: Player): Promise<void> {
    const { work } = player;
    const dies = work.chance(0.15) ? work.between(WORK_MS / 2, WORK_MS) : undefined;
    return new Promise((resolve, reject) => {
      if (dies !== undefined) {
        this.world.at(dies, () => {
          this.#kill(player);
          resolve();
        });
      }
      this.#work(player).then(resolve, reject);
    });
  }

  async #work(player: Player): Promise<void> {
    const { client, lock, work } = player;
    while (this.world.nowMs < WORK_MS) {
      const renew = work.chance(0.3);
      const lease = await lock.acquire(KEY, { waitMs: 2_000, renew }).catch(() => undefined);
      if (lease !== undefined) await this.#hold(player, lease);
      await client.sleep(work.between(1, 120));
    }
  }

  async #hold(player: Player, lease: TimestampLease): Promise<void> {
    const { client, work } = player;
    this.counts.grants++;
    player.lease = lease;
    this.world.note(client.name, 'holds it');
    const forMs = work.chance(0.2) ? work.between(0.5, 1.5) * this.#ttlMs : work.between(1, 200);
    await client.sleep(forMs);
    if (work.chance(0.2)) await lease.extend().catch(() => undefined);
    const { status } = lease;
    this.world.note(client.name, `lets go, ${status}`);
    this.counts[status === 'held' ? 'released' : 'lost']++;
    await lease.release();
    player.lease = undefined;
  }

  #kill(player: Player): void {
    this.world.note('PLAN', `${player.client.name} dies`);
    player.client.crash();
    player.link.cut(false);
    player.lease = undefined;
  }

  async #claimAtTheEnd({ client, lock }: Player): Promise<void> {
    const lease = await lock
      .acquire(KEY, { waitMs: 3 * this.#ttlMs + 10_000 })
      .catch((error: unknown) => error);
    if (lease instanceof Error) this.#fail('progress', `${client.name}: ${lease.message}`);
    else await (lease as TimestampLease).release(); // if it is not an error, it is the result of acquire
  }

  #drawFaults(mayHoldBack: boolean): void {
    const faults = this.#seeded.fork('faults');
    for (let i = 0; i < PAUSES; i++) {
      const { client, link } = faults.pick(this.#players);
      const atMs = faults.between(500, WORK_MS - 2_500);
      const forMs = faults.chance(0.5) ? faults.between(1, 100) : faults.between(100, 2_000);
      const kind = faults.pick(mayHoldBack ? ['pause', 'cut', 'hold back'] : ['pause', 'pause', 'cut']);
      this.world.at(atMs, () => {
        this.world.note('PLAN', `${client.name}: ${kind} for ${forMs.toFixed(0)} ms`);
        if (kind === 'cut') return link.cut(false);
        if (kind === 'pause') client.pause();
        else link.block('both');
      });
      this.world.at(atMs + forMs, () => (kind === 'pause' ? client.goOn() : link.heal(false)));
    }
  }

  /** There are never two clients that believe in their leases, each by its own clock, at one instant of true time. */
  #look(): void {
    const holders = this.#players.filter(({ lease }) => lease !== undefined && isValid(lease));
    const isOverlapping = holders.length > 1;
    if (isOverlapping && !this.#isOverlapping) {
      const names = holders.map(({ client }) => client.name).join(' and ');
      this.counts.broken++;
      this.world.note('CHECK', `held by ${names}`);
      if (!this.#mayBreak) this.#fail('exclusion', `held by ${names}`);
    }
    this.#isOverlapping = isOverlapping;
  }

  #fail(property: Property, text: string): void {
    this.world.note('CHECK', `${property}: ${text}`);
    this.violations.push({ property, atMs: this.world.nowMs, text });
  }
}
