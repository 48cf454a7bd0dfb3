/** The end of a run, with nothing wrong any more: what locks that several may hold owe to those who ask for them. */
import type { Lease } from '../../../lib/lease/public.js';
import { SHARED_LOCKS, type SharedTerms } from './shared-worker.js';
import type { Player, Stage } from '../world/stage.js';
import { describe } from './worker.js';

/** How long each reader of the stream holds the lock. */
const READING_MS = 40;
/** A writer that asks while readers come and go is granted within this time. */
const LONGEST_WAIT_MS = 2_500;
/** The ttl of a reader that is neither renewed nor released. */
const SHORT_TTL_MS = 300;

/** All of it. */
export async function checkShared(
  stage: Stage,
  players: readonly Player[],
  terms: SharedTerms,
): Promise<void> {
  const [first] = players;
  if (first === undefined) return;
  try {
    await allPermits(stage, players, terms);
    await writerAmongReaders(stage, players, first, terms);
    await readerThatIsGone(stage, players, first, terms);
  } catch (error) {
    stage.checker.fail('progress', `with nothing wrong: ${describe(error)}`);
  }
}

/** All permits can be held at a time, and not one more. */
async function allPermits(
  { checker }: Stage,
  players: readonly Player[],
  { maxTtlMs, permits }: SharedTerms,
): Promise<void> {
  const options = { ttlMs: maxTtlMs, waitMs: 1_500, renew: true };
  const leases: Lease[] = [];
  for (let i = 0; i < permits; i++) {
    const player = players[i % players.length];
    if (player !== undefined)
      leases.push(await player.redlock.semaphore(SHARED_LOCKS.semaphore, permits).acquire(options));
  }
  const more = await players[0]?.redlock
    .semaphore(SHARED_LOCKS.semaphore, permits)
    .tryAcquire({ ttlMs: maxTtlMs });
  if (more !== null) checker.fail('permits', `${permits} are held, and one more is given`);
  await Promise.all(leases.map((lease) => lease.release()));
}

/** Readers overlap without end, and a writer is granted nevertheless. */
async function writerAmongReaders(
  { checker, world }: Stage,
  players: readonly Player[],
  writer: Player,
  { maxTtlMs }: SharedTerms,
): Promise<void> {
  let isServed = false;
  const options = { ttlMs: maxTtlMs, waitMs: 5_000, renew: true };
  const stream = [...players, ...players].map(async ({ client, redlock }, i) => {
    await client.sleep((i * READING_MS) / 2);
    while (!isServed) {
      await redlock.readWriteLock(SHARED_LOCKS.readWrite).read.using(options, () => client.sleep(READING_MS));
    }
  });
  await writer.client.sleep(100);
  const sinceMs = world.nowMs;
  try {
    await writer.redlock.readWriteLock(SHARED_LOCKS.readWrite).write.using(options, () => undefined);
  } finally {
    isServed = true;
    await Promise.all(stream);
  }
  if (world.nowMs - sinceMs > LONGEST_WAIT_MS)
    checker.fail(
      'fairness',
      `a writer waits for ${(world.nowMs - sinceMs).toFixed(0)} ms while readers come and go`,
    );
}

/** It costs its own ttl, however long others hold the lock. */
async function readerThatIsGone(
  { world }: Stage,
  players: readonly Player[],
  reader: Player,
  { maxTtlMs }: SharedTerms,
): Promise<void> {
  const other = players.at(-1) ?? reader;
  const gone = await reader.redlock
    .readWriteLock(SHARED_LOCKS.readWrite)
    .read.acquire({ ttlMs: SHORT_TTL_MS });
  const lease = await other.redlock
    .readWriteLock(SHARED_LOCKS.readWrite)
    .read.acquire({ ttlMs: maxTtlMs, renew: true });
  gone.giveAway(); // handed over to nobody
  await new Promise<void>((resolve) => void world.after(SHORT_TTL_MS + 100, resolve));
  await lease.release();
  const waitMs = 300;
  const writer = await other.redlock
    .readWriteLock(SHARED_LOCKS.readWrite)
    .write.acquire({ ttlMs: maxTtlMs, waitMs });
  await writer.release();
}
