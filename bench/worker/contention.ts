/** Clients of one process that all want one key, each with an instance and connections of its own. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Contender, Session } from '../contenders/contender.js';
import { type Contention, type ContentionAsked, monotonicMs, type Turn } from '../orders.js';

export async function gather(
  contender: Contender,
  urls: readonly string[],
  clients: number,
): Promise<Session[]> {
  const sessions = await Promise.all(Array.from({ length: clients }, () => contender.open(urls)));
  for (const session of sessions) session.sent(); // counts from here on
  return sessions;
}

export async function contend(sessions: readonly Session[], asked: ContentionAsked): Promise<Contention> {
  const tally: Tally = { turns: [], failures: 0, failure: undefined };
  const sent = (): number => sessions.reduce((sum, session) => sum + session.sent(), 0);
  const sample = async (atMs: number): Promise<number> => {
    await pause(Math.max(0, atMs - monotonicMs()));
    return sent();
  };
  const window = Promise.all([sample(asked.fromMs), sample(asked.untilMs)]);
  await Promise.all(sessions.map((session, client) => takeTurns(session, client, asked, tally)));
  const [before, after] = await window;
  return { ...tally, requests: after - before };
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
