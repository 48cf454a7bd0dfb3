/** The end of a run: all faults are healed, and all clients queue for the same lock. */
import type { Player, Stage } from './world/stage.js';
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import { type AcquireOptions, DEFAULTS } from '../../lib/input/options.js';
import { AHEAD_US } from '../../lib/protocol/lua/stored.js';
import type { Lease } from '../../lib/lease/public.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { describe } from './workers/worker.js';

/** The parts of a run's setting that matter here. */
export interface TurnTerms {
  readonly nodes: number;
  readonly maxTtlMs: number;
  /** In a crowd, all queue again at once when each has held the lock. */
  readonly terms: {
    readonly resources: readonly string[];
    readonly isCrowd: boolean;
    readonly sharesNames: boolean;
  };
}

/** How often each waiter holds the lock at the end. */
const TURNS = 10;
/** Commands are counted after this many rounds of all waiters, once each client knows that the lock is held as a rule. */
const COUNT_AFTER = 4;
/** After this many, push connections break. */
const CUT_AFTER = 8;
const LONGEST_WAIT_MS = 8_000;
/**
 * The longest time between two holders, even while all connect again, which takes up to 400 ms. Less than a reservation.
 */
const LONGEST_IDLE_MS = 900;
/** No client holds the lock for less. */
const TURN_MS = 4;
/** So many may pass a client that does not know yet that the lock is held as a rule, and tries before it queues. */
const PASSING_TRIES = Math.ceil((MOST_TRIES * TRY_AFTER_MS.most) / TURN_MS);
/**
 * Where the masters' clocks are no further apart than this, votes are handed over directly: what one client proposes is near
 * all of them. It is half of AHEAD, since clients know these clocks only roughly.
 */
const TOGETHER_MS = AHEAD_US / 2_000;
/** How far tickets may be off in addition to the difference between the masters' clocks: messages take time. */
const TICKET_MS = 8;

/**
 * Nobody waits while others hold the lock more often than there are others, and each hold has a fixed cost in commands.
 * Push connections break once. Two more holders are allowed for clients that come at the same time, plus as many as fit
 * into the error of tickets, since each client learns the masters' clocks only when it reaches them.
 */
export async function takeTurns(
  stage: Stage,
  players: readonly Player[],
  { maxTtlMs, nodes, terms }: TurnTerms,
): Promise<void> {
  const { checker, links, world } = stage;
  const [resource = ''] = terms.resources;
  const waiters = players.flatMap((player) => [player, player]);
  const turns: Turn[] = [];
  let lastMs = world.nowMs;
  const commands = new CommandCount(links);
  const attempts = new Attempts(players);
  const connected = new Connected(players, nodes);
  let meeting = new Meeting(waiters.length);
  const inTurn = async (player: Player, i: number): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) {
      if (terms.isCrowd) {
        const meetings = meeting;
        await meetings.all();
        if (meeting === meetings) [meeting, lastMs] = [new Meeting(waiters.length), world.nowMs];
      }
      const beginning = checker.begin();
      const settled = checker.expect(player.client, `wait for ${resource} in the queue`, LONGEST_WAIT_MS);
      const options = { ttlMs: maxTtlMs, waitMs: LONGEST_WAIT_MS, renew: true, ...localTurnsIn(terms) };
      const lease = await checker.call(player.client, [resource], () =>
        player.redlock.acquire(resource, options),
      );
      settled();
      if (lease === undefined) return;
      checker.granted(player.client, lease, beginning);
      const idleMs = world.nowMs - lastMs;
      if (turns.length >= waiters.length && idleMs > LONGEST_IDLE_MS)
        checker.fail('progress', `nobody had ${resource} for ${idleMs.toFixed(0)} ms, and all waited`);
      const hasTried = attempts.of(lease) > 1;
      turns.push({ by: i, hasTried });
      if (hasTried) commands.tried();
      const isOrdered = connected.look(turns.length) + waiters.length <= turns.length;
      const isKnown = !turns.slice(-waiters.length).some(({ hasTried }) => hasTried);
      if (isOrdered && isKnown && turns.length >= COUNT_AFTER * waiters.length) commands.begin(turns.length);
      if (turns.length === CUT_AFTER * waiters.length) {
        commands.end(turns.length);
        for (const link of links) link.cutPushes();
      }
      await player.client.sleep(2);
      lastMs = world.nowMs;
      checker.ended(lease, true);
      void lease.release();
    }
  };
  const apartMs = clocksApartMs(stage);
  await Promise.all(waiters.map(inTurn)).catch((error: unknown) => checker.fail('progress', describe(error)));
  if (!terms.isCrowd) {
    // in a crowd, the order differs each time; until all are connected, and after the cut, those that are come first
    const judged = turns.slice(0, CUT_AFTER * waiters.length);
    const from = connected.sinceTurn + waiters.length;
    const order = { from, waiters: waiters.length, apartMs, passing: passingIn(terms, players) };
    for (const unfair of unfairTurns(judged, order)) checker.fail('fairness', unfair);
  }
  for (const excess of commands.beyond({ nodes, waiters: waiters.length, isDirect: apartMs < TOGETHER_MS }))
    checker.fail('commands', excess);
}

