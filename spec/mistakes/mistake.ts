/** A known mistake: what it changes in the sources, and what notices it. */
import type { Property } from '../simulation/checker/checker.js';
import type { CoordinationOptions } from '../simulation/coordination-simulation.js';
import type { CrashOptions } from '../simulation/crash-simulation.js';
import type { LongOptions } from '../simulation/long/setting.js';
import type { ServiceOptions } from '../simulation/service-simulation.js';
import type { SimulationOptions } from '../simulation/simulation.js';
import type { TimestampSimulationOptions } from '../simulation/timestamp-simulation.js';

export interface Mistake {
  readonly name: string;
  /** Why it is one, where the name does not say it. */
  readonly why?: string;
  readonly patches: readonly Patch[];
  readonly noticedBy: NoticedBy;
}

export interface Patch {
  /**
   * Where: a function or constant of lib by its name (`validUntilMs`), a method by its class (`Lease.extend`,
   * `QueueWait.#restIfAsked`); `lua:extend` is the function of that name in a file of Lua, `lua:claim.lua` the main chunk
   * of that script. Where two have one name, the folder or the file before it tells them apart (`timestamp/Keeper.start`).
   */
  readonly in: string;
  /** A few tokens, exactly once within it. White space, comments, trailing commas and quotes do not matter. */
  readonly find: string;
  readonly replace: string;
}

/** At least one of seeds, world and specs; each that is named must notice it, and pass without it. */
export interface NoticedBy {
  /** A violation of any of these shows it, to seeds and to a small world. */
  readonly breaks?: readonly Property[];
  readonly seeds?: Seeds;
  readonly world?: InWorld;
  /** One of these fails. */
  readonly specs?: readonly string[];
}

/** A seed of a simulation, tried one after another. */
export interface Seeds {
  /** Which simulation; by default, that of the quorum lock. */
  readonly of?: Simulated;
  /** The first seed to try, if the mistake shows rarely; 1 by default. */
  readonly from?: number;
  /** What makes it show soon; the right code is run with the same. */
  readonly options?: SeedOptions;
}

/** Simulations beside that of the quorum lock. */
export type Simulated = 'timestamps' | 'one master' | 'coordination' | 'service' | 'long jobs' | 'crashes';

export type SeedOptions =
  | SimulationOptions
  | TimestampSimulationOptions
  | CoordinationOptions
  | ServiceOptions
  | LongOptions
  | CrashOptions;

/** A schedule of a small world: the first, of those with the fewest deviations, that breaks a promise there. */
export interface InWorld {
  readonly world: string;
  readonly schedule: string;
}
