/** One case, from the first claim to the last key: what must be true while the fault lasts, and after it. */
import { expect } from 'chai';
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { AcquireOptions } from '../../../lib/input/options.js';
import type { Lease } from '../../../lib/lease/public.js';
import { PATIENT } from '../../support/patience.js';
import { type Case, type Fault, healthy, isMinority, KINDS, quorumOf } from './cases.js';
import { BRIEF_MS, eventually, type Guest, LIMIT_MS, type Stage, TTL_MS, within } from './stage.js';
import type { Trap } from './proxy.js';

export interface Verdict {
  readonly isSprung: boolean;
  readonly code: string | undefined;
}

/** Of a call that too few masters may answer. */
const WAIT_MS = 6_000;
/** How much longer a call may take than promised, on a loaded machine. */
const SLACK_MS = 120_000;
const ENDS_MS = BRIEF_MS + SLACK_MS;
/** This many acquisitions at once share calls. */
const MANY = 4;
const GONE_MS = 60_000;

export class Trial {
  readonly #stage: Stage;
  readonly #case: Case;
  readonly #guest: Guest;
  readonly #resources: readonly string[];
  #traps: Trap[] = [];
  #lastFence = 0;
  /** The earlier fencing token of each resource. */
  readonly #fences = new Map<string, number>();

  constructor(stage: Stage, one: Case, guest: Guest, resource: string) {
    this.#stage = stage;
    this.#case = one;
    this.#guest = guest;
    const count = one.operation === 'many' ? MANY : 1;
    this.#resources = Array.from({ length: count }, (_, i) => (i === 0 ? resource : `${resource}-${i}`));
  }

