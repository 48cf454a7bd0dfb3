/** What a client's activities have in common: its order, its history, its instance of the library. */
import { Redis } from 'ioredis';
import * as quorate from '../../../../lib/index.js';
import { Seeded } from '../../../simulation/world/seeded.js';
import { ALL_KINDS, type AnyClient } from '../../../support/real.js';
import { UNORDERED_KINDS } from '../../../support/unordered.js';
import { HistoryFile, type Manner, type Mode, nowMs, PRESENT } from '../history.js';
import { type Held, Holding } from '../holding.js';
import type { ClientOrder, FromClient } from '../orders.js';

/** What the library has: an earlier version (`--beside`) may lack some of it. */
export const HAS = {
  handOver: Object.hasOwn(quorate.DEFAULTS, 'handOver'),
  elections: 'election' in quorate.Redlock.prototype,
  jobs: 'job' in quorate.Redlock.prototype,
} as const;

/** How a call ended that did not throw. */
export type End = 'held' | 'taken' | 'fine';

export interface Asked {
  readonly how: Manner;
  readonly keys: readonly string[];
  readonly mode?: Mode | undefined;
  /** How long it waits for others before it fails, if it fails. */
  readonly waitMs?: number;
}

/** The fleet is mixed: each process has one of these kinds of client, by its number. */
const KINDS = [...ALL_KINDS, ...UNORDERED_KINDS];

/** Faults. */
function expected(): void {}

export class ClientContext {
  readonly order: ClientOrder;
  readonly seeded: Seeded;
  readonly history: HistoryFile;
  /** For what is done without the library. */
  readonly clients: readonly Redis[];
  /** To the server of the timestamp locks. */
  readonly timestamps: Redis;
  /** By these the instance locks. */
  readonly #opened: readonly AnyClient[];
  #redlock: quorate.Redlock;
  #calls = 0;

  constructor(order: ClientOrder) {
    this.order = order;
    this.seeded = new Seeded(`chaos ${order.seed} ${order.name} ${order.life}`);
    this.history = new HistoryFile(order.folder, `${order.name}.${order.life}`);
    this.clients = order.urls.map((url) => new Redis(url));
    // a release that is sent a second time could delete another's lock, since an instant names nobody
    this.timestamps = new Redis(order.timestampUrl, { autoResendUnfulfilledCommands: false });
    for (const client of [...this.clients, this.timestamps]) client.on('error', expected);
    const kind = order.version === PRESENT ? KINDS[Number(order.name.slice(1)) % KINDS.length] : KINDS[0];
    if (kind === undefined) throw new Error(`a client is called ${order.name}`);
    this.#opened = order.urls.map((url) => kind.open(Number(new URL(url).port)));
    this.#redlock = this.#open();
  }

  /** Of this life: it stands in the ids of leases and in the values of leaders. */
  get name(): string {
    return `${this.order.name}.${this.order.life}`;
  }

  get redlock(): quorate.Redlock {
    return this.#redlock;
  }

  /** A new instance over the same connections. */
  renew(): void {
    this.#redlock = this.#open();
    this.history.note({ e: 'renewed', t: nowMs() });
  }

  /** Records the call's begin, and its failure; a grant is recorded by `hold`. @param t  when it began, if not now */
  async ask(asked: Asked, boundMs: number, run: (op: number) => Promise<End>, t = nowMs()): Promise<void> {
    const op = ++this.#calls;
    const { how, keys, mode, waitMs } = asked;
    const more = { ...(mode === undefined ? {} : { mode }), ...(waitMs === undefined ? {} : { waitMs }) };
    this.history.note({ e: 'ask', t, op, how, keys, ...more, boundMs });
    try {
      const end = await run(op);
      if (end === 'taken') this.#refused(op, 'LOCK_TAKEN');
      else if (end === 'fine') this.history.note({ e: 'fine', t: nowMs(), op });
    } catch (error) {
      this.#refused(op, codeOf(error));
    }
  }

  hold(lease: Held, op: number, terms: { readonly renew: boolean; readonly from?: string }): Holding {
    const { history } = this;
    const holding = new Holding(lease, { ...terms, op, id: `${this.name}/${op}`, history });
    this.tell({ kind: 'answer', granted: true });
    return holding;
  }

  tell(message: FromClient): void {
    process.send?.(message);
  }

  async end(): Promise<void> {
    await this.#redlock.close();
    for (const client of [...this.clients, this.timestamps, ...this.#opened]) client.disconnect();
  }

  #open(): quorate.Redlock {
    const { keyPrefix, guardMs } = this.order;
    return new quorate.Redlock(this.#opened, { keyPrefix, restartGuardMs: guardMs, ttlMs: 1_000 });
  }

  #refused(op: number, code: string): void {
    this.history.note({ e: 'no', t: nowMs(), op, code });
    if (code === 'LOCK_TAKEN') this.tell({ kind: 'answer', granted: false });
  }
}

function codeOf(error: unknown): string {
  return quorate.RedlockError.is(error)
    ? error.code
    : `not ours: ${error instanceof Error ? error.message : typeof error}`;
}

/** The most that an attempt waits for silent masters, whatever the network is like. */
export function mostNodeTimeoutMs(ttlMs: number): number {
  return Math.min(ttlMs / 4, 980);
}
