/** The command line of `npm run chaos`. */
import { parseArgs } from 'node:util';

export const USAGE = `npm run chaos [-- OPTIONS]       many client processes, real masters, faults drawn from a seed
  --minutes M | --seconds S      how long faults go on (default: 30 seconds)
  --seed S                       repeats the plan, not the timing (default: drawn, and printed)
  --masters N --clients N --keys N               (default: 5, 8, 3)
  --backend process|container    redis-server of the PATH, or containers (default: process)
  --guard MS|off                 restart guard: masters also lose data or come back with old data (default: 2500)
  --beside COMMIT                every second client runs the package of that commit, and each comes back in the other version
  --nodes URL,URL,…              one's own masters: only clients are struck, keys begin with quorate-chaos:
  --output DIR                   history and page (default: output/chaos)
  --plan                         prints the plan and does nothing
  --check DIR                    checks the history of an earlier run and writes its page again`;

export interface ChaosOptions {
  readonly mode: 'run' | 'plan' | 'check' | 'help';
  readonly lengthMs: number;
  /** undefined: drawn. */
  readonly seed: number | undefined;
  readonly masters: number;
  readonly clients: number;
  readonly keys: number;
  readonly backend: 'process' | 'container';
  /** 0: off. */
  readonly guardMs: number;
  /** An earlier commit, as it was given. undefined: all clients run this tree. */
  readonly beside: string | undefined;
  /** Empty: the run starts its own masters. */
  readonly nodes: readonly string[];
  readonly folder: string;
}

/** The longest ttl of clients; a guard must cover it with its drift. */
export const LONGEST_TTL_MS = 2_000;
/** The longest wait of clients. */
export const LONGEST_WAIT_MS = 5_000;
/** Beside the exclusive locks: a read-write lock, and a semaphore with so many permits. */
export const READ_WRITE = 'rw';
export const SEMAPHORE = 'permits';
export const PERMITS = 3;
/** An exclusive lock that clients of other libraries take, too; an election, a job, what is run once, and a timestamp lock. */
export const BESIDE = 'beside';
export const LEADER = 'leader';
export const JOB = 'job';
export const ONCE = 'once';
export const STAMP = 'stamp';
export const JOB_EVERY_MS = 2_000;
export const ONCE_FOR_MS = 6_000;
const LEAST_GUARD_MS = 2_100;
const DEFAULT_GUARD_MS = 2_500;

const TEXTS = [
  'minutes',
  'seconds',
  'seed',
  'masters',
  'clients',
  'keys',
  'backend',
  'guard',
  'beside',
  'nodes',
  'output',
  'check',
] as const;
type Values = Readonly<Record<string, string | boolean | undefined>>;

/** @throws Error that names the option and the value */
export function parseOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(TEXTS.map((name) => [name, { type: 'string' as const }])),
      plan: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const given = values as Values; // the names are computed
  const nodes = nodesOf(given);
  const clients = count(given, 'clients', { least: 1, most: 100, fallback: 8 });
  return {
    mode: modeOf(given),
    lengthMs: lengthOf(given),
    seed:
      given['seed'] === undefined ? undefined : number('seed', given['seed'], { least: 0, most: 2 ** 31 }),
    masters: nodes.length > 0 ? nodes.length : count(given, 'masters', { least: 1, most: 15, fallback: 5 }),
    clients,
    keys: count(given, 'keys', { least: 1, most: 100, fallback: 3 }),
    backend: backendOf(given['backend']),
    guardMs: guardOf(given['guard'], nodes.length > 0),
    beside: besideOf(given, clients),
    nodes,
    folder: text(given, 'check') ?? text(given, 'output') ?? 'output/chaos',
  };
}

function modeOf(given: Values): ChaosOptions['mode'] {
  if (given['help'] === true) return 'help';
  if (given['check'] !== undefined) return 'check';
  return given['plan'] === true ? 'plan' : 'run';
}

function lengthOf(given: Values): number {
  const { minutes, seconds } = given;
  if (minutes !== undefined && seconds !== undefined)
    throw new Error('give --minutes or --seconds, not both');
  if (minutes !== undefined)
    return number('minutes', minutes, { least: 0.1, most: 1_440, parts: true }) * 60_000;
  return number('seconds', seconds ?? '30', { least: 5, most: 86_400 }) * 1_000;
}

interface Range {
  readonly least: number;
  readonly most: number;
  /** Fractions are allowed. @default false */
  readonly parts?: boolean;
}

function number(name: string, given: string | boolean, { least, most, parts = false }: Range): number {
  const value = given === '' ? NaN : Number(given);
  if (!(value >= least && value <= most) || !(parts || Number.isInteger(value)))
    throw new Error(
      `--${name} must be a ${parts ? '' : 'whole '}number from ${least} to ${most}; got ${String(given)}`,
    );
  return value;
}

function count(given: Values, name: string, { fallback, ...range }: Range & { fallback: number }): number {
  const value = given[name];
  return value === undefined ? fallback : number(name, value, range);
}

function backendOf(given: string | boolean | undefined): 'process' | 'container' {
  if (given === undefined || given === 'process') return 'process';
  if (given === 'container') return given;
  throw new Error(`--backend must be process or container; got ${String(given)}`);
}

/** With somebody else's masters, off unless asked for: they may have a guard of another period. */
function guardOf(given: string | boolean | undefined, isOverNodes: boolean): number {
  if (given === 'off') return 0;
  if (given === undefined) return isOverNodes ? 0 : DEFAULT_GUARD_MS;
  return number('guard', given, { least: LEAST_GUARD_MS, most: 600_000 });
}

/** With one client at a time, no lock would go from one version to the other. */
function besideOf(given: Values, clients: number): string | undefined {
  const commit = text(given, 'beside');
  if (commit === undefined) return undefined;
  if (commit === '') throw new Error('--beside names no commit');
  if (clients === 1) throw new Error('--beside needs 2 clients or more; got --clients 1');
  return commit;
}

function nodesOf(given: Values): string[] {
  const list = text(given, 'nodes');
  if (list === undefined) return [];
  const nodes = list.split(',').filter((url) => url !== '');
  for (const url of nodes)
    if (!isRedisUrl(url))
      throw new Error(`--nodes must be redis:// or rediss:// URLs; got ${hideSecret(url)}`);
  if (nodes.length === 0) throw new Error('--nodes names no URL');
  for (const name of ['backend', 'masters'])
    if (given[name] !== undefined)
      throw new Error(`--${name} has no meaning with --nodes; got ${String(given[name])}`);
  return nodes;
}

function isRedisUrl(url: string): boolean {
  return URL.canParse(url) && ['redis:', 'rediss:'].includes(new URL(url).protocol);
}

/** A URL without its password. */
export function hideSecret(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}

function text(given: Values, name: string): string | undefined {
  const value = given[name];
  return typeof value === 'string' ? value : undefined;
}
