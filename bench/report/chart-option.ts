/**
 * A chart in the terms of Apache ECharts: a grid with its two axes for each panel. Marks and bars are series of its own
 * kinds, named by the kind of contender, so that its legend lists them; ranges and values are one custom series a panel.
 * Marks differ in shape as well as in colour.
 */
import type {
  CustomSeriesOption,
  CustomSeriesRenderItemReturn,
  EChartsOption,
  LegendComponentOption,
  SeriesOption,
  TitleComponentOption,
  XAXisComponentOption,
  YAXisComponentOption,
} from 'echarts';
import { alike, type Axis, axisOf, isFigure, tickText } from './axis.js';
import type { Cell, Chart, ChartRow, Kind, Panel, Theme } from './chart.js';
import { type Colours, COLOURS } from './colours.js';

export const WIDTH = 1_000;
const LABELS = 194;
const TOP = 104;
const ROW = 26;
const FOOT = 46;
const GAP = 18;
const MARGIN = 16;
/** About as wide as a letter of a value is, in px: there is no font here to ask. */
const LETTER = 6.6;
export const FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif";

const KINDS: Readonly<
  Record<Kind, { readonly name: string; readonly symbol: string; readonly size: number }>
> = {
  own: { name: 'this library', symbol: 'circle', size: 11 },
  floor: { name: 'floor in plain ioredis, no lock to use', symbol: 'rect', size: 9 },
  peer: { name: 'other libraries', symbol: 'diamond', size: 12 },
};
const ORDER = ['own', 'floor', 'peer'] as const satisfies readonly Kind[];

/** A panel in its place. */
interface Placed {
  readonly panel: Panel;
  readonly index: number;
  readonly left: number;
  readonly width: number;
  readonly axis: Axis;
}

export function heightOf({ rows }: Chart): number {
  return TOP + rows.length * ROW + FOOT;
}

export function chartOption(chart: Chart, theme: Theme): EChartsOption {
  const colours = COLOURS[theme];
  const placed = placePanels(chart.panels);
  return {
    animation: false,
    backgroundColor: colours.paper,
    textStyle: { fontFamily: FONT, fontSize: 12.5, color: colours.ink },
    title: [
      heading(chart, colours),
      ...placed.map((one) => panelTitle(one, colours)),
      ...(isWhole(chart) ? [] : [gapNote(colours)]),
    ],
    legend: legend(chart, colours),
    grid: placed.map(({ left, width }) => {
      return { left, width, top: TOP, height: chart.rows.length * ROW, outerBoundsMode: 'none' };
    }),
    xAxis: placed.map((one) => valueAxis(one, colours)),
    yAxis: placed.map(({ index }) => rowAxis(chart, index, colours)),
    series: placed.flatMap((one) => [...marks(one, chart.rows, colours), values(one, chart.rows, colours)]),
  };
}

function placePanels(panels: readonly Panel[]): readonly Placed[] {
  const each = (WIDTH - LABELS - MARGIN) / panels.length;
  return panels.map((panel, index) => {
    const width = each - GAP - textRoom(panel, panels);
    return { panel, index, left: LABELS + index * each, width, axis: axisOf(panel, panels, width) };
  });
}

/** Room for the text beside the longest mark: alike in all panels of a group, so that their axes are. */
function textRoom(panel: Panel, all: readonly Panel[]): number {
  const lengths = alike(panel, all).flatMap(({ cells }) =>
    cells.map((cell) => (isFigure(cell) ? cell.text.length : 0)),
  );
  return Math.max(4, ...lengths) * LETTER + 16;
}

function heading({ title, subtitle }: Chart, { ink, faint }: Colours): TitleComponentOption {
  return {
    text: title,
    subtext: subtitle,
    left: MARGIN,
    top: 14,
    padding: 0,
    itemGap: 7,
    textStyle: { fontSize: 17, fontWeight: 600, color: ink },
    subtextStyle: { fontSize: 12.5, color: faint },
  };
}

function panelTitle({ panel, left }: Placed, { ink, faint }: Colours): TitleComponentOption {
  return {
    text: panel.title,
    subtext: panel.unit,
    left,
    top: TOP - 38,
    padding: 0,
    itemGap: 4,
    textStyle: { fontSize: 12.5, fontWeight: 600, color: ink },
    subtextStyle: { fontSize: 11, color: faint },
  };
}

function isWhole({ rows, panels }: Chart): boolean {
  return panels.every(({ cells }) => rows.every((_, i) => cells[i] !== undefined));
}

function gapNote({ faint }: Colours): TitleComponentOption {
  const textStyle = { fontSize: 11, fontWeight: 400, color: faint } as const;
  return { text: 'An empty place: not measured.', right: MARGIN, bottom: 6, padding: 0, textStyle };
}

function legend({ rows }: Chart, { faint }: Colours): LegendComponentOption {
  const present = ORDER.filter((kind) => rows.some((row) => row.kind === kind));
  return {
    data: present.map((kind) => ({ name: KINDS[kind].name, icon: KINDS[kind].symbol })),
    left: MARGIN,
    bottom: 6,
    padding: 0,
    itemWidth: 11,
    itemHeight: 11,
    itemGap: 22,
    selectedMode: false,
    textStyle: { fontSize: 11, color: faint },
  };
}

