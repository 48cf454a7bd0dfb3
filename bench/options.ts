/** What the command line asks for. */
import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly rounds: number;
  /** How long one contender runs before it is the other's turn, in ms. */
  readonly sliceMs: number;
  /** So many turns each, in one round. */
  readonly slices: number;
  /** How long each contender runs, for each N, before anything is measured. */
  readonly warmUpMs: number;
  readonly leases: number;
  readonly out: string;
  /** Proves that everything runs; its figures mean nothing. */
  readonly isSmoke: boolean;
}

export const USAGE = `npm run bench -- [--quick | --smoke] [--rounds N] [--out FOLDER]

  --quick       under two minutes: fewer rounds, fewer turns in each
  --smoke       a few seconds: proves that everything runs; its figures mean nothing
  --rounds N    how many rounds, from 1 to 100 (default: 15; quick 5, smoke 1)
  --out FOLDER  where the results go (default: bench/results)`;

// many short turns: what else the machine does then falls on both contenders alike
const FULL = { rounds: 15, sliceMs: 100, slices: 8, warmUpMs: 2_000, leases: 10_000, isSmoke: false };
const QUICK = { ...FULL, rounds: 5, slices: 5, warmUpMs: 1_000 };
const SMOKE = { rounds: 1, sliceMs: 40, slices: 1, warmUpMs: 40, leases: 200, isSmoke: true };

/** @returns undefined where help was asked for. @throws Error that says what is wrong with the arguments */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      out: { type: 'string', default: 'bench/results' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.quick && values.smoke) throw new Error('--quick and --smoke exclude each other');
  const base = values.smoke ? SMOKE : values.quick ? QUICK : FULL;
  const rounds = values.rounds === undefined ? base.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
    throw new Error(`--rounds must be a whole number from 1 to 100; got ${JSON.stringify(values.rounds)}`);
  }
  return { ...base, rounds, out: values.out };
}
