/** A fault of one server, from its beginning to its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosMaster } from '../kit/masters.js';
import { type Hit, isDown, SLEW } from './plan.js';

/** How long a starved process stands still, and how long it runs after that; again and again. */
const RHYTHM: readonly (readonly [stillMs: number, runsMs: number])[] = [
  [40, 5],
  [90, 8],
  [20, 3],
  [130, 12],
];

/** A process that gets the processor in short spells only. */
export class Starving {
  readonly #actions: { stop(): void | Promise<void>; run(): void | Promise<void> };
  readonly #signal: AbortSignal;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  /** @param signal  ends it, with the run */
  constructor(actions: { stop(): void | Promise<void>; run(): void | Promise<void> }, signal: AbortSignal) {
    this.#actions = actions;
    this.#signal = signal;
  }

  begin(): void {
    this.#work = this.#repeat();
    this.#work.catch(() => undefined); // `end` tells of it
  }

  /** Resolves when it runs again. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #repeat(): Promise<void> {
    for (let i = 0; !this.#isOver && !this.#signal.aborted; i++) {
      const [stillMs, runsMs] = RHYTHM[i % RHYTHM.length] ?? [0, 0];
      await this.#actions.stop();
      await sleep(stillMs);
      await this.#actions.run();
      await sleep(runsMs);
    }
  }
}

export class Spell {
  readonly #server: ChaosMaster;
  readonly #hit: Hit;
  readonly #starving: Starving;

  constructor(server: ChaosMaster, hit: Hit, signal: AbortSignal) {
    this.#server = server;
    this.#hit = hit;
    this.#starving = new Starving({ stop: () => server.freeze(), run: () => server.thaw() }, signal);
  }

  async begin(): Promise<void> {
    const server = this.#server;
    const { kind, byMs } = this.#hit;
    switch (kind) {
      case 'kill':
        return server.kill();
      case 'stop':
        return server.stopGently();
      case 'freeze':
        return server.freeze();
      case 'starve':
        return this.#starving.begin();
      case 'cut':
        return server.cut('both');
      case 'cut-to-master':
        return server.cut('to-master');
      case 'cut-to-client':
        return server.cut('to-client');
      case 'cut-pushes':
        return server.cutPushes();
      case 'unplug':
        return server.unplug();
      case 'half-open':
        return server.proxy.halfOpen();
      case 'delay':
        return server.proxy.delay(byMs);
      case 'full':
        return server.fill();
      case 'clock-back':
        return server.clock?.setBack(-byMs);
      case 'clock-slew':
        return server.clock?.slewTo(server.clock.offsetMs + byMs, SLEW);
    }
  }

  /** A clock goes back to the machine's time slowly, for as long as that takes. */
  async end(): Promise<void> {
    const server = this.#server;
    const { kind, data } = this.#hit;
    if (isDown(kind)) return server.restart(data);
    switch (kind) {
      case 'freeze':
        return server.thaw();
      case 'starve':
        return this.#starving.end();
      case 'full':
        return server.empty();
      case 'clock-back':
      case 'clock-slew':
        return server.clock?.slewTo(0, SLEW);
      default:
        return server.heal();
    }
  }
}
