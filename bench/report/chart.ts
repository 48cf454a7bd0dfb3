/** What a picture shows: rows are contenders, panels stand side by side, every value is written beside its mark. */
export interface ChartRow {
  readonly label: string;
  readonly kind: Kind;
}

export type Kind = 'own' | 'floor' | 'peer';

export type Cell =
  | { readonly value: number; readonly low?: number; readonly high?: number; readonly text: string }
  /** Stands in place of a mark. */
  | { readonly trouble: string };

export interface Panel {
  readonly title: string;
  /** What is better, or another remark below the title. */
  readonly unit: string;
  /** A log axis has marks, a linear one begins at zero and has bars. */
  readonly scale: 'log' | 'linear';
  /** Panels of one group have the same axis. */
  readonly group?: string;
  /** A line at this value. */
  readonly reference?: number;
  /** One for each row; undefined: not measured. */
  readonly cells: readonly (Cell | undefined)[];
}

export interface Chart {
  readonly name: string;
  readonly title: string;
  readonly subtitle: string;
  readonly rows: readonly ChartRow[];
  readonly panels: readonly Panel[];
}

export type Theme = 'light' | 'dark';
