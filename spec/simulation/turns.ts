/** The end of a run: nothing is wrong any more, and all wait in line for the same lock. */
import type { Player, Stage } from './world/stage.js';
import { describe } from './workers/worker.js';

/** What of a run's setting matters here. */
export interface TurnTerms {
  readonly nodes: number;
  readonly maxTtlMs: number;
  /** In a crowd, all come anew once each has had its turn. */
  readonly terms: { readonly resources: readonly string[]; readonly isCrowd: boolean };
}

/** How often each waiter has its turn at the end. */
const TURNS = 6;
/** After so many of all, connections for pushes break. */
const CUT_AFTER = 4;
const LONGEST_LINE_MS = 8_000;
/** Between two turns, also while all connect anew, which takes up to 400 ms. Less than a reservation. */
const LONGEST_IDLE_MS = 900;
/** No turn is shorter. */
const TURN_MS = 4;
/** How far tickets may be off beside what the masters' clocks are apart: messages take their time. */
const TICKET_MS = 8;

/**
 * Nobody waits for more turns than there are others, and a turn has its fixed price; once, all connections for pushes
 * break. Two turns more are for those who come at the same time; and as many as fit into what tickets can be off, since
 * each client knows the masters' clocks only as it reaches them.
 */
export async function takeTurns(
  stage: Stage,
  players: readonly Player[],
  { maxTtlMs, nodes, terms }: TurnTerms,
): Promise<void> {
  const { checker, links, world } = stage;
  const [resource = ''] = terms.resources;
  const waiters = players.flatMap((player) => [player, player]);
  const turns: number[] = [];
  let lastMs = world.nowMs;
  let sent = 0;
  const sentSoFar = (): number => links.reduce((sum, link) => sum + link.sent, 0);
  let meeting = new Meeting(waiters.length);
  const inTurn = async (player: Player, i: number): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) {
      if (terms.isCrowd) {
        const meetings = meeting;
        await meetings.all();
        if (meeting === meetings) [meeting, lastMs] = [new Meeting(waiters.length), world.nowMs];
      }
      const before = checker.highest([resource]);
      const settled = checker.expect(player.client, `wait for ${resource} in line`, LONGEST_LINE_MS);
      const options = { ttlMs: maxTtlMs, waitMs: LONGEST_LINE_MS, renew: true };
      const lease = await checker.call(player.client, [resource], () =>
        player.redlock.acquire(resource, options),
      );
      settled();
      if (lease === undefined) return;
      checker.granted(player.client, lease, before);
      const idleMs = world.nowMs - lastMs;
      if (turns.length >= waiters.length && idleMs > LONGEST_IDLE_MS)
        checker.fail('progress', `nobody had ${resource} for ${idleMs.toFixed(0)} ms, and all stood in line`);
      turns.push(i);
      if (turns.length === waiters.length) sent -= sentSoFar();
      if (turns.length === CUT_AFTER * waiters.length) {
        sent += sentSoFar();
        for (const link of links) link.cutPushes();
      }
      await player.client.sleep(2);
      lastMs = world.nowMs;
      checker.ended(lease, true);
      void lease.release();
    }
  };
  const clocks = stage.places.map(({ server }) => server.micros() / 1_000);
  const apartMs = Math.max(...clocks) - Math.min(...clocks);
  const longest = waiters.length + 2 + Math.ceil((apartMs + TICKET_MS) / TURN_MS);
  await Promise.all(waiters.map(inTurn)).catch((error: unknown) => checker.fail('progress', describe(error)));
  // the first turns are for who is connected first, and those after the cut again
  turns.slice(0, CUT_AFTER * waiters.length).forEach((i, at) => {
    const before = at === 0 ? -1 : turns.lastIndexOf(i, at - 1);
    const isJudged = !terms.isCrowd && before >= waiters.length; // in a crowd, each time in another order
    if (isJudged && at - before > longest)
      checker.fail('fairness', `waiter ${i} of ${waiters.length} had to wait for ${at - before} turns`);
  });
  const counted = (CUT_AFTER - 1) * waiters.length;
  const most = (3 * nodes + 1) * counted + 2 * nodes * waiters.length; // votes that are yielded take one more
  if (sent > most)
    checker.fail('commands', `${counted} turns in line took ${sent} commands, ${most} at most`);
}

/** Where those who come wait for the others. */
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
