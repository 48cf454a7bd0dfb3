/** What the run came to, against what is known. */
import { type Scene } from './scenes/scene.js';
import type { Trial } from './tape.js';
import { LABELS, type Way, WAYS } from './ways.js';

export interface Played {
  readonly scene: Scene;
  readonly trials: ReadonlyMap<Way, Trial>;
}

/** Where the run did not show what is known, in words; empty when it did. */
export function surprises(played: readonly Played[]): readonly string[] {
  return played.flatMap(({ scene, trials }) =>
    WAYS.flatMap((way) => {
      const [expected, trial] = [scene.expected[way], trials.get(way)];
      if (expected === trial?.verdict) return [];
      const found = trial === undefined ? 'was not played' : `${trial.verdict} (${trial.outcome})`;
      return [`${scene.title}, ${LABELS[way]}: ${found}; expected: ${expected ?? 'no part in it'}`];
    }),
  );
}

const CELLS = { holds: 'holds', breaks: 'BREAKS' } as const;
const NO_PART = '·';
const GAP = '  ';

/** The table for a terminal. */
export function table(played: readonly Played[]): string {
  const head = ['', ...WAYS.map((way) => LABELS[way].split(/, | (?=and )/))];
  const lines = Math.max(...head.map((cell) => cell.length));
  const rows: string[][] = Array.from({ length: lines }, (_, line) =>
    head.map((cell) => (typeof cell === 'string' ? cell : (cell[line] ?? ''))),
  );
  for (const { scene, trials } of played) {
    const cells = WAYS.map((way) => {
      const verdict = trials.get(way)?.verdict;
      return verdict === undefined ? NO_PART : CELLS[verdict];
    });
    rows.push([scene.title, ...cells]);
  }
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const written = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length));
  return [...written.slice(0, lines), rule, ...written.slice(lines)].join('\n');
}
