/** The axis of a panel: from where to where, and what is written on it. */
import type { Cell, Panel } from './chart.js';

export interface Axis {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
}

/** @param width of the axis in px: ticks keep a distance */
export function axisOf(panel: Panel, all: readonly Panel[], width: number): Axis {
  const values = alike(panel, all).flatMap(valuesOf);
  return panel.scale === 'log'
    ? logAxis(
        values.filter((value) => value > 0),
        width,
      )
    : linearAxis(values, width);
}

/** The panels that share an axis with this one, itself included. */
export function alike(panel: Panel, all: readonly Panel[]): readonly Panel[] {
  return panel.group === undefined ? [panel] : all.filter(({ group }) => group === panel.group);
}

function valuesOf({ cells, reference }: Panel): readonly number[] {
  const values = cells.flatMap((cell) =>
    isFigure(cell) ? [cell.value, cell.low ?? cell.value, cell.high ?? cell.value] : [],
  );
  return reference === undefined ? values : [...values, reference];
}

export function isFigure(cell: Cell | undefined): cell is Exclude<Cell, { readonly trouble: string }> {
  return cell !== undefined && !('trouble' in cell);
}

const STEPS = [[1, 2, 5], [1, 3], [1]] as const;
/** What a number below a tick takes, in px. */
const roomFor = (tick: number): number => 6 * tickText(tick).length + 8;
/** Ticks of a linear axis are about so far apart, in px. */
const TICK_GAP = 50;

function logAxis(values: readonly number[], width: number): Axis {
  const low = Math.log10(values.length === 0 ? 1 : Math.min(...values)) - 0.12;
  const high = Math.max(Math.log10(values.length === 0 ? 10 : Math.max(...values)), low + 0.6);
  const isRoomy = (ticks: readonly number[]): boolean =>
    ticks.every(
      (tick, i) =>
        i === 0 || (Math.log10(tick / (ticks[i - 1] ?? tick)) / (high - low)) * width >= roomFor(tick),
    );
  const candidates = STEPS.map((steps) => logTicks(steps, low, high));
  const ticks = candidates.find(isRoomy) ?? logTicks([1], low, high);
  return { min: 10 ** low, max: 10 ** high, ticks };
}

function logTicks(steps: readonly number[], low: number, high: number): readonly number[] {
  const first = Math.floor(low);
  const powers = Array.from({ length: Math.floor(high) - first + 1 }, (_, i) => first + i);
  return powers
    .flatMap((power) => steps.map((step) => step * 10 ** power))
    .filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
}

function linearAxis(values: readonly number[], width: number): Axis {
  const max = Math.max(0, ...values) || 1; // there may be nothing to show but troubles
  const rough = max / Math.max(2, width / TICK_GAP);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const ticks = Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, i) => i * step);
  return { min: 0, max, ticks };
}

export function tickText(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return value >= 1e3 ? `${Number((value / 1e3).toPrecision(3))}k` : `${Number(value.toPrecision(3))}`;
}
