/**
 * The two ways to run the steps of a timestamp lock: by one script per step, and by plain commands.
 *
 * What plain commands cannot do. A claim is safe: `GETSET` says what it replaced. An extension by `GETSET` is safe, too: if
 * it replaced another's instant, the other's lock lasts longer, and nobody takes it early. A release is not: no command
 * deletes a key only if it holds a given text (`WATCH` would, on a connection of its own where nobody else ends the watch).
 * It looks, and deletes at once if the lease still has time; a `DEL` that is on its way for longer than that deletes
 * another's lock.
 */
import {
  type Agreement,
  isWithin,
  keyLifeMs,
  type OwnInstants,
  ownRange,
  readInstant,
  type TimestampUnit,
} from './instant.js';
import { toError } from '../redis/server-errors.js';
import type { TimestampMethod } from './options.js';
import { TIMESTAMP_CLAIM, TIMESTAMP_EXTEND, TIMESTAMP_RELEASE } from '../protocol/lua/scripts.js';
import type { TimestampServer, Wanted } from './server.js';

/** How a claim ended, in the order of the codes of the script. */
export type ClaimEnd =
  | { readonly kind: 'held'; readonly instant: number }
  /** The key was already gone: try again at once. */
  | { readonly kind: 'vanished' }
  | { readonly kind: 'taken'; readonly instant: number }
  /** Another client was faster to take an expired lock over: try again at once. */
  | { readonly kind: 'outrun' }
  /** The key holds no instant of this unit. */
  | { readonly kind: 'foreign' };

/** A claim: instants below `expiredBelow` have run out; `instant` is the one to write, if it is written now. */
interface Claiming {
  readonly expiredBelow: number;
  readonly instant: () => number;
  /** Whether anybody waits for it: once nobody does, it goes no step further. */
  readonly wanted: Wanted;
}

/** The instant that an extension writes, and how long the lease lives with it. */
export interface ExtensionStep {
  readonly instant: number;
  readonly forMs: number;
  /** Has the lease still time, by both clocks? */
  readonly isLive: () => boolean;
}

/** One way to run the steps on a key. Each step rejects if the server gave no clear answer. */
export interface Method {
  claim(server: TimestampServer, key: string, agreement: Agreement, claiming: Claiming): Promise<ClaimEnd>;
  /** @returns false if the key is no longer the lease's own */
  extend(
    server: TimestampServer,
    key: string,
    agreement: Agreement,
    own: OwnInstants,
    step: ExtensionStep,
  ): Promise<boolean>;
  /** @param isLive  has the lease still time, by both clocks? */
  release(
    server: TimestampServer,
    key: string,
    agreement: Agreement,
    own: OwnInstants,
    isLive: () => boolean,
  ): Promise<void>;
}

const byScript: Method = {
  async claim(server, key, { ttlMs, unit }, claiming) {
    const instant = claiming.instant();
    const life = keyLifeMs(ttlMs, unit);
    const reply = await server.run(TIMESTAMP_CLAIM, key, instant, claiming.expiredBelow, life, unit);
    return readClaim(reply, instant, unit);
  },

  async extend(server, key, agreement, own, { forMs, instant }) {
    const { from, to } = ownRange(own, agreement);
    const life = keyLifeMs(forMs, agreement.unit);
    return (await server.run(TIMESTAMP_EXTEND, key, from, to, instant, life)) === 1;
  },

  async release(server, key, agreement, own) {
    const { from, to } = ownRange(own, agreement);
    await server.run(TIMESTAMP_RELEASE, key, from, to);
  },
};

function readClaim(reply: unknown, own: number, unit: TimestampUnit): ClaimEnd {
  const [code, text] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  switch (code) {
    case 0:
      return { kind: 'held', instant: own };
    case 1:
      return { kind: 'vanished' };
    case 2:
      return { kind: 'taken', instant: readInstant(String(text), unit) ?? 0 };
    case 3:
      return { kind: 'outrun' };
    case 4:
      return { kind: 'foreign' };
    default:
      throw new Error('a reply that no server gives to this request');
  }
}

const byCommands: Method = {
  async claim(server, key, { unit }, { expiredBelow, instant, wanted }) {
    const first = instant();
    if ((await server.send('setnx', key, String(first))) === 1) return { kind: 'held', instant: first };
    const seen = wanted.isWanted ? await look(server, key, unit) : 'vanished';
    if (typeof seen !== 'number') return { kind: seen };
    if (seen >= expiredBelow) return { kind: 'taken', instant: seen };
    if (!wanted.isWanted) return { kind: 'vanished' };
    const second = instant(); // an older one, written over that of a faster client, would end its lock early
    const text = await server.send('getset', key, String(second));
    const held = { kind: 'held', instant: second } as const;
    if (typeof text !== 'string') return held; // gone again: it was free
    const before = readInstant(text, unit);
    if (before === undefined) return { kind: 'foreign' };
    return before < expiredBelow ? held : { kind: 'outrun' }; // of all that saw it expired, one replaced the expired instant
  },

  async extend(server, key, agreement, own, { instant, isLive }) {
    const ours = ownRange(own, agreement);
    const seen = await look(server, key, agreement.unit);
    if (typeof seen !== 'number' || !isWithin(seen, ours) || !isLive()) return false;
    if (seen >= instant) return true; // never shortened
    const text = await server.send('getset', key, String(instant));
    if (typeof text !== 'string') {
      await server.send('del', key); // somebody deleted it: now it is nobody's, and must not stay
      return false;
    }
    const before = readInstant(text, agreement.unit);
    return before !== undefined && isWithin(before, ours);
  },

  async release(server, key, agreement, own, isLive) {
    const seen = await look(server, key, agreement.unit);
    if (typeof seen !== 'number' || !isWithin(seen, ownRange(own, agreement))) return;
    if (isLive()) await server.send('del', key);
  },
};

/** The instant that a key holds, or why it holds none. */
export async function look(
  server: TimestampServer,
  key: string,
  unit: TimestampUnit,
): Promise<number | 'vanished' | 'foreign'> {
  try {
    const text = await server.send('get', key);
    return typeof text === 'string' ? (readInstant(text, unit) ?? 'foreign') : 'vanished';
  } catch (error) {
    if (toError(error).message.startsWith('WRONGTYPE')) return 'foreign';
    throw error;
  }
}

export const METHODS: Readonly<Record<TimestampMethod, Method>> = { script: byScript, commands: byCommands };
