/** The results as text, Markdown and a chart. Pure: nothing is measured here. */
import * as echarts from 'echarts';
import { FAULTY, type FaultRow, type HealthyRow, type MemoryRow, type RefusalRow } from './scenarios.js';
import type { Figures, Spread } from './statistics.js';

export interface Results {
  readonly command: string;
  readonly isSmoke: boolean;
  /** Machine, versions, commit, date, load: by name. */
  readonly surroundings: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly healthy: readonly HealthyRow[];
  readonly faults: readonly FaultRow[];
  readonly refusals: readonly RefusalRow[];
  readonly memory: readonly MemoryRow[];
}

type Row = readonly string[];

/** Columns as wide as their widest cell; numbers to the right. */
export function textTable(head: Row, rows: readonly Row[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (row: Row): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ');
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

export function markdownTable(head: Row, rows: readonly Row[]): string {
  const line = (row: Row): string => `| ${row.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

interface Table {
  readonly title: string;
  readonly head: Row;
  readonly rows: readonly Row[];
}

export function tables(results: Results): readonly Table[] {
  return [...healthyTables(results), ...otherTables(results)];
}

function healthyTables({ healthy }: Results): readonly Table[] {
  return [
    {
      title:
        'Acquire + release in sequence, all masters healthy (floor: plain ioredis, the commands of a lock without fencing, no checks)',
      head: ['N', 'pairs/s', 'no fencing', 'floor', 'ratio', 'range', 'no fencing', 'range'],
      rows: healthy.map(({ nodes, quorate, plain, floor }) => [
        String(nodes),
        ...[quorate.figures, plain.figures, floor].map(({ pairsPerSecond }) => whole(pairsPerSecond)),
        ...[quorate, plain].flatMap(({ ratio }) => [ratio.median.toFixed(2), range(ratio)]),
      ]),
    },
    {
      title: 'CPU of the client per pair',
      head: ['N', 'quorate', 'no fencing', 'floor', 'ratio', 'no fencing'],
      rows: healthy.map(({ nodes, quorate, plain, floor }) => [
        String(nodes),
        ...[quorate.figures, plain.figures, floor].map(({ cpuPerPairUs }) => `${whole(cpuPerPairUs)} µs`),
        ...[quorate, plain].map(({ cpuRatio }) => cpuRatio.median.toFixed(2)),
      ]),
    },
    {
      title: 'Operations a second in sequence',
      head: ['N', 'acquire', 'no fencing', 'floor', 'release', 'no fencing', 'floor'],
      rows: healthy.map(({ nodes, quorate, plain, floor }) => {
        const all = [quorate.figures, plain.figures, floor];
        const steps = [...all.map(({ acquire }) => acquire), ...all.map(({ release }) => release)];
        return [String(nodes), ...steps.map(({ meanUs }) => whole(1e6 / meanUs))];
      }),
    },
    {
      title: 'Latency in µs: p50 / p95 / p99',
      head: ['N', 'acquire', 'release', 'both', 'no fencing, both', 'floor, both'],
      rows: healthy.map(({ nodes, quorate: { figures }, plain, floor }) => [
        String(nodes),
        ...[figures.acquire, figures.release, figures.pair, plain.figures.pair, floor.pair].map(
          ({ p50Us, p95Us, p99Us }) => `${whole(p50Us)} / ${whole(p95Us)} / ${whole(p99Us)}`,
        ),
      ]),
    },
  ];
}

function otherTables({ faults, refusals, memory }: Results): readonly Table[] {
  return [
    {
      title: 'Under faults, default options',
      head: ['N, fault', 'pairs/s', 'ratio to healthy', 'range', 'acquire p50 / p99 µs', 'failed'],
      rows: faults.map(({ nodes, fault, figures, ratio }) => [
        `${nodes}, ${fault}`,
        whole(figures.pairsPerSecond),
        ratio.median.toFixed(2),
        range(ratio),
        `${whole(figures.acquire.p50Us)} / ${whole(figures.acquire.p99Us)}`,
        String(figures.failures),
      ]),
    },
    {
      title: 'A majority gone, waitMs 500: until the caller has the error',
      head: ['fault', 'code', 'ms', 'range'],
      rows: refusals.map(({ fault, code, elapsedMs }) => [
        fault,
        code,
        whole(elapsedMs.median),
        `${whole(elapsedMs.min)}–${whole(elapsedMs.max)}`,
      ]),
    },
    {
      title: 'Heap per held lease, N = 5, the name of its resource included',
      head: ['lease', 'bytes'],
      rows: memory.map(({ contender, kind, bytesPerLease }) => [
        `${contender}: ${kind}`,
        String(bytesPerLease),
      ]),
    },
  ];
}

export function toText(results: Results): string {
  const parts = tables(results).map(({ title, head, rows }) => `${title}\n\n${textTable(head, rows)}`);
  return [...parts, surroundings(results)].join('\n\n');
}

export function toMarkdown(results: Results): string {
  const parts = tables(results).map(({ title, head, rows }) => `${title}:\n\n${markdownTable(head, rows)}`);
  return [...parts, `${surroundings(results)}\n\n\`${results.command}\``].join('\n\n');
}

function surroundings({ surroundings: around, rounds, isSmoke }: Results): string {
  const facts = Object.entries(around).map(([name, value]) => `${name} ${value}`);
  const warning = isSmoke ? 'A smoke run: these figures mean nothing. ' : '';
  return `${warning}Medians over ${rounds} interleaved rounds; ratios within the round. ${facts.join(' · ')}`;
}

const FLOOR_LABEL = 'plain ioredis without checks';
const PLAIN_LABEL = 'quorate, no fencing';

/** One picture: latency of a pair by N beside the floor, and the rate under faults. */
export function toChart({ healthy, faults: allFaults }: Results): string {
  const faults = allFaults.filter(({ nodes }) => nodes === FAULTY);
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 960, height: 380 });
  const bar = { type: 'bar' as const, barMaxWidth: 34, label: { show: true, position: 'top' as const } };
  const series = (name: string, figures: readonly Figures[]): echarts.BarSeriesOption => {
    return { ...bar, name, data: figures.map(({ pair }) => Math.round(pair.p50Us)) };
  };
  chart.setOption({
    animation: false, // in a file it would begin with bars of no height
    backgroundColor: '#ffffff',
    color: ['#9aa5b1', '#93b4f5', '#2563eb', '#0d9488'],
    title: [
      { text: 'Acquire + release, p50 (µs)', left: 60, top: 8, textStyle: { fontSize: 15 } },
      { text: 'N = 5: rate under a fault, healthy = 1', left: 560, top: 8, textStyle: { fontSize: 15 } },
    ],
    legend: { data: [FLOOR_LABEL, PLAIN_LABEL, 'quorate'], left: 55, top: 34, itemGap: 24 },
    grid: [
      { left: 60, top: 72, width: 420, height: 250 },
      { left: 560, top: 72, width: 360, height: 250 },
    ],
    xAxis: axes(healthy, faults),
    yAxis: [
      { type: 'value', gridIndex: 0 },
      { type: 'value', gridIndex: 1, min: 0 },
    ],
    series: [
      series(
        FLOOR_LABEL,
        healthy.map(({ floor }) => floor),
      ),
      series(
        PLAIN_LABEL,
        healthy.map(({ plain }) => plain.figures),
      ),
      series(
        'quorate',
        healthy.map(({ quorate }) => quorate.figures),
      ),
      {
        ...bar,
        name: 'rate',
        xAxisIndex: 1,
        yAxisIndex: 1,
        data: faults.map(({ ratio }) => Number(ratio.median.toFixed(2))),
      },
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function axes(healthy: readonly HealthyRow[], faults: readonly FaultRow[]): echarts.XAXisComponentOption[] {
  return [
    {
      type: 'category',
      gridIndex: 0,
      data: healthy.map(({ nodes }) => String(nodes)),
      name: 'masters',
      nameLocation: 'middle',
      nameGap: 28,
    },
    {
      type: 'category',
      gridIndex: 1,
      data: faults.map(({ fault }) => (fault === 'none' ? 'healthy' : fault)),
    },
  ];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function range({ min, max }: Spread): string {
  return `${min.toFixed(2)}–${max.toFixed(2)}`;
}
