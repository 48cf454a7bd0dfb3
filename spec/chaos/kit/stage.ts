/** One group of masters on which cases run one after another, with a direct view of the masters behind the proxies. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { counterKey } from '../../../lib/protocol/keys.js';
import { Redlock } from '../../../lib/redlock.js';
import { type AnyClient, byHand, type ClientKind, isReady, loadScripts } from '../../support/real.js';
import { EVERY_MASTER, PATIENT } from '../../support/patience.js';
import type { Fault } from './cases.js';
import { type Kind, kindsOf } from './commands.js';
import { type ChaosBackend, type ChaosMaster, type ChaosMasters, startChaosMasters } from './masters.js';
import type { Trap } from './proxy.js';

export const { ttlMs: TTL_MS } = PATIENT;
/** How long a call waits for masters where too few of them may answer. */
export const BRIEF_MS = 2_000;
export const LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 5;

export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms for ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}

/** Fails if the promise has not settled by then: every promise of the library must settle. */
export async function within<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const limit = pause(limitMs, undefined, { signal: late.signal }).then(
    () => {
      throw new Error(`${what} did not settle within ${limitMs} ms`);
    },
    () => undefined as never, // it settled
  );
  try {
    return await Promise.race([promise, limit]);
  } finally {
    late.abort();
  }
}

/** A client with everything of its own, through the proxies. */
export interface Guest {
  readonly clients: readonly AnyClient[];
  readonly redlock: Redlock;
}

export interface CountedGuest extends Guest {
  /** How many listeners each client had before the library used it. */
  readonly listeners: readonly number[];
}

const CLIENT_EVENTS = ['ready', 'end', 'error'] as const;

/** How many listeners there are for a client's state. */
export function listenersOf(client: AnyClient): number {
  if (!('status' in client)) return 0; // one of each stays on a client of node-redis
  return CLIENT_EVENTS.reduce<number>((sum, event) => sum + client.listenerCount(event), 0);
}

export class Stage {
  readonly masters: ChaosMasters;
  readonly hands: readonly Redis[];
  /** A second client, which bypasses the proxies. */
  readonly observer: Redlock;

  private constructor(masters: ChaosMasters) {
    this.masters = masters;
    this.hands = masters.list.map(({ directPort }) => byHand(directPort));
    this.observer = Redlock.connect(
      masters.list.map(({ directPort }) => `redis://127.0.0.1:${directPort}`),
      { ...PATIENT, nodeTimeoutMs: BRIEF_MS },
    );
  }

  static async start(nodes: number, backend: ChaosBackend): Promise<Stage> {
    const stage = new Stage(await startChaosMasters(nodes, { persist: true, backend }));
    await Promise.all(stage.hands.map(prepare));
    await stage.observer.ready(EVERY_MASTER);
    return stage;
  }

  async stop(): Promise<void> {
    await this.observer.close();
    for (const hand of this.hands) hand.disconnect();
    await this.masters.stop();
  }

  async open(kind: ClientKind<AnyClient>): Promise<CountedGuest> {
    const clients = this.masters.list.map(({ port }) => kind.open(port));
    await eventually('a new client to connect', () => clients.every(isReady));
    const listeners = clients.map(listenersOf);
    const redlock = new Redlock(clients, { ...PATIENT, nodeTimeoutMs: BRIEF_MS });
    return { clients, redlock, listeners };
  }

  master(index: number): ChaosMaster {
    const master = this.masters.list[index];
    if (master === undefined) throw new Error(`there is no master ${index + 1}`);
    return master;
  }

  trap({ master: index, point, action }: Fault, kind: Kind): Trap {
    const master = this.master(index);
    return master.proxy.trap({
      point,
      action,
      match: (words) => point === 'at-connect' || kindsOf(words).includes(kind),
    });
  }

  /** Ends all faults; resolves when all masters answer, and the guests have noticed. */
  async heal(traps: readonly Trap[], guests: readonly Guest[]): Promise<void> {
    await this.#mend(traps);
    // a client whose connection was just closed may still call itself ready, until it notices
    await Promise.all(
      guests.map(({ redlock }) =>
        eventually('the clients to be back', async () => {
          const { nodes } = await redlock.inspect('nothing');
          return nodes.every(({ state }) => state !== 'unknown');
        }),
      ),
    );
    await Promise.all(
      this.hands.map((hand) => eventually('a look at each master', () => hand.status === 'ready')),
    );
  }

  async #mend(traps: readonly Trap[]): Promise<void> {
    for (const trap of traps) trap.disarm();
    // a fault of a majority that is under way would strike after its healing
    await Promise.all(
      traps.flatMap((trap) => (trap.isTaken ? [within('a fault', LIMIT_MS, trap.sprung)] : [])),
    );
    for (const trap of traps) {
      const master = this.masters.list.find(({ proxy }) => proxy.has(trap));
      if (master === undefined || !trap.hasSprung) continue;
      if (trap.options.action === 'kill') {
        await master.restart('kept');
        const hand = this.hands[this.masters.list.indexOf(master)];
        if (hand !== undefined) await prepare(hand);
      }
      if (trap.options.action === 'freeze') await master.thaw();
    }
    await Promise.all(this.masters.list.map((master) => master.heal()));
  }

  /** The remaining time of the resource's vote on each master; below 0 without a vote. */
  async votes(resource: string): Promise<number[]> {
    return await Promise.all(this.hands.map((hand) => hand.pttl(resource)));
  }

  /**
   * Makes the counters differ, so that the next fencing token needs an acceptance round: lowest on the first master that
   * is named.
   */
  async spread(resource: string, above: number, ascending: readonly number[]): Promise<void> {
    // never lower than they were: a counter that falls breaks the guarantees of fencing tokens; and above what a claim
    // proposes, which would lift them all alike
    const lowest = Math.max(above, ...(await Promise.all(this.hands.map(aheadOfClock))));
    for (const [rank, index] of ascending.entries())
      await this.hands[index]?.set(counterKey(resource), `${lowest + 10 * (rank + 1)}`, 'PX', 3_600_000);
  }
}

const AHEAD_MS = 50_000;

/** Ahead of that master's clock, in µs. */
async function aheadOfClock(hand: Redis): Promise<number> {
  const [seconds, us] = await hand.time();
  return Number(seconds) * 1_000_000 + Number(us) + AHEAD_MS * 1_000;
}

/** The master has all scripts, so that the first command of each kind is the one that runs. */
async function prepare(hand: Redis): Promise<void> {
  await eventually('a look at each master', () => hand.status === 'ready');
  await loadScripts([hand]);
}
