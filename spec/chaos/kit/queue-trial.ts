/**
 * A queue with a fault at one of its moments: a holder, and two waiters. A minority of faulty masters delays nobody: both
 * waiters are served while the faults last, in order. Faults of a majority are healed while they wait, and both are
 * served then.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { RedlockError } from '../../../lib/runtime/errors.js';
import { queueKey, turnKey } from '../../../lib/protocol/keys.js';
import type { Lease } from '../../../lib/lease/public.js';
import { PATIENT } from '../../support/patience.js';
import { type Case, healthy, isMinority, KINDS, quorumOf } from './cases.js';
import type { Trap } from './proxy.js';
import { BRIEF_MS, eventually, type Guest, LIMIT_MS, type Stage, within } from './stage.js';
import type { Verdict } from './trial.js';

const { waitMs: WAIT_MS } = PATIENT;
/** How much longer a call may take than promised, on a loaded machine. */
const SLACK_MS = 120_000;
const ENDS_MS = BRIEF_MS + SLACK_MS;
/** Some faults of a majority prevent others: these are awaited no longer than this. */
const SPRINGS_MS = 1_000;
/**
 * No limit of a wait is shorter: an echo is waited for 1 s, and a reservation lasts 990 ms. On a machine that stalls for
 * longer, masters may take the first waiter for gone, and the second one passes it.
 */
const CALM_MS = 900;

export interface LineGuests {
  readonly first: Guest;
  /** Holds the lock, and waits for it again behind the first waiter. */
  readonly other: Guest;
}

export class QueueTrial {
  readonly #stage: Stage;
  readonly #case: Case;
  readonly #guests: LineGuests;
  readonly #resource: string;
  readonly #faulty: readonly number[];
  readonly #healthy: readonly number[];
  #traps: Trap[] = [];
  /** Traps that create the situation in which the fault strikes. */
  readonly #held: Trap[] = [];
  readonly #served: string[] = [];
  /** Resolves if the second waiter is served first. */
  readonly #overtaken: Promise<void>;
  #overtake!: () => void;
  #startedAtMs = 0;
  #servedAtMs = Infinity;
  /** Their tickets are the masters' time as each knows it. */
  #isFirstAhead = true;
  #inside = 0;
  #lastFence = 0;

  constructor(stage: Stage, one: Case, guests: LineGuests, resource: string) {
    this.#stage = stage;
    this.#case = one;
    this.#guests = guests;
    this.#resource = resource;
    this.#faulty = one.faults.map(({ master }) => master);
    this.#healthy = healthy(one);
    this.#overtaken = new Promise((resolve) => (this.#overtake = resolve));
  }

