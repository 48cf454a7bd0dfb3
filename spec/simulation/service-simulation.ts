/**
 * A simulated day of service: locks that are held for a long time and waited for all the time, over masters that fail one
 * at a time, as in maintenance.
 *
 * P10, erosion: a renewed lease is not lost to failures of minorities that follow each other at more than a renewal and two
 * seconds; and by then it has its vote on every master that is up. Beside the failures, holders give their locks on while
 * something else goes wrong, waiters stall and die. Each event begins when the last one is overcome.
 */
import { Checker, type Violation } from './checker/checker.js';
import { RENEW_PARTIAL_MS } from '../../lib/protocol/validity.js';
import { tokenIn } from '../../lib/runtime/random.js';
import { Member } from './service/member.js';
import { RawClaims } from './service/raw-claims.js';
import type { Fault, FaultKind } from './world/faults.js';
import { Seeded } from './world/seeded.js';
import { Stage } from './world/stage.js';
import { type HistoryLine, World } from './world/world.js';
import { describe } from './workers/worker.js';

export interface ServiceOptions {
  /** The number of masters; drawn by default. */
  readonly nodes?: number;
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

export interface ServiceReport {
  readonly seed: number;
  readonly events: number;
  readonly tookMs: number;
  readonly nodes: number;
  /** How many failures there were, and how many leases. */
  readonly failures: number;
  readonly leases: number;
  /** How often a waiter was asked to let its vote rest, and how often one did. */
  readonly asked: number;
  readonly rested: number;
  readonly broken: 0;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const FAILURES = 14;
const LONGEST_MS = 8 * 3_600_000;
/** Clocks that run for minutes: no further apart at the end than masters stay away that lose their data. */
const [DRIFT, SKEW_MS] = [0.0004, 200];
/** A master that comes back without its data was away for longer than fencing tokens need (protocol A2, T1). */
const AWAY_MS = 1_600;
/** The longest pause between failures in a run of hours. */
const LONG_MS = 1_200_000;
/** How long a master is away as the locks are taken first. */
const COLD_MS = 400;

/** What the next failure waits for: a renewal with its slack, its retries, and a look of who does not know of its vote. */
export function wholeAgainMs(ttlMs: number): number {
  return (ttlMs / 3) * (17 / 16) + 2_000;
}

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulateService(seed: number, options: ServiceOptions = {}): Promise<ServiceReport> {
  const run = new ServiceRun(new Seeded(`service ${seed}`), options);
  await run.toItsEnd();
  const { checker, counts, nodes, world } = run;
  return {
    ...{ seed, nodes, events: world.events, tookMs: Math.round(world.nowMs), ...counts, broken: 0 },
    digest: world.digest.toString(16).padStart(8, '0'),
    violations: checker.violations,
    lines: world.lines ?? [],
  };
}

class ServiceRun {
  readonly world: World;
  readonly checker: Checker;
  readonly nodes: number;
  readonly counts = { failures: 0, leases: 0, asked: 0, rested: 0 };
  readonly #stage: Stage;
  readonly #seeded: Seeded;
  readonly #ttlMs: number;
  readonly #guardMs: number;
  readonly #members: Member[] = [];
  /** Hours pass between its failures: counters, places and records expire. */
  readonly #isLong: boolean;
  readonly #raw: RawClaims | undefined;
  #isOver = false;

  constructor(seeded: Seeded, options: ServiceOptions) {
    this.world = new World(options.history === true);
    this.checker = new Checker(this.world, { isBeyond: false });
    this.#seeded = seeded.fork('work');
    const draw = seeded.fork('setting');
    this.nodes = options.nodes ?? draw.pick([2, 3, 3, 3, 4, 5, 5, 7, 9]);
    this.#ttlMs = this.nodes === 2 ? 10_000 : draw.pick([2_000, 4_000, 10_000]);
    this.#guardMs = this.nodes > 2 && draw.chance(0.3) ? Math.ceil(this.#ttlMs * 1.01) + 2 : 0;
    this.#stage = new Stage(this.world, this.checker, seeded.fork('stage'), {
      ...{ servers: this.nodes, clients: draw.whole(2, 4), drift: DRIFT, skewMs: SKEW_MS },
      ...{ breaksAt: undefined, hasLatePushes: draw.chance(0.2) },
      options: { ttlMs: this.#ttlMs, restartGuardMs: this.#guardMs },
    });
    for (const link of this.#stage.links) link.isCalm = true; // a push or a command that is lost is a failure of its own
    this.#count();
    this.#isLong = draw.chance(0.1);
    const locks = draw.whole(1, 3);
    if (this.nodes > 2 && draw.chance(0.25))
      this.#raw = new RawClaims(this.#stage, seeded.fork('raw'), locks);
    for (const player of this.#stage.players) {
      for (let i = 0; i < locks; i++) {
        const fair = i === 0 || this.nodes === 2 || draw.chance(0.8); // N = 2: a claim for a moment ends the lease
        const handOver = draw.chance(0.2) ? 'reserve' : 'direct';
        this.#members.push(
          new Member(this.#stage, player, { resource: `lock ${i}`, ttlMs: this.#ttlMs, fair, handOver }),
        );
      }
    }
  }

