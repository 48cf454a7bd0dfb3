/** Clients of one process that all want one key, each with an instance and connections of its own. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClientName } from '../contenders/connection.js';
import type { Contender, Session } from '../contenders/contender.js';
import { type Contention, type ContentionAsked, monotonicMs, type Probe, type Turn } from '../orders.js';
import { median } from '../statistics.js';

export async function gather(
  contender: Contender,
  { urls, clients }: { readonly urls: readonly string[]; readonly clients: number },
  client: ClientName,
): Promise<Session[]> {
  const sessions = await Promise.all(Array.from({ length: clients }, () => contender.open(urls, client)));
  for (const session of sessions) session.sent(); // counts from here on
  return sessions;
}

export async function contend(sessions: readonly Session[], asked: ContentionAsked): Promise<Contention> {
  const tally: Tally = { turns: [], failures: 0, failure: undefined };
  const sample = async (atMs: number): Promise<{ readonly sent: number; readonly cpuUs: number }> => {
    await pause(Math.max(0, atMs - monotonicMs()));
    const { user, system } = process.cpuUsage();
    return { sent: sessions.reduce((sum, session) => sum + session.sent(), 0), cpuUs: user + system };
  };
  const window = Promise.all([sample(asked.fromMs), sample(asked.untilMs)]);
  await Promise.all(sessions.map((session, client) => takeTurns(session, client, asked, tally)));
  const [before, after] = await window;
  return { ...tally, requests: after.sent - before.sent, cpuMs: (after.cpuUs - before.cpuUs) / 1_000 };
}

/** What one client finds that has the masters for itself. */
export async function probe(session: Session, resource: string, samples: number): Promise<Probe> {
  const trips: number[] = [];
  const claims: number[] = [];
  for (let i = 0; i < samples; i++) {
    const startMs = performance.now();
    await session.answered();
    const askedMs = performance.now();
    const held = await session.acquire(resource);
    const heldMs = performance.now();
    await session.release(held);
    trips.push(askedMs - startMs);
    claims.push(heldMs - askedMs);
  }
  await session.settled();
  return { roundTripMs: median(trips), claimMs: median(claims) };
}

interface Tally {
  readonly turns: Turn[];
  failures: number;
  failure: string | undefined;
}

async function takeTurns(
  session: Session,
  client: number,
  asked: ContentionAsked,
  tally: Tally,
): Promise<void> {
  while (monotonicMs() < asked.untilMs) {
    try {
      const held = await session.acquire(asked.resource);
      const grantedMs = monotonicMs();
      await pause(asked.holdMs);
      tally.turns.push({ client, grantedMs, releasedMs: monotonicMs() });
      await session.release(held);
    } catch (error) {
      tally.failures++;
      tally.failure ??= String(error);
      await new Promise(setImmediate);
    }
  }
}
