/** Lanes that each lock one of several names, drawn at random, over one session. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Session } from '../contenders/contender.js';
import { type Mingled, type MinglingAsked, monotonicMs } from '../orders.js';

interface Tally {
  readonly waitsMs: number[];
  readonly grants: number[];
  failures: number;
  failure: string | undefined;
}

export async function mingle(session: Session, asked: MinglingAsked): Promise<Mingled> {
  const tally: Tally = { waitsMs: [], grants: [], failures: 0, failure: undefined };
  const sample = async (atMs: number): Promise<number> => {
    await pause(Math.max(0, atMs - monotonicMs()));
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  const window = Promise.all([sample(asked.fromMs), sample(asked.untilMs)]);
  await Promise.all(Array.from({ length: asked.lanes }, (_, i) => lane(session, asked, tally, i)));
  const [beforeUs, afterUs] = await window;
  return { ...tally, cpuMs: (afterUs - beforeUs) / 1_000 };
}

async function lane(session: Session, asked: MinglingAsked, tally: Tally, index: number): Promise<void> {
  tally.grants[index] = 0;
  for (;;) {
    const startMs = monotonicMs();
    if (startMs >= asked.untilMs) return;
    try {
      const held = await session.acquire(`${asked.prefix}:${Math.floor(Math.random() * asked.names)}`);
      const grantedMs = monotonicMs();
      if (grantedMs >= asked.fromMs && grantedMs < asked.untilMs) {
        tally.waitsMs.push(grantedMs - startMs);
        tally.grants[index] = (tally.grants[index] ?? 0) + 1;
      }
      await pause(asked.holdMs);
      await session.release(held);
      if (asked.restMs !== undefined) await pause(asked.restMs * (0.5 + Math.random()));
    } catch (error) {
      tally.failures++;
      tally.failure ??= String(error);
      await new Promise(setImmediate);
    }
  }
}
