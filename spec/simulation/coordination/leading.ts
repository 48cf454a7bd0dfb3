/** A client that campaigns, leads, resigns, and asks who leads. */
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Leadership } from '../../../lib/election/public.js';
import type { LeaderChecker } from './leader-checker.js';
import { judged } from '../checker/codes.js';
import type { Player, Stage } from '../world/stage.js';
import { Routine } from '../workers/routine.js';
import type { Seeded } from '../world/seeded.js';

/** The election of all runs. */
export const ELECTION = 'election';
/** The election in which clients go on leading, where a minority of masters is wrong. */
export const LED = 'led';

const NEVER: readonly string[] = ['INVALID_ARGUMENT', 'MISCONFIGURED', 'WRONG_KIND', 'CLOSED', 'NOT_HELD'];

export interface LeadingTerms {
  readonly ttlMs: number;
  readonly untilMs: number;
}

/** Throws what no fault explains. */
function expected(error: unknown): void {
  if (!RedlockError.is(error) || NEVER.includes(error.code)) throw error;
}

/** Campaigns again and again. */
export class Leading extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: LeadingTerms;
  readonly #leaders: LeaderChecker;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: LeadingTerms, leaders: LeaderChecker) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
    this.#leaders = leaders;
  }

  protected override async work(): Promise<void> {
    const { client, redlock } = this.player;
    const election = redlock.election(ELECTION, { ttlMs: this.#terms.ttlMs });
    while (this.stage.world.nowMs < this.#terms.untilMs) {
      const beginning = this.#leaders.fence;
      try {
        const value = `${client.name} ${this.#seeded.whole(0, 99)}`;
        const waitMs = this.#seeded.pick([0, 500, 3_000]);
        const campaign = (): Promise<Leadership> => election.campaign(value, { waitMs });
        await this.#reign(await judged(this.stage.checker, client, waitMs, campaign), beginning);
      } catch (error) {
        expected(error);
      }
      await client.sleep(this.#seeded.between(5, 300));
    }
  }

  async #reign(leadership: Leadership, beginning: number): Promise<void> {
    const { client } = this.player;
    const { fence } = leadership;
    const reign = this.#leaders.began(client, leadership, beginning);
    let seq = 1;
    this.#leaders.proclaims(fence, seq, leadership.value);
    try {
      while (this.#seeded.chance(0.7) && leadership.status === 'held') {
        await client.sleep(this.#seeded.between(1, this.#terms.ttlMs));
        leadership.assertHeld();
        const value = `${client.name} ${fence} ${++seq}`;
        this.#leaders.proclaims(fence, seq, value);
        await leadership.proclaim(value);
      }
    } catch (error) {
      expected(error);
    } finally {
      if (leadership.status === 'held') this.#leaders.ended(reign);
    }
    // a resignation that is late, or comes twice, touches nobody else
    if (this.#seeded.chance(0.2)) await client.sleep(this.#seeded.between(0, 3 * this.#terms.ttlMs));
    await leadership.resign().catch(expected);
    this.#leaders.ended(reign);
    if (!this.#seeded.chance(0.3)) return;
    await client.sleep(this.#seeded.between(0, 500));
    await leadership.resign().catch(expected);
  }
}

/** Leads for as long as it is let: it never gives up, whatever a minority of masters says. */
export class GoingOn extends Routine {
  readonly #seeded: Seeded;
  readonly #terms: LeadingTerms;

  constructor(stage: Stage, player: Player, seeded: Seeded, terms: LeadingTerms) {
    super(stage, player);
    this.#seeded = seeded;
    this.#terms = terms;
  }

  protected override async work(): Promise<void> {
    const { client, redlock } = this.player;
    const controller = new AbortController();
    client.background(this.#terms.untilMs - this.stage.world.nowMs, () => controller.abort());
    const election = redlock.election(LED, { ttlMs: this.#terms.ttlMs });
    await election.lead(() => client.sleep(this.#seeded.between(1, 200)), { signal: controller.signal });
  }
}

/** Asks who leads, and watches. */
export class Watching extends Routine {
  readonly #seeded: Seeded;
  readonly #untilMs: number;
  readonly #leaders: LeaderChecker;
  readonly #controller = new AbortController();

  constructor(stage: Stage, player: Player, seeded: Seeded, untilMs: number, leaders: LeaderChecker) {
    super(stage, player);
    this.#seeded = seeded;
    this.#untilMs = untilMs;
    this.#leaders = leaders;
  }

  protected override async work(): Promise<void> {
    const { client, redlock } = this.player;
    const election = redlock.election(ELECTION);
    const watched = this.#watch();
    while (this.stage.world.nowMs < this.#untilMs) {
      const answered = this.#leaders.asks(client);
      answered(await election.leader());
      await client.sleep(this.#seeded.between(10, 400));
    }
    this.#controller.abort();
    await watched;
  }

  async #watch(): Promise<void> {
    const { client, redlock } = this.player;
    for await (const leader of redlock.election(ELECTION).observe({ signal: this.#controller.signal }))
      this.#leaders.told(client, leader);
  }
}

/** With nothing wrong any more: it leads, and everybody is told so. */
export async function leadAtTheEnd(
  stage: Stage,
  players: readonly Player[],
  leaders: LeaderChecker,
): Promise<void> {
  const { checker } = stage;
  const { election } = leaders;
  for (const { client, redlock } of players) {
    const settled = checker.expect(client, 'campaign at the end', 6_000);
    const leadership = await redlock
      .election(election)
      .campaign(`${client.name} at the end`, { waitMs: 5_000 });
    settled();
    const reign = leaders.began(client, leadership, leaders.fence);
    for (const other of players) {
      const leader = await other.redlock.election(election).leader();
      leaders.told(other.client, leader);
      if (leader?.fence !== leadership.fence)
        checker.fail(
          'progress',
          `${other.client.name} is told of ${leader?.fence}, and ${client.name} leads`,
        );
    }
    leaders.ended(reign);
    await leadership.resign();
  }
}
