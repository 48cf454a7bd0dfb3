/**
 * What a master does for one acquisition and for one release, by its own count: the time that `commandstats` gives for
 * the commands that clients sent. So many locks are taken one after another and then given back, contenders in turns.
 */
import { Redis } from 'ioredis';
import type { ContenderName } from '../contenders/index.js';
import { QUORUM_OF } from '../plan.js';
import type { StepRow } from '../results.js';
import { ratios, spread } from '../statistics.js';
import { rotate, type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

const SESSION = sessionOf(QUORUM_OF);

export interface Track {
  readonly name: ContenderName;
  readonly acquireUs: number[];
  readonly releaseUs: number[];
  trouble: string | undefined;
}

export async function measureSteps(scene: Scene): Promise<StepRow[]> {
  const { plan, contenders } = scene;
  const looks = urlsOf(scene, QUORUM_OF).map((url) => new Redis(url));
  const tracks = contenders.map((name): Track => ({
    name,
    acquireUs: [],
    releaseUs: [],
    trouble: undefined,
  }));
  try {
    for (let round = 0; round <= plan.stepRounds; round++) {
      for (const track of rotate(tracks, round)) {
        scene.tell(`the masters' own time, round ${round + 1}`, 1);
        if (track.trouble !== undefined) continue;
        track.trouble = await troubleOf(() => measureRound(scene, track, looks, round === 0));
      }
    }
  } finally {
    for (const look of looks) look.disconnect();
  }
  await scene.team.stop();
  return tracks.map((track) => toStepRow(track, tracks));
}

export function toStepRow(track: Track, all: readonly Track[]): StepRow {
  const { name, acquireUs, releaseUs, trouble } = track;
  if (trouble !== undefined) return { contender: name, trouble };
  const row = {
    contender: name,
    acquireUs: spread(acquireUs),
    releaseUs: spread(releaseUs),
    bothUs: spread(both(track)),
  };
  const unfair = all.find((other) => other.name === 'quorate-unfair' && other.trouble === undefined);
  return unfair === undefined ? row : { ...row, toUnfair: ratios(both(track), both(unfair)) };
}

function both({ acquireUs, releaseUs }: Track): readonly number[] {
  return acquireUs.map((us, i) => us + (releaseUs[i] ?? NaN));
}

async function measureRound(
  scene: Scene,
  { name, acquireUs, releaseUs }: Track,
  looks: readonly Redis[],
  isWarmUp: boolean,
): Promise<void> {
  const { capMs, steps: count } = scene.plan;
  const worker = await scene.team.opened(name, SESSION, urlsOf(scene, QUORUM_OF));
  await resetAll(looks);
  await worker.order({ kind: 'take-many', session: SESSION, count }, { capMs });
  const acquire = await stepUs(looks, count);
  await resetAll(looks);
  await worker.order({ kind: 'give-back-many', session: SESSION }, { capMs });
  const release = await stepUs(looks, count);
  if (isWarmUp) return;
  acquireUs.push(acquire);
  releaseUs.push(release);
}

async function resetAll(looks: readonly Redis[]): Promise<void> {
  await Promise.all(looks.map((look) => look.config('RESETSTAT')));
}

/** At one master, for one of `count` steps. */
async function stepUs(looks: readonly Redis[], count: number): Promise<number> {
  const each = await Promise.all(looks.map(async (look) => sentUs(await look.info('commandstats'))));
  return each.reduce((total, one) => total + one, 0) / looks.length / count;
}

/** The bench's own, and what a client does to be connected. */
const OTHERS = new Set(['info', 'config|resetstat', 'ping', 'hello', 'client|setinfo', 'script|load']);

/**
 * The time of what clients sent. What a script calls is counted beside the script and within it, so the scripts alone are
 * added up; without any, all that is there. (A contender that sends both to do one step would be counted short.)
 */
export function sentUs(stats: string): number {
  const rows = [...stats.matchAll(/^cmdstat_([^:]+):calls=\d+,usec=(\d+)/gm)].map(
    ([, name = '', us]) => [name, Number(us)] as const,
  );
  const scripts = rows.filter(([name]) => /^(eval|evalsha|fcall)(_ro)?$/.test(name));
  const sent = scripts.length > 0 ? scripts : rows.filter(([name]) => !OTHERS.has(name));
  return sent.reduce((total, [, us]) => total + us, 0);
}
