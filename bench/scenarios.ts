/** What is measured, and in which order: contenders take turns within each round, and rounds rotate the order. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Master } from '../scripts/masters.js';
import type { Worker } from './crew.js';
import type { BenchOptions } from './options.js';
import type { Refusal } from './orders.js';
import { type Figures, medianFigures, ratios, type Spread, spread } from './statistics.js';

export const SIZES = [1, 3, 5, 7] as const;
/** The quorum under faults. */
export const FAULTY = 5;
/** Quorums that a fault leaves whole. */
export const FAULT_SIZES = [3, 5, 7] as const;
const WAIT_MS = 500;

export interface Crew {
  readonly floor: Worker;
  readonly quorate: Worker;
  /** quorate without fencing tokens. */
  readonly plain: Worker;
  readonly masters: readonly Master[];
  readonly options: BenchOptions;
  readonly say: (what: string) => void;
}

export interface HealthyRow {
  readonly nodes: number;
  readonly floor: Figures;
  /** As it comes, and without fencing tokens. */
  readonly quorate: Beside;
  readonly plain: Beside;
}

/** A contender beside the floor. */
export interface Beside {
  readonly figures: Figures;
  /** Pairs a second over the floor's, round by round. */
  readonly ratio: Spread;
  /** CPU time of the client per pair, likewise. */
  readonly cpuRatio: Spread;
}

export interface FaultRow {
  readonly nodes: number;
  readonly fault: string;
  readonly figures: Figures;
  /** Pairs a second over the healthy rate of the same round. */
  readonly ratio: Spread;
}

export interface RefusalRow {
  readonly fault: string;
  readonly code: string;
  readonly elapsedMs: Spread;
}

export interface MemoryRow {
  readonly contender: string;
  readonly kind: string;
  readonly bytesPerLease: number;
}

export const sessionOf = (nodes: number): string => `n${nodes}`;

export async function openAll({ floor, quorate, plain, masters }: Crew): Promise<void> {
  for (const nodes of SIZES) {
    const urls = masters.slice(0, nodes).map(({ url }) => url);
    for (const worker of [floor, quorate, plain])
      await worker.order({ kind: 'open', session: sessionOf(nodes), urls });
  }
}

export async function measureHealthy(crew: Crew): Promise<HealthyRow[]> {
  const { floor, quorate, plain, options, say } = crew;
  const workers = [floor, quorate, plain];
  const figures = SIZES.map((nodes) => ({
    nodes,
    of: new Map(workers.map((one) => [one, [] as Figures[]])),
  }));
  for (const nodes of SIZES) for (const worker of workers) await turn(worker, nodes, options.warmUpMs);
  for (let round = 0; round < options.rounds; round++) {
    for (const { nodes, of } of figures) {
      say(`healthy: round ${round + 1} of ${options.rounds}, N = ${nodes}`);
      for (const worker of workers) await worker.order({ kind: 'take', session: sessionOf(nodes) });
      for (let slice = 0; slice < options.slices; slice++) {
        const first = (round + slice) % workers.length; // each is first, last and in the middle equally often
        for (const worker of [...workers.slice(first), ...workers.slice(0, first)]) {
          await turn(worker, nodes, options.sliceMs);
        }
      }
      for (const worker of workers) {
        of.get(worker)?.push(await worker.order({ kind: 'take', session: sessionOf(nodes) }));
      }
    }
  }
  return figures.map(({ nodes, of }) => {
    const floors = of.get(floor) ?? [];
    const beside = (worker: Worker): Beside => besideFloor(of.get(worker) ?? [], floors);
    return { nodes, floor: medianFigures(floors), quorate: beside(quorate), plain: beside(plain) };
  });
}

function besideFloor(figures: readonly Figures[], floors: readonly Figures[]): Beside {
  return {
    figures: medianFigures(figures),
    ratio: ratios(figures.map(rate), floors.map(rate)),
    cpuRatio: ratios(figures.map(cpu), floors.map(cpu)),
  };
}

