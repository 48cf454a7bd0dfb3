/**
 * The end of a run, with nothing wrong any more but push connections that fall silent: everything on them is lost, and both
 * ends believe in them. FAIRNESS tells what that may cost.
 */
import type { Lease } from '../../../lib/lease/public.js';
import type { Player, Stage } from '../world/stage.js';
import type { SimulatedLink } from '../world/link.js';
import { describe } from './worker.js';

/** So many locks one client waits for at a time. */
const LOCKS = 40;
/** How long after one another its calls come. */
const APART_MS = 50;
/**
 * The looks of so many come at any time: an echo is sent within a second, and missed a second later. A new connection takes
 * 0.4 s, or twice that if it breaks.
 */
const NOTICED_MS = 3_500;
/** All of them look again then, so a release reaches them. */
const SERVED_MS = 1_500;
/**
 * Split votes: who has to yield renews its votes within 2.5 s, or 3.5 s if it had an echo just before, and misses the next
 * one a second later. The other one asks again within 2 s, if it has not got the lock by then.
 */
const SPLIT_MS = 7_000;
/** A call that reaches a master late still waits for it. */
const PATIENT_MS = 3_000;
const LONGEST_WAIT_MS = 60_000;

/** All of it. */
export async function waitInSilence(stage: Stage, players: readonly Player[], ttlMs: number): Promise<void> {
  const [one, other] = players;
  if (one === undefined || other === undefined) return;
  const holder = one.open();
  try {
    await manyLocks(stage, holder, other, ttlMs);
    await splitVotes(stage, holder, [one, other], ttlMs);
  } catch (error) {
    stage.checker.fail('progress', `in silence: ${describe(error)}`);
  }
  await holder.close();
}

type Instance = Player['redlock'];

/** One client waits for many locks, whose looks come one after another. */
async function manyLocks(stage: Stage, holder: Instance, waiter: Player, ttlMs: number): Promise<void> {
  const { checker, world } = stage;
  const { client, links, redlock } = waiter;
  const names = Array.from({ length: LOCKS }, (_, i) => `silent ${i}`);
  const held: Lease[] = [];
  for (const name of names) held.push(await holder.acquire(name, { ttlMs, renew: true }));
  const waits = names.map(async (name, i) => {
    await client.sleep(i * APART_MS);
    const lease = await redlock.acquire(name, { ttlMs, waitMs: LONGEST_WAIT_MS });
    void lease.release();
  });
  await client.sleep(LOCKS * APART_MS + 1_000);
  await untilAll(stage, links, ({ isListening }) => isListening, 2_000);
  for (const link of links) link.silencePushes();
  const sinceMs = world.nowMs;
  if (!(await untilAll(stage, links, ({ isListening }) => isListening, NOTICED_MS)))
    checker.fail(
      'progress',
      `${client.name} waits for ${LOCKS} locks, and push connections have been silent for ${world.nowMs - sinceMs} ms`,
    );
  await client.sleep(100); // it looks again
  const settled = checker.expect(client, `get ${LOCKS} locks after a silence`, SERVED_MS);
  await Promise.all(held.map((lease) => lease.release()));
  await Promise.all(waits);
  settled();
}

/**
 * Half of the masters know one waiter, and the others the earlier one, as the lock is released: each gets votes, and neither
 * gets a quorum. The later one is to yield, and what tells it so is lost. With an odd number of masters, one is cut off.
 */
async function splitVotes(
  stage: Stage,
  holder: Instance,
  [later, earlier]: readonly [Player, Player],
  ttlMs: number,
): Promise<void> {
  const { checker } = stage;
  const count = stage.places.length;
  const away = stage.links.filter(({ server }) => count % 2 === 1 && server === stage.places.at(-1)?.server);
  const half = (player: Player): readonly SimulatedLink[] => player.links.slice(0, Math.floor(count / 2));
  const options = { ttlMs, waitMs: LONGEST_WAIT_MS, nodeTimeoutMs: Math.min(PATIENT_MS, ttlMs - 50) };
  const wait = async ({ client, redlock }: Player, name: string): Promise<void> => {
    const lease = await redlock.acquire(name, options);
    await client.sleep(5);
    await lease.release();
  };
  if (count === 1) return;
  const before = await holder.acquire('warm', { ttlMs, renew: true });
  const warming = [wait(later, 'warm'), wait(earlier, 'warm')];
  await later.client.sleep(500);
  await before.release();
  await Promise.all(warming);

  const lease = await holder.acquire('split', { ttlMs, renew: true });
  for (const link of away) link.block('both');
  for (const link of half(earlier)) link.block('to server');
  const waits = [wait(earlier, 'split')];
  await later.client.sleep(100);
  waits.push(wait(later, 'split'));
  await later.client.sleep(100);
  await lease.release();
  await later.client.sleep(20);
  for (const link of half(later)) link.silencePushes();
  for (const link of half(earlier)) link.heal(false);
  const settled = checker.expect(later.client, 'get a lock whose votes were split', SPLIT_MS);
  await Promise.all(waits);
  settled();
  for (const link of away) link.heal(true);
}

/** @returns whether it is so for all of them within that time */
async function untilAll(
  { world }: Stage,
  links: readonly SimulatedLink[],
  isSo: (link: SimulatedLink) => boolean,
  withinMs: number,
): Promise<boolean> {
  const endMs = world.nowMs + withinMs;
  while (!links.every(isSo) && world.nowMs < endMs)
    await new Promise<void>((resolve) => void world.after(20, resolve));
  return links.every(isSo);
}
