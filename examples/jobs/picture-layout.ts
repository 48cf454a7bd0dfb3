/** Where the parts of the picture are, for a screen of any width; in px. */
import type { Run } from './conductor.js';
import { scale, type Scale } from './svg.js';

export const FAULTS_Y = 8;
export const WORKER_LANE = 40;
export const MASTER_LANE = 20;
const FAULTS_HEIGHT = 52;
/** Where names have no room beside the faults' numbers. */
const NARROW_FAULTS_HEIGHT = 22;
const DOTS_HEIGHT = 168;
const GAP = 34;
const NARROW = 600;

export interface Layout {
  readonly width: number;
  /** Names of lanes stand to the left of it. */
  readonly left: number;
  readonly right: number;
  readonly x: Scale;
  /** Below the faults' names. */
  readonly axisY: number;
  readonly mastersY: number;
  readonly workersY: number;
  readonly dotsY: number;
  readonly bottom: number;
}

export function layoutOf(run: Run, masters: readonly string[], width: number): Layout {
  const isNarrow = width < NARROW;
  const [left, right] = isNarrow ? [56, width - 10] : [84, width - 18];
  const axisY = FAULTS_Y + (isNarrow ? NARROW_FAULTS_HEIGHT : FAULTS_HEIGHT) + 8;
  const mastersY = axisY + 22;
  const workersY = mastersY + (masters.length === 0 ? 0 : masters.length * MASTER_LANE + GAP);
  const dotsY = workersY + run.workers.length * WORKER_LANE + GAP;
  const x = scale({ from: 0, to: run.endMs, start: left, end: right });
  return { width, left, right, x, axisY, mastersY, workersY, dotsY, bottom: dotsY + DOTS_HEIGHT };
}
