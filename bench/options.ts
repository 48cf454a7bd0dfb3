/** What the command line asks for. */
import { parseArgs } from 'node:util';
import { CLIENT_NAMES, type ClientName, DEFAULT_CLIENT } from './contenders/connection.js';
import { type ContenderName, entryOf, isOn, NAMES } from './contenders/index.js';
import { DEFAULT_MINUTES, LEAST_MINUTES, MOST_MINUTES } from './lasting/terms.js';
import { type Mode, type Plan, PLANS, SCENARIOS, type ScenarioName } from './plan.js';

export interface BenchOptions {
  readonly mode: Mode;
  readonly plan: Plan;
  readonly scenarios: readonly ScenarioName[];
  readonly contenders: readonly ContenderName[];
  /** By which all of them are connected. */
  readonly client: ClientName;
  /** Where tables, JSON and charts go. */
  readonly out: string;
  /** Writes data, tables and charts into docs/figures/, too. */
  readonly publish: boolean;
  /** Measures nothing: reports what an earlier run wrote. */
  readonly from: string | undefined;
  /** Measures nothing else: a load that lasts for so many minutes. */
  readonly lastingMinutes: number | undefined;
}

const list = (names: readonly string[]): string => names.join(', ');

export const USAGE = `npm run bench -- [--quick | --smoke | --lasting] [options]

  --quick              a minute and a half: fewer and shorter rounds, and not all contenders
  --smoke              proves that everything runs; its figures mean nothing
  --lasting            nothing but a load that lasts, with faults in each minute: does anything grow?
  --minutes N          for how long, from ${LEAST_MINUTES} to ${MOST_MINUTES} (default: ${DEFAULT_MINUTES})
  --only A,B           only these scenarios: ${list(SCENARIOS)}
  --contenders A,B     only these: ${list(NAMES)}
  --client NAME        by which client: ${list(CLIENT_NAMES)} (default: ${DEFAULT_CLIENT}, which the other libraries need)
  --rounds N           how many rounds, from 1 to 100 (default: ${PLANS.full.rounds}; quick ${PLANS.quick.rounds}, smoke ${PLANS.smoke.rounds})
  --out FOLDER         where the results go (default: bench/results)
  --from FILE          measures nothing: reports the results.json of an earlier run, or docs/figures/bench.json
  --publish            writes data, tables and charts into docs/figures/

npm run bench -- --against COMMIT [usual|shared|crowd] [ROUNDS]    is it slower since that commit?
npm run bench -- --readers [COUNT]            so many readers wait behind a writer (default: 10000)
npm run bench -- --waiters [COUNT]            so many calls of one instance wait for one lock (default: 100000)
npm run bench -- --scripts COMMIT [ROUNDS]    … and its scripts, on a master?
npm run bench -- --shares [ROUNDS]            turns of redlock 5 in a fleet that is half quorate's (default: 3)`;

/** @returns undefined where help was asked for. @throws Error that says what is wrong with the arguments */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      only: { type: 'string' },
      contenders: { type: 'string' },
      client: { type: 'string' },
      rounds: { type: 'string' },
      out: { type: 'string', default: 'bench/results' },
      from: { type: 'string' },
      publish: { type: 'boolean', default: false },
      lasting: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.quick && values.smoke) throw new Error('--quick and --smoke exclude each other');
  const { only, contenders, client: named } = values;
  if (values.publish && (values.smoke || [only, contenders, named].some((value) => value !== undefined))) {
    throw new Error('--publish needs a whole run: not with --smoke, --only, --contenders or --client');
  }
  const client = clientOf(named);
  const mode = values.smoke ? 'smoke' : values.quick ? 'quick' : 'full';
  return {
    mode,
    plan: planOf(mode, values.rounds),
    scenarios: select('--only', only, SCENARIOS) ?? SCENARIOS,
    contenders: contendersOf(mode, contenders, client),
    client,
    out: values.out,
    publish: values.publish,
    from: values.from,
    lastingMinutes: lastingOf(values),
  };
}

function lastingOf(values: {
  readonly lasting: boolean;
  readonly minutes?: string;
  readonly quick: boolean;
  readonly smoke: boolean;
}): number | undefined {
  const { lasting, minutes } = values;
  if (!lasting) {
    if (minutes !== undefined) throw new Error('--minutes needs --lasting');
    return undefined;
  }
  if (values.quick || values.smoke) throw new Error('--lasting excludes --quick and --smoke');
  const wanted = Number(minutes ?? DEFAULT_MINUTES);
  if (!Number.isInteger(wanted) || wanted < LEAST_MINUTES || wanted > MOST_MINUTES) {
    throw new Error(
      `--minutes must be a whole number from ${LEAST_MINUTES} to ${MOST_MINUTES}; got ${JSON.stringify(minutes)}`,
    );
  }
  return wanted;
}

function clientOf(asked: string | undefined): ClientName {
  if (asked === undefined) return DEFAULT_CLIENT;
  const client = CLIENT_NAMES.find((name) => name === asked);
  if (client === undefined) {
    throw new Error(`--client must be one of ${list(CLIENT_NAMES)}; got ${JSON.stringify(asked)}`);
  }
  return client;
}

function contendersOf(mode: Mode, asked: string | undefined, client: ClientName): readonly ContenderName[] {
  const wanted = select('--contenders', asked, NAMES);
  const other = wanted?.find((name) => !isOn(name, client));
  if (other !== undefined) throw new Error(`--client ${client} is not for the contender ${other}`);
  const all = wanted ?? (mode === 'quick' ? NAMES.filter((name) => entryOf(name).isQuick) : NAMES);
  return all.filter((name) => isOn(name, client));
}

function planOf(mode: Mode, asked: string | undefined): Plan {
  const plan = PLANS[mode];
  if (asked === undefined) return plan;
  const rounds = Number(asked);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
    throw new Error(`--rounds must be a whole number from 1 to 100; got ${JSON.stringify(asked)}`);
  }
  const most = (own: number): number => Math.min(own, rounds);
  return {
    ...plan,
    rounds,
    faultRounds: most(plan.faultRounds),
    refusalRounds: most(plan.refusalRounds),
    mingleRounds: most(plan.mingleRounds),
    contentionRounds: most(plan.contentionRounds),
    crashRounds: most(plan.crashRounds),
    stepRounds: most(plan.stepRounds),
    burstRounds: most(plan.burstRounds),
  };
}

/** Those of `names` that were asked for, in the order of `names`. */
function select<Name extends string>(
  option: string,
  asked: string | undefined,
  names: readonly Name[],
): readonly Name[] | undefined {
  if (asked === undefined) return undefined;
  const wanted = asked.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!(names as readonly string[]).includes(name)) {
      throw new Error(`${option} takes ${list(names)}; got ${JSON.stringify(name)}`);
    }
  }
  return names.filter((name) => wanted.includes(name));
}
