/**
 * The picture of a run as one SVG: the faults over all lanes, the masters, who held what when, and how long each acquire
 * took. Colours are in the SVG's own style, for light and dark.
 *
 * It is written by hand, where Apache ECharts draws the bench's charts: ECharts has no timeline, so each bar, band and curve
 * would be a shape that is given to it all the same, and what it writes has neither classes, by which one picture follows
 * the reader's light or dark page, nor titles, which say what a bar is when the mouse is over it.
 */
import { findTakeovers, type Takeover } from './checker.js';
import type { Run } from './conductor.js';
import type { Fault } from './faults.js';
import type { Claim, LeaseRecord } from './history.js';
import { faultBands } from './picture-faults.js';
import { type Layout, layoutOf, MASTER_LANE, WORKER_LANE } from './picture-layout.js';
import { PICTURE_STYLE } from './picture-style.js';
import { escape, round, scale, type Scale, tag, text } from './svg.js';
import { faultDuring, type Summary, timedClaims } from './summary.js';

export interface PictureOf {
  readonly run: Run;
  readonly summary: Summary;
  /** Names of the masters; none when they are somebody's own. */
  readonly masters: readonly string[];
  /** In px. @default as wide as a large screen */
  readonly width?: number;
}

const WIDE = 1240;

export function picture({ run, summary, masters, width = WIDE }: PictureOf): string {
  const layout = layoutOf(run, masters, width);
  const height = layout.bottom + 34;
  const parts = [
    timeAxis(layout, run.endMs),
    ...faultBands(run.faults, layout),
    ...masterLanes(masters, run, layout),
    ...workerLanes(run, layout),
    ...findTakeovers(run.history.leases).map((takeover) => takeoverLine(takeover, run, layout)),
    ...latencyDots(run, layout),
  ];
  return tag(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      class: 'quorate-run',
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `${summary.jobsDone} jobs on ${run.workers.length} workers, ${run.faults.length} faults: who held what when`,
    },
    [tag('style', {}, [PICTURE_STYLE]), tag('rect', { class: 'ground', width, height }), ...parts].join('\n'),
  );
}

const LEAST_SECOND = 44;

function timeAxis({ x, axisY, bottom }: Layout, endMs: number): string {
  const seconds = Array.from({ length: Math.floor(endMs / 1_000) + 1 }, (_, second) => second);
  const every = [1, 2, 5, 10].find((some) => x(some * 1_000) - x(0) >= LEAST_SECOND) ?? 20;
  return seconds
    .filter((second) => second % every === 0)
    .map((second) => {
      const at = x(second * 1_000);
      const line = tag('line', {
        class: 'grid',
        x1: at,
        x2: at,
        y1: axisY,
        y2: bottom,
      });
      return line + text(`${second} s`, { class: 'tick', x: at, y: bottom + 18, 'text-anchor': 'middle' });
    })
    .join('');
}

function masterLanes(masters: readonly string[], run: Run, { x, left, mastersY }: Layout): string[] {
  if (masters.length === 0) return [];
  const lanes = masters.map((name, i) => {
    const y = mastersY + i * MASTER_LANE;
    const spans = run.faults.filter((fault) => fault.target === name);
    const up = tag('rect', { class: 'up', x: left, y: y + 4, width: x(run.endMs) - left, height: 10, rx: 2 });
    const label = text(name, { class: 'lane', x: left - 10, y: y + 13, 'text-anchor': 'end' });
    return [label, up, ...spans.map((fault) => masterSpan(fault, y, x))].join('');
  });
  return [text('masters', { class: 'title', x: left, y: mastersY - 6 }), ...lanes];
}

function masterSpan({ kind, fromMs, toMs }: Fault, y: number, x: Scale): string {
  const frozen = kind === 'master-frozen';
  const bar = {
    class: frozen ? 'frozen' : 'dead',
    x: x(fromMs),
    y: y + 2,
    width: x(toMs) - x(fromMs),
    height: 14,
    rx: 2,
  };
  const word = frozen ? 'frozen' : 'dead';
  const room = bar.width - 8 >= word.length * LETTER;
  const words = room ? text(word, { class: 'in-bar', x: x(fromMs) + 5, y: y + 13 }) : '';
  const back = text('empty', { class: 'note', x: x(toMs) + 5, y: y + 13 });
  return tag('rect', bar) + words + (frozen ? '' : back);
}

function workerLanes(run: Run, layout: Layout): string[] {
  const lanes = run.workers.map((name, i) => {
    const y = layout.workersY + i * WORKER_LANE;
    const leases = run.history.leases.filter(({ worker }) => worker === name);
    return [
      text(name, { class: 'lane', x: layout.left - 10, y: y + 23, 'text-anchor': 'end' }),
      tag('line', { class: 'rail', x1: layout.left, x2: layout.x(run.endMs), y1: y + 33, y2: y + 33 }),
      ...leases.map((lease) => leaseBar(lease, y, layout.x)),
      ...run.faults
        .filter(({ target }) => target === name)
        .map((fault) => workerSpan(fault, y, run, layout.x)),
    ].join('');
  });
  return [
    text('workers and their leases', { class: 'title', x: layout.left, y: layout.workersY - 6 }),
    ...lanes,
  ];
}

/** About as wide as a letter of a small line is, in px. */
const LETTER = 6.7;
const ROOM_FOR_NUMBER = 30;

