/** The arithmetic of the report: pure functions. */
import { percentile as percentileOf } from '../lib/runtime/statistics.js';

/** A figure over several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError for an empty list: there is no figure to give */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  const lower = sorted[sorted.length - 1 - middle];
  if (upper === undefined || lower === undefined) throw new RangeError('the median of nothing');
  return (lower + upper) / 2;
}

/** @param share from 0 to 1. @returns the smallest value that so many are not above; NaN of nothing */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return percentileOf(sorted, share) ?? NaN;
}

/**
 * Between these lies the true median in at least 19 of 20 cases, whatever the distribution: order statistics around it, by the
 * binomial distribution. The whole range where there are too few values.
 *
 * G. J. Hahn, W. Q. Meeker: Statistical Intervals, 1991, section 5.2
 */
export function interval(values: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const { length } = sorted;
  let below = 2 ** -length; // the probability that no more than `rank` values lie below the median
  let term = below;
  let rank = 0;
  for (; below <= 0.025; below += term) {
    rank++;
    term *= (length - rank + 1) / rank;
  }
  const first = Math.max(0, rank - 1);
  return { low: sorted[first] ?? NaN, high: sorted[length - 1 - first] ?? NaN };
}

/**
 * Jain's index of fairness: 1 when all have the same, 1/n when one has everything.
 *
 * R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC TR-301, 1984
 */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? NaN : (sum * sum) / (shares.length * squares);
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Round by round, so that what slows a whole round down cancels out. */
export function ratios(values: readonly number[], base: readonly number[]): Spread {
  if (values.length !== base.length) throw new RangeError(`${values.length} values over ${base.length}`);
  return spread(values.map((value, i) => value / (base[i] ?? NaN)));
}

/** How long one step took, in microseconds. */
export interface Latency {
  readonly p50Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
  readonly meanUs: number;
}

/** What is read of a histogram of `node:perf_hooks` that counts nanoseconds. */
export interface NanosecondHistogram {
  readonly mean: number;
  percentile(percentile: number): number;
}

export function latencyOf(histogram: NanosecondHistogram): Latency {
  return {
    p50Us: histogram.percentile(50) / 1_000,
    p95Us: histogram.percentile(95) / 1_000,
    p99Us: histogram.percentile(99) / 1_000,
    meanUs: histogram.mean / 1_000,
  };
}

/** What one contender did in one round. */
export interface Figures {
  readonly pairs: number;
  /** Steps that were rejected, and what the first said. */
  readonly failures: number;
  readonly failure: string | undefined;
  readonly pairsPerSecond: number;
  /** CPU time of the client process, user and system, for one acquire and its release. */
  readonly cpuPerPairUs: number;
  readonly acquire: Latency;
  readonly release: Latency;
  readonly pair: Latency;
}

/** Over rounds: the median of each field, and the sums of what is counted. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  const of = (read: (figures: Figures) => number): number => median(rounds.map(read));
  const latency = (read: (figures: Figures) => Latency): Latency => ({
    p50Us: of((figures) => read(figures).p50Us),
    p95Us: of((figures) => read(figures).p95Us),
    p99Us: of((figures) => read(figures).p99Us),
    meanUs: of((figures) => read(figures).meanUs),
  });
  return {
    pairs: rounds.reduce((sum, { pairs }) => sum + pairs, 0),
    failures: rounds.reduce((sum, { failures }) => sum + failures, 0),
    failure: rounds.find(({ failure }) => failure !== undefined)?.failure,
    pairsPerSecond: of(({ pairsPerSecond }) => pairsPerSecond),
    cpuPerPairUs: of(({ cpuPerPairUs }) => cpuPerPairUs),
    acquire: latency(({ acquire }) => acquire),
    release: latency(({ release }) => release),
    pair: latency(({ pair }) => pair),
  };
}
