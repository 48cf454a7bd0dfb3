/** What was tried at each point with each action, and its violations. */
import { type Case, type Fault, isMoment, MOMENTS, nameOf, pointsOf } from './cases.js';
import { type Action, ACTIONS, POINTS } from './proxy.js';
import type { Verdict } from './trial.js';

interface Cell {
  cases: number;
  violations: number;
}

/** A wait in a queue has its points at each of its moments. */
const ROWS = [
  ...POINTS,
  ...MOMENTS.flatMap((moment) => pointsOf(moment).map((point) => `${moment} ${point}`)),
];

function rowOf({ operation }: Case, { point }: Fault): string {
  return isMoment(operation) ? `${operation} ${point}` : point;
}

export class Table {
  readonly #seed: number;
  readonly #cells = new Map<string, Cell>();
  readonly #codes: Record<string, number> = {};
  readonly #failed: { readonly name: string; readonly message: string }[] = [];
  readonly #unsprung: string[] = [];
  #cases = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  add(one: Case, { code, isSprung }: Verdict): void {
    this.#count(one, 0);
    const word = code ?? 'went on';
    this.#codes[word] = (this.#codes[word] ?? 0) + 1;
    if (!isSprung) this.#unsprung.push(nameOf(one)); // some faults of a majority prevent others
  }

  fail(one: Case, error: unknown): void {
    this.#count(one, 1);
    this.#failed.push({ name: nameOf(one), message: error instanceof Error ? error.message : String(error) });
  }

  /** A case with several faults counts once at each of their points. */
  #count(one: Case, violations: number): void {
    this.#cases++;
    for (const place of new Set(one.faults.map((fault) => `${rowOf(one, fault)} ${fault.action}`))) {
      const cell = this.#cells.get(place) ?? { cases: 0, violations: 0 };
      cell.cases++;
      cell.violations += violations;
      this.#cells.set(place, cell);
    }
  }

  #cell(row: string, action: Action): Cell {
    return this.#cells.get(`${row} ${action}`) ?? { cases: 0, violations: 0 };
  }

  /** The rows in which anything was tried. */
  get #rows(): readonly string[] {
    return ROWS.filter((row) => ACTIONS.some((action) => this.#cell(row, action).cases > 0));
  }

  toJSON(): unknown {
    return {
      seed: this.#seed,
      cases: this.#cases,
      outcomes: this.#codes,
      violations: this.#failed,
      notAllSprung: this.#unsprung,
      places: this.#rows.flatMap((point) =>
        ACTIONS.map((action) => ({ point, action, ...this.#cell(point, action) })),
      ),
    };
  }

  toString(): string {
    const rows = this.#rows.map((row) =>
      [
        row.padEnd(26),
        ...ACTIONS.map((action) => {
          const { cases, violations } = this.#cell(row, action);
          return `${cases} / ${violations}`.padStart(14);
        }),
      ].join(''),
    );
    const head = [''.padEnd(26), ...ACTIONS.map((action) => action.padStart(14))].join('');
    const outcomes = Object.entries(this.#codes).map(([code, count]) => `${count} ${code}`);
    return [
      `cases tried / violations, seed ${this.#seed}`,
      head,
      ...rows,
      `${this.#cases} cases: ${[...outcomes, `${this.#failed.length} violations`, `${this.#unsprung.length} in which not every fault came about`].join(', ')}`,
    ].join('\n');
  }
}
