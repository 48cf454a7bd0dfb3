/**
 * Many clients, one key. Each client has an instance and connections of its own, half of them in one process and half
 * in another; all begin at once and go on for a while, and only a window in the middle is counted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Master } from '../../scripts/masters.js';
import { type ContenderName, entryOf, isFor } from '../contenders/index.js';
import type { Worker } from '../crew.js';
import { type Contention, monotonicMs } from '../orders.js';
import { type Crowd, describeCrowd, HOLD_MS, type Plan } from '../plan.js';
import type { ContentionRow } from '../results.js';
import { percentile, ratios, type Spread } from '../statistics.js';
import { relaysTo } from '../relay.js';
import { cpuUsOf } from './cost.js';
import { rotate, type Scene, troubleOf, urlsOf } from './scene.js';
import { figuresOf, type Measured, medianContention, type Window } from './turns.js';

const PROCESSES = 2;
/** An acquisition that waits when the window ends may wait on for its own time limit. */
const DRAIN_MS = 30_000;
/** A large crowd takes longer to get going: each one connects for its pushes, and is told of its first refusal. */
const WARM_UP_OF_ONE_MS = 25;
/** A master that has not told its CPU time by then stands still. */
const FROZEN_MS = 200;

export interface Track {
  readonly name: ContenderName;
  readonly crowd: Crowd;
  /** By round; nothing where there was none. */
  readonly rounds: (Measured | undefined)[];
  trouble: string | undefined;
}

export async function measureContention(scene: Scene): Promise<ContentionRow[]> {
  const { crowds, contentionRounds } = scene.plan;
  const waiting = scene.contenders.filter((name) => entryOf(name).waits);
  const rows = crowds.map((crowd) =>
    waiting
      .filter((name) => isFor(name, crowd.nodes) && (crowd.only?.includes(name) ?? true))
      .map((name): Track => ({ name, crowd, rounds: [], trouble: undefined })),
  );
  const tracks = rows.flat();
  for (let round = 0; round < contentionRounds; round++) {
    const inTurn = rows.flatMap((row) => rotate(row, round));
    for (const [i, track] of inTurn.entries()) {
      const what = `round ${round + 1} of ${contentionRounds}, ${describeCrowd(track.crowd)}, ${track.name}`;
      scene.tell(what, (round + i / inTurn.length) / contentionRounds);
      track.trouble ??= gaveInBefore(track, tracks, round);
      if (track.trouble !== undefined) continue;
      track.trouble = await troubleOf(
        async () => void (track.rounds[round] = await measureRound(scene, track, round)),
      );
      await scene.team.stop(); // the next crowd begins with fresh processes, and none is left waiting
    }
  }
  return tracks.map((track) => toRow(track, tracks));
}

/** Who came to nothing with fewer clients is not asked with more. */
function gaveInBefore({ name, crowd }: Track, tracks: readonly Track[], round: number): string | undefined {
  const fewer = tracks.find(
    (track) =>
      track.name === name &&
      track.crowd.clients < crowd.clients &&
      isAlike(track.crowd, crowd) &&
      (track.trouble !== undefined || track.rounds[round]?.grantsPerSecond === 0),
  );
  if (fewer === undefined) return undefined;
  return fewer.trouble?.includes('with fewer') === true
    ? fewer.trouble
    : `${fewer.trouble ?? 'no grant'} with fewer (${fewer.crowd.clients})`;
}

function isAlike(a: Crowd, b: Crowd): boolean {
  return a.nodes === b.nodes && a.isFrozen === b.isFrozen && a.delayMs === b.delayMs;
}

async function measureRound(scene: Scene, { name, crowd }: Track, round: number): Promise<Measured> {
  const { clients, delayMs, nodes, windowMs } = crowd;
  await using relays = delayMs === undefined ? undefined : await relaysTo(urlsOf(scene, nodes), delayMs);
  const urls = relays?.urls ?? urlsOf(scene, nodes);
  const shares = Array.from({ length: PROCESSES }, (_, i) => Math.floor((clients + i) / PROCESSES));
  const workers = await Promise.all(shares.map((_, copy) => scene.team.worker(name, copy)));
  await Promise.all(
    workers.map((worker, i) => worker.order({ kind: 'gather', urls, clients: shares[i] ?? 0 })),
  );
  // a name of its own for each: what a contender leaves behind must not be in the way of the next one
  const resource = `bench:one:${name}:${describeCrowd(crowd).replaceAll(/\W+/g, '-')}:${round}`;
  const probe = await workers[0]?.order({
    kind: 'probe',
    resource: `${resource}:probe`,
    samples: scene.plan.probes,
  });
  if (probe === undefined) throw new Error('a crowd has a process at least');
  const warmUpMs = warmUpOf(crowd, scene.plan);
  const fromMs = monotonicMs() + warmUpMs;
  const window = { fromMs, untilMs: fromMs + windowMs };
  const frozen = crowd.isFrozen ? scene.masters[round % nodes] : undefined;
  const gauges = masterCpuMs(urlsOf(scene, nodes), window);
  const parts = await underFrozen(frozen, fromMs - warmUpMs / 2, () => contend(workers, resource, window));
  const figures = figuresOf(parts, shares, window);
  const grants = (figures.grantsPerSecond * windowMs) / 1_000;
  return { ...figures, ...probe, masterCpuMs: (await gauges) / grants };
}

