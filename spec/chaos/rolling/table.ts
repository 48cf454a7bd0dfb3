/** The table of a rolling run, for the terminal. */
import type { RollRecord } from './roll.js';
import { LASTING } from './scenarios.js';
import type { Finding, RollVerdict, Row } from './verdict.js';

const HEAD = [
  ...['s', 'event', 'whole', 'after ms', 'lost', 'deposed', 'ticks', 'lost'],
  ...['free ms', 'wait ms', 'eroded'],
];
const WIDTHS = [6, 10, 5, 8, 4, 7, 5, 4, 7, 7, 0];
const MOST_SHOWN = 20;

export function tableOf({ scenario, ttlMs, events }: RollRecord, verdict: RollVerdict): string {
  const startT = events[0]?.t ?? 0;
  const kept = scenario.persist ? 'with their data' : 'without data';
  const how = scenario.blow === 'freeze' ? 'frozen' : `restarted ${kept}`;
  const { violations, excused, standstills } = verdict;
  const machine = `the machine kept processes from running ${standstills.count} times, for ${Math.round(standstills.mostMs)} ms at most`;
  return [
    `${scenario.name}: ${scenario.masters} masters, ${how} one after another; ttl ${ttlMs / 1_000} s, ${LASTING.length} lasting leases`,
    line(HEAD),
    ...verdict.rows.map((row) => line(cells(row, startT))),
    ...list('-', violations, startT),
    ...(standstills.count === 0 ? [] : [`  (${machine})`]),
    ...list('not judged, since the machine was too busy:', excused, startT),
    '',
  ].join('\n');
}

function list(mark: string, findings: readonly Finding[], startT: number): string[] {
  const more = findings.length - MOST_SHOWN;
  const shown = findings
    .slice(0, MOST_SHOWN)
    .map(({ t, text }) => `  ${mark} ${((t - startT) / 1_000).toFixed(1)} s: ${text}`);
  return more > 0 ? [...shown, `  ${mark} and ${more} more`] : shown;
}

function line(texts: readonly string[]): string {
  const padded = texts.map((text, i) =>
    i === 1 ? text.padEnd(WIDTHS[i] ?? 0) : text.padStart(WIDTHS[i] ?? 0),
  );
  return `  ${padded.join('  ')}`.trimEnd();
}

function cells({ event, lost, deposed, ticks, ticksLost, freeMs, waitMs }: Row, startT: number): string[] {
  const { eroded, wholeAfterMs } = event;
  return [
    ((event.t - startT) / 1_000).toFixed(1),
    event.what,
    eroded === undefined ? '–' : `${LASTING.length - eroded.length}/${LASTING.length}`,
    wholeAfterMs === undefined ? '–' : `${Math.round(wholeAfterMs)}`,
    `${lost}`,
    `${deposed}`,
    `${ticks}`,
    `${ticksLost}`,
    `${Math.round(freeMs)}`,
    `${Math.round(waitMs)}`,
    (eroded ?? []).map(({ lock, votes, up }) => `${lock} ${votes}/${up}`).join(', '),
  ];
}