  async run(): Promise<Verdict> {
    const { operation } = this.#case;
    await this.#before();
    const isLater = operation === 'extend' || operation === 'release';
    let leases = isLater ? await this.#acquire() : [];
    const holding = await this.#arm();
    let code: string | undefined;
    try {
      const limitMs = isLater ? ENDS_MS : WAIT_MS + ENDS_MS;
      leases = await within(operation, limitMs, this.#operate(leases));
    } catch (error) {
      code = this.#checkFailure(error);
    }
    if (operation !== 'release' && code === undefined)
      for (const lease of leases) expect(lease.status, 'the holder').to.equal('held');
    await this.#untilSprung();
    for (const lease of leases) await this.#checkExclusion(lease);
    const isSprung = this.#traps.every(({ hasSprung }) => hasSprung);
    await this.#stage.heal([...this.#traps, ...holding], [this.#guest]);
    for (const lease of leases) await this.#checkExclusion(lease);
    await within('release', ENDS_MS, Promise.all(leases.map((lease) => lease.release())));
    for (const resource of this.#resources) await this.#untilFree(resource);
    for (const resource of this.#resources) await this.#nextHolder(resource);
    return { isSprung, code };
  }

  /** An earlier holder, so that fencing tokens have something to rise above. */
  async #before(): Promise<void> {
    for (const resource of this.#resources) {
      const lease = await this.#stage.observer.acquire(resource);
      this.#fences.set(resource, lease.fence ?? 0);
      this.#lastFence = Math.max(this.#lastFence, lease.fence ?? 0);
      await lease.release();
      await eventually('the masters to be free', async () =>
        (await this.#stage.votes(resource)).every((ms) => ms < 0),
      );
    }
    const [resource = ''] = this.#resources;
    if (this.#case.operation !== 'accept') return;
    // the faulty masters are lowest: whichever votes come first, the fencing token is then proposed to each of them
    const faulty = this.#case.faults.map(({ master }) => master);
    await this.#stage.spread(resource, this.#lastFence, [...faulty, ...healthy(this.#case)]);
  }

  /** Acquires all or, if one fails, none. */
  async #acquire(): Promise<Lease[]> {
    const calls = this.#resources.map((name) => this.#guest.redlock.acquire(name, this.#terms()));
    const ends = await Promise.allSettled(calls);
    const leases = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    for (const lease of leases) {
      expect(lease.fence, 'fences rise').to.be.above(this.#fences.get(lease.resources.join()) ?? 0);
      expect(lease.remainingMs(), 'a true validity').to.be.within(1, TTL_MS);
    }
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) {
      await Promise.all(leases.map((lease) => lease.release()));
      throw failed.reason;
    }
    this.#lastFence = Math.max(this.#lastFence, ...leases.map(({ fence }) => fence ?? 0));
    return leases;
  }

  /**
   * A minority costs no attempt, however long the others take. If it falls silent while a fencing token is agreed on, it may
   * cost one: the token that was put to it is waited for.
   */
  #terms(): AcquireOptions {
    if (!isMinority(this.#case)) return { waitMs: WAIT_MS };
    return this.#case.operation === 'accept' ? { waitMs: PATIENT.waitMs } : PATIENT;
  }

  /** Arms the traps. For faults at connect, connections are broken, so that new ones have to be made. */
  async #arm(): Promise<Trap[]> {
    const kind = KINDS[this.#case.operation];
    this.#traps = this.#case.faults.map((fault) => this.#stage.trap(fault, kind));
    const broken: Fault[] = this.#case.faults.filter(({ point }) => point === 'at-connect');
    for (const { master } of broken) this.#stage.master(master).proxy.closeAll();
    for (const [i, { point }] of this.#case.faults.entries())
      if (point === 'at-connect')
        await within('connecting again', LIMIT_MS, this.#traps[i]?.sprung ?? never());
    return this.#case.operation === 'accept' ? this.#holdAcceptances() : [];
  }

  /**
   * The other masters' acceptances wait for the faults: otherwise the round could end before it needs the faulty ones.
   */
  #holdAcceptances(): Trap[] {
    const waitFor = this.#traps.filter(({ options }) => options.point !== 'at-connect');
    if (waitFor.length === 0) return [];
    const held = healthy(this.#case).map((master) =>
      this.#stage.trap({ master, point: 'before-request', action: 'delay' }, 'accept'),
    );
    void Promise.all(waitFor.map(({ sprung }) => sprung)).then(() => held.forEach((trap) => trap.release()));
    return held;
  }

  async #operate(leases: readonly Lease[]): Promise<Lease[]> {
    if (leases.length === 0) return await this.#acquire();
    if (this.#case.operation === 'extend') {
      await Promise.all(leases.map((lease) => lease.extend()));
      for (const lease of leases) expect(lease.remainingMs(), 'a true validity').to.be.within(1, TTL_MS);
      return [...leases];
    }
    await Promise.all(leases.map((lease) => lease.release()));
    return [];
  }

  #checkFailure(error: unknown): string {
    if (!RedlockError.is(error)) throw error;
    if (isMinority(this.#case))
      throw new Error(`a minority cost the call: ${error.message}`, { cause: error });
    expect(error.code).to.equal('NO_QUORUM');
    expect(error.tally).to.have.length(this.#case.nodes);
    const unknown = error.tally.filter(({ outcome }) => outcome === 'unknown');
    expect(unknown.length, 'unknown masters').to.be.above(this.#case.nodes - quorumOf(this.#case.nodes));
    for (const entry of unknown) expect(entry).to.have.property('cause').that.is.instanceOf(Error);
    return error.code;
  }

  /** All requests of a fan-out are sent together; a fault that a majority's other faults prevent does not spring. */
  async #untilSprung(): Promise<void> {
    if (!isMinority(this.#case)) return;
    for (const [i, trap] of this.#traps.entries())
      await within(`fault ${i + 1} to happen`, LIMIT_MS, trap.sprung);
  }

  /** While one client holds it, nobody else is granted it. */
  async #checkExclusion(lease: Lease): Promise<void> {
    if (lease.status !== 'held') return;
    const [resource = ''] = lease.resources;
    const other = await this.#stage.observer.tryAcquire(resource).catch((error: unknown) => {
      if (RedlockError.is(error) && error.code === 'NO_QUORUM') return null;
      throw error;
    });
    expect(other, 'a second holder').to.equal(null);
    expect(lease.remainingMs(), 'a true validity').to.be.within(1, TTL_MS);
    expect(() => lease.assertHeld()).to.not.throw();
    const { nodes } = await this.#stage.observer.inspect(resource);
    const held = nodes.filter(({ state }) => state === 'held').length;
    const unknown = nodes.filter(({ state }) => state === 'unknown').length;
    expect(held + unknown, 'masters that may hold its vote').to.be.at.least(quorumOf(this.#case.nodes));
  }

  /** All faults are healed, so everything unwanted is undone on all masters, long before its ttl ends. */
  async #untilFree(resource: string): Promise<void> {
    const end = performance.now() + GONE_MS;
    for (;;) {
      const votes = await this.#stage.votes(resource);
      for (const ms of votes) expect(ms, 'the ttl of a vote').to.be.at.most(TTL_MS).and.not.equal(-1);
      if (votes.every((ms) => ms < 0)) return;
      if (performance.now() > end) throw new Error(`votes that nobody wants stay: ${votes.join(' ')} ms`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #nextHolder(resource: string): Promise<void> {
    const lease = await within('the next holder', LIMIT_MS, this.#stage.observer.acquire(resource));
    const before = this.#fences.size > 1 ? (this.#fences.get(resource) ?? 0) : this.#lastFence;
    expect(lease.fence, 'fences rise').to.be.above(before);
    await lease.release();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
