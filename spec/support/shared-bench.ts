/** Clients that wait for one lock that several may hold, over masters in memory and under virtual time. */
import { expect } from 'chai';
import type { AcquireOptions } from '../../lib/input/options.js';
import type { Lease } from '../../lib/lease/public.js';
import { gateKey, queueKey } from '../../lib/protocol/keys.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import type { Redlock } from '../../lib/redlock.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { fakeCluster } from './fake-cluster.js';
import type { FakeMaster } from './fake-master.js';
import { type FakeTime, settle } from './fake-time.js';

export const GATE = gateKey('r');

/** What is asked for: to read, to write, or so many permits of so many. */
export type Wanted = 'read' | 'write' | readonly [permits: number, of: number];

type SharedOptions = Omit<AcquireOptions, 'fencing'>;

export interface Waiter {
  readonly redlock: Redlock;
  lease: Lease | undefined;
  /** Why it did not come in. */
  code: string | undefined;
}

export class SharedBench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  /** The names of those who came in, in order. */
  readonly order: string[] = [];
  readonly #names: string[] = [];
  readonly #other: ReturnType<typeof fakeCluster>['other'];

  constructor(nodes: number) {
    const { masters, other, time } = fakeCluster(nodes, {}, { hasPushes: true });
    this.time = time;
    this.masters = masters;
    this.#other = other;
  }

  /** A client of that name asks for the lock `r`, and has asked every master by the time this resolves. */
  async asks(name: string, wanted: Wanted, options: SharedOptions = {}): Promise<Waiter> {
    if (!this.#names.includes(name)) this.#names.push(name);
    const { redlock } = this.#other(name, { ttlMs: 60_000, waitMs: 60_000, nodeTimeoutMs: 50 });
    const waiter: Waiter = { redlock, lease: undefined, code: undefined };
    const onHeld = (lease: Lease): void => {
      waiter.lease = lease;
      this.order.push(name);
    };
    const onFailed = (error: unknown): void => {
      waiter.code = RedlockError.is(error) ? error.code : String(error);
    };
    acquire(redlock, wanted, options).then(onHeld, onFailed);
    await this.time.advance(1); // tickets are the masters' time
    return waiter;
  }

  /** They ask one after another. */
  async ask(waiters: Readonly<Record<string, Wanted>>): Promise<Record<string, Waiter>> {
    const all: Record<string, Waiter> = {};
    for (const [name, wanted] of Object.entries(waiters)) all[name] = await this.asks(name, wanted);
    return all;
  }

  /** Lets go, without time passing. */
  async releases(waiter: Waiter | undefined): Promise<void> {
    if (waiter?.lease === undefined) throw new Error('it is not in');
    const released = waiter.lease.release();
    await settle();
    await released;
  }

  /** Whom each master watches for: the name of the client, or ''. */
  get watched(): string[] {
    return this.masters.map((master) => {
      const fields = master.fields('r');
      return this.#nameOf(fields === WRONG_TYPE ? '' : (fields.get('watch') ?? ''));
    });
  }

  /** Who has each master's vote for the gate. */
  get heads(): string[] {
    return this.masters.map((master) => this.#nameOf(master.value(GATE) ?? ''));
  }

  /** Who stands in the queue behind the head, in order. */
  queueAt(master: FakeMaster | undefined): string[] {
    const members = master?.members(queueKey(GATE)) ?? [];
    return members === WRONG_TYPE ? [] : members.map(({ name }) => this.#nameOf(name));
  }

  /** How often that client has claimed the lock itself at this master. */
  claimsOf(name: string, master: FakeMaster | undefined): number {
    const claims = (master?.sent ?? []).filter(({ kind }) => kind === 'rw-claim' || kind === 'permit-claim');
    return claims.filter(({ args, token = '' }) =>
      [token, args.watcher ?? ''].some((one) => this.#nameOf(one) === name),
    ).length;
  }

  /**
   * Once all have gone: nothing but counters is left, and no timer.
   * @param looksMs  for how long looks may be left, if undos were lost
   */
  async expectNothingLeft(looksMs = 0): Promise<void> {
    await this.time.advance(2_000 + looksMs); // who was the last to have the gate is known for that long
    const left = this.masters.map((master) =>
      master.names().filter((key) => !key.startsWith('quorate:fence:')),
    );
    expect(left).to.deep.equal(this.masters.map(() => []));
    await this.time.advance(6_000); // lines for pushes close when nobody has waited for that long
    expect(this.time.pending).to.equal(0);
  }

  #nameOf(text: string): string {
    return this.#names.find((name) => text.startsWith(tokenFrom(name, '').split(':')[0] ?? ' ')) ?? '';
  }
}

function acquire(redlock: Redlock, wanted: Wanted, options: SharedOptions): Promise<Lease> {
  if (wanted === 'read' || wanted === 'write') return redlock.readWriteLock('r')[wanted].acquire(options);
  const [permits, of] = wanted;
  return redlock.semaphore('r', of).acquire({ ...options, permits });
}
