/** The table of a rolling run, for the terminal. */
import type { RollRecord } from './roll.js';
import { LASTING } from './scenarios.js';
import type { RollVerdict, Row } from './verdict.js';

const HEAD = ['s', 'event', 'whole', 'after ms', 'lost', 'deposed', 'ticks', 'lost', 'free ms', 'wait ms', 'eroded'];
const WIDTHS = [6, 12, 6, 9, 5, 8, 6, 5, 8, 8, 0];
const MOST_SHOWN = 12;

export function tableOf({ scenario, ttlMs, events }: RollRecord, verdict: RollVerdict): string {
  const startT = events[0]?.t ?? 0;
  const kept = scenario.persist ? 'with their data' : 'without data';
  const how = scenario.blow === 'freeze' ? 'frozen' : `restarted ${kept}`;
  const { violations, remarks } = verdict;
  const more = violations.length - MOST_SHOWN;
  return [
    `${scenario.name}: ${scenario.masters} masters, each ${how}; ttl ${ttlMs / 1_000} s, ${LASTING.length} lasting leases`,
    line(HEAD),
    ...verdict.rows.map((row) => line(cells(row, startT))),
    ...violations.slice(0, MOST_SHOWN).map((text) => `  - ${text}`),
    ...(more > 0 ? [`  - and ${more} more`] : []),
    ...remarks.map((text) => `  (${text})`),
    '',
  ].join('\n');
}

function line(texts: readonly string[]): string {
  const padded = texts.map((text, i) => (i === 1 ? text.padEnd(WIDTHS[i] ?? 0) : text.padStart(WIDTHS[i] ?? 0)));
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
