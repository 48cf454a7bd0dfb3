/** What the clients of small worlds do who hand a lease over from one to the other while requests for it are under way. */
import type { LeaseHandle } from '../../../lib/lease/lease-handle.js';
import type { Checkers } from './checkers.js';
import { FOR_LONG, LONG_TTL_MS, type Program, RESOURCE } from './programs.js';

const HOLD_MS = 10;
const LOOK_MS = 20;
const LOOKS = 100;

/** What was handed over in each run, by what its clients share. */
const given = new WeakMap<Checkers, LeaseHandle>();

/** Extends, and gives the lease away before that is answered. */
export const giving: Program = async (hands) => {
  const lease = await hands.acquire(RESOURCE, FOR_LONG);
  await hands.pass(HOLD_MS);
  if (lease?.status !== 'held') return;
  const extended = hands.extend(lease, LONG_TTL_MS);
  await Promise.resolve(); // it is sent
  given.set(hands.checkers, hands.giveAway(lease));
  await extended;
};

/** Gives it away while a master has not answered the claim. */
export const givingAtOnce: Program = async (hands) => {
  const lease = await hands.acquire(RESOURCE, FOR_LONG);
  if (lease?.status === 'held') given.set(hands.checkers, hands.giveAway(lease));
};

/** Takes it over, and gives it back at once. What cannot be taken over is nobody's until it runs out. */
export const taking: Program = async (hands) => {
  for (let i = 0; i < LOOKS && !given.has(hands.checkers); i++) await hands.pass(LOOK_MS);
  const handle = given.get(hands.checkers);
  if (handle === undefined) return;
  const lease = await hands.adopt(handle);
  if (lease === undefined) await hands.pass(LONG_TTL_MS);
  else await hands.release(lease);
};
