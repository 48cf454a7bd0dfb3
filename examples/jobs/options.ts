/** What `npm start -- …` takes. Wrong input ends the run before anything is started. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface JobsOptions {
  readonly jobs: number;
  readonly workers: number;
  /** Everything random in the run (order of the jobs, length of the work) follows from it; timing does not. */
  readonly seed: number;
  readonly ttlMs: number;
  /** The folder for the picture, the ledger and the history. */
  readonly output: string;
  /** Masters of one's own (QUORATE_NODES). Empty: five are started, and faults are done to them. */
  readonly nodes: readonly string[];
}

export const USAGE = `Usage: npm start -- [options]
  --jobs N      jobs that must each run once, 30 to 400 (200)
  --workers N   worker processes, 4 to 12 (5): one is killed, one is paused, the others take over
  --ttl MS      the ttl of a lease, 600 to 4000 (1500)
  --seed N      repeats the order of the jobs and the length of their work (random, printed)
  --output DIR  where the picture goes (output)
  --help
Environment: QUORATE_NODES=redis://a:6379,redis://b:6379,… uses these masters and does nothing to them.`;

/** Wrong input of the person who started the run; its text is all they need. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const MAX_SEED = 2 ** 32 - 1;

/** `undefined` when help was asked for. */
export function parseOptions(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): JobsOptions | undefined {
  const given = read(args);
  if (given.help === true) return undefined;
  return {
    jobs: whole('--jobs', given.jobs, { least: 30, most: 400, otherwise: 200 }),
    workers: whole('--workers', given.workers, { least: 4, most: 12, otherwise: 5 }),
    ttlMs: whole('--ttl', given.ttl, { least: 600, most: 4_000, otherwise: 1_500 }),
    seed: whole('--seed', given.seed, { least: 0, most: MAX_SEED, otherwise: randomInt(MAX_SEED) }),
    output: folder(given.output),
    nodes: nodesFrom(environment['QUORATE_NODES']),
  };
}

function read(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        jobs: { type: 'string' },
        workers: { type: 'string' },
        ttl: { type: 'string' },
        seed: { type: 'string' },
        output: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

interface Range {
  readonly least: number;
  readonly most: number;
  readonly otherwise: number;
}

function whole(name: string, given: string | undefined, { least, most, otherwise }: Range): number {
  if (given === undefined) return otherwise;
  const number = /^\d+$/.test(given) ? Number(given) : NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(
    `${name} must be a whole number from ${least} to ${most}; got ${JSON.stringify(given)}`,
  );
}

function folder(given: string | undefined): string {
  if (given === '') throw new UsageError('--output must name a folder; got ""');
  return given ?? 'output';
}

/** The urls of QUORATE_NODES; none when it is not set or empty. Nothing of a url is shown: it may hold a password. */
export function nodesFrom(list: string | undefined): string[] {
  const urls = (list ?? '').split(',').map((url) => url.trim());
  const nodes = urls.filter((url) => url !== '');
  for (const [i, url] of nodes.entries()) {
    if (/^rediss?:\/\/./.test(url) && URL.canParse(url) && new URL(url).hostname !== '') continue;
    throw new UsageError(`QUORATE_NODES must list redis:// or rediss:// urls; number ${i + 1} is none`);
  }
  return nodes;
}
