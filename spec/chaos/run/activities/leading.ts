/** Campaigns, leads, and asks who leads. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RedlockError } from '../../../../lib/index.js';
import type { Leadership, Leading } from '../../../../lib/index.js';
import { type ClientEvent, type Manner, nowMs } from '../history.js';
import type { Holding } from '../holding.js';
import { LEADER } from '../options.js';
import { type ClientContext, mostNodeTimeoutMs } from './context.js';

const TTL_MS = 1_000;
const WAITS = [0, 500, 2_000] as const;
/** How long a leader that has no other sign of its validity waits before it counts an instant as led. */
const SAMPLE_MS = 100;
const RELEASE_BOUND_MS = 200;

const KEYS = [LEADER];

export async function campaign(context: ClientContext): Promise<void> {
  const { seeded } = context;
  const election = context.redlock.election(LEADER, { ttlMs: TTL_MS });
  const waitMs = seeded.pick(WAITS);
  let won: { readonly leadership: Leadership; readonly holding: Holding } | undefined;
  await context.ask({ how: 'campaign', keys: KEYS }, waitMs + mostNodeTimeoutMs(TTL_MS), async (op) => {
    const value = `${context.name}/${op}`;
    const leadership = await election.campaign(value, { waitMs });
    const holding = context.hold(leadership, op, { renew: true });
    context.history.note({ e: 'proclaim', t: nowMs(), lease: holding.id, value });
    won = { leadership, holding };
    return 'held';
  });
  if (won !== undefined) await reign(context, won);
}

async function reign(
  context: ClientContext,
  { leadership, holding }: { readonly leadership: Leadership; readonly holding: Holding },
): Promise<void> {
  const { seeded } = context;
  for (let i = 1; i <= 5 && seeded.chance(0.7) && holding.isHeld; i++) {
    await holding.watch(seeded.between(20, TTL_MS * 0.8));
    const value = `${holding.id} ${i}`;
    context.history.note({ e: 'proclaim', t: nowMs(), lease: holding.id, value });
    await leadership.proclaim(value).catch(expected);
  }
  holding.ending();
  await leadership.resign().catch(expected);
  holding.ended();
}

/** What the faults of a run explain. */
function expected(error: unknown): void {
  if (!RedlockError.is(error) || error.code === 'INVALID_ARGUMENT') throw error;
}

/** Leads now and then for this time. @param how  as its calls stand in the history */
export async function lead(context: ClientContext, forMs: number, how: Manner = 'lead'): Promise<void> {
  const election = context.redlock.election(LEADER, { ttlMs: TTL_MS });
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), forMs);
  const startT = nowMs();
  const boundMs = forMs + SAMPLE_MS + mostNodeTimeoutMs(TTL_MS);
  await context.ask({ how, keys: KEYS }, boundMs, async () => {
    const options = { value: context.name, signal: controller.signal };
    await election.lead((leading) => led(context, leading, { how, startT, forMs }), options);
    return 'fine';
  });
  clearTimeout(timer);
}

/** One reign. Its holder knows of its validity by the signal alone. */
async function led(
  context: ClientContext,
  { signal, fence, proclaim }: Leading,
  { how, startT, forMs }: { readonly how: Manner; readonly startT: number; readonly forMs: number },
): Promise<void> {
  const { history, name, seeded } = context;
  const note = (event: ClientEvent): void => history.note(event);
  let id = '';
  const own = (op: number): Promise<'held'> => {
    id = `${name}/${op}`;
    const t = nowMs();
    note({ e: 'got', t, op, lease: id, keys: KEYS, fence, until: t, renew: true, ttlMs: TTL_MS });
    note({ e: 'proclaim', t, lease: id, value: name });
    context.tell({ kind: 'answer', granted: true });
    return Promise.resolve('held');
  };
  await context.ask({ how, keys: KEYS }, forMs + mostNodeTimeoutMs(TTL_MS), own, startT);
  const endT = nowMs() + seeded.between(SAMPLE_MS, 2 * TTL_MS);
  while (nowMs() < endT && !signal.aborted) {
    const t = nowMs();
    await sleep(SAMPLE_MS);
    await sleep(1); // a signal that was due by then has fired
    if (!signal.aborted) note({ e: 'more', t: nowMs(), lease: id, until: t });
    if (seeded.chance(0.1)) {
      const value = `${id} ${t}`;
      note({ e: 'proclaim', t: nowMs(), lease: id, value });
      await proclaim(value).catch(expected);
    }
  }
  const code = RedlockError.is(signal.reason) ? signal.reason.code : '';
  if (signal.aborted && code === 'LOCK_LOST') return note({ e: 'lost', t: nowMs(), lease: id, code });
  note({ e: 'release', t: nowMs(), lease: id, boundMs: RELEASE_BOUND_MS });
  note({ e: 'released', t: nowMs(), lease: id });
}

export async function askForLeader({ history, redlock }: ClientContext): Promise<void> {
  const leader = await redlock.election(LEADER).leader();
  history.note({ e: 'told', t: nowMs(), by: 'asking', leader });
}

/** Until the signal ends it, or its instance closes. */
export async function observe({ history, redlock }: ClientContext, signal: AbortSignal): Promise<void> {
  try {
    for await (const leader of redlock.election(LEADER).observe({ signal }))
      history.note({ e: 'told', t: nowMs(), by: 'observing', leader });
  } catch (error) {
    if (!RedlockError.is(error) || error.code !== 'CLOSED') throw error;
  }
}
