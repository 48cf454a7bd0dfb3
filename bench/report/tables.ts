/** The tables of a run. Pure: nothing is measured here. */
import { describeLoad, describeMingle, isOfServices } from '../plan.js';
import type { FaultRow, LoadRow, MingleRow, RefusalRow, Results } from '../results.js';
import { brief, failuresOf, labelOf, latency, NONE, short, two, whole, withRange } from './format.js';
import { contentionTables } from './contention-tables.js';
import { groupBy, pruned, type Row, type Table } from './table.js';

export function tables(results: Results): readonly Table[] {
  return [
    ...serviceTables(results.loads.filter(isOfServices)),
    ...loadTables(results.loads.filter((load) => !isOfServices(load))),
    burstTable(results),
    faultTable(results.faults),
    refusalTable(results.refusals),
    ...mingleTables(results.mingles),
    ...contentionTables(results),
    ...costTables(results),
    stepTable(results),
    ...heldTables(results),
    packageTable(results),
  ]
    .map(pruned)
    .filter(({ rows }) => rows.length > 0);
}

/** Loads as services have them: where the README's figures come from. */
function serviceTables(loads: readonly LoadRow[]): readonly Table[] {
  return groupBy(loads, describeLoad).map(([load, rows]) => ({
    title: `As services lock, ${load}: latency p50 / p95 / p99`,
    head: [
      '',
      'pairs/s',
      'to the floor (range)',
      'to the floor of equal work',
      'acquire, µs',
      'mean acquire, to the floor',
      'release, µs',
      'CPU/pair, to the floor',
    ],
    rows: rows.map(({ contender, trouble, figures, ratio, toEqual, acquireRatio, cpuRatio }): Row => {
      if (figures === undefined) return failed(contender, trouble, 7);
      const { acquire, release, pairsPerSecond, failures, failure } = figures;
      return [
        labelOf(contender) + (failures > 0 ? ` (${failuresOf(failures, failure)})` : ''),
        whole(pairsPerSecond),
        withRange(ratio),
        withRange(toEqual),
        latency(acquire),
        acquireRatio === undefined ? NONE : two(acquireRatio.median),
        latency(release),
        cpuRatio === undefined ? NONE : two(cpuRatio.median),
      ];
    }),
  }));
}

function burstTable({ bursts, burst }: Results): Table {
  return {
    title: `${whole(burst)} calls in one turn of the event loop, N = 5, free names`,
    head: ['', 'granted, % (range)', 'until the last, ms (range)', 'memory beyond before, MB', 'the others'],
    rows: bursts.map(({ contender, isBusy, trouble, granted, tookMs, peakBytes, failure }): Row => {
      const label = labelOf(contender) + (isBusy ? ', busy machine' : '');
      if (granted === undefined) return [label, brief(trouble ?? NONE), '', '', ''];
      const percent = (share: number): string => (100 * share).toFixed(1);
      const megabytes = whole((peakBytes ?? NaN) / 1e6);
      return [
        label,
        withRange(granted, percent),
        withRange(tookMs, whole),
        megabytes,
        brief(failure ?? NONE),
      ];
    }),
  };
}

function loadTables(loads: readonly LoadRow[]): readonly Table[] {
  return groupBy(loads, describeLoad).map(([load, rows]) => {
    const isSequential = rows[0]?.inFlight === 1;
    const first = isSequential ? ['acquire, µs', 'release, µs'] : [];
    return {
      title: isSequential
        ? `In sequence, ${load}: latency p50 / p95 / p99`
        : `Different keys, ${load}: latency p50 / p95 / p99`,
      head: [
        '',
        ...first,
        'both, µs',
        'pairs/s',
        'to the floor (range)',
        'to the floor of equal work',
        'CPU/pair, µs',
        'to the floor',
      ],
      rows: rows.map(({ contender, trouble, figures, ratio, toEqual, cpuRatio }): Row => {
        if (figures === undefined) return failed(contender, trouble, 6 + first.length);
        const { acquire, release, pair, pairsPerSecond, cpuPerPairUs, failures, failure } = figures;
        return [
          labelOf(contender) + (failures > 0 ? ` (${failuresOf(failures, failure)})` : ''),
          ...(isSequential ? [latency(acquire), latency(release)] : []),
          latency(pair),
          whole(pairsPerSecond),
          withRange(ratio),
          withRange(toEqual),
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

function mingleTables(mingles: readonly MingleRow[]): readonly Table[] {
  return groupBy(mingles, describeMingle).map(([mingle, rows]) => ({
    title: `Hot names, ${mingle}`,
    head: [
      '',
      'grants/s (range)',
      'to the best that is not ours',
      'wait p50 / p99 / longest, ms',
      'wait p50, to the shortest that is not ours',
      'commands/grant, all masters',
      'client CPU/grant, ms',
      "Jain's index, lanes",
      'gave up',
    ],
    rows: rows.map((row): Row => {
      const { waitMs } = row;
      if (waitMs === undefined) return failed(row.contender, row.trouble, 8);
      return [
        labelOf(row.contender),
        withRange(row.grantsPerSecond, whole),
        withRange(row.toBestOther),
        [waitMs.p50, waitMs.p99, waitMs.longest].map(short).join(' / '),
        row.waitToBestOther === undefined ? NONE : two(row.waitToBestOther.median),
        short(row.commandsPerGrant),
        two(row.clientCpuMs ?? NaN),
        two(row.jain ?? NaN),
        whole(row.gaveUp ?? NaN),
      ];
    }),
  }));
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
      'requests in a call',
      'acceptances per grant, all masters',
    ],
    rows: rows.map(({ contender, trouble, figures }): Row => {
      if (figures === undefined) return failed(contender, trouble, 6);
      const { requests, commandsPerMaster, masterCpuUs, clientCpuUs } = figures;
      const { entriesPerCall, acceptancesPerGrant } = figures;
      const cells = [
        requests,
        commandsPerMaster,
        masterCpuUs,
        clientCpuUs,
        entriesPerCall,
        acceptancesPerGrant,
      ];
      return [labelOf(contender), ...cells.map(short)];
    }),
  }));
}

function stepTable({ steps }: Results): Table {
  return {
    title: 'What a master does for one step, N = 5, in sequence, by its own count: µs (range)',
    head: ['', 'acquire', 'release', 'both', 'both, to this library without a queue'],
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