  async toItsEnd(): Promise<void> {
    const { checker, world } = this;
    world.after(0, () => {
      this.#direct()
        .catch((error: unknown) => checker.fail('exception', describe(error)))
        .finally(() => (this.#isOver = true));
    });
    world.onSettled = () => checker.look();
    await world.run(() => this.#isOver || checker.violations.length > 0 || world.nowMs > LONGEST_MS);
    if (!this.#isOver && checker.violations.length === 0)
      checker.fail('settling', 'the run did not come to its end');
  }

  #count(): void {
    for (const { server } of this.#stage.places) {
      const { onExecuted, onPublished } = server;
      server.onPublished = (text) => {
        if (text.startsWith('h ')) this.counts.asked++;
        onPublished(text);
      };
      server.onExecuted = (command, reply) => {
        if (command.args.some((arg) => /^\d+\|\d+\|\d+\|1$/.test(arg))) this.counts.rested++;
        onExecuted(command, reply);
      };
    }
  }

  async #direct(): Promise<void> {
    if (this.#guardMs > 0) await this.#stage.players[0]?.redlock.bootstrap({ force: true });
    await this.#startCold();
    this.#raw?.begin();
    await this.#overcome(0);
    for (let i = 0; i < FAILURES; i++) {
      const fault = this.#draw(i);
      this.counts.failures++;
      if (this.#isLong) await this.#pass(this.#seeded.between(0, LONG_MS));
      if (this.#seeded.chance(0.3)) this.#giveOneOn();
      this.#stage.begin(fault);
      if (this.#seeded.chance(0.3)) this.#giveOneOn();
      await this.#pass(fault.durationMs + 1);
      await this.#overcome(fault.kind === 'client crash' ? this.#ttlMs * 1.02 + 500 : 0);
    }
    this.#stage.heal();
    this.#raw?.stop();
    for (const member of this.#members) member.stop();
    await this.#pass(1_000);
    await Promise.all(this.#living().map(({ redlock }) => redlock.close()));
  }

  /** One master is away as the locks are taken: they have its votes a second after it is back, and its retries. */
  async #startCold(): Promise<void> {
    const away = { ...this.#draw(-1), kind: 'server crash', data: 'kept', durationMs: COLD_MS } as const;
    if (this.nodes > 2) this.#stage.begin(away);
    for (const member of this.#members) member.start();
    await this.#pass(COLD_MS);
    const earlyMs = this.#guardMs > 0 ? Infinity : RENEW_PARTIAL_MS * (17 / 16) + 2_000; // a quarantine ends later
    await this.#overcome(0, Math.min(wholeAgainMs(this.#ttlMs), earlyMs));
  }

  /** Waits until the last event may be forgotten, and checks that every lease has all votes. */
  async #overcome(moreMs: number, withinMs = wholeAgainMs(this.#ttlMs)): Promise<void> {
    await this.#pass(moreMs + this.#guardMs + withinMs);
    const heldSinceMs = this.world.nowMs - withinMs;
    const kept = this.#members.flatMap(({ kept: one, isOver }) => (isOver || one === undefined ? [] : [one]));
    for (const { lease, member, sinceMs } of kept) {
      this.counts.leases++;
      if (sinceMs > heldSinceMs) continue;
      const others = this.#stage.places
        .map(({ server }) => ({ name: server.name, value: server.get(member.resource) }))
        .filter(({ value }) => tokenIn(String(value)) !== lease.token);
      if (others.length > 0)
        this.checker.fail(
          'erosion',
          `${member.name} has ${member.resource}, but for ${JSON.stringify(others)}`,
        );
    }
    const free = this.#members.filter(({ isOver }) => !isOver).map(({ resource }) => resource);
    for (const resource of new Set(free))
      if (!kept.some(({ member }) => member.resource === resource))
        this.checker.fail('progress', `nobody has ${resource}, and it is waited for`);
  }

  #giveOneOn(): void {
    const holders = this.#members.filter(({ kept }) => kept !== undefined);
    if (holders.length > 0) this.#seeded.pick(holders).giveOn();
  }

  #living(): readonly Stage['players'][number][] {
    return this.#stage.players.filter(({ client }) => client.isAlive);
  }

  #draw(id: number): Fault {
    const kind = this.#seeded.pick(this.#kinds());
    const isLost = kind === 'server crash' && this.#seeded.chance(0.6);
    return {
      ...{ id, kind, atMs: this.world.nowMs, durationMs: this.#durationOf(kind, isLost) },
      server: this.#seeded.whole(0, this.nodes - 1),
      client: this.#stage.players.indexOf(this.#seeded.pick(this.#living())),
      data: isLost ? 'lost' : 'kept',
      ...{ snapshotAgeMs: 0, direction: this.#seeded.pick(['to server', 'to client', 'both'] as const) },
      ...{ drops: this.#seeded.chance(0.5), stepMs: 0 },
    };
  }

  #kinds(): readonly FaultKind[] {
    const kinds: FaultKind[] = [
      'server crash',
      'server crash',
      'connection cut',
      'pushes cut',
      'scripts flushed',
    ];
    if (this.nodes > 2)
      kinds.push('server crash', 'server stopped', 'partition', 'slow link', 'client paused');
    if (this.#guardMs > 0) kinds.push('server emptied');
    if (this.#living().length > 2) kinds.push('client crash');
    return kinds;
  }

  /** @param isLost  the master comes back without its data */
  #durationOf(kind: FaultKind, isLost: boolean): number {
    const leastMs = isLost ? AWAY_MS : 50;
    switch (kind) {
      case 'server crash':
      case 'server stopped':
      case 'partition':
        return this.nodes === 2 ? AWAY_MS + 100 : leastMs + this.#seeded.between(0, 2 * this.#ttlMs);
      case 'client paused':
        return this.#seeded.between(20, 700); // who stalls for longer yields to a later renewal
      case 'slow link':
        return this.#seeded.between(100, 4_000);
      default:
        return 1;
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.world.after(ms, resolve));
  }
}
