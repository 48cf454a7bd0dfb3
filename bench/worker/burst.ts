/** Many calls in one turn of the event loop, on free names: how many are granted, how long it takes, and how much memory. */
import type { Session } from '../contenders/contender.js';
import type { Burst } from '../orders.js';

export async function measureBurst(session: Session, prefix: string, count: number): Promise<Burst> {
  const beforeBytes = process.memoryUsage.rss();
  const startMs = performance.now();
  let failure: string | undefined;
  const tried: Promise<unknown>[] = [];
  for (let i = 0; i < count; i++) {
    const call = session.attempt?.(`${prefix}:${i}`) ?? session.acquire(`${prefix}:${i}`);
    tried.push(
      call.catch((error: unknown) => {
        failure ??= String(error);
        return null;
      }),
    );
  }
  const held = (await Promise.all(tried)).filter((one) => one !== null);
  const tookMs = performance.now() - startMs;
  const peakBytes = process.resourceUsage().maxRSS * 1_024 - beforeBytes;
  await Promise.all(held.map((one) => session.release(one)));
  await session.settled();
  return { tookMs, granted: held.length, failure, peakBytes };
}