function warmUpOf({ clients, isFrozen }: Crowd, { contentionWarmUpMs }: Plan): number {
  return (isFrozen ? 2 : 1) * contentionWarmUpMs + clients * WARM_UP_OF_ONE_MS;
}

function contend(workers: readonly Worker[], resource: string, window: Window): Promise<Contention[]> {
  const order = { kind: 'contend', resource, holdMs: HOLD_MS, ...window } as const;
  const durationMs = window.untilMs - monotonicMs();
  return Promise.all(workers.map((worker) => worker.order(order, { capMs: DRAIN_MS, durationMs })));
}

/** What all masters did in the window; those that stand still are not asked, and do nothing. */
async function masterCpuMs(urls: readonly string[], { fromMs, untilMs }: Window): Promise<number> {
  const clients = urls.map((url) => new Redis(url));
  const sample = async (atMs: number): Promise<readonly (number | undefined)[]> => {
    await pause(Math.max(0, atMs - monotonicMs()));
    return Promise.all(
      clients.map((client) => Promise.race([client.info('cpu').then(cpuUsOf), pause(FROZEN_MS, undefined)])),
    );
  };
  try {
    const before = await sample(fromMs);
    const after = await sample(untilMs);
    const each = after.map((us, i) => (us === undefined ? 0 : us - (before[i] ?? us)));
    return each.reduce((total, us) => total + us, 0) / 1_000;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** It stops while the clients are at work, and not before: what they had asked of it stays without an answer. */
async function underFrozen<T>(master: Master | undefined, atMs: number, work: () => Promise<T>): Promise<T> {
  if (master === undefined) return work();
  const stop = async (): Promise<void> => {
    await pause(Math.max(0, atMs - monotonicMs()));
    await master.freeze();
  };
  try {
    const [result] = await Promise.all([work(), stop()]);
    return result;
  } finally {
    await master.thaw();
  }
}

export function toRow(track: Track, all: readonly Track[]): ContentionRow {
  const { name, crowd, rounds, trouble } = track;
  const { clients, nodes, isFrozen, delayMs } = crowd;
  const away = delayMs === undefined ? {} : { delayMs };
  const row = { contender: name, clients, nodes, isFrozen, ...away };
  const own = rounds.filter((round) => round !== undefined);
  if (trouble !== undefined || own.length === 0) return { ...row, trouble: trouble ?? 'no round' };
  const figures = medianContention(own);
  if (figures.grantsPerSecond.max === 0) return { ...row, trouble: 'no grant' };
  const healthy = { ...crowd, isFrozen: false };
  const peers = all.filter((other) => other.crowd === crowd && entryOf(other.name).kind === 'peer');
  const same = all.filter(
    (other) =>
      isFrozen && other.name === name && other.crowd.clients === clients && isAlike(other.crowd, healthy),
  );
  const toBestPeer = toBest(rounds, peers, grants);
  const handOversToBestPeer = toBest(rounds, peers, handOverRate);
  const toHealthy = toBest(rounds, same, grants);
  const reserving = all.filter((other) => other.crowd === crowd && other.name === 'quorate-reserve');
  const handOvers = name === 'quorate' ? toBest(rounds, reserving, handOverRate) : undefined;
  const p50 = toBest(rounds, reserving, ({ handOversMs }) => percentile(handOversMs, 0.5));
  return {
    ...row,
    figures,
    ...(toBestPeer === undefined ? {} : { toBestPeer }),
    ...(handOversToBestPeer === undefined ? {} : { handOversToBestPeer }),
    ...(toHealthy === undefined ? {} : { toHealthy }),
    ...(handOvers === undefined || p50 === undefined ? {} : { toReserving: { handOvers, p50 } }),
  };
}

const grants = ({ grantsPerSecond }: Measured): number => grantsPerSecond;
const handOverRate = ({ handOversPerSecond }: Measured): number => handOversPerSecond;

/** Beside the best of those others that came to anything in the same round. */
function toBest(
  rounds: Track['rounds'],
  others: readonly Track[],
  rateOf: (round: Measured) => number,
): Spread | undefined {
  const pairs = rounds.flatMap((one, round) => {
    const rates = others.flatMap((other) => {
      const own = other.rounds[round];
      return own === undefined ? [] : [rateOf(own)];
    });
    const best = Math.max(0, ...rates);
    return one === undefined || best === 0 ? [] : [{ rate: rateOf(one), best }];
  });
  if (pairs.length === 0) return undefined;
  return ratios(
    pairs.map(({ rate }) => rate),
    pairs.map(({ best }) => best),
  );
}
