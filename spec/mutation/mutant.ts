/** A mutant: one small change to a file of lib, which some spec should notice. */
export interface Mutant {
  readonly file: string;
  /** The function, method or constant that it changes. */
  readonly member: string;
  /** What stands there. */
  readonly from: string;
  /** What stands there instead; empty if it is left out. */
  readonly to: string;
  /** Which one, if the same text stands there several times: 1 for the first. */
  readonly occurrence: number;
  readonly line: number;
}

/** What stays the same when lines move: reports name it so. */
export function nameOf({ member, from, to, occurrence }: Omit<Mutant, 'file' | 'line'>): string {
  const which = occurrence > 1 ? ` (${occurrence})` : '';
  return `${member}: ${from} → ${to === '' ? 'nothing' : to}${which}`;
}

const LONGEST_TEXT = 100;

/** On one line, cut where it is long. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= LONGEST_TEXT ? line : `${line.slice(0, LONGEST_TEXT)}…`;
}
