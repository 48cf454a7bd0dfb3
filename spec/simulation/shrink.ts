/**
 * Shrinks a run that breaks a guarantee to a smaller one that breaks the same: faults are left out, many at a time and
 * then one by one, as long as the same property still fails.
 */
import { simulate, type SimulationOptions, type SimulationReport } from './simulation.js';

/** The maximum number of runs. */
const MOST_RUNS = 300;

export interface Shrunk {
  /** The faults that are needed, by their numbers in the plan. */
  readonly faults: readonly number[];
  readonly runs: number;
  readonly report: SimulationReport;
}

/** @param breaks  whether a run still fails in the same way; by default, whether it breaks the same property */
export async function shrink(
  report: SimulationReport,
  options: SimulationOptions,
  breaks: (again: SimulationReport) => boolean = breaksLike(report),
): Promise<Shrunk> {
  let kept = [...(options.faults ?? report.plan.map(({ id }) => id))];
  let smallest = report;
  let runs = 0;
  for (let size = Math.ceil(kept.length / 2); size >= 1 && runs < MOST_RUNS;) {
    let isSmaller = false;
    for (let from = 0; from < kept.length && runs < MOST_RUNS;) {
      const fewer = [...kept.slice(0, from), ...kept.slice(from + size)];
      const again = await simulate(report.seed, { ...options, faults: fewer });
      runs++;
      if (breaks(again)) {
        kept = fewer;
        smallest = again;
        isSmaller = true;
      } else from += size;
    }
    if (size === 1 && !isSmaller) break;
    size = isSmaller && size === 1 ? 1 : Math.max(1, Math.floor(size / 2));
  }
  return { faults: kept, runs, report: smallest };
}

function breaksLike({ violations: [first] }: SimulationReport): (again: SimulationReport) => boolean {
  return ({ violations }) => violations.some(({ property }) => property === first?.property);
}
