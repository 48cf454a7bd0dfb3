/** Which pictures a run gives. */
import { type ContenderName, entryOf, NAMES } from '../contenders/index.js';
import { describeLoad, HOLD_MS, isOfServices, type Load, LOADS, QUORUM_OF } from '../plan.js';
import type { ContentionRow, LoadRow, Results } from '../results.js';
import type { Spread } from '../statistics.js';
import type { Cell, Chart, ChartRow, Panel } from './chart.js';
import { brief, short, two, whole } from './format.js';
import { groupBy } from './table.js';

interface Row {
  readonly contender: ContenderName;
  readonly trouble?: string | undefined;
}

/** Pictures without a mark are left out. */
export function charts(results: Results): readonly Chart[] {
  return [
    services(results),
    sequential(results),
    parallel(results),
    faults(results),
    contention(results),
    turns(results),
    footprint(results),
    packages(results),
  ].filter(({ rows, panels }) => rows.length > 0 && panels.length > 0);
}

function rowsOf(rows: readonly Row[]): readonly ContenderName[] {
  const seen = new Set(rows.map(({ contender }) => contender));
  return NAMES.filter((name) => seen.has(name));
}

function labels(names: readonly ContenderName[]): readonly ChartRow[] {
  return names.map((name) => ({ label: entryOf(name).label, kind: entryOf(name).kind }));
}

function cells<One extends Row>(
  names: readonly ContenderName[],
  rows: readonly One[],
  read: (row: One) => Cell | undefined,
): readonly (Cell | undefined)[] {
  return names.map((name) => {
    const row = rows.find(({ contender }) => contender === name);
    if (row === undefined) return undefined;
    return row.trouble === undefined
      ? read(row)
      : {
          trouble: brief(row.trouble)
            .replace(/ \(\d+\)$/, '')
            .slice(0, 22),
        };
  });
}

function one(value: number | undefined, write: (value: number) => string): Cell | undefined {
  return value === undefined || !Number.isFinite(value) ? undefined : { value, text: write(value) };
}

function ranged(spread: Spread | undefined, write: (value: number) => string): Cell | undefined {
  if (spread === undefined || !Object.values(spread).every(Number.isFinite)) return undefined;
  return { value: spread.median, low: spread.min, high: spread.max, text: write(spread.median) };
}

/** A median and how far the tail goes; nothing where nothing was counted. */
function tail(p50: number, p99: number): Cell | undefined {
  if (!(p50 > 0)) return undefined;
  return { value: p50, low: p50, high: p99, text: `${short(p50)} – ${short(p99)}` };
}

function services({ loads }: Results): Chart {
  const own = loads.filter((load) => isOfServices(load) && load.nodes === QUORUM_OF);
  const names = rowsOf(own);
  return {
    name: 'services',
    title: 'As services lock: pairs per second of one client process, N = 5',
    subtitle:
      '“Work”: holders work for 2 to 20 ms. “Names once”: each name is used once. Plain ioredis that returns at the quorum is 1.',
    rows: labels(names),
    panels: groupBy(own, describeLoad).map(([, rows]): Panel => {
      const [load] = rows;
      return {
        ...briefly(load ?? { nodes: QUORUM_OF, inFlight: 1 }),
        scale: 'linear',
        group: 'ratio',
        reference: 1,
        cells: cells(names, rows, ({ ratio }) => ranged(ratio, two)),
      };
    }),
  };
}

/** A load in the width of a panel. */
function briefly({ inFlight, isOnce, works, isBusy }: Load): Pick<Panel, 'title' | 'unit'> {
  const lanes = inFlight === 1 ? 'in sequence' : `${whole(inFlight)} lanes`;
  return {
    title: isBusy === true ? `${lanes}, busy` : lanes,
    unit: [...(works === true ? ['work'] : []), ...(isOnce === true ? ['names once'] : [])].join(', '),
  };
}

