/**
 * A fail-over: a master hangs, its address moves to another server, and then the old one goes on for a while.
 *
 * Connections for commands break as the new server begins, so that no answer of the old one reaches anybody from then on.
 * But it carries out what was sent to it before, and its pushes arrive: clients do not notice that the address has moved as
 * long as their push connections last. The new server has the data of the old one, or old data, or none, and counts as a
 * master that has lost it.
 */
import type { Checker } from '../checker/checker.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import type { Fault } from './faults.js';
import type { SimulatedLink } from './link.js';
import type { Place } from './place.js';
import type { World } from './world.js';

/** The parts of its time after which the new server begins, and after which the old one goes on. */
const [BEGINS_AT, GOES_ON_AT] = [1 / 2, 3 / 4];

interface Parts {
  readonly world: World;
  readonly place: Place;
  readonly links: readonly SimulatedLink[];
  readonly checker: Checker;
}

export class FailOver {
  readonly #parts: Parts;
  readonly #fault: Fault;
  readonly #old: MemoryServer;
  #isOver = false;
  #hasBegun = false;

  /** The master hangs. */
  constructor(parts: Parts, fault: Fault) {
    const { links, place, world } = parts;
    this.#parts = parts;
    this.#fault = fault;
    this.#old = place.server.leaveBehind();
    this.#old.stop();
    for (const link of links) link.leadsTo(this.#old);
    world.after(fault.durationMs * BEGINS_AT, () => this.#begin());
    world.after(fault.durationMs * GOES_ON_AT, () => this.#goOn());
  }

  /** The old server is gone, and with it the connections for pushes. */
  end(): void {
    this.#begin();
    this.#isOver = true;
    this.#old.kill();
    for (const link of this.#parts.links) link.cutPushes();
  }

  /** The new server begins. */
  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { checker, links, place, world } = this.#parts;
    const { server } = place;
    world.note('PLAN', `fault ${this.#fault.id}: ${server.name} is another server from here on`);
    for (const link of links) link.cut(true);
    server.start(this.#fault.data);
    if (this.#fault.data !== 'kept') checker.lost(server);
    checker.restored(server);
    place.disturbedAtMs = world.nowMs;
  }

  #goOn(): void {
    if (this.#isOver) return;
    this.#parts.world.note('PLAN', `fault ${this.#fault.id}: ${this.#old.name} goes on`);
    this.#old.goOn();
  }
}
