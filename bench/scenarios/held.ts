/** Leases that are held: their heap, and what renewing many of them costs. */
import type { ContenderName } from '../contenders/index.js';
import type { HoldKind } from '../contenders/contender.js';
import type { Memory, Renewal } from '../orders.js';
import { QUORUM_OF } from '../plan.js';
import type { MemoryRow, RenewalRow } from '../results.js';
import { type Scene, sessionOf, troubleOf, urlsOf } from './scene.js';

const SESSION = sessionOf(QUORUM_OF);
/** To take and to give back so many, by a contender that is slow at it. */
const FILL_MS = 60_000;

export async function measureMemory(scene: Scene): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const [i, contender] of scene.contenders.entries()) {
    scene.tell(contender, i / scene.contenders.length);
    const trouble = await troubleOf(async () => {
      const { leases } = scene.plan;
      for (const hold of await kindsOf(scene, contender)) {
        const worker = await scene.team.opened(contender, SESSION, urlsOf(scene, QUORUM_OF));
        const order = { kind: 'memory', session: SESSION, leases, hold } as const;
        const { bytesPerLease }: Memory = await worker.order(order, { capMs: FILL_MS });
        rows.push({ contender, hold: hold.label, bytesPerLease: Math.round(bytesPerLease) });
      }
    });
    if (trouble !== undefined) rows.push({ contender, hold: 'held', trouble });
    await scene.team.stop();
  }
  return rows;
}

async function kindsOf(scene: Scene, contender: ContenderName): Promise<readonly HoldKind[]> {
  const worker = await scene.team.worker(contender);
  return worker.order({ kind: 'kinds' });
}

/** One after another: each has the machine for itself. */
export async function measureRenewal(scene: Scene): Promise<RenewalRow[]> {
  const rows: RenewalRow[] = [];
  for (const [i, contender] of scene.contenders.entries()) {
    scene.tell(contender, i / scene.contenders.length);
    let figures: Renewal | undefined;
    const trouble = await troubleOf(async () => {
      const { renewed: leases, settleMs, renewalMs: durationMs, renewedTtlMs: ttlMs } = scene.plan;
      const worker = await scene.team.opened(contender, SESSION, urlsOf(scene, QUORUM_OF));
      const order = { kind: 'renewal', session: SESSION, leases, ttlMs, settleMs, durationMs } as const;
      figures = await worker.order(order, { capMs: FILL_MS, durationMs: settleMs + durationMs });
    });
    rows.push({ contender, trouble, ...figures });
    await scene.team.stop();
  }
  return rows;
}