function sequential({ loads }: Results): Chart {
  const own = loads.filter((load) => load.inFlight === 1 && !isOfServices(load));
  const names = rowsOf(own);
  return {
    name: 'sequential',
    title: 'Acquire and release in sequence: latency of a pair',
    subtitle: 'Median (mark) to 99th percentile (end of the line), in ms, log axis; further left is better.',
    rows: labels(names),
    panels: groupBy(own, describeLoad).map(([load, rows]): Panel => {
      return {
        title: load,
        unit: 'ms, p50 – p99',
        scale: 'log',
        group: 'latency',
        cells: cells(names, rows, ({ figures }) =>
          figures === undefined ? undefined : tail(figures.pair.p50Us / 1_000, figures.pair.p99Us / 1_000),
        ),
      };
    }),
  };
}

function parallel({ loads }: Results): Chart {
  const own = loads.filter((load) => load.inFlight > 1 && !isOfServices(load));
  const names = rowsOf(own);
  const at64 = own.filter(
    ({ nodes, inFlight }) => nodes === QUORUM_OF && inFlight === LOADS.parallel[0]?.inFlight,
  );
  const rates = groupBy(own, describeLoad).map(([load, rows]): Panel => {
    return {
      title: load,
      unit: 'pairs/s, log axis; right is better',
      scale: 'log',
      group: 'rate',
      cells: cells(names, rows, ({ figures }: LoadRow) => one(figures?.pairsPerSecond, whole)),
    };
  });
  const cpu: Panel = {
    title: 'client CPU per pair, 64',
    unit: 'over the floor’s; less is better',
    scale: 'linear',
    reference: 1,
    cells: cells(names, at64, ({ cpuRatio }) => ranged(cpuRatio, two)),
  };
  return {
    name: 'parallel',
    title: 'Many keys in flight: pairs per second of one client process',
    subtitle: 'Acquire and release of different keys, so many at a time.',
    rows: labels(names),
    panels: at64.length === 0 ? rates : [...rates, cpu],
  };
}

function faults({ faults: rows, refusals }: Results): Chart {
  const broken = rows.filter(({ fault }) => fault !== 'healthy');
  const names = rowsOf(rows);
  const dead = refusals.filter(({ fault }) => fault === 'three dead');
  const rates = groupBy(broken, ({ fault }) => fault).map(([fault, group]): Panel => {
    return {
      title: fault,
      unit: 'rate, healthy = 1',
      scale: 'linear',
      group: 'rate',
      reference: 1,
      cells: cells(names, group, ({ ratio }) => ranged(ratio, two)),
    };
  });
  const refused: Panel = {
    title: 'three dead',
    unit: 'ms to the error, log axis',
    scale: 'log',
    cells: cells(names, dead, ({ elapsedMs }) => one(elapsedMs?.median, whole)),
  };
  return {
    name: 'faults',
    title: 'Five masters, some of them frozen or dead',
    subtitle:
      'Rate of acquire and release in sequence beside the healthy one right before; with three dead, how long until the caller has the error.',
    rows: labels(names),
    panels: dead.length === 0 ? rates : [...rates, refused],
  };
}

function contention({ contention: all }: Results): Chart {
  const { names, crowds } = crowdsOf(all);
  return {
    name: 'contention',
    title: `One key, many clients, each holds it for ${HOLD_MS} ms: grants per second`,
    subtitle: `N = ${QUORUM_OF}; each client with connections of its own, spread over two processes.`,
    rows: labels(names),
    panels: crowds.map(([clients, rows]): Panel => {
      return {
        title: `${clients} clients`,
        unit: 'grants/s, log; right is better',
        scale: 'log',
        group: 'grants',
        cells: cells(names, rows, ({ figures }) => ranged(figures?.grantsPerSecond, short)),
      };
    }),
  };
}

/** The largest crowd of which the issue asks for all figures; the largest there is, where it was not measured. */
const CROWD = '50';

