/**
 * One simulated run: its clients, faults and work, all drawn from the seed. At the end all faults are healed, and every
 * guarantee must hold.
 */
import { MOST_TRIES } from '../../lib/coordinator/attempt-history.js';
import { MemoryFence } from '../../lib/fence/index.js';
import type { RedlockErrorCode } from '../../lib/runtime/errors.js';
import { ClosingWorker } from './workers/closing-worker.js';
import { Checker, type Violation } from './checker/checker.js';
import type { Fault, FaultKind } from './world/faults.js';
import { clockOfService, type ServiceClock } from './checker/service.js';
import { SharedChecker } from './checker/shared-checker.js';
import { checkShared } from './workers/shared-end.js';
import { SHARED_LOCKS, type SharedState, SharedWorker } from './workers/shared-worker.js';
import { KeepingSharedWorker } from './workers/keeping-shared-worker.js';
import { KeepingWorker } from './workers/keeping-worker.js';
import { ReentrantWorker } from './workers/reentrant-worker.js';
import { Seeded } from './world/seeded.js';
import { drawSetting, type Setting, type SimulationOptions } from './setting.js';
import { makeWrong } from './world/wrong-servers.js';
import { type Player, Stage } from './world/stage.js';
import { takeTurns } from './turns.js';
import { waitInSilence } from './workers/silent-end.js';
import { Ending, LOOK_EVERY_MS, lookOnward } from './ending.js';
import { type Deeds, describe, Worker } from './workers/worker.js';
import { type HistoryLine, World } from './world/world.js';

export type { SimulationOptions } from './setting.js';

/** The result of a run. */
export interface SimulationReport {
  readonly seed: number;
  readonly nodes: number;
  readonly clients: number;
  readonly guardMs: number;
  readonly events: number;
  /** Virtual time, in ms. */
  readonly tookMs: number;
  readonly deeds: Omit<Deeds, 'errors'> & Checker['lines'];
  readonly errors: Readonly<Partial<Record<RedlockErrorCode, number>>>;
  readonly plan: readonly Fault[];
  /** How many faults of each kind struck. */
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  /** The longest time for which a lock was idle though a living client waited for it (P11). */
  readonly longestIdleMs: number;
  /** How often exclusion was broken; only beyond the model. */
  readonly broken: number;
  /** Of the whole history: the same seed gives the same digest. */
  readonly digest: string;
  readonly violations: readonly Violation[];
  /** The history, if it was asked for. */
  readonly lines: readonly HistoryLine[];
}

/** A run that is not over by then hangs. */
const LONGEST_MS = 400_000;
/** The ttl of the lock that each client holds as it closes. */
const LAST_TTL_MS = 300;

type OtherWorker = SharedWorker | ReentrantWorker | KeepingWorker | KeepingSharedWorker | ClosingWorker;

/** Runs one seed to its end. The same seed and options give the same run. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationReport> {
  const world = new World(options.history === true);
  const seeded = new Seeded(`quorate ${seed}`);
  const setting = drawSetting(seeded, options);
  const checker = new Checker(world, { isBeyond: options.beyond !== undefined, amnesia: setting.amnesia });
  const { nodes: servers, clients, clocks, guardMs, maxTtlMs, awaitRelease } = setting;
  const stage = new Stage(world, checker, seeded.fork('stage'), {
    servers,
    clients,
    drift: clocks.drift,
    skewMs: clocks.skewMs,
    options: {
      ...{ ttlMs: maxTtlMs, restartGuardMs: guardMs, awaitRelease },
      retry: { minDelayMs: 5, maxDelayMs: 100 },
    },
    breaksAt: options.breaksAt,
    hasLatePushes: setting.hasLatePushes,
  });
  const only = options.faults;
  stage.schedule(only === undefined ? setting.plan : setting.plan.filter(({ id }) => only.includes(id)));
  const deeds = noDeeds();
  let isOver = false;
  const sharedChecker = new SharedChecker(checker, () => world.nowMs, setting.sharedLocks?.permits ?? 0);
  const director = new Director(stage, setting, seeded.fork('work'), { deeds, sharedChecker });
  world.after(0, () => {
    director.run().then(
      () => (isOver = true),
      (error: unknown) => {
        checker.fail('exception', describe(error));
        isOver = true;
      },
    );
  });
  const service = clockOfService(stage);
  world.onSettled = () => {
    checker.look();
    sharedChecker.look();
    service.look();
  };
  lookOnward(stage, sharedChecker, () => isOver);
  await world.run(() => isOver || world.nowMs > LONGEST_MS);
  if (!isOver) checker.fail('settling', 'the run did not come to its end');
  return report(seed, stage, setting, deeds, service);
}

/** Directs the phases of a run. */
class Director {
  readonly #stage: Stage;
  readonly #setting: Setting;
  readonly #seeded: Seeded;
  readonly #shared: { readonly deeds: Deeds; readonly sharedChecker: SharedChecker };
  readonly #ending: Ending;

