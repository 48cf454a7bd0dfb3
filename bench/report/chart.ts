/**
 * One form of picture: rows are contenders, panels stand side by side, every value is written beside its mark. Marks
 * differ in shape as well as in colour. A log axis has marks, a linear one begins at zero and has bars.
 */
export interface ChartRow {
  readonly label: string;
  readonly kind: 'own' | 'floor' | 'peer';
}

export type Cell =
  | { readonly value: number; readonly low?: number; readonly high?: number; readonly text: string }
  /** Stands in place of a mark. */
  | { readonly trouble: string };

export interface Panel {
  readonly title: string;
  /** What is better, or another remark below the title. */
  readonly unit: string;
  readonly scale: 'log' | 'linear';
  /** Panels of one group have the same axis. */
  readonly group?: string;
  /** A line at this value. */
  readonly reference?: number;
  /** One for each row. */
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

// the colours of Okabe and Ito, which people with any kind of colour blindness can tell apart
const COLOURS = {
  light: {
    paper: '#ffffff',
    ink: '#1f2328',
    faint: '#59636e',
    grid: '#d8dee4',
    own: '#0072b2',
    floor: '#6e7781',
    peer: '#d55e00',
  },
  dark: {
    paper: '#0d1117',
    ink: '#f0f6fc',
    faint: '#9198a1',
    grid: '#2d333b',
    own: '#56b4e9',
    floor: '#9aa4af',
    peer: '#e69f00',
  },
} as const;

type Colours = (typeof COLOURS)[Theme];

const WIDTH = 1_000;
const LABELS = 194;
const TOP = 104;
const ROW = 26;
const FOOT = 40;
const GAP = 18;
/** About as wide as a letter of a value is, in px: there is no font here to ask. */
const LETTER = 6.6;

export function drawChart(chart: Chart, theme: Theme): string {
  const colours = COLOURS[theme];
  const height = TOP + chart.rows.length * ROW + FOOT;
  const width = (WIDTH - LABELS - 16) / chart.panels.length;
  const panels = chart.panels.map((panel, i) =>
    drawPanel(panel, chart, { x: LABELS + i * width, width: width - GAP, colours }),
  );
  const labels = chart.rows.map(({ label, kind }, i) =>
    text(
      LABELS - 14,
      middleOf(i) + 4,
      label,
      `text-anchor="end" fill="${colours.ink}"${kind === 'own' ? ' font-weight="600"' : ''}`,
    ),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif" font-size="12.5">`,
    `<title>${escape(`${chart.title}. ${chart.subtitle}`)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="${colours.paper}"/>`,
    text(16, 30, chart.title, `font-size="17" font-weight="600" fill="${colours.ink}"`),
    text(16, 51, chart.subtitle, `fill="${colours.faint}"`),
    ...labels,
    ...panels,
    legend(chart.rows, height, colours),
    '</svg>',
    '',
  ].join('\n');
}

interface Place {
  readonly x: number;
  readonly width: number;
  readonly colours: Colours;
}

function drawPanel(panel: Panel, { rows, panels }: Chart, { x, width, colours }: Place): string {
  const axis = axisOf(panel, panels, x, width - textRoom(panel, panels));
  const bottom = TOP + rows.length * ROW;
  const line = (at: number, style: string): string =>
    `<line x1="${r(at)}" y1="${TOP - 4}" x2="${r(at)}" y2="${bottom}" ${style}/>`;
  return [
    text(x, TOP - 28, panel.title, `font-weight="600" fill="${colours.ink}"`),
    text(x, TOP - 12, panel.unit, `font-size="11" fill="${colours.faint}"`),
    ...axis.ticks.flatMap((tick) => [
      line(axis.at(tick), `stroke="${colours.grid}"`),
      text(
        axis.at(tick),
        bottom + 15,
        tickText(tick),
        `font-size="10.5" text-anchor="middle" fill="${colours.faint}"`,
      ),
    ]),
    ...(panel.reference === undefined
      ? []
      : [line(axis.at(panel.reference), `stroke="${colours.faint}" stroke-dasharray="3 3"`)]),
    ...panel.cells.map((cell, i) => drawCell(cell, rows[i], middleOf(i), axis, colours)),
  ].join('\n');
}

/** Room for the text beside the longest mark: alike in all panels of a group, so that their axes are. */
function textRoom({ group, cells }: Panel, all: readonly Panel[]): number {
  const alike = all
    .filter((panel) => group !== undefined && panel.group === group)
    .flatMap((panel) => panel.cells);
  const lengths = [...cells, ...alike].map((cell) =>
    cell === undefined || 'trouble' in cell ? 0 : cell.text.length,
  );
  return Math.max(4, ...lengths) * LETTER + 16;
}

function drawCell(
  cell: Cell | undefined,
  row: ChartRow | undefined,
  y: number,
  axis: Axis,
  colours: Colours,
): string {
  const kind = row?.kind ?? 'peer';
  const halo = ` paint-order="stroke" stroke="${colours.paper}" stroke-width="3"`; // lines must not run through it
  if (cell === undefined) return text(axis.from, y + 4, '–', `fill="${colours.faint}"`);
  if ('trouble' in cell)
    return text(axis.from, y + 4, `✕ ${cell.trouble}`, `font-size="11" fill="${colours.ink}"${halo}`);
  const end = axis.at(cell.value);
  const colour = colours[kind];
  const range =
    cell.low === undefined || cell.high === undefined
      ? ''
      : `<line x1="${r(axis.at(cell.low))}" y1="${y}" x2="${r(axis.at(cell.high))}" y2="${y}" stroke="${axis.isLog ? colour : colours.ink}" stroke-width="${axis.isLog ? 3 : 1.2}" stroke-opacity="0.55"/>`;
  const shape = axis.isLog
    ? mark(kind, end, y, colour)
    : `<rect x="${r(axis.from)}" y="${y - 7}" width="${r(Math.max(1, end - axis.from))}" height="14" rx="2" fill="${colour}"/>`;
  const right = Math.max(end, cell.high === undefined ? end : axis.at(cell.high)) + 9;
  const weight = kind === 'own' ? ' font-weight="600"' : '';
  return [
    ...(axis.isLog ? [range, shape] : [shape, range]),
    text(right, y + 4, cell.text, `font-size="11.5" fill="${colours.ink}"${weight}${halo}`),
  ].join('');
}

function mark(kind: ChartRow['kind'], x: number, y: number, colour: string): string {
  switch (kind) {
    case 'own':
      return `<circle cx="${r(x)}" cy="${y}" r="5.5" fill="${colour}"/>`;
    case 'floor':
      return `<rect x="${r(x - 4.5)}" y="${y - 4.5}" width="9" height="9" fill="${colour}"/>`;
    case 'peer':
      return `<path d="M${r(x)} ${y - 6}L${r(x + 6)} ${y}L${r(x)} ${y + 6}L${r(x - 6)} ${y}Z" fill="${colour}"/>`;
  }
}

interface Axis {
  readonly from: number;
  readonly isLog: boolean;
  readonly ticks: readonly number[];
  at(value: number): number;
}

function axisOf(panel: Panel, all: readonly Panel[], from: number, width: number): Axis {
  const { group, scale } = panel;
  const alike = group === undefined ? [panel] : all.filter((other) => other.group === group);
  const values = alike.flatMap(valuesOf);
  return scale === 'log'
    ? logAxis(
        values.filter((value) => value > 0),
        from,
        width,
      )
    : linearAxis(values, from, width);
}

function valuesOf({ cells, reference }: Panel): readonly number[] {
  const values = cells.flatMap((cell) =>
    cell === undefined || 'trouble' in cell
      ? []
      : [cell.value, cell.low ?? cell.value, cell.high ?? cell.value],
  );
  return reference === undefined ? values : [...values, reference];
}

function logAxis(values: readonly number[], from: number, width: number): Axis {
  const low = Math.log10(values.length === 0 ? 1 : Math.min(...values)) - 0.12;
  const high = Math.max(Math.log10(values.length === 0 ? 10 : Math.max(...values)), low + 0.6);
  const at = (value: number): number =>
    from + ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * width;
  const ticks = TICK_STEPS.map((steps) => logTicks(steps, low, high)).find((some) =>
    some.every((tick, i) => at(tick) - at(some[i - 1] ?? 0) >= TICK_GAP || i === 0),
  );
  return { from, isLog: true, ticks: ticks ?? logTicks([1], low, high), at };
}

const TICK_STEPS = [[1, 2, 5], [1, 3], [1]] as const;
/** So far apart are the ticks of an axis at least, in px. */
const TICK_GAP = 30;

function logTicks(steps: readonly number[], low: number, high: number): readonly number[] {
  const powers = Array.from(
    { length: Math.floor(high) - Math.floor(low) + 1 },
    (_, i) => Math.floor(low) + i,
  );
  return powers
    .flatMap((power) => steps.map((step) => step * 10 ** power))
    .filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
}

function linearAxis(values: readonly number[], from: number, width: number): Axis {
  const most = Math.max(0, ...values) || 1; // there may be nothing to show but troubles
  const rough = most / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const ticks = Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
  return { from, isLog: false, ticks, at: (value) => from + (Math.max(0, value) / most) * width };
}

function legend(rows: readonly ChartRow[], height: number, colours: Colours): string {
  const names = {
    own: 'this library',
    floor: 'floor in plain ioredis, no lock to use',
    peer: 'other libraries',
  } as const;
  const present = (['own', 'floor', 'peer'] as const).filter((kind) => rows.some((row) => row.kind === kind));
  let x = 16;
  return present
    .map((kind) => {
      const part =
        mark(kind, x + 5, height - 10, colours[kind]) +
        text(x + 16, height - 6, names[kind], `font-size="11" fill="${colours.faint}"`);
      x += 34 + names[kind].length * 5.6;
      return part;
    })
    .join('');
}

function middleOf(row: number): number {
  return TOP + row * ROW + ROW / 2;
}

function text(x: number, y: number, content: string, style: string): string {
  return `<text x="${r(x)}" y="${r(y)}" ${style}>${escape(content)}</text>`;
}

function tickText(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return value >= 1e3 ? `${Number((value / 1e3).toPrecision(3))}k` : `${Number(value.toPrecision(3))}`;
}

function r(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escape(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
