/**
 * Many clients, one key. Each client has an instance and connections of its own, half of them in one process and half
 * in another; all begin at once and go on for a while, and only a window in the middle is counted.
 */
import { type ContenderName, entryOf } from '../contenders/index.js';
import { type Contention, monotonicMs } from '../orders.js';
import { HOLD_MS, QUORUM_OF } from '../plan.js';
import type { ContentionFigures, ContentionRow } from '../results.js';
import { jain, median, percentile, spread } from '../statistics.js';
import { rotate, type Scene, troubleOf, urlsOf } from './scene.js';

const PROCESSES = 2;
/** An acquisition that waits when the window ends may wait on for its own time limit. */
const DRAIN_MS = 30_000;

interface Track {
  readonly name: ContenderName;
  readonly clients: number;
  readonly rounds: RoundFigures[];
  trouble: string | undefined;
}

export async function measureContention(scene: Scene): Promise<ContentionRow[]> {
  const { crowds, contentionRounds } = scene.plan;
  const contenders = scene.contenders.filter((name) => entryOf(name).waits);
  const tracks = crowds.flatMap((clients) =>
    contenders.map((name): Track => ({ name, clients, rounds: [], trouble: undefined })),
  );
  for (let round = 0; round < contentionRounds; round++) {
    for (const [i, track] of rotate(tracks, round).entries()) {
      if (track.trouble !== undefined) continue;
      const what = `round ${round + 1} of ${contentionRounds}, ${track.clients} clients, ${track.name}`;
      scene.tell(what, (round + i / tracks.length) / contentionRounds);
      track.trouble = await troubleOf(
        async () => void track.rounds.push(await measureRound(scene, track, round)),
      );
      await scene.team.stop(); // the next crowd begins with fresh processes, and none is left waiting
    }
  }
  return tracks.map(toRow);
}

async function measureRound(scene: Scene, { name, clients }: Track, round: number): Promise<RoundFigures> {
  const { contentionMs, contentionWarmUpMs } = scene.plan;
  const urls = urlsOf(scene, QUORUM_OF);
  const shares = Array.from({ length: PROCESSES }, (_, i) => Math.floor((clients + i) / PROCESSES));
  const workers = await Promise.all(shares.map((_, copy) => scene.team.worker(name, copy)));
  await Promise.all(
    workers.map((worker, i) => worker.order({ kind: 'gather', urls, clients: shares[i] ?? 0 })),
  );
  const fromMs = monotonicMs() + contentionWarmUpMs;
  const window = { fromMs, untilMs: fromMs + contentionMs };
  const asked = { kind: 'contend', resource: `bench:one:${round}`, holdMs: HOLD_MS, ...window } as const;
  const parts = await Promise.all(
    workers.map((worker) =>
      worker.order(asked, { capMs: DRAIN_MS, durationMs: contentionWarmUpMs + contentionMs }),
    ),
  );
  return figuresOf(parts, shares, window);
}

export interface RoundFigures {
  readonly grantsPerSecond: number;
  readonly handOffsMs: readonly number[];
  readonly requestsPerGrant: number;
  readonly jain: number;
  readonly longestGapMs: number;
  readonly gaveUp: number;
  readonly overlaps: number;
}

/** Puts the turns of all processes into one order. Their clock is the machine's. */
export function figuresOf(
  parts: readonly Contention[],
  shares: readonly number[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): RoundFigures {
  const turns = parts
    .flatMap((part, process) => part.turns.map((turn) => ({ ...turn, client: `${process}/${turn.client}` })))
    .sort((a, b) => a.grantedMs - b.grantedMs);
  const counted = turns.filter(({ grantedMs }) => grantedMs >= fromMs && grantedMs < untilMs);
  const changes = turns.slice(1).flatMap((turn, i) => {
    const before = turns[i];
    const isCounted = turn.grantedMs >= fromMs && turn.grantedMs < untilMs;
    return before === undefined || !isCounted || before.client === turn.client
      ? []
      : [turn.grantedMs - before.releasedMs];
  });
  const clients = shares.flatMap((count, process) =>
    Array.from({ length: count }, (_, i) => `${process}/${i}`),
  );
  const ofClient = clients.map((client) => counted.filter((turn) => turn.client === client));
  const gaps = ofClient.map((own) => {
    const instants = [fromMs, ...own.map(({ grantedMs }) => grantedMs), untilMs];
    return Math.max(...instants.slice(1).map((instant, i) => instant - (instants[i] ?? instant)));
  });
  const sum = (read: (part: Contention) => number): number =>
    parts.reduce((total, part) => total + read(part), 0);
  return {
    grantsPerSecond: (counted.length * 1_000) / (untilMs - fromMs),
    handOffsMs: changes.filter((ms) => ms >= 0),
    requestsPerGrant: sum(({ requests }) => requests) / counted.length,
    jain: jain(ofClient.map((own) => own.length)),
    longestGapMs: Math.max(...gaps),
    gaveUp: sum(({ failures }) => failures),
    overlaps: changes.filter((ms) => ms < 0).length,
  };
}

function toRow({ name, clients, rounds, trouble }: Track): ContentionRow {
  const row = { contender: name, clients };
  if (trouble !== undefined || rounds.length === 0) return { ...row, trouble: trouble ?? 'no round' };
  const figures = medianContention(rounds);
  return figures.grantsPerSecond.max === 0 ? { ...row, trouble: 'no grant' } : { ...row, figures };
}

function medianContention(rounds: readonly RoundFigures[]): ContentionFigures {
  const of = (read: (round: RoundFigures) => number): number => median(rounds.map(read));
  const sum = (read: (round: RoundFigures) => number): number =>
    rounds.reduce((total, one) => total + read(one), 0);
  const handOffs = rounds.flatMap(({ handOffsMs }) => handOffsMs);
  return {
    grantsPerSecond: spread(rounds.map(({ grantsPerSecond }) => grantsPerSecond)),
    handOffP50Ms: percentile(handOffs, 0.5),
    handOffP99Ms: percentile(handOffs, 0.99),
    requestsPerGrant: of(({ requestsPerGrant }) => requestsPerGrant),
    jain: of(({ jain: index }) => index),
    longestGapMs: of(({ longestGapMs }) => longestGapMs),
    gaveUp: sum(({ gaveUp }) => gaveUp),
    overlaps: sum(({ overlaps }) => overlaps),
  };
}
