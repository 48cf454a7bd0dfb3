/** What one pair costs, and where: commands sent, CPU of the client, and what each master does for it. */
import { Redis } from 'ioredis';
import type { ContenderName } from '../contenders/index.js';
import { describeLoad, type Load, QUORUM_OF } from '../plan.js';
import type { CostFigures, CostRow } from '../results.js';
import { type Scene, sessionOf, troubleOf, turn, urlsOf } from './scene.js';

const COST_LOADS: readonly Load[] = [
  { nodes: QUORUM_OF, inFlight: 1 },
  { nodes: QUORUM_OF, inFlight: 64 },
  { nodes: QUORUM_OF, inFlight: 256, works: true },
  { nodes: QUORUM_OF, inFlight: 1_024, works: true, isOnce: true },
];

export async function measureCost(scene: Scene): Promise<CostRow[]> {
  const rows: CostRow[] = [];
  const parts = COST_LOADS.length * scene.contenders.length;
  for (const load of COST_LOADS) {
    for (const contender of scene.contenders) {
      scene.tell(`${describeLoad(load)}, ${contender}`, rows.length / parts);
      let figures: CostFigures | undefined;
      const trouble = await troubleOf(async () => {
        figures = await measureOne(scene, contender, load);
      });
      rows.push({ ...load, contender, trouble, ...(figures === undefined ? {} : { figures }) });
    }
  }
  await scene.team.stop(); // their clients count what they send
  return rows;
}

async function measureOne(scene: Scene, name: ContenderName, load: Load): Promise<CostFigures> {
  const session = sessionOf(load.nodes);
  const urls = urlsOf(scene, load.nodes);
  const { costMs } = scene.plan;
  const worker = await scene.team.opened(name, session, urls);
  await turn(scene, name, load, costMs / 4); // warm
  await worker.order({ kind: 'take', session });
  const sentBefore = await worker.order({ kind: 'sent', session });
  const before = await readGauges(urls);
  await turn(scene, name, load, costMs);
  const after = await readGauges(urls);
  const sent = await worker.order({ kind: 'sent', session });
  const { pairs, cpuPerPairUs, pairsPerSecond } = await worker.order({ kind: 'take', session });
  return {
    requests: (sent - sentBefore - urls.length) / pairs, // a PING to each settles them
    commandsPerMaster: (after.commands - before.commands) / urls.length / pairs,
    masterCpuUs: (after.cpuUs - before.cpuUs) / urls.length / pairs,
    clientCpuUs: cpuPerPairUs,
    pairsPerSecond,
    ...(await tally(scene, name, load)),
  };
}

/** In a turn of its own: looking into each call takes the client's time. */
async function tally(
  scene: Scene,
  name: ContenderName,
  load: Load,
): Promise<Pick<CostFigures, 'entriesPerCall' | 'acceptancesPerGrant'>> {
  const session = sessionOf(load.nodes);
  const worker = await scene.team.opened(name, session, urlsOf(scene, load.nodes));
  const before = await worker.order({ kind: 'tally', session });
  if (before === undefined) return {};
  await turn(scene, name, load, scene.plan.costMs);
  const after = (await worker.order({ kind: 'tally', session })) ?? before;
  const { pairs } = await worker.order({ kind: 'take', session });
  return {
    entriesPerCall: (after.entries - before.entries) / (after.calls - before.calls),
    acceptancesPerGrant: (after.acceptances - before.acceptances) / pairs,
  };
}

export interface Gauges {
  readonly commands: number;
  readonly cpuUs: number;
}

/** What all masters together have done so far. */
export async function readGauges(urls: readonly string[]): Promise<Gauges> {
  const each = await Promise.all(urls.map(readGauge));
  const sum = (read: (gauges: Gauges) => number): number => each.reduce((total, one) => total + read(one), 0);
  return { commands: sum(({ commands }) => commands), cpuUs: sum(({ cpuUs }) => cpuUs) };
}

async function readGauge(url: string): Promise<Gauges> {
  const client = new Redis(url);
  try {
    const info = `${await client.info('commandstats')}\n${await client.info('cpu')}`;
    // without the bench's own looks
    const calls = [...info.matchAll(/^cmdstat_(?!info|ping|hello|client)[^:]+:calls=(\d+)/gm)];
    return {
      commands: calls.reduce((total, [, count]) => total + Number(count), 0),
      cpuUs: cpuUsOf(info),
    };
  } finally {
    client.disconnect();
  }
}

/** What a server has used so far, user and system, by its `INFO cpu`. */
export function cpuUsOf(info: string): number {
  const seconds = ['used_cpu_user', 'used_cpu_sys'].map((name) =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]),
  );
  return seconds.reduce((total, one) => total + one, 0) * 1e6;
}
