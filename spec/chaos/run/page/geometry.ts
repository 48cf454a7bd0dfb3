/**
 * Positions in the timeline: no DOM here, so that specs can check the bounds. Times are milliseconds since the run began,
 * widths are CSS pixels.
 */
export interface View {
  readonly from: number;
  readonly to: number;
}

export interface Plot {
  /** The names of lanes are to the left of it. */
  readonly left: number;
  readonly width: number;
}

const NAMES = 96;
const RIGHT = 8;
/** From this width on, there is room for whole names beside the plot. */
const WIDE = 600;
const LEAST_MS = 50;
/** Two fingers that are closer together than this do not zoom any further. */
const LEAST_SPREAD = 12;

/** @returns a plot with a width of at least one pixel, however narrow the page */
export function plotOf(width: number): Plot {
  const left = width >= WIDE ? NAMES : Math.floor(Math.max(0, Math.min(56, width * 0.3)));
  return { left, width: Math.max(1, width - left - RIGHT) };
}

export function xOf(t: number, { from, to }: View, { left, width }: Plot): number {
  return left + ((t - from) / (to - from)) * width;
}

export function timeAt(x: number, { from, to }: View, { left, width }: Plot): number {
  return from + ((x - left) / width) * (to - from);
}

/** How many of the times fall into each column of three pixels, over the whole run. */
export function columnsOf(times: readonly (readonly number[])[], whole: View, plot: Plot): number[] {
  const columns = new Array<number>(Math.ceil(plot.width / COLUMN) + 1).fill(0);
  for (const [t = 0] of times) {
    const column = Math.floor((xOf(t, whole, plot) - plot.left) / COLUMN);
    if (columns[column] !== undefined) columns[column] += 1;
  }
  return columns;
}

export const COLUMN = 3;

/** Moved into the run, and neither longer than it nor too short to see. */
export function within({ from, to }: View, lengthMs: number): View {
  const width = Math.min(lengthMs, Math.max(LEAST_MS, to - from));
  const start = Math.min(Math.max(0, from), lengthMs - width);
  return { from: start, to: start + width };
}

export function zoomed({ from, to }: View, factor: number, at: number): View {
  return { from: at - (at - from) * factor, to: at + (to - at) * factor };
}

/** The view after a drag by this many pixels to the right. */
export function dragged({ from, to }: View, byX: number, { width }: Plot): View {
  const by = (byX / width) * (to - from);
  return { from: from - by, to: to - by };
}

/** Keeps the times under two fingers under them. */
export function pinched(
  view: View,
  before: readonly [number, number],
  now: readonly [number, number],
  plot: Plot,
): View {
  const spread = ([a, b]: readonly [number, number]): number => Math.max(LEAST_SPREAD, Math.abs(b - a));
  const middle = ([a, b]: readonly [number, number]): number => (a + b) / 2;
  const around = zoomed(view, spread(before) / spread(now), timeAt(middle(before), view, plot));
  return dragged(around, middle(now) - middle(before), plot);
}
