/**
 * Carries out one schedule: counts the steps of a run, and at those that the schedule names it deviates from the usual
 * order. What a step put off leaves waiting on its lane keeps its order: a connection is one, in each direction.
 */
import type { Fault } from '../world/faults.js';
import type { Stage } from '../world/stage.js';
import type { Event, Lane } from '../world/world.js';
import {
  DELAYS,
  type Delay,
  type DeviationKind,
  FAULTS,
  type FaultName,
  isDelay,
  menuOf,
  type Offer,
  type Schedule,
} from './deviations.js';

/** What may happen at a step. */
export type Menu = readonly DeviationKind[];

export class Scheduler {
  /** The menus of the steps so far, by their numbers. */
  readonly steps: Menu[] = [];
  readonly #stage: Stage;
  readonly #offer: Offer;
  readonly schedule: Schedule;
  readonly #planned: ReadonlyMap<number, DeviationKind>;
  /** What waits on each lane of which a step was put off. */
  readonly #waiting = new Map<Lane, Event[]>();
  /** Lanes that wait for the next step of this actor on another lane. */
  readonly #behind = new Map<string, Set<Lane>>();
  /** Steps that are decided, and come again. */
  readonly #decided = new WeakSet<Event>();
  /** Steps that were put off for long. */
  readonly #delayed = new WeakSet<Event>();
  #isOpen = false;

  constructor(stage: Stage, offer: Offer, schedule: Schedule) {
    this.#stage = stage;
    this.#offer = offer;
    this.schedule = schedule;
    this.#planned = new Map(schedule.map(({ step, kind }) => [step, kind]));
    stage.world.keepsBack = (event, lane) => this.#keepsBack(event, lane);
  }

  /** From now on, steps count. */
  open(): void {
    this.#isOpen = true;
  }

  /** From now on, everything takes its usual course. */
  close(): void {
    this.#isOpen = false;
    for (const lane of [...this.#waiting.keys()]) this.#release(lane);
  }

  #keepsBack(event: Event, lane: Lane): boolean {
    if (this.#decided.delete(event)) return this.#passes(lane);
    const waiting = this.#waiting.get(lane);
    if (waiting !== undefined) {
      waiting.push(event);
      return true;
    }
    if (!this.#isOpen) return false;
    const number = this.steps.length;
    this.steps.push(menuOf(lane.kind, this.#offer, this.#delayed.has(event)));
    const kind = this.#planned.get(number);
    if (kind === undefined) return this.#passes(lane);
    if (isDelay(kind)) this.#putOff(event, lane, kind, number);
    else this.#strike(event, lane, kind, number);
    return true;
  }

  /** The step happens; what waits for it comes right behind. */
  #passes(lane: Lane): false {
    const actor = actorOf(lane);
    const behind = this.#behind.get(actor);
    if (behind === undefined) return false;
    this.#behind.delete(actor);
    for (const one of behind) this.#release(one);
    return false;
  }

  #putOff(event: Event, lane: Lane, delay: Delay, number: number): void {
    const { world } = this.#stage;
    world.note('PLAN', `step ${number}: ${nameOf(lane)} is put off, ${delay}`);
    this.#waiting.set(lane, [event]);
    if (delay === 'next') {
      const actor = actorOf(lane);
      this.#behind.set(actor, (this.#behind.get(actor) ?? new Set()).add(lane));
    } else {
      this.#delayed.add(event);
      this.#disturb(lane);
    }
    world.after(DELAYS[delay], () => this.#release(lane), false);
  }

  /** The fault strikes in an event of its own; then the step comes. */
  #strike(event: Event, lane: Lane, name: FaultName, number: number): void {
    const { world } = this.#stage;
    const { delay } = FAULTS[name];
    if (delay === undefined) {
      this.#waiting.set(lane, [event]);
      this.#decided.add(event);
    } else this.#putOff(event, lane, delay, number);
    world.first(() => {
      this.#stage.begin(this.#faultOf(name, lane, number));
      if (delay === undefined) this.#release(lane);
    });
  }

  #release(lane: Lane): void {
    const waiting = this.#waiting.get(lane);
    if (waiting === undefined) return;
    this.#waiting.delete(lane);
    this.#behind.get(actorOf(lane))?.delete(lane);
    this.#stage.world.resume(waiting);
  }

  /** The checker expects nothing in time of a link that is this slow. */
  #disturb({ client, server }: Lane): void {
    for (const link of this.#stage.links)
      if (link.client.name === client && link.server.name === server) link.disturb();
  }

  #faultOf(name: FaultName, lane: Lane, id: number): Fault {
    const { durationMs = 0, drops = false, data = 'kept', stepMs = 0, kind } = FAULTS[name];
    const { places, players } = this.#stage;
    const server = places.findIndex((one) => one.server.name === lane.server);
    const client = players.findIndex((one) => one.client.name === lane.client);
    return {
      id,
      kind,
      atMs: this.#stage.world.nowMs,
      durationMs,
      server: Math.max(0, server),
      client,
      data,
      snapshotAgeMs: 0,
      direction: 'both',
      drops,
      stepMs,
    };
  }
}

/** Whose step it is. */
function actorOf({ kind, client, server }: Lane): string {
  return kind === 'request' ? server : client;
}

function nameOf({ kind, client, server }: Lane): string {
  switch (kind) {
    case 'request':
      return `${client}'s request to ${server}`;
    case 'reply':
      return `${server}'s reply to ${client}`;
    case 'push':
      return `${server}'s push to ${client}`;
    case 'timer':
      return `a timer of ${client}`;
  }
}
