/**
 * The history of a run for readers: when, who, what. Masters' lines are commands with their replies, clients' lines their
 * calls and results, PLAN's lines faults, CHECK's lines violations.
 */
import { withShortTokens } from './world/seeded.js';
import type { Violation } from './checker/checker.js';
import type { HistoryLine } from './world/world.js';

/** What a run tells of itself. */
export interface History {
  readonly lines: readonly HistoryLine[];
  readonly violations: readonly Violation[];
}

export interface TimelineOptions {
  /** Only lines about this, and faults; everything by default. */
  readonly about?: string;
  /** Only this many ms around the first violation; the whole run by default. */
  readonly aroundMs?: number;
}

export function timeline({ lines, violations }: History, options: TimelineOptions = {}): string {
  const [first] = violations;
  const { about, aroundMs = Infinity } = options;
  const isNear = (line: HistoryLine): boolean =>
    first === undefined || Math.abs(line.atMs - first.atMs) <= aroundMs;
  const isAbout = ({ who, what }: HistoryLine): boolean =>
    about === undefined || who === 'PLAN' || who === 'CHECK' || who === about || what.includes(about);
  const rows = lines
    .map((line) => ({ ...line, what: withShortTokens(line.what) }))
    .filter((line) => isNear(line) && isAbout(line))
    .map(row);
  return [`${'ms'.padStart(11)}  ${'who'.padEnd(6)}  what`, ...rows].join('\n');
}

function row({ atMs, who, what }: HistoryLine): string {
  const mark = who === 'CHECK' ? '>>' : '  ';
  const text = what.replaceAll(/\n\s+at /g, `\n${' '.repeat(21)}at `);
  return `${atMs.toFixed(3).padStart(11)}  ${who.padEnd(6)}${mark}${text}`;
}
