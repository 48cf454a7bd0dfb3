/** The command line of `npm run simulate`. */
import { parseArgs } from 'node:util';
import { BEYOND } from '../world/faults.js';
import type { SimulationOptions } from '../simulation.js';
import { parseSchedule } from '../small/deviations.js';
import { smallWorld } from '../small/worlds.js';
import type { SmallOptions } from './small.js';

export const USAGE = `npm run simulate [-- OPTIONS]      the production code under virtual time, with faults
  (no option)          300 fixed seeds and 50 fresh ones
  --seeds N            seeds 1 to N
  --fresh N            … and N that were never run
  --minutes M          fresh seeds for so long, with progress
  --seed S             one seed; a violation is shrunk to the faults that it needs
  --timeline           … with its history; --about c1:7 only what is about a token, a client, a master; --around MS
  --faults 3,7         … with these faults of its plan only
  --nodes N --clients N --guarded yes|no         what is drawn otherwise
  --beyond clock-steps|amnesia|restarts          faults that break exclusion; tokens must rise all the same
  --small              small worlds: all schedules that deviate from the usual order once; --k N up to N times,
                       --faults N at most N of them by faults (2), --world NAME one world, --full what CI runs at night
  --small --world NAME --schedule 12:late,17:cut  one schedule, with its history
  --ci                 fixed seeds, fresh ones, determinism, faults beyond the model, small worlds`;

export interface SimulateOptions {
  readonly mode: 'seeds' | 'one' | 'minutes' | 'small' | 'ci' | 'help';
  readonly seeds: number;
  readonly fresh: number;
  readonly seed: number;
  readonly minutes: number;
  readonly showsTimeline: boolean;
  readonly about: string | undefined;
  readonly aroundMs: number;
  readonly run: SimulationOptions;
  readonly small: SmallOptions;
}

const COUNTS = ['seeds', 'fresh', 'minutes', 'seed', 'nodes', 'clients', 'around', 'k'] as const;

/** @throws Error that names the option and the value */
export function parseOptions(args: readonly string[]): SimulateOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(COUNTS.map((name) => [name, { type: 'string' as const }])),
      faults: { type: 'string' },
      guarded: { type: 'string' },
      beyond: { type: 'string' },
      about: { type: 'string' },
      timeline: { type: 'boolean' },
      small: { type: 'boolean' },
      full: { type: 'boolean' },
      world: { type: 'string' },
      schedule: { type: 'string' },
      ci: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.full === true && values.small !== true) throw new Error('--full needs --small');
  const given = values as Readonly<Record<string, string | boolean | undefined>>; // the counts' names are computed
  const count = (name: string, fallback: number): number => toCount(name, given[name], fallback);
  return {
    mode: modeOf(given),
    seeds: count('seeds', 300),
    fresh: count('fresh', given['seeds'] === undefined ? 50 : 0),
    seed: count('seed', 1),
    minutes: count('minutes', 1),
    showsTimeline: values.timeline === true,
    about: values.about,
    aroundMs: count('around', Infinity),
    run: {
      ...(given['nodes'] === undefined ? {} : { nodes: count('nodes', 3) }),
      ...(given['clients'] === undefined ? {} : { clients: count('clients', 3) }),
      ...(values.guarded === undefined
        ? {}
        : { guarded: oneOf('guarded', values.guarded, ['yes', 'no']) === 'yes' }),
      ...(values.beyond === undefined ? {} : { beyond: oneOf('beyond', values.beyond, BEYOND) }),
      ...(values.faults === undefined || values.small === true ? {} : { faults: toList(values.faults) }),
    },
    small: {
      isFull: values.full === true,
      k: given['k'] === undefined ? undefined : count('k', 1),
      faults: values.small === true && values.faults !== undefined ? count('faults', 1) : undefined,
      ...toSchedule(values.world, values.schedule),
    },
  };
}

function toSchedule(
  world: string | undefined,
  schedule: string | undefined,
): Pick<SmallOptions, 'world' | 'schedule'> {
  if (world !== undefined) smallWorld(world);
  if (schedule !== undefined) parseSchedule(schedule);
  if (schedule !== undefined && world === undefined) throw new Error('--schedule needs a --world');
  return { world, schedule };
}

function modeOf(given: Readonly<Record<string, string | boolean | undefined>>): SimulateOptions['mode'] {
  if (given['help'] === true) return 'help';
  if (given['ci'] === true) return 'ci';
  if (given['small'] === true) return 'small';
  if (given['minutes'] !== undefined) return 'minutes';
  return given['seed'] === undefined ? 'seeds' : 'one';
}

function toCount(name: string, given: string | boolean | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  const least = name === 'nodes' || name === 'clients' ? 1 : 0;
  const number = Number(given);
  const isGood = name === 'minutes' ? number > 0 : Number.isSafeInteger(number) && number >= least;
  if (!isGood || number > 2 ** 32 || (least === 1 && number > 25)) {
    throw new Error(`--${name} must be a number from ${least} on; got ${String(given)}`);
  }
  return number;
}

function oneOf<T extends string>(name: string, given: string, known: readonly T[]): T {
  const found = known.find((one) => one === given);
  if (found === undefined) throw new Error(`--${name} must be one of ${known.join(', ')}; got ${given}`);
  return found;
}

function toList(given: string): number[] {
  const list = given.split(',').filter((part) => part !== '');
  return list.map((part) => toCount('faults', part, 0));
}