/** Who held the lock. */
interface Turn {
  /** The waiter. */
  readonly by: number;
  /** It did not queue at once. */
  readonly hasTried: boolean;
}

/** How far apart the masters' clocks are. */
function clocksApartMs({ places }: Stage): number {
  const clocks = places.map(({ server }) => server.micros() / 1_000);
  return Math.max(...clocks) - Math.min(...clocks);
}

/** The clients' calls share stays in half of the runs. */
function localTurnsIn({ sharesNames }: TurnTerms['terms']): Pick<AcquireOptions, 'localTurns'> {
  return sharesNames ? {} : { localTurns: 0 };
}

/** How many turns the stays of the players may have beside their first ones. */
function passingIn(terms: TurnTerms['terms'], { length: players }: readonly Player[]): number {
  return terms.sharesNames ? (DEFAULTS.localTurns - 1) * players : 0;
}

/** What the order of turns allows. */
interface Order {
  readonly apartMs: number;
  readonly from: number;
  /** How many turns the stays of the players may have beside their first ones. */
  readonly passing: number;
  readonly waiters: number;
}

/** Waiters that were passed too often since their turn before, from some turn on. */
function unfairTurns(turns: readonly Turn[], { apartMs, from, passing, waiters }: Order): string[] {
  const longest = waiters + 2 + Math.ceil((apartMs + TICKET_MS) / TURN_MS) + passing;
  return turns.flatMap(({ by, hasTried }, at) => {
    const before = turns.slice(0, at).findLastIndex((turn) => turn.by === by);
    const mostTurns = longest + (hasTried ? PASSING_TRIES : 0);
    if (before < from || at - before <= mostTurns) return [];
    return [`waiter ${by} of ${waiters} had to wait for ${at - before} turns`];
  });
}

/** How many attempts each grant took, by its fencing token. */
class Attempts {
  readonly #byFence = new Map<number | undefined, number>();

  constructor(players: readonly Player[]) {
    for (const { redlock } of players)
      redlock.on('acquired', ({ attempts, fence }) => this.#byFence.set(fence, attempts));
  }

  of({ fence }: Lease): number {
    return this.#byFence.get(fence) ?? 1;
  }
}

/** Who waits, and for what. */
interface Line {
  readonly nodes: number;
  readonly waiters: number;
  /** Votes are handed over directly: no claim follows. */
  readonly isDirect: boolean;
}

/** Notices from which turn on each client hears the pushes of a quorum: those who do come first. */
class Connected {
  readonly #players: readonly Player[];
  readonly #quorum: number;
  sinceTurn = Infinity;

  constructor(players: readonly Player[], nodes: number) {
    this.#players = players;
    this.#quorum = quorumOf(nodes);
  }

  /** @returns the turn from which on they do, if so */
  look(turn: number): number {
    if (this.sinceTurn === Infinity && this.#players.every((player) => this.#hears(player)))
      this.sinceTurn = turn;
    return this.sinceTurn;
  }

  #hears({ links }: Player): boolean {
    return links.filter(({ isListening }) => isListening).length >= this.#quorum;
  }
}

/** Counts the commands of some turns. */
class CommandCount {
  readonly #links: Stage['links'];
  #sinceTurn: number | undefined;
  #turns = 0;
  #acceptances = 0;
  #others = 0;
  #tried = 0;

  constructor(links: Stage['links']) {
    this.#links = links;
  }

  begin(turn: number): void {
    if (this.#sinceTurn !== undefined) return;
    this.#sinceTurn = turn;
    this.#add(-1);
  }

  /** A grant came after tries. */
  tried(): void {
    if (this.#sinceTurn !== undefined && this.#turns === 0) this.#tried++;
  }

  end(turn: number): void {
    if (this.#sinceTurn === undefined) return;
    this.#turns = turn - this.#sinceTurn;
    this.#add(1);
  }

  /** What is wrong with them. */
  beyond({ isDirect, nodes, waiters }: Line): string[] {
    const turns = this.#turns;
    const tries = (nodes + MOST_TRIES) * this.#tried;
    const most = ((isDirect ? 2 : 3) * nodes + 1) * turns + 2 * nodes * waiters + tries; // votes that are yielded cost one more
    const excess: string[] = [];
    if (this.#others > most)
      excess.push(`${turns} turns in the queue took ${this.#others} commands, ${most} at most`);
    if (this.#acceptances > nodes * turns)
      excess.push(`${turns} turns took ${this.#acceptances} acceptances: more than one a master`);
    return excess;
  }

  #add(sign: 1 | -1): void {
    for (const { sent, acceptances } of this.#links) {
      this.#acceptances += sign * acceptances;
      this.#others += sign * (sent - acceptances);
    }
  }
}

/** Where waiters meet before they queue again. */
class Meeting {
  readonly #awaited: number;
  readonly #start: Promise<void>;
  #begin: () => void = () => undefined;
  #arrived = 0;

  constructor(awaited: number) {
    this.#awaited = awaited;
    this.#start = new Promise((resolve) => {
      this.#begin = resolve;
    });
  }

  all(): Promise<void> {
    this.#arrived++;
    if (this.#arrived === this.#awaited) this.#begin();
    return this.#start;
  }
}