function valueAxis({ panel, index, axis }: Placed, { grid, faint }: Colours): XAXisComponentOption {
  const customValues = [...axis.ticks];
  return {
    gridIndex: index,
    type: panel.scale === 'log' ? 'log' : 'value',
    min: axis.min,
    max: axis.max,
    axisLine: { show: false },
    axisTick: { show: false, customValues },
    splitLine: { show: true, lineStyle: { color: grid } },
    axisLabel: {
      customValues,
      formatter: tickText,
      fontSize: 10.5,
      color: faint,
      margin: 6,
      hideOverlap: false,
    },
  };
}

function rowAxis({ rows }: Chart, index: number, { ink }: Colours): YAXisComponentOption {
  const text = { fontFamily: FONT, fontSize: 12.5, color: ink };
  return {
    gridIndex: index,
    type: 'category',
    inverse: true,
    data: rows.map(({ label, kind }) => (kind === 'own' ? `{own|${label}}` : `{other|${label}}`)),
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: {
      show: index === 0,
      interval: 0,
      margin: 14,
      rich: { own: { ...text, fontWeight: 600 }, other: text },
    },
  };
}

/** Bars from zero, or marks where the axis is logarithmic; one series for each kind of contender. */
function marks({ panel, index, axis }: Placed, rows: readonly ChartRow[], colours: Colours): SeriesOption[] {
  return ORDER.flatMap((kind): SeriesOption[] => {
    const data = panel.cells.flatMap((cell, i) =>
      isFigure(cell) && rows[i]?.kind === kind ? [[clamp(cell.value, axis), i]] : [],
    );
    const { name, symbol, size } = KINDS[kind];
    const common = { name, xAxisIndex: index, yAxisIndex: index, data, silent: true };
    const itemStyle = { color: colours[kind], opacity: 1 };
    if (!rows.some((row) => row.kind === kind)) return [];
    return panel.scale === 'log'
      ? [{ ...common, type: 'scatter', symbol, symbolSize: size, itemStyle, z: 3 }]
      : [
          {
            ...common,
            type: 'bar',
            barWidth: 14,
            barGap: '-100%', // a row has a bar of one kind only
            barMinHeight: 1,
            itemStyle: { ...itemStyle, borderRadius: 2 },
          },
        ];
  });
}

/** The range of each value, the value in words, or what was wrong; and the line at the reference. */
function values(
  { panel, index, axis }: Placed,
  rows: readonly ChartRow[],
  colours: Colours,
): CustomSeriesOption {
  const { reference } = panel;
  return {
    type: 'custom',
    xAxisIndex: index,
    yAxisIndex: index,
    silent: true,
    z: 4,
    data: panel.cells.map((cell, i) => [isFigure(cell) ? clamp(cell.value, axis) : axis.min, i]),
    renderItem: ({ dataIndex }, api) => {
      const cell = panel.cells[dataIndex];
      const at = (value: number): number => api.coord([clamp(value, axis), dataIndex])[0] ?? 0;
      const y = api.coord([axis.min, dataIndex])[1] ?? 0;
      const kind = rows[dataIndex]?.kind ?? 'peer';
      return cell === undefined
        ? null
        : drawCell(cell, { at, y, axis, kind, isLog: panel.scale === 'log', colours });
    },
    ...(reference === undefined
      ? {}
      : {
          markLine: {
            silent: true,
            symbol: 'none',
            label: { show: false },
            lineStyle: { color: colours.faint, type: [3, 3], width: 1 },
            data: [{ xAxis: reference }],
          },
        }),
  };
}

interface CellPlace {
  readonly at: (value: number) => number;
  readonly y: number;
  readonly axis: Axis;
  readonly kind: Kind;
  readonly isLog: boolean;
  readonly colours: Colours;
}

type Element = NonNullable<CustomSeriesRenderItemReturn>;

function drawCell(cell: Cell, { at, y, axis, kind, isLog, colours }: CellPlace): Element {
  const halo = { stroke: colours.paper, lineWidth: 3 }; // lines must not run through it
  const words = (x: number, text: string, fontSize: number): Element => ({
    type: 'text',
    x,
    y,
    style: {
      text,
      fill: colours.ink,
      fontFamily: FONT,
      fontSize,
      fontWeight: kind === 'own' ? 600 : 400,
      verticalAlign: 'middle',
      ...halo,
    },
  });
  if (!isFigure(cell)) return words(at(axis.min) + 2, `✕ ${cell.trouble}`, 11);
  const { value, low = value, high = value, text } = cell;
  const range: Element = {
    type: 'line',
    shape: { x1: at(low), y1: y, x2: at(high), y2: y },
    style: { stroke: isLog ? colours[kind] : colours.ink, lineWidth: isLog ? 3 : 1.2, opacity: 0.55 },
  };
  const label = words(Math.max(at(value), at(high)) + 9, text, 11.5);
  return { type: 'group', children: low === high ? [label] : [range, label] };
}

/** A value that a log axis cannot show stands at its beginning. */
function clamp(value: number, { min, max }: Axis): number {
  return Math.min(max, Math.max(min, value));
}