/** The bar is what the holder made use of; the tail of one that was lost goes to the end of its validity. */
function leaseBar(lease: LeaseRecord, y: number, x: Scale): string {
  const { outcome, grantedAtMs, endedAtMs, validUntilMs } = lease;
  const lost = outcome === 'lost' || outcome === 'open';
  const from = x(grantedAtMs);
  const to = x(lost ? validUntilMs : (endedAtMs ?? validUntilMs));
  const small = outcome === 'found-done';
  const box = {
    x: from,
    y: y + (small ? 25 : 10),
    width: Math.max(small ? 1.2 : 2.5, to - from),
    height: small ? 8 : 23,
  };
  const heldMs = Math.round((endedAtMs ?? validUntilMs) - grantedAtMs);
  const title = `job:${lease.job} · ${lease.worker} · ${outcome} · held ${heldMs} ms · ${lease.extensions} renewals · fence ${lease.fence}`;
  const bar = tag('rect', { class: `lease ${outcome}`, ...box, rx: 1.5 }, tag('title', {}, [escape(title)]));
  return box.width < ROOM_FOR_NUMBER || outcome === 'open'
    ? bar
    : bar + text(`${lease.job}`, { class: 'in-lease', x: from + 5, y: y + 25 });
}

function workerSpan(fault: Fault, y: number, run: Run, x: Scale): string {
  if (fault.kind === 'worker-killed') {
    const from = x(fault.fromMs);
    const rest = { class: 'gone', x: from, y: y + 8, width: x(run.endMs) - from, height: 26 };
    const end = x(Math.max(fault.toMs, fault.fromMs + 400));
    const cross = `M${round(from - 6)} ${y + 15}l12 12m0 -12l-12 12`;
    return [
      tag('rect', rest),
      text('gone', { class: 'note', x: end + 8, y: y + 25 }),
      tag('path', { class: 'cross', d: cross }),
    ].join('');
  }
  if (fault.kind !== 'worker-paused') return '';
  const [from, to] = [x(fault.fromMs), x(fault.resumedMs)];
  return [
    tag('rect', { class: 'paused', x: from, y: y + 6, width: to - from, height: 31, rx: 2 }),
    tag('path', { class: 'cross', d: `M${round(to - 5)} ${y + 16}l10 10m0 -10l-10 10` }),
  ].join('');
}

/** Right of a point, or left of it where the picture ends. */
function beside(at: number, by: number, width: number): { x: number; 'text-anchor': string } {
  const fits = at + by + 60 < width;
  return fits ? { x: at + by, 'text-anchor': 'start' } : { x: at - by, 'text-anchor': 'end' };
}

/** From the end of the old lease's validity to the grant of the new one. */
function takeoverLine({ from, to, job }: Takeover, run: Run, { x, workersY, width }: Layout): string {
  const middle = (worker: string): number => workersY + run.workers.indexOf(worker) * WORKER_LANE + 21;
  const [x1, y1, x2, y2] = [x(from.validUntilMs), middle(from.worker), x(to.grantedAtMs), middle(to.worker)];
  const bend = Math.max(14, (x2 - x1) / 2);
  const d = `M${round(x1)} ${y1}C${round(x1 + bend)} ${y1} ${round(x2 - bend)} ${y2} ${round(x2)} ${y2}`;
  const label = text(`job:${job}`, { class: 'note strong', ...beside(x2, 4, width), y: y2 - 14 });
  return (
    tag('path', { class: 'takeover', d }) +
    tag('circle', { class: 'takeover-end', cx: x2, cy: y2, r: 4 }) +
    label
  );
}

const LEAST_MS = 0.2;
const DOTS_TITLES = [
  'how long each acquire took (one attempt that was granted)',
  'how long each acquire took',
] as const;

function latencyDots(run: Run, { x, left, right, dotsY, bottom }: Layout): string[] {
  const timed = timedClaims(run.history.claims);
  const mostMs = Math.max(20, ...timed.map(durationMs));
  const level = scale({
    from: Math.log(LEAST_MS),
    to: Math.log(mostMs * 1.2),
    start: bottom - 4,
    end: dotsY + 8,
  });
  const y = (ms: number): number => level(Math.log(Math.max(ms, LEAST_MS)));
  const ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter((ms) => ms <= mostMs * 1.2);
  return [
    text(DOTS_TITLES.find((title) => left + title.length * LETTER < right) ?? '', {
      class: 'title',
      x: left,
      y: dotsY - 6,
    }),
    ...ticks.flatMap((ms) => [
      tag('line', { class: 'grid', x1: left, x2: right, y1: y(ms), y2: y(ms) }),
      text(`${ms} ms`, { class: 'tick', x: left - 10, y: y(ms) + 4, 'text-anchor': 'end' }),
    ]),
    ...timed.map((claim) => {
      const phase = faultDuring(claim, run.faults);
      const title = `${claim.worker} · job:${claim.job} · ${durationMs(claim).toFixed(2)} ms`;
      const dot = {
        class: phase === undefined ? 'dot' : 'dot faulty',
        cx: x(claim.endedAtMs),
        cy: y(durationMs(claim)),
        r: 2.1,
      };
      return tag('circle', dot, tag('title', {}, [escape(title)]));
    }),
  ];
}

function durationMs({ startedAtMs, endedAtMs }: Claim): number {
  return endedAtMs - startedAtMs;
}
