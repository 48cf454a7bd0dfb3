/** What is done to masters under a load that lasts, and what they store. */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Master } from '../../scripts/masters.js';
import { ask } from '../../scripts/masters/wait.js';
import type { LastingTerms, Stored, Strike } from './terms.js';

const ASK_MS = 5_000;
/** What is meant to stay for a while when nobody locks anything. */
const STAYS = /^quorate:(?:tagged:)?(?:fence|guard|record)/;

/** Resolves when the last of them is over. */
export async function strikeAll(
  masters: readonly Master[],
  { strikes }: Pick<LastingTerms, 'strikes'>,
  round: number,
): Promise<void> {
  await Promise.all(
    strikes.map(async ({ kind, atMs, forMs }, i) => {
      await pause(atMs);
      await strike(struckBy(kind, masters, round + i), kind, forMs);
    }),
  );
}

/** In turns; never the one that was killed shortly before, unless a majority is meant. */
function struckBy(kind: Strike['kind'], masters: readonly Master[], turn: number): readonly Master[] {
  const count = kind === 'frozen majority' ? Math.floor(masters.length / 2) + 1 : 1;
  return Array.from({ length: count }, (_, i) => masters[(turn + i) % masters.length]).flatMap(
    (master) => master ?? [],
  );
}

async function strike(masters: readonly Master[], kind: Strike['kind'], forMs: number): Promise<void> {
  const all = (act: (master: Master) => Promise<unknown>): Promise<unknown> => Promise.all(masters.map(act));
  switch (kind) {
    case 'killed':
      await all((master) => master.kill());
      await pause(forMs);
      await all((master) => master.restart());
      return;
    case 'cut':
      await all(({ port }) => ask(port, 'CLIENT KILL TYPE normal', ASK_MS));
      await all(({ port }) => ask(port, 'CLIENT KILL TYPE pubsub', ASK_MS));
      return;
    case 'frozen':
    case 'frozen majority':
      await all((master) => master.freeze());
      await pause(forMs);
      await all((master) => master.thaw());
  }
}

export async function storedOn(masters: readonly Master[]): Promise<Stored> {
  const each = await Promise.all(masters.map(storedOnOne));
  const sum = (key: keyof Stored): number => each.reduce((total, one) => total + one[key], 0);
  return { connections: sum('connections'), keys: sum('keys'), left: sum('left'), bytes: sum('bytes') };
}

/** Its own question is one of the connections. */
async function storedOnOne({ url }: Master): Promise<Stored> {
  const client = new Redis(url);
  client.on('error', () => undefined);
  try {
    const info = await client.info();
    const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? NaN);
    let keys = 0;
    let left = 0;
    for await (const some of client.scanStream({ count: 1_000 })) {
      const names = some as string[]; // what SCAN answers
      keys += names.length;
      left += names.filter((name) => !STAYS.test(name)).length;
    }
    return { connections: read('connected_clients'), bytes: read('used_memory'), keys, left };
  } finally {
    client.disconnect();
  }
}