function turns({ contention: all }: Results): Chart {
  const { names, crowds } = crowdsOf(all);
  const [clients = '', rows = []] = crowds.find(([size]) => size === CROWD) ?? crowds.at(-1) ?? [];
  const panels: Panel[] = [
    {
      title: 'hand-overs',
      unit: 'a second, log axis',
      scale: 'log',
      cells: cells(names, rows, ({ figures }) => ranged(figures?.handOversPerSecond, short)),
    },
    {
      title: 'a hand-over',
      unit: 'ms, p50 – p99, log axis',
      scale: 'log',
      cells: cells(names, rows, ({ figures }) =>
        figures === undefined ? undefined : tail(figures.handOverP50Ms, figures.handOverP99Ms),
      ),
    },
    {
      title: 'requests per grant',
      unit: `log axis; in the queue ${3 * QUORUM_OF}`,
      scale: 'log',
      reference: 3 * QUORUM_OF,
      cells: cells(names, rows, ({ figures }) => one(figures?.requestsPerGrant, short)),
    },
    {
      title: 'longest gap',
      unit: 'in turns, log axis',
      scale: 'log',
      reference: Number(clients),
      cells: cells(names, rows, ({ figures }) => one(figures?.longestGapTurns, whole)),
    },
    {
      title: 'fairness',
      unit: 'Jain’s index, 1 = alike',
      scale: 'linear',
      reference: 1,
      cells: cells(names, rows, ({ figures }) => one(figures?.jain, two)),
    },
  ];
  return {
    name: 'turns',
    title: `One key, ${clients} clients: whose turn it is, and what a turn costs`,
    subtitle: 'Hand-over: from one’s call of release to the next one’s grant.',
    rows: labels(names),
    panels: rows.length === 0 ? [] : panels,
  };
}

function crowdsOf(all: readonly ContentionRow[]): {
  readonly names: readonly ContenderName[];
  readonly crowds: readonly (readonly [string, readonly ContentionRow[]])[];
} {
  const usual = all.filter(
    ({ nodes, isFrozen, delayMs }) => nodes === QUORUM_OF && !isFrozen && delayMs === undefined,
  );
  return { names: rowsOf(usual), crowds: groupBy(usual, ({ clients }) => String(clients)) };
}

function footprint({ renewal, memory, renewed, renewedTtlMs }: Results): Chart {
  const least = groupBy(memory, ({ contender }) => contender).flatMap(([, rows]) => rows.slice(0, 1));
  const names = rowsOf([...renewal, ...least]);
  return {
    name: 'footprint',
    title: 'What it takes to hold leases',
    subtitle:
      'Heap of a lease that is held (with its renewal where every lease is renewed), and renewal of many leases. Less is better.',
    rows: labels(names),
    panels: withFigures([
      {
        title: 'heap per held lease',
        unit: 'bytes',
        scale: 'linear',
        cells: cells(names, least, ({ bytesPerLease }) => one(bytesPerLease, whole)),
      },
      {
        title: `${whole(renewed)} leases renewed`,
        unit: `% of a core, ttl ${renewedTtlMs / 1_000} s`,
        scale: 'linear',
        cells: cells(names, renewal, ({ corePercent }) => one(corePercent, short)),
      },
    ]),
  };
}

function packages({ packages: rows }: Results): Chart {
  const names = rowsOf(rows);
  return {
    name: 'package',
    title: 'What it takes to install and to import',
    subtitle: 'With what the package depends on, without ioredis. Less is better.',
    rows: labels(names),
    panels: withFigures([
      {
        title: 'import',
        unit: 'ms, beyond ioredis',
        scale: 'linear',
        cells: cells(names, rows, ({ importMs }) => ranged(importMs, short)),
      },
      {
        title: 'install',
        unit: 'kB, without ioredis',
        scale: 'linear',
        cells: cells(names, rows, ({ installBytes }) =>
          installBytes === undefined ? undefined : one(installBytes / 1_000, whole),
        ),
      },
    ]),
  };
}

function withFigures(panels: readonly Panel[]): readonly Panel[] {
  return panels.filter(({ cells }) => cells.some((cell) => cell !== undefined));
}