/** One master frozen, one dead: the rate beside the healthy one of the same round. */
export async function measureFaults(crew: Crew, nodes: number): Promise<FaultRow[]> {
  const { quorate, masters, options, say } = crew;
  const [first, second] = masters;
  if (first === undefined || second === undefined) throw new Error('faults need masters');
  const session = sessionOf(nodes);
  const measured = { healthy: [] as Figures[], frozen: [] as Figures[], dead: [] as Figures[] };
  const run = async (into: Figures[]): Promise<void> => {
    await quorate.order({ kind: 'take', session });
    await quorate.order({ kind: 'run', session, durationMs: options.slices * options.sliceMs });
    into.push(await quorate.order({ kind: 'take', session }));
  };
  for (let round = 0; round < options.rounds; round++) {
    say(`faults: round ${round + 1} of ${options.rounds}, N = ${nodes}`);
    await run(measured.healthy);
    await first.freeze();
    await run(measured.frozen);
    await first.thaw();
    await quorate.order({ kind: 'settle', session });
    await second.kill();
    await run(measured.dead);
    await second.restart({ empty: true });
    await quorate.order({ kind: 'settle', session });
  }
  const row = (fault: string, figures: readonly Figures[]): FaultRow => ({
    nodes,
    fault,
    figures: medianFigures(figures),
    ratio: ratios(figures.map(rate), measured.healthy.map(rate)),
  });
  return [row('none', measured.healthy), row('one frozen', measured.frozen), row('one dead', measured.dead)];
}

/** A majority gone: how long until the caller knows, at `waitMs: 500`. */
export async function measureRefusals(crew: Crew): Promise<RefusalRow[]> {
  const { masters, options, say } = crew;
  const down = masters.slice(0, 3);
  const rounds = Math.min(options.rounds, 5);
  const dead: Refusal[] = [];
  const frozen: Refusal[] = [];
  for (let round = 0; round < rounds; round++) {
    say(`majority gone: round ${round + 1} of ${rounds}`);
    await Promise.all(down.map((master) => master.freeze()));
    frozen.push(await refuse(crew));
    await Promise.all(down.map((master) => master.thaw()));
    await settle(crew);
    await Promise.all(down.map((master) => master.kill()));
    dead.push(await refuse(crew));
    await Promise.all(down.map((master) => master.restart({ empty: true })));
    await settle(crew);
  }
  return [toRefusalRow('3 of 5 dead', dead), toRefusalRow('3 of 5 frozen', frozen)];
}

export async function measureMemory({ floor, quorate, plain, options, say }: Crew): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const worker of [quorate, plain, floor]) {
    for (const hold of await worker.order({ kind: 'kinds' })) {
      say(`memory: ${worker.name}, ${hold.label}`);
      const { leases } = options;
      const { bytesPerLease } = await worker.order({
        kind: 'memory',
        session: sessionOf(FAULTY),
        leases,
        hold,
      });
      rows.push({ contender: worker.name, kind: hold.label, bytesPerLease: Math.round(bytesPerLease) });
    }
  }
  return rows;
}

/** The answers that come in after the last quorum must not fall into the turn of the next one. */
async function turn(worker: Worker, nodes: number, durationMs: number): Promise<void> {
  await worker.order({ kind: 'run', session: sessionOf(nodes), durationMs });
  await worker.order({ kind: 'settle', session: sessionOf(nodes) });
}

async function refuse({ quorate }: Crew): Promise<Refusal> {
  return quorate.order({ kind: 'refusal', session: sessionOf(FAULTY), waitMs: WAIT_MS });
}

/** The other sessions share the masters: all of them must be connected again before the next fault. */
async function settle({ quorate, plain, floor }: Crew): Promise<void> {
  await pause(50);
  for (const worker of [quorate, plain, floor]) {
    for (const nodes of SIZES) await worker.order({ kind: 'settle', session: sessionOf(nodes) });
  }
}

function toRefusalRow(fault: string, refusals: readonly Refusal[]): RefusalRow {
  const codes = [...new Set(refusals.map(({ code }) => code ?? 'granted'))];
  return { fault, code: codes.join(', '), elapsedMs: spread(refusals.map(({ elapsedMs }) => elapsedMs)) };
}

const rate = (figures: Figures): number => figures.pairsPerSecond;
const cpu = (figures: Figures): number => figures.cpuPerPairUs;
