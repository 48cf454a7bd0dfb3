/** A holder and waiters for one lock, and what must be true of them whatever happens. */
import { expect } from 'chai';
import { tokenIn } from '../../../lib/runtime/random.js';
import { queueKey, turnKey } from '../../../lib/protocol/keys.js';
import type { Lease } from '../../../lib/lease/public.js';
import { PATIENT } from '../../support/patience.js';
import { Program } from '../../support/real.js';
import type { Bench } from './bench.js';
import type { ChaosMaster } from './masters.js';
import { eventually, type Guest, LIMIT_MS, within } from './stage.js';

/** Instances know the masters' time to within some ms, unless the machine is busy. */
const APART_US = 50_000;

export interface Waiter {
  readonly guest: Guest;
  /** Settles as its `acquire` and release do. */
  readonly end: Promise<void>;
}

export class Queue {
  readonly bench: Bench;
  readonly resource: string;
  readonly #programs: Program[] = [];
  readonly #ends: Promise<void>[] = [];
  /** In the order in which they were granted the lock. */
  readonly served: string[] = [];
  #inside = 0;
  #lastFence = 0;
  #waiting = 0;

  constructor(bench: Bench) {
    this.bench = bench;
    this.resource = bench.resource();
  }

  async hold(nodeTimeoutMs: number = PATIENT.nodeTimeoutMs): Promise<Lease> {
    const { redlock } = await this.bench.open();
    const lease = await redlock.acquire(this.resource, { nodeTimeoutMs });
    this.#lastFence = lease.fence ?? 0;
    await this.#heldEverywhere();
    return lease;
  }

  /** Waits behind those before it; holds the lock as long as `work` takes. */
  async join(name: string, { work = async () => undefined }: JoinTerms = {}): Promise<Waiter> {
    const guest = await this.bench.open();
    this.#waiting++;
    for (;;) {
      const ahead = await this.#tokens();
      const leave = new AbortController();
      const end = this.#wait(guest, name, leave.signal, work);
      end.catch(() => undefined); // awaited in allServed
      await this.inQueue(this.#waiting);
      await this.#ticketsPassed();
      const tokens = await this.#tokens();
      if (ahead.every((token, i) => token === tokens[i])) {
        this.#ends.push(end);
        return { guest, end };
      }
      leave.abort(); // it did not know the masters' time well enough, and stands before another
      await end.catch(() => undefined);
      await this.inQueue(this.#waiting - 1);
    }
  }

  async #tokens(): Promise<readonly string[]> {
    return (await this.bench.hands[0]?.zrange(queueKey(this.resource), '0', '-1')) ?? [];
  }

  /** A separate process: `wait-in-queue` waits, `hold` holds. */
  async program(name: 'wait-in-queue' | 'hold', ...args: readonly string[]): Promise<Program> {
    const program = new Program(name, this.bench.urls, ...args);
    this.#programs.push(program);
    if (name === 'hold') {
      await program.says('held');
      await this.#heldEverywhere();
    } else {
      await this.inQueue(++this.#waiting);
      await this.#ticketsPassed();
    }
    return program;
  }

  /** Resolves when the last master has granted, too; until then it would give its vote to the first who waits. */
  async #heldEverywhere(): Promise<void> {
    for (const hand of this.bench.hands)
      await eventually('the vote of the last master', async () => (await hand.exists(this.resource)) === 1);
  }

  /** Resolves when the masters' clocks are past the last ticket, so that who joins next is behind it. */
  async #ticketsPassed(): Promise<void> {
    for (const hand of this.bench.hands) {
      await eventually('the clock to pass the last ticket', async () => {
        const [, ticket = '0'] = await hand.zrevrange(queueKey(this.resource), '0', '0', 'WITHSCORES');
        const [seconds, us] = await hand.time();
        return Number(seconds) * 1_000_000 + Number(us) > Number(ticket) + APART_US;
      });
    }
  }

  async #wait(guest: Guest, name: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const lease = await guest.redlock.acquire(this.resource, { signal });
    expect(++this.#inside, 'holders at a time').to.equal(1);
    this.served.push(name);
    expect(lease.fence, 'fences rise').to.be.above(this.#lastFence);
    this.#lastFence = lease.fence ?? 0;
    await work();
    lease.assertHeld();
    this.#inside--;
    await lease.release();
  }

  /** Resolves when this many wait in the queue of each of these masters. */
  async inQueue(count: number, masters: readonly ChaosMaster[] = this.bench.list): Promise<void> {
    for (const master of masters) {
      const hand = this.bench.hand(master);
      await eventually(
        `${count} in the queue at ${master.name}`,
        async () => hand.status === 'ready' && (await hand.zcard(queueKey(this.resource))) === count,
      );
    }
  }

  /** Resolves when all masters have the same queue, of this length and in the same order. */
  async agreed(count: number): Promise<void> {
    await eventually(`${count} in the queue, the same everywhere`, async () => {
      if (this.bench.hands.some(({ status }) => status !== 'ready')) return false;
      const whole = this.bench.hands.map((hand) => hand.zrange(queueKey(this.resource), '0', '-1'));
      const [queue = [], ...others] = await Promise.all(whole);
      return queue.length === count && others.every((other) => other.join() === queue.join());
    });
  }

  /** Resolves when this many clients listen for pushes of each master. */
  async listening(count: number): Promise<void> {
    for (const master of this.bench.list) {
      const hand = this.bench.hand(master);
      await eventually(`${count} to listen at ${master.name}`, async () => {
        const channels = (await hand.call('PUBSUB', 'CHANNELS', 'quorate:push:*')) as unknown[]; // as Redis answers it
        return channels.length === count;
      });
    }
  }

  /** The owner of each master's vote. */
  async owners(): Promise<(string | null)[]> {
    const owners = await Promise.all(this.bench.hands.map((hand) => hand.get(this.resource)));
    return owners.map((owner) => (owner === null ? null : tokenIn(owner)));
  }

  /**
   * Resolves when each master's vote belongs to the wanted owner: a release resolves at a quorum, and the other masters
   * follow later.
   */
  async owned(wanted: readonly (string | null | undefined)[]): Promise<void> {
    await eventually('each master to have reserved its vote', async () => {
      const owners = await this.owners();
      return owners.every((owner, i) => owner === wanted[i]);
    });
  }

  /** The first waiter in each master's queue, by its token. */
  async heads(): Promise<(string | undefined)[]> {
    const firsts = this.bench.hands.map((hand) => hand.zrange(queueKey(this.resource), '0', '0'));
    return (await Promise.all(firsts)).map(([first]) => first);
  }

  /** Everybody who joined has been granted the lock and has released it, and nothing is left. */
  async allServed(): Promise<readonly string[]> {
    await within('all who wait', LIMIT_MS, Promise.all(this.#ends));
    await this.nothingLeft();
    return this.served;
  }

  /** No vote, no place and no turn is left: they are given up long before they expire. */
  async nothingLeft(): Promise<void> {
    const keys = [this.resource, queueKey(this.resource), turnKey(this.resource)];
    for (const [i, hand] of this.bench.hands.entries()) {
      await eventually(
        `nothing to be left at master ${i + 1}`,
        async () => hand.status === 'ready' && (await hand.exists(keys)) === 0,
      );
    }
  }

  close(): void {
    for (const program of this.#programs) program.kill();
  }
}

interface JoinTerms {
  readonly work?: () => Promise<void>;
}
