/** Many calls at once on free names, all masters up: on a machine that has nothing else to do, and on a busy one. */
import { Hogs } from '../hogs.js';
import type { Burst } from '../orders.js';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { QUORUM_OF } from '../plan.js';
import type { BurstRow } from '../results.js';
import { spread } from '../statistics.js';
import { type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

const SESSION = sessionOf(QUORUM_OF);
/** For a contender that is slow at it. */
const CAP_MS = 60_000;

/** This library and the floors: what a peer does with so many was not built for them. */
export async function measureBursts(scene: Scene): Promise<BurstRow[]> {
  const rows: BurstRow[] = [];
  const contenders = scene.contenders.filter((name) => entryOf(name).kind !== 'peer');
  for (const isBusy of [false, true]) {
    for (const contender of contenders) {
      scene.tell(`${isBusy ? 'busy machine, ' : ''}${contender}`, rows.length / 2 / contenders.length);
      rows.push(await measureOne(scene, contender, isBusy));
      await scene.team.stop();
    }
  }
  return rows;
}

async function measureOne(scene: Scene, contender: ContenderName, isBusy: boolean): Promise<BurstRow> {
  const { burst: count, burstRounds } = scene.plan;
  const bursts: Burst[] = [];
  using _hogs = isBusy ? new Hogs() : undefined;
  const trouble = await troubleOf(async () => {
    const worker = await scene.team.opened(contender, SESSION, urlsOf(scene, QUORUM_OF));
    for (let round = 0; round < burstRounds; round++)
      bursts.push(await worker.order({ kind: 'burst', session: SESSION, round, count }, { capMs: CAP_MS }));
  });
  if (trouble !== undefined) return { contender, isBusy, trouble };
  return toBurstRow(contender, isBusy, bursts, count);
}

export function toBurstRow(
  contender: ContenderName,
  isBusy: boolean,
  bursts: readonly Burst[],
  count: number,
): BurstRow {
  return {
    contender,
    isBusy,
    granted: spread(bursts.map(({ granted }) => granted / count)),
    tookMs: spread(bursts.map(({ tookMs }) => tookMs)),
    peakBytes: Math.max(...bursts.map(({ peakBytes }) => peakBytes)),
    failure: bursts.find(({ failure }) => failure !== undefined)?.failure,
  };
}
