/** The summary as the terminal shows it. */
import { describeTakeover, inMs, isGood, risesIn, type Summary } from './summary.js';

export function report(summary: Summary, picture: string): string {
  const { options, verdict, takeovers, problems } = summary;
  const { least, most } = verdict.effects;
  const lines: [string, string][] = [
    ['jobs done', `${summary.jobsDone} of ${options.jobs}, in ${(summary.endMs / 1_000).toFixed(1)} s`],
    ['accepted effects per job', least === most ? `${least} (the ledger's count)` : `${least} to ${most}`],
    ['leases valid at the same time', `${verdict.overlaps.length} of ${summary.leases} leases`],
    ['fences rise with every grant', risesIn(summary)],
    ['takeovers', [`${takeovers.length}`, ...takeovers.map(describeTakeover)].join('; ')],
    ['stale effects refused', `${summary.stale}, by the ledger: it had seen a higher fence`],
    ['late effects accepted', `${summary.late} (before anybody had taken over)`],
    [
      'from “held” to the ledger',
      `${inMs(summary.gapMs)} ms at most: a gap that no lease closes, but the fence`,
    ],
    ['renewals seen', `${summary.extensions}`],
  ];
  return [
    '',
    ...lines.map(([name, text]) => `  ${name.padEnd(30)} ${text}`),
    '',
    ...latencyTable(summary),
    '',
    `  picture: ${picture}`,
    `  again:   npm start -- --seed ${options.seed}`,
    isGood(summary) ? 'Every job ran once.' : 'NOT GOOD:',
    ...problems.map((problem) => `  - ${problem}`),
  ].join('\n');
}

function latencyTable({ latencies }: Summary): string[] {
  const row = (phase: string, figures: readonly string[]): string => {
    return `  ${phase.padEnd(46)}${figures.map((figure) => figure.padStart(8)).join('')}`;
  };
  return [
    row('acquire, in ms (one attempt, granted)', ['count', 'p50', 'p99', 'most']),
    ...latencies.map(({ phase, count, p50Ms, p99Ms, maxMs }) =>
      row(phase, [`${count}`, ...[p50Ms, p99Ms, maxMs].map(inMs)]),
    ),
  ];
}
