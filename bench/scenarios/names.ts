/**
 * What a name that was used once leaves on a master, such as the counter of its fencing tokens, and for how long. Masters
 * are emptied before each contender: what an earlier one left would expire meanwhile.
 */
import { Redis } from 'ioredis';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { QUORUM_OF } from '../plan.js';
import type { NameRow } from '../results.js';
import { median } from '../statistics.js';
import { type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

const SESSION = sessionOf(QUORUM_OF);
/** The tables of a server that was empty grow in steps: these are taken first, and not counted. */
const WARM_UP = 1_000;
/** So many keys are asked how long they live: all were set within the last seconds. */
const LOOKS = 100;
/** To take and to give back so many, by a contender that is slow at it. */
const CAP_MS = 60_000;

/** What a master holds. */
export interface Holding {
  readonly bytes: number;
  readonly keys: number;
}

export async function measureNames(scene: Scene): Promise<NameRow[]> {
  const rows: NameRow[] = [];
  for (const [i, contender] of scene.contenders.entries()) {
    scene.tell(`names used once, ${contender}`, i / scene.contenders.length);
    let row: NameRow = { contender };
    const trouble = await troubleOf(async () => {
      row = await measureOne(scene, contender);
    });
    rows.push({ ...row, trouble });
    await scene.team.stop();
  }
  return rows;
}

async function measureOne(scene: Scene, contender: ContenderName): Promise<NameRow> {
  const urls = urlsOf(scene, QUORUM_OF);
  const looks = urls.map((url) => new Redis(url, { db: entryOf(contender).database ?? 0 }));
  try {
    await Promise.all(looks.map((look) => look.flushall('SYNC')));
    const { leases: count } = scene.plan;
    const worker = await scene.team.opened(contender, SESSION, urls);
    const order = { kind: 'use-many', session: SESSION } as const;
    await worker.order({ ...order, from: 0, count: WARM_UP }, { capMs: CAP_MS });
    const before = await Promise.all(looks.map(holdingOf));
    await worker.order({ ...order, from: WARM_UP, count }, { capMs: CAP_MS });
    const livesMs = Math.max(...(await Promise.all(looks.map(longestLifeMs))));
    return toNameRow(contender, before, await Promise.all(looks.map(holdingOf)), count, livesMs);
  } finally {
    for (const look of looks) look.disconnect();
  }
}

/** @param livesMs  of the key that lives longest, 0 if there is none */
export function toNameRow(
  contender: ContenderName,
  before: readonly Holding[],
  after: readonly Holding[],
  count: number,
  livesMs: number,
): NameRow {
  const each = (read: (holding: Holding) => number): number =>
    median(after.map((one, i) => (read(one) - read(before[i] ?? one)) / count));
  const keysPerName = each(({ keys }) => keys);
  if (keysPerName === 0) return { contender, keysPerName };
  return { contender, keysPerName, bytesPerName: each(({ bytes }) => bytes), livesMs };
}

async function holdingOf(look: Redis): Promise<Holding> {
  const bytes = /^used_memory:(\d+)/m.exec(await look.info('memory'))?.[1];
  return { bytes: Number(bytes), keys: await look.dbsize() };
}

async function longestLifeMs(look: Redis): Promise<number> {
  let longest = 0;
  for (let i = 0; i < LOOKS; i++) {
    const key = await look.randomkey();
    if (key !== null) longest = Math.max(longest, await look.pttl(key));
  }
  return longest;
}