  constructor(
    stage: Stage,
    setting: Setting,
    seeded: Seeded,
    shared: { readonly deeds: Deeds; readonly sharedChecker: SharedChecker },
  ) {
    this.#stage = stage;
    this.#setting = setting;
    this.#seeded = seeded;
    this.#shared = shared;
    this.#ending = new Ending(stage, setting.maxTtlMs);
  }

  async run(): Promise<void> {
    if (this.#setting.guardMs > 0 && this.#seeded.chance(0.7)) await this.#bootstrap();
    const putRight = makeWrong(this.#stage, this.#setting.wrong, this.#names);
    await this.#until(this.#engage());
    putRight();
    this.#stage.heal();
    await this.#pass(5_000); // repairs get through, and unwanted votes would be noticed
    await this.#pass(this.#setting.maxTtlMs); // the leases of crashed clients expire
    for (const player of this.#living()) await this.#checkProgress(player);
    if (this.#setting.sharedLocks !== undefined) {
      await checkShared(this.#stage, this.#living(), this.#setting.sharedLocks);
      await this.#pass(500);
    }
    if (this.#setting.takesTurns) {
      await takeTurns(this.#stage, this.#living(), this.#setting);
      await this.#pass(500);
    }
    if (this.#setting.endsInSilence) {
      await waitInSilence(this.#stage, this.#living(), this.#setting.maxTtlMs);
      await this.#pass(500);
    }
    await this.#close();
  }

  /** What is locked. */
  get #names(): readonly string[] {
    const { sharedLocks, terms } = this.#setting;
    return sharedLocks === undefined ? terms.resources : [...terms.resources, ...Object.values(SHARED_LOCKS)];
  }

  async #bootstrap(): Promise<void> {
    const [player] = this.#stage.players;
    if (player === undefined) return;
    const declared = player.redlock.bootstrap({ force: true }).catch(() => undefined); // too early for some masters
    await Promise.race([declared, this.#pass(1_000)]); // its client may crash
  }

  /** Sets all workers to work. @returns whether all of them are done, those included that join later */
  #engage(): () => boolean {
    const crew: Worker[] = [];
    const others: OtherWorker[] = [];
    const guarded = new MemoryFence();
    for (const player of this.#stage.players) {
      const shared = { ...this.#shared, guarded, busy: new Set<string>(), crew };
      const closing = this.#closingWorkerOf(player);
      if (closing !== undefined) {
        others.push(closing);
        player.client.hear(() => void closing.run());
        continue;
      }
      const count = this.#seeded.whole(1, 3);
      for (let i = 0; i < count; i++) {
        const own = this.#seeded.fork(`${player.client.name} worker ${i}`);
        const worker = new Worker(this.#stage, player, own, this.#setting.terms, shared);
        player.client.hear(() => void worker.run());
      }
      for (const worker of this.#othersOf(player, shared)) {
        others.push(worker);
        player.client.hear(() => void worker.run());
      }
    }
    return () => [...crew, ...others].every(({ isOver }) => isOver);
  }

  /** The worker of the last client, whose instance is closed repeatedly, if the run has that. */
  #closingWorkerOf(player: Player): ClosingWorker | undefined {
    const { closing } = this.#setting;
    if (closing === undefined || player !== this.#stage.players.at(-1)) return undefined;
    return new ClosingWorker(this.#stage, player, this.#seeded.fork('closing'), closing, this.#shared.deeds);
  }

  /** The workers for other kinds of lock, and for many locks at a time, if the run has them. */
  #othersOf(player: Player, shared: SharedState): readonly OtherWorker[] {
    const { sharedLocks, keeping } = this.#setting;
    const drawn = (what: string): Seeded => this.#seeded.fork(`${player.client.name} ${what}`);
    const keepers =
      keeping === undefined
        ? []
        : [new KeepingWorker(this.#stage, player, drawn('keeping'), keeping, shared.deeds)];
    if (sharedLocks === undefined) return keepers;
    const sharedKeepers = sharedLocks.isKept
      ? [new KeepingSharedWorker(this.#stage, player, drawn('kept family'), sharedLocks, shared)]
      : [];
    return [
      ...keepers,
      ...sharedKeepers,
      new SharedWorker(this.#stage, player, drawn('family 0'), sharedLocks, shared),
      new SharedWorker(this.#stage, player, drawn('family 1'), sharedLocks, shared),
      new ReentrantWorker(this.#stage, player, drawn('re-entry'), sharedLocks, shared.deeds),
    ];
  }

  #living(): readonly Player[] {
    return this.#stage.players.filter(({ client }) => client.isAlive);
  }

  /** All faults are healed: every client gets every lock, at the cost that is promised. */
  async #checkProgress(player: Player): Promise<void> {
    const { checker } = this.#stage;
    const { client, links, redlock } = player;
    const { guardMs, nodes, terms } = this.#setting;
    const settled = checker.expect(client, 'ready', guardMs + 2_000);
    await redlock.ready();
    settled();
    if (guardMs > 0) await this.#pass(guardMs + 100); // a quorum votes; now the others do as well
    for (const resource of terms.resources) {
      for (let i = 0; i < 2; i++) await this.#ending.acquire(player, resource); // scripts get loaded, and counters agree
      const before = links.reduce((sum, { sent }) => sum + sent, 0);
      await this.#ending.acquire(player, resource);
      const sent = links.reduce((sum, link) => sum + link.sent, 0) - before;
      if (sent > 3 * nodes + MOST_TRIES)
        checker.fail('commands', `${client.name} sent ${sent} commands for one grant`);
    }
  }

  async #close(): Promise<void> {
    for (const player of this.#living()) {
      await this.#closeInPeace(player);
      this.#ending.checkClosed(player);
    }
    await this.#ending.checkLeftovers(this.#living());
  }

  /**
   * Closes an instance while a routine runs for longer than its ttl: the routine is asked to stop, its lease is kept, and
   * `close` waits.
   */
  async #closeInPeace({ client, redlock }: Player): Promise<void> {
    const { checker } = this.#stage;
    let closing = Promise.resolve();
    try {
      await redlock.using('last', { ttlMs: LAST_TTL_MS, waitMs: 1_500 }, async (lease) => {
        const settled = checker.expect(client, 'close', 3 * LAST_TTL_MS + 1_000);
        closing = redlock.close().finally(settled);
        await this.#pass(3 * LAST_TTL_MS);
        if (lease.status !== 'held' || !lease.signal.aborted)
          checker.fail('progress', `${client.name} closes, and a routine's lease is ${lease.status}`);
      });
    } catch (error) {
      checker.fail('progress', `${client.name} does not get a lock to close under: ${describe(error)}`);
    }
    await closing;
    await redlock.close();
  }

  /** Lets virtual time pass. */
  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#stage.world.after(ms, resolve));
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#pass(LOOK_EVERY_MS);
  }
}

function noDeeds(): Deeds {
  return {
    calls: 0,
    grants: 0,
    extensions: 0,
    adoptions: 0,
    localHandOvers: 0,
    writes: 0,
    stale: 0,
    errors: new Map(),
  };
}

function report(
  seed: number,
  stage: Stage,
  setting: Setting,
  deeds: Deeds,
  service: ServiceClock,
): SimulationReport {
  const { world, checker, struck } = stage;
  const { errors, ...rest } = deeds;
  const localHandOvers = stage.players.reduce(
    (sum, { redlock }) => sum + redlock.stats().counts.localHandOvers,
    0,
  );
  return {
    seed,
    nodes: setting.nodes,
    clients: setting.clients,
    guardMs: setting.guardMs,
    events: world.events,
    tookMs: world.nowMs,
    deeds: { ...rest, ...checker.lines, localHandOvers },
    errors: Object.fromEntries(errors),
    plan: setting.plan,
    struck: Object.fromEntries(struck),
    broken: checker.broken,
    longestIdleMs: service.longestMs,
    digest: world.digest.toString(16).padStart(8, '0'),
    violations: checker.violations,
    lines: world.lines ?? [],
  };
}
