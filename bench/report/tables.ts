/** The tables of a run. Pure: nothing is measured here. */
import { describeLoad } from '../plan.js';
import type { FaultRow, LoadRow, RefusalRow, Results } from '../results.js';
import { brief, failuresOf, labelOf, latency, NONE, short, two, whole, withRange } from './format.js';
import { contentionTables } from './contention-tables.js';
import { groupBy, pruned, type Row, type Table } from './table.js';

export function tables(results: Results): readonly Table[] {
  return [
    ...loadTables(results.loads),
    faultTable(results.faults),
    refusalTable(results.refusals),
    ...contentionTables(results),
    ...costTables(results),
    stepTable(results),
    ...heldTables(results),
    packageTable(results),
  ]
    .map(pruned)
    .filter(({ rows }) => rows.length > 0);
}

function loadTables(loads: readonly LoadRow[]): readonly Table[] {
  return groupBy(loads, describeLoad).map(([load, rows]) => {
    const isSequential = rows[0]?.inFlight === 1;
    const first = isSequential ? ['acquire, µs', 'release, µs'] : [];
    return {
      title: isSequential
        ? `In sequence, ${load}: latency p50 / p95 / p99`
        : `Different keys, ${load}: latency p50 / p95 / p99`,
      head: ['', ...first, 'both, µs', 'pairs/s', 'to the floor (range)', 'CPU/pair, µs', 'to the floor'],
      rows: rows.map(({ contender, trouble, figures, ratio, cpuRatio }): Row => {
        if (figures === undefined) return failed(contender, trouble, 5 + first.length);
        const { acquire, release, pair, pairsPerSecond, cpuPerPairUs, failures, failure } = figures;
        return [
          labelOf(contender) + (failures > 0 ? ` (${failuresOf(failures, failure)})` : ''),
          ...(isSequential ? [latency(acquire), latency(release)] : []),
          latency(pair),
          whole(pairsPerSecond),
          withRange(ratio),
          short(cpuPerPairUs),
          cpuRatio === undefined ? NONE : two(cpuRatio.median),
        ];
      }),
    };
  });
}

/** What went wrong stands in the first cell of figures. */
function failed(contender: LoadRow['contender'], trouble: string | undefined, cells: number): Row {
  return [labelOf(contender), brief(trouble ?? NONE), ...new Array<string>(cells - 1).fill('')];
}

function faultTable(faults: readonly FaultRow[]): Table {
  const names = groupBy(faults, ({ fault }) => fault).map(([name]) => name);
  return {
    title: 'N = 5 under faults, in sequence: rate over the healthy rate right before (range)',
    head: ['', 'healthy, pairs/s', ...names.slice(1)],
    rows: groupBy(faults, ({ contender }) => contender).map(([, rows]) => {
      const [healthy, ...others] = rows;
      if (healthy === undefined) return [];
      return [
        labelOf(healthy.contender),
        healthy.figures === undefined
          ? brief(healthy.trouble ?? NONE)
          : whole(healthy.figures.pairsPerSecond),
        ...others.map(({ trouble, figures, ratio }) => {
          if (figures === undefined) return brief(trouble ?? NONE);
          const { failures, failure } = figures;
          return withRange(ratio) + (failures > 0 ? `, ${failuresOf(failures, failure)}` : '');
        }),
      ];
    }),
  };
}

function refusalTable(refusals: readonly RefusalRow[]): Table {
  const names = groupBy(refusals, ({ fault }) => fault).map(([name]) => name);
  return {
    title: 'A majority of five gone: ms until the caller has the error (range), and the error',
    head: ['', ...names],
    rows: groupBy(refusals, ({ contender }) => contender).map(([, rows]) => [
      ...rows.slice(0, 1).map(({ contender }) => labelOf(contender)),
      ...rows.map(({ trouble, elapsedMs, code }) =>
        trouble === undefined ? `${withRange(elapsedMs, whole)} ${code ?? ''}` : brief(trouble),
      ),
    ]),
  };
}

function costTables({ cost }: Results): readonly Table[] {
  return groupBy(cost, describeLoad).map(([load, rows]) => ({
    title: `What one pair costs, ${load}`,
    head: [
      '',
      'requests, all masters',
      'commands per master',
      'CPU of one master, µs',
      'CPU of the client, µs',
    ],
    rows: rows.map(({ contender, trouble, figures }): Row => {
      if (figures === undefined) return failed(contender, trouble, 4);
      const { requests, commandsPerMaster, masterCpuUs, clientCpuUs } = figures;
      return [labelOf(contender), ...[requests, commandsPerMaster, masterCpuUs, clientCpuUs].map(short)];
    }),
  }));
}

function stepTable({ steps }: Results): Table {
  return {
    title: 'What a master does for one step, N = 5, in sequence, by its own count: µs (range)',
    head: ['', 'acquire', 'release', 'both', 'both, to this library without a line'],
    rows: steps.map(({ contender, trouble, acquireUs, releaseUs, bothUs, toUnfair }): Row => {
      if (trouble !== undefined || bothUs === undefined) return failed(contender, trouble, 4);
      const figures = [acquireUs, releaseUs, bothUs].map((us) => withRange(us, short));
      return [labelOf(contender), ...figures, withRange(toUnfair)];
    }),
  };
}

function heldTables({ renewal, memory, names, renewed, renewedTtlMs, leases }: Results): readonly Table[] {
  return [
    {
      title: `${whole(renewed)} leases renewed by the library, N = 5, ttl ${renewedTtlMs / 1_000} s`,
      head: ['', 'of a core, %', 'requests per lease and ttl', 'heap per lease, bytes', 'lost'],
      rows: renewal.map(({ contender, trouble, corePercent, requestsPerTtl, bytesPerLease, lost }) =>
        trouble === undefined
          ? [labelOf(contender), short(corePercent), short(requestsPerTtl), whole(bytesPerLease), whole(lost)]
          : failed(contender, trouble, 4),
      ),
    },
    {
      title: `Heap per held lease, ${whole(leases)} at once, N = 5, the name of its resource included`,
      head: ['', 'bytes'],
      rows: memory.map(({ contender, hold, trouble, bytesPerLease }) => [
        `${labelOf(contender)}: ${hold}`,
        trouble === undefined ? whole(bytesPerLease) : brief(trouble),
      ]),
    },
    {
      title: 'What a name that was used once leaves on a master, N = 5, names of 16 characters',
      head: ['', 'keys', 'bytes', 'for, s', 'at 1,000 new names a second, MB'],
      rows: names.map(({ contender, trouble, keysPerName, bytesPerName, livesMs }) => {
        if (trouble !== undefined) return failed(contender, trouble, 4);
        const megabytes = ((bytesPerName ?? 0) * (livesMs ?? 0)) / 1e6; // 1,000 a second is one a ms
        const lives = livesMs === undefined ? undefined : livesMs / 1_000;
        return [labelOf(contender), whole(keysPerName), whole(bytesPerName), whole(lives), short(megabytes)];
      }),
    },
  ];
}

function packageTable({ packages }: Results): Table {
  return {
    title: 'The package, with what it depends on, without ioredis',
    head: ['', 'version', 'import beyond ioredis, ms (range)', 'install, kB', 'packages'],
    rows: packages.map((row) => [
      labelOf(row.contender),
      row.version ?? NONE,
      row.trouble === undefined ? withRange(row.importMs, short) : brief(row.trouble),
      row.installBytes === undefined ? NONE : whole(row.installBytes / 1_000),
      whole(row.packages),
    ]),
  };
}
