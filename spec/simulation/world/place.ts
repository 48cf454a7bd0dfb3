/** A server of a simulated run, and the clock on its wall. */
import type { Seeded } from './seeded.js';
import { SimulatedServer } from './simulated-server.js';
import { WALL_US, type World } from './world.js';

/** How a server's wall clock runs. */
interface WallClock {
  readonly rate: number;
  readonly offsetMs: number;
}

/** One server with its wall clock. */
export class Place {
  readonly server: SimulatedServer;
  /** When anything last went wrong with it. */
  disturbedAtMs = 0;
  stepMs = 0;

  constructor(name: string, world: World, seeded: Seeded, { offsetMs, rate }: WallClock) {
    const micros = (): number => Math.round(WALL_US + (offsetMs + this.stepMs + rate * world.nowMs) * 1_000);
    this.server = new SimulatedServer(name, { micros, trueMs: () => world.nowMs }, seeded);
  }
}
