/** Clients that wait for one lock that several may hold, over masters in memory and under virtual time. */
import { expect } from 'chai';
import type { AcquireOptions } from '../../lib/input/options.js';
import type { Lease, WriteLease } from '../../lib/lease/public.js';
import { pushChannel, queueKey } from '../../lib/protocol/keys.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import type { Redlock } from '../../lib/redlock.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { entriesOf, type Entry, type EntryKind } from './entries.js';
import { fakeCluster } from './fake-cluster.js';
import type { FakeMaster } from './fake-master.js';
import { type FakeTime, settle } from './fake-time.js';

/** What is asked for: to read, to write, or so many permits of so many. */
export type Wanted = 'read' | 'write' | readonly [permits: number, of: number];

export type SharedOptions = Omit<AcquireOptions, 'fencing'>;

export interface Waiter {
  readonly redlock: Redlock;
  lease: Lease | undefined;
  /** Why it did not come in. */
  code: string | undefined;
}

/** How a client may die: its pushes reach nobody, or seem to arrive. */
type Death = 'gone' | 'half-open';

export class SharedBench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  /** The first of them. */
  readonly m1: FakeMaster;
  /** The names of those who came in, in order. */
  readonly order: string[] = [];
  readonly #names: string[] = [];
  readonly #dead = new Map<string, Death>();
  readonly #unsent: (() => void)[] = [];
  readonly #other: ReturnType<typeof fakeCluster>['other'];

  constructor(nodes: number) {
    const { masters, other, time } = fakeCluster(nodes, {}, { hasPushes: true });
    const [m1] = masters;
    if (m1 === undefined) throw new Error('there is one at least');
    this.time = time;
    this.masters = masters;
    this.m1 = m1;
    this.#other = other;
  }

  /** Who came in, as one word. */
  get came(): string {
    return this.order.join('');
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
  async ask<Name extends string>(waiters: Readonly<Record<Name, Wanted>>): Promise<Record<Name, Waiter>> {
    const all: Record<string, Waiter> = {};
    for (const [name, wanted] of Object.entries<Wanted>(waiters)) all[name] = await this.asks(name, wanted);
    return all;
  }

  /** It tries once. @returns why it did not come in */
  async tries(name: string, wanted: Wanted): Promise<string | undefined> {
    return (await this.asks(name, wanted, { waitMs: 0 })).code;
  }

  /** They let go, one after another, without time passing. */
  async releases(...waiters: readonly (Waiter | undefined)[]): Promise<void> {
    for (const waiter of waiters) {
      if (waiter?.lease === undefined) throw new Error('it is not in');
      const released = waiter.lease.release();
      await settle();
      await released;
    }
  }

  /** The writer is a reader from now on. */
  async downgrades({ lease }: Waiter): Promise<void> {
    await (lease as WriteLease).downgrade();
    await settle();
  }

  /** From now on, masters hear nothing of that client. */
  dies(name: string, how: Death = 'gone'): void {
    if (this.#dead.size === 0) for (const master of this.masters) this.#loseTheDead(master);
    this.#dead.set(beginningOf(name), how);
  }

  /**
   * What that client sends of that kind stays on its way from now on, until the returned function is called; others overtake it.
   * @param at  the masters; all by default
   */
  delays(name: string, kind: EntryKind, at = this.masters): () => void {
    const late: (() => void)[] = [];
    let isOver = false;
    for (const master of at) {
      const call = master.call.bind(master);
      master.call = (command) => {
        const isIts = entriesOf(command).some(
          (one) => one.kind === kind && this.#nameOf(one.token ?? '') === name,
        );
        if (isOver || !isIts) return call(command);
        return new Promise((resolve) => late.push(() => resolve(call(command))));
      };
    }
    return () => {
      isOver = true;
      for (const run of late.splice(0)) run();
    };
  }

  /** It was only stopped: what it has sent meanwhile arrives. */
  revives(name: string): void {
    this.#dead.delete(beginningOf(name));
    for (const send of this.#unsent.splice(0)) send();
  }

  /** Who has a vote of each master, sorted by name. */
  get voted(): string[] {
    return this.masters.map((master) => {
      const fields = master.fields('r');
      const tokens = fields === WRONG_TYPE ? [] : [...fields.keys()];
      return tokens
        .map((token) => this.#nameOf(token))
        .sort()
        .join('');
    });
  }

  /** Who waits, in order. */
  queueAt(master: FakeMaster): string[] {
    const members = master.members(queueKey('r'));
    return members === WRONG_TYPE ? [] : members.map(({ name }) => this.#nameOf(name));
  }

  /** Who waits at each master, in order. */
  get queues(): string[] {
    return this.masters.map((master) => this.queueAt(master).join(''));
  }

  /** The same at each master. */
  everywhere<T>(what: T): T[] {
    return this.masters.map(() => what);
  }

  /** What that client has sent there, in order. */
  sentBy(name: string, master: FakeMaster): Entry[] {
    return master.sent.filter(({ token = '' }) => this.#nameOf(token) === name);
  }

  /** How often that client has claimed the lock itself at this master. */
  claimsOf(name: string, master: FakeMaster): number {
    const claims = this.sentBy(name, master);
    return claims.filter(({ kind }) => kind === 'rw-claim' || kind === 'permit-claim').length;
  }

  /** Forgets what was sent. */
  forgetSent(): void {
    for (const master of this.masters) master.sent.length = 0;
  }

  /**
   * Once all have gone: nothing but counters is left, and no timer.
   * @param looksMs  for how long looks may be left, if undos were lost
   */
  async expectNothingLeft(looksMs = 0): Promise<void> {
    await this.time.advance(2_000 + looksMs); // turns live for that long
    const left = this.masters.map((master) =>
      master.names().filter((key) => !key.startsWith('quorate:fence:')),
    );
    expect(left).to.deep.equal(this.masters.map(() => []));
    await this.time.advance(6_000); // lines for pushes close when nobody has waited for that long
    if (this.#dead.size === 0) expect(this.time.pending).to.equal(0);
  }

  #loseTheDead(master: FakeMaster): void {
    const [call, publish] = [master.call.bind(master), master.publish.bind(master)];
    const isDead = (text: unknown): boolean =>
      [...this.#dead.keys()].some((beginning) => String(text).includes(beginning));
    master.call = (command) => {
      if (!command.args.some(isDead)) return call(command);
      return new Promise((resolve) => this.#unsent.push(() => resolve(call(command))));
    };
    master.publish = (channel, text) => {
      for (const [beginning, how] of this.#dead)
        if (channel === pushChannel(`${beginning}:`)) return how === 'gone' ? 0 : 1;
      return publish(channel, text);
    };
  }

  #nameOf(text: string): string {
    return this.#names.find((name) => text.startsWith(beginningOf(name))) ?? '';
  }
}

/** What all tokens of that client begin with. */
function beginningOf(name: string): string {
  return tokenFrom(name, '').split(':')[0] ?? ' ';
}

function acquire(redlock: Redlock, wanted: Wanted, options: SharedOptions): Promise<Lease> {
  if (wanted === 'read' || wanted === 'write') return redlock.readWriteLock('r')[wanted].acquire(options);
  const [permits, of] = wanted;
  return redlock.semaphore('r', of).acquire({ ...options, permits });
}
