/**
 * The main job: worker processes share jobs that must each run once, while masters and workers are killed, frozen and
 * paused. Starts everything, ends everything, and exits with 0 only when every job has exactly one effect in the ledger, no
 * two leases of a job overlapped, fences rose, and the late effect of the paused worker was refused.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { startMasters, type Masters } from '../../scripts/masters.js';
import { Conductor, type Run } from './conductor.js';
import { NotAsPlanned } from './events.js';
import { readLedger } from './ledger.js';
import { type JobsOptions, parseOptions, USAGE, UsageError } from './options.js';
import { page, PICTURE_WIDTHS } from './page.js';
import { picture } from './picture.js';
import { Progress, stamp } from './progress.js';
import { report } from './report.js';
import { isGood, summarize, type Summary } from './summary.js';

const MASTERS = 5;
const DEADLINE_MS = 55_000;
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Ending = keyof typeof EXIT_CODES;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2), process.env);
    if (options !== undefined) return await runJobs(options);
    console.log(USAGE);
    return 0;
  } catch (error) {
    if (error instanceof UsageError) console.error(`${error.message}\n${USAGE}`);
    else if (error instanceof NotAsPlanned) console.error(error.message);
    else console.error(error);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** The signals stay handled to the end, so that a second Ctrl-C cannot cut the cleaning up short. */
async function runJobs(options: JobsOptions): Promise<number> {
  const stop = new AbortController();
  let ending: Ending | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      ending ??= signal;
      stop.abort(new Error(`ended by ${signal}`));
    });
  }
  const deadline = setTimeout(
    () => stop.abort(new NotAsPlanned(`not done within ${DEADLINE_MS} ms`)),
    DEADLINE_MS,
  );
  try {
    const summary = await onMasters(options, stop.signal);
    stop.signal.throwIfAborted(); // a Ctrl-C at the very end
    return isGood(summary) ? 0 : 1;
  } catch (error) {
    if (ending === undefined) throw error;
    console.error(`\n${ending}: everything that was started is gone.`);
    return EXIT_CODES[ending];
  } finally {
    clearTimeout(deadline);
  }
}

async function onMasters(options: JobsOptions, stop: AbortSignal): Promise<Summary> {
  const own = options.nodes.length > 0;
  const masters = own ? undefined : await startMasters(MASTERS);
  try {
    return await conduct(options, masters, stop);
  } finally {
    await masters?.stop();
  }
}

async function conduct(
  options: JobsOptions,
  masters: Masters | undefined,
  stop: AbortSignal,
): Promise<Summary> {
  stop.throwIfAborted(); // a Ctrl-C while the masters started
  mkdirSync(options.output, { recursive: true });
  const ledgerPath = join(options.output, 'jobs-ledger.ndjson');
  const urls = masters?.urls ?? options.nodes;
  const conductor = new Conductor({
    options,
    masters,
    urls,
    ledgerPath,
    stop,
    say: (atMs, text) => progress.say(`${stamp(atMs)}  ${text}`),
  });
  const endNow = (): void => conductor.endNow();
  process.on('exit', endNow); // whatever ends this process: no worker outlives it
  const { jobs, workers, ttlMs, seed } = options;
  const progress = new Progress(process.stdout, () => ({
    done: conductor.done,
    jobs,
    elapsedMs: conductor.elapsedMs,
  }));
  progress.say(
    `${jobs} jobs, ${workers} workers, ${urls.length} masters (${whose(masters)}), ttl ${ttlMs} ms, seed ${seed}`,
  );
  try {
    const run = await conductor.conduct();
    return tell(options, run, { ledgerPath, masters: masters?.list.map(({ name }) => name) ?? [], progress });
  } finally {
    progress.end();
    process.off('exit', endNow);
  }
}

function whose(masters: Masters | undefined): string {
  return masters === undefined ? 'from QUORATE_NODES, left alone' : `own, ${masters.backend}`;
}

interface Told {
  readonly ledgerPath: string;
  readonly masters: readonly string[];
  readonly progress: Progress;
}

function tell(options: JobsOptions, run: Run, { ledgerPath, masters, progress }: Told): Summary {
  const summary = summarize(options, run, readLedger(ledgerPath));
  const history = [...run.history.claims, ...run.history.leases].map((entry) => JSON.stringify(entry));
  writeFileSync(join(options.output, 'jobs-history.ndjson'), `${history.join('\n')}\n`);
  const path = join(options.output, 'jobs.html');
  const pictures = PICTURE_WIDTHS.map((width) => picture({ run, summary, masters, width }));
  writeFileSync(join(options.output, 'jobs.svg'), picture({ run, summary, masters }));
  writeFileSync(path, page(summary, pictures));
  progress.end();
  console.log(report(summary, relative(process.cwd(), path)));
  return summary;
}