  async run(): Promise<Verdict> {
    const { operation } = this.#case;
    const { first, other } = this.#guests;
    const isEarly = operation === 'subscribe' || operation === 'queue';
    const holder = await other.redlock.acquire(this.#resource, { waitMs: WAIT_MS });
    this.#noteFence(holder);
    if (isEarly) this.#arm();
    const late = operation === 'yield' ? this.#holdQueues() : [];
    this.#startedAtMs = performance.now();
    const waits = [this.#wait('first', first)];
    await this.#inQueue(1);
    const head = await this.#head();
    waits.push(this.#wait('second', other));
    await this.#inQueue(2);
    this.#isFirstAhead = (await this.#head()) === head;
    if (!isEarly) this.#arm();
    const after = operation === 'yield' ? this.#holdReleases() : [];
    const released = within('release', ENDS_MS, holder.release()).catch((error: unknown) => {
      if (isMinority(this.#case) || !RedlockError.is(error)) throw error;
    });
    if (operation === 'yield') await this.#split(holder, late);
    await this.#untilSprung();
    for (const trap of after) trap.release();
    const isSprung = this.#traps.every(({ hasSprung }) => hasSprung);
    if (!isMinority(this.#case)) await this.#heal();
    const limitMs = WAIT_MS + ENDS_MS;
    await within('the waiters', limitMs, Promise.all(waits));
    if (this.#isOrderSure) expect(this.#served, 'the order').to.deep.equal(['first', 'second']);
    if (isMinority(this.#case) && !isSprung) expect(this.#isOrderKept, 'nobody yielded').to.equal(false);
    await released;
    if (isMinority(this.#case)) await this.#heal();
    await this.#nothingLeft();
    await this.#nextHolder();
    return { isSprung, code: undefined };
  }

  /**
   * A yield that is carried out gives the first waiter its quorum while a healthy master has not heard of the release.
   * Together with the fault, these may be two masters that refuse its claim. It then comes again, behind the second
   * waiter.
   */
  get #isOrderSure(): boolean {
    const { faults, operation } = this.#case;
    const isCarriedOut = operation === 'yield' && faults.some(({ point }) => point !== 'before-request');
    return isMinority(this.#case) && !isCarriedOut && this.#isOrderKept;
  }

  /** The masters have the first waiter in front, and nothing took so long that they may have given it up. */
  get #isOrderKept(): boolean {
    return this.#isFirstAhead && this.#servedAtMs - this.#startedAtMs < CALM_MS;
  }

  #arm(): void {
    const kind = KINDS[this.#case.operation];
    this.#traps = this.#case.faults.map((fault) => this.#stage.trap(fault, kind));
  }

  async #heal(): Promise<void> {
    await this.#stage.heal([...this.#traps, ...this.#held], Object.values(this.#guests));
  }

  async #wait(name: string, { redlock }: Guest): Promise<void> {
    const handOver = this.#case.operation === 'turn' ? 'reserve' : 'direct'; // what is handed over directly sends no claim
    // the other one holds the lock as well: each takes a place in the queues of the masters
    const lease = await redlock.acquire(this.#resource, { waitMs: WAIT_MS, handOver, localTurns: 0 });
    expect(++this.#inside, 'holders at a time').to.equal(1);
    this.#served.push(name);
    this.#servedAtMs = performance.now();
    if (this.#served[0] === 'second') this.#overtake();
    this.#noteFence(lease);
    const another = await this.#stage.observer.tryAcquire(this.#resource).catch((error: unknown) => {
      if (RedlockError.is(error) && error.code === 'NO_QUORUM') return null;
      throw error;
    });
    expect(another, 'a second holder').to.equal(null);
    lease.assertHeld();
    this.#inside--;
    await within('release', ENDS_MS, lease.release());
  }

  #noteFence({ fence = 0 }: Lease): void {
    expect(fence, 'fences rise').to.be.above(this.#lastFence);
    this.#lastFence = fence;
  }

  /** The first in the queue of a healthy master. */
  async #head(): Promise<string | undefined> {
    const [head] =
      (await this.#stage.hands[this.#healthy[0] ?? 0]?.zrange(queueKey(this.#resource), '0', '0')) ?? [];
    return head;
  }

  /** Resolves when this many wait in the queue of each master that can be reached. */
  async #inQueue(count: number): Promise<void> {
    const { operation } = this.#case;
    const isEarly = operation === 'subscribe' || operation === 'queue';
    if (isEarly && !isMinority(this.#case)) return await this.#untilSprung(); // a waiter leaves when a majority fails
    const there = isEarly ? this.#healthy : this.#stage.hands.map((_, i) => i);
    for (const index of there) {
      const isLate = operation === 'yield' && this.#faulty.includes(index);
      const wanted = isLate ? count - 1 : count;
      const queue = queueKey(this.#resource);
      await eventually(
        `${wanted} in the queue at master ${index + 1}`,
        async () => (await this.#stage.hands[index]?.zcard(queue)) === wanted,
      );
    }
  }

  /** The first waiter's request to queue arrives late at the faulty masters: they see only the second one. */
  #holdQueues(): Trap[] {
    return this.#hold(this.#faulty, 'queue');
  }

  /** For now, one master too few for the first waiter's quorum hears of the release. */
  #holdReleases(): Trap[] {
    return this.#hold(this.#healthy.slice(quorumOf(this.#case.nodes) - 1), 'hand-over');
  }

  #hold(masters: readonly number[], operation: 'queue' | 'hand-over'): Trap[] {
    const traps = masters.map((master) =>
      this.#stage.trap({ master, point: 'before-request', action: 'delay' }, KINDS[operation]),
    );
    this.#held.push(...traps);
    return traps;
  }

  /** The faulty masters hand over to the second waiter, the others to the first; then the first one's request arrives. */
  async #split(holder: Lease, late: readonly Trap[]): Promise<void> {
    for (const index of this.#faulty) {
      await eventually(`master ${index + 1} to hand over to the second`, async () => {
        const owner = await this.#stage.hands[index]?.get(this.#resource);
        return owner !== null && owner !== holder.token;
      });
    }
    for (const trap of late) trap.release();
  }

  async #untilSprung(): Promise<void> {
    const sprung = Promise.all(this.#traps.map((trap) => trap.sprung));
    if (!isMinority(this.#case)) return void (await Promise.race([sprung, pause(SPRINGS_MS)]));
    const over = this.#case.operation === 'yield' ? [this.#overtaken] : []; // then it has nothing to yield
    await within('the faults to happen', LIMIT_MS, Promise.race([sprung, ...over]));
  }

  /** No vote, no place and no turn is left: they are given up long before they expire. */
  async #nothingLeft(): Promise<void> {
    const keys = [this.#resource, queueKey(this.#resource), turnKey(this.#resource)];
    for (const [i, hand] of this.#stage.hands.entries()) {
      for (const key of keys) expect(await hand.pttl(key), `the life of ${key}`).to.not.equal(-1);
      await eventually(`nothing to be left at master ${i + 1}`, async () => (await hand.exists(keys)) === 0);
    }
  }

  async #nextHolder(): Promise<void> {
    const { observer } = this.#stage;
    const lease = await within('the next holder', LIMIT_MS, observer.acquire(this.#resource));
    this.#noteFence(lease);
    await lease.release();
  }
}
