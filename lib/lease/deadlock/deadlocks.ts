/**
 * Notices calls that wait for each other, and for good: each was made in a routine that holds what another of them waits for.
 * Nothing is done about it: the caller gets a hint.
 *
 * Only calls that are made in a routine are listed, and only those that have lasted for more than a second are looked at. From
 * then on, the instance's record says what they hold and wait for, and is written again with every check.
 *
 * What other instances say was true a while ago. So a circle through them counts once it was found twice, with the same calls
 * and the same leases, and each of these instances has written its record in between: a call that has ended never comes back, nor
 * does a lease. So all of them waited at one instant.
 */
import type { Timer, Timers } from '../../runtime/clock.js';
import type { DeadlockStep } from '../../runtime/deadlock.js';
import type { InstanceInfo } from '../../runtime/instance-info.js';
import { LinkedList } from '../../runtime/linked-list.js';
import { DeadlockSearch, type Edge, type Sources } from './search.js';
import type { Flows } from './flows.js';
import { NestedCall, type Wanted } from './nested-call.js';
import { namesOf, type Waiting } from './waiting.js';

/** The time between two checks; a call that has seen two has lasted for longer. */
export const CHECK_MS = 1_000;
const LONG_CHECKS = 2;
/** A call that has seen this many is looked at less often: at each fifth check. */
const OFTEN_CHECKS = 15;
const SELDOM_CHECKS = 5;
/** How many calls are looked at with one check, and how many the record is made of. */
const MOST_CALLS = 64;
/** The record is written this long after a call in it has ended: others may end with it. */
const ENDED_MS = 50;
/** For how many checks a circle counts without a sign of life from all who are in it. */
const MOST_SILENT = 3;

interface Setting extends Sources {
  readonly timers: Timers;
  readonly flows: Flows;
  /** This instance. */
  own(): InstanceInfo;
  /** Writes the record. */
  publish(): void;
  /** A call is in a deadlock. Once per call. */
  onFound(wanted: Wanted, steps: readonly DeadlockStep[]): void;
}

export class Deadlocks {
  readonly #setting: Setting;
  readonly #calls = new LinkedList<NestedCall>();
  #count = 0;
  #timer: Timer | undefined;
  #ending: Timer | undefined;
  #isChecking = false;
  #isClosed = false;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** A call begins; undefined for one that is made in no routine. */
  begin(wanted: Wanted): NestedCall | undefined {
    const flow = this.#setting.flows.current;
    if (flow === undefined || this.#isClosed) return undefined;
    const call = new NestedCall(this.#count++, flow, wanted);
    this.#calls.add(call);
    this.#timer ??= this.#setting.flows.outside(() => this.#nextCheck());
    return call;
  }

  /** A second time has no effect. */
  end(call: NestedCall): void {
    this.#calls.delete(call);
    if (!call.isLong || this.#isClosed) return;
    call.isLong = false;
    this.#ending ??= this.#setting.timers.background(ENDED_MS, () => {
      this.#ending = undefined;
      this.#setting.publish();
    });
  }

  /** For the record: calls that have lasted for long, the oldest first. */
  get waits(): readonly Waiting[] {
    const { id } = this.#setting.own();
    return this.#long.map((call) => call.waiting(id).waiting);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#ending?.cancel();
  }

  get #long(): readonly NestedCall[] {
    const long = this.#calls.list().filter(({ isLong }) => isLong);
    return long.toReversed().slice(0, MOST_CALLS);
  }

  #nextCheck(): Timer {
    return this.#setting.timers.background(CHECK_MS, this.#check);
  }

  readonly #check = (): void => {
    for (const call of this.#calls.list()) {
      call.checks++;
      call.isLong = call.checks >= LONG_CHECKS;
    }
    this.#timer = this.#calls.size > 0 ? this.#nextCheck() : undefined;
    const due = this.#long.filter(({ checks }) => checks <= OFTEN_CHECKS || checks % SELDOM_CHECKS === 0);
    if (due.length === 0) return;
    this.#setting.publish();
    if (!this.#isChecking) void this.#search(due);
  };

  async #search(due: readonly NestedCall[]): Promise<void> {
    this.#isChecking = true;
    const { id } = this.#setting.own();
    const own = this.#long.map((call) => call.waiting(id));
    const search = new DeadlockSearch(id, own, this.#setting);
    for (const call of due) {
      const circle = await search.from(call.waiting(id).waiting);
      if (circle === undefined && search.isSpent) break;
      this.#conclude(call, circle, search);
    }
    this.#isChecking = false;
  }

  #conclude(call: NestedCall, circle: readonly Edge[] | undefined, search: DeadlockSearch): void {
    const isThere = circle !== undefined && this.#isThere(circle);
    if (!isThere) call.suspicion = undefined;
    const isNow = isThere && this.#isConfirmed(call, circle, search);
    call.deadlock = isNow ? this.#stepsOf(circle, search) : undefined;
    if (call.deadlock === undefined || call.isReported || this.#isClosed) return;
    call.isReported = true;
    this.#setting.onFound(call.wanted, call.deadlock);
  }

  /** Whether those of its calls that are this instance's still wait, and hold what others of them wait for. */
  #isThere(edges: readonly Edge[]): boolean {
    const { id } = this.#setting.own();
    const calls = new Map(this.#long.map((call) => [call.number, call]));
    return edges.every(({ waiting }, i) => {
      if (waiting.id !== id) return true;
      const { holds } = calls.get(waiting.call)?.waiting(id).waiting ?? { holds: [] };
      return holds.some(({ holder }) => holder === edges.at(i - 1)?.blocker.holder);
    });
  }

  /** Whether all calls of the circle waited at the same instant, not long ago. */
  #isConfirmed(call: NestedCall, edges: readonly Edge[], { records }: DeadlockSearch): boolean {
    const own = this.#setting.own().id;
    const others = new Set(edges.map(({ waiting }) => waiting.id).filter((id) => id !== own));
    if (others.size === 0) return true;
    const circle = JSON.stringify(
      edges.map(({ blocker, waiting }) => [waiting.id, waiting.call, blocker.resource, blocker.holder]),
    );
    const beats = new Map([...others].map((id) => [id, records.get(id)?.beat ?? 0]));
    const before = call.suspicion;
    if (before?.circle !== circle) {
      call.suspicion = { circle, beats, silentFor: 0 };
      return false;
    }
    const areAlive = [...beats].every(([id, beat]) => beat > (before.beats.get(id) ?? beat));
    const silentFor = areAlive ? 0 : before.silentFor + 1;
    call.suspicion = { circle, beats: areAlive ? beats : before.beats, silentFor };
    return areAlive || (call.deadlock !== undefined && silentFor <= MOST_SILENT);
  }

  #stepsOf(edges: readonly Edge[], { records }: DeadlockSearch): readonly DeadlockStep[] {
    const own = this.#setting.own();
    return edges.map(({ blocker, waiting }) => {
      const info = waiting.id === own.id ? own : (records.get(waiting.id)?.info ?? { id: waiting.id });
      return { ...info, holds: namesOf(waiting), waitsFor: blocker.resource };
    });
  }
}
