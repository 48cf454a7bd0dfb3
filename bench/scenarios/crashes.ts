/**
 * Somebody in the queue dies: how long the next one then waits, from the holder's call of `release`. Three processes: one
 * holds, one is first in the queue and is killed, one is next.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Redlock } from '../../lib/index.js';
import type { ContenderName } from '../contenders/index.js';
import type { Worker } from '../crew.js';
import { QUORUM_OF } from '../plan.js';
import type { CrashName, CrashRow } from '../results.js';
import { spread } from '../statistics.js';
import { type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

/** Peers have no queue that somebody could wait in. */
const QUEUED: readonly ContenderName[] = ['quorate'];
const CRASHES: readonly CrashName[] = ['nobody', 'in the queue', 'once told'];
const SESSION = sessionOf(QUORUM_OF);
const HOLDER = 0;
const HEAD = 1;
const NEXT = 2;
/** Between the release and the kill: the push is on its way or there, and its receiver stands still. */
const TOLD_MS = 5;
const LOOK_MS = 5;
const LINE_CAP_MS = 5_000;

export async function measureCrashes(scene: Scene): Promise<CrashRow[]> {
  const { crashRounds } = scene.plan;
  const clients = urlsOf(scene, QUORUM_OF).map((url) => new Redis(url));
  const looker = new Redlock(clients);
  const rows: CrashRow[] = [];
  try {
    for (const contender of scene.contenders.filter((name) => QUEUED.includes(name))) {
      for (const [i, crash] of CRASHES.entries()) {
        const delays: number[] = [];
        const trouble = await troubleOf(async () => {
          for (let round = 0; round < crashRounds; round++) {
            scene.tell(`${crash}, round ${round + 1}`, (i + round / crashRounds) / CRASHES.length);
            delays.push(await measureOne(scene, contender, { crash, round, looker }));
          }
        });
        rows.push(
          trouble === undefined
            ? { contender, crash, delayMs: spread(delays) }
            : { contender, crash, trouble },
        );
      }
    }
  } finally {
    await looker.close();
    for (const client of clients) client.disconnect();
  }
  return rows;
}

interface Course {
  readonly crash: CrashName;
  readonly round: number;
  readonly looker: Redlock;
}

async function measureOne(
  scene: Scene,
  name: ContenderName,
  { crash, round, looker }: Course,
): Promise<number> {
  const urls = urlsOf(scene, QUORUM_OF);
  const open = (copy: number): Promise<Worker> => scene.team.opened(name, SESSION, urls, copy);
  const resource = `bench:crash:${crash.replaceAll(' ', '-')}:${round}`;
  const take = { kind: 'take-one', session: SESSION, resource } as const;
  const [holder, next] = await Promise.all([open(HOLDER), open(NEXT)]);
  await holder.order(take);
  let head: Worker | undefined;
  if (crash !== 'nobody') {
    head = await open(HEAD);
    void head.order(take).catch(() => undefined); // it dies
    await inQueue(looker, resource, 1);
  }
  const granted = next.order(take);
  granted.catch(() => undefined); // it is awaited below, unless something else fails before
  await inQueue(looker, resource, head === undefined ? 1 : 2);
  if (crash === 'in the queue') await head?.stop();
  else head?.freeze(); // it hears of its turn and cannot act upon it
  const released = holder.order({ kind: 'give-back-one', session: SESSION });
  if (crash === 'once told') {
    await pause(TOLD_MS);
    await head?.stop();
  }
  const delayMs = (await granted) - (await released);
  await next.order({ kind: 'give-back-one', session: SESSION });
  return delayMs;
}

async function inQueue(looker: Redlock, resource: string, count: number): Promise<void> {
  const untilMs = performance.now() + LINE_CAP_MS;
  while ((await looker.inspect(resource)).waiting < count) {
    if (performance.now() > untilMs) throw new Error(`nobody stands in the queue for ${resource}`);
    await pause(LOOK_MS);
  }
}
