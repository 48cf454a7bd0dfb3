/**
 * The plan of a run: what is done to which master and which client, and when. It is drawn from the seed before the run,
 * so that it can be printed. What each fault meets depends on the machine.
 */
import { Seeded } from '../../simulation/world/seeded.js';
import type { ClientFault, MasterFault } from './history.js';

/** The data with which a killed or stopped master comes back. */
export type Data = 'kept' | 'lost' | 'stale';

export interface MasterBlow {
  readonly kind: MasterFault;
  /** Numbers from 0; all are struck at once. */
  readonly masters: readonly number[];
  readonly data: Data;
  readonly atMs: number;
  readonly forMs: number;
}

export interface ClientBlow {
  readonly kind: ClientFault;
  readonly client: number;
  readonly atMs: number;
  readonly forMs: number;
}

export interface Plan {
  readonly masters: readonly MasterBlow[];
  readonly clients: readonly ClientBlow[];
}

export interface PlanTerms {
  readonly seed: number;
  readonly lengthMs: number;
  readonly masters: number;
  readonly clients: number;
  readonly guardMs: number;
  readonly longestTtlMs: number;
  /** False with somebody else's masters. */
  readonly strikesMasters: boolean;
}

const FIRST_MS = 2_000;
const MAJORITY_SHARE = 0.15;
const KINDS: readonly MasterFault[] = [
  'kill',
  'kill',
  'stop',
  'freeze',
  'freeze',
  'cut',
  'cut-to-master',
  'cut-to-client',
  'cut-pushes',
  'cut-pushes',
  'unplug',
];

export function drawPlan(terms: PlanTerms): Plan {
  const seeded = new Seeded(`chaos ${terms.seed}`);
  return {
    masters: terms.strikesMasters ? drawMasterBlows(seeded.fork('masters'), terms) : [],
    clients: drawClientBlows(seeded.fork('clients'), terms),
  };
}

/**
 * One blow after another, each healed before the next. A master that comes back with a guard abstains for the guard's
 * period; the plan waits for it, so that a minority stays one.
 */
function drawMasterBlows(seeded: Seeded, terms: PlanTerms): MasterBlow[] {
  const blows: MasterBlow[] = [];
  for (let atMs = FIRST_MS; ;) {
    const blow = { ...drawMasterBlow(seeded, terms), atMs: Math.round(atMs) };
    if (atMs + blow.forMs > terms.lengthMs) return blows;
    blows.push(blow);
    const backMs = isDown(blow.kind) ? terms.guardMs : 0;
    atMs += blow.forMs + backMs + seeded.between(1_000, 4_000);
  }
}

function drawMasterBlow(seeded: Seeded, { masters, guardMs }: PlanTerms): Omit<MasterBlow, 'atMs'> {
  const minority = Math.floor((masters - 1) / 2);
  const isMajority = minority === 0 || seeded.chance(MAJORITY_SHARE);
  const count = isMajority ? seeded.whole(minority + 1, masters) : seeded.whole(1, minority);
  const kind = seeded.pick(KINDS);
  const data = guardMs > 0 && isDown(kind) ? seeded.pick<Data>(['kept', 'lost', 'stale']) : 'kept';
  return {
    kind,
    masters: drawSome(seeded, masters, count),
    data,
    forMs: Math.round(seeded.between(800, 4_000)),
  };
}

/** In addition to the blows to masters; each client is struck again only when it is back. */
function drawClientBlows(seeded: Seeded, { lengthMs, clients, longestTtlMs }: PlanTerms): ClientBlow[] {
  const blows: ClientBlow[] = [];
  const backMs = Array.from({ length: clients }, () => 0);
  for (let atMs = FIRST_MS; ; atMs += seeded.between(1_500, 5_000)) {
    const client = seeded.whole(0, clients - 1);
    const kind = seeded.pick<ClientFault>(['pause', 'crash']);
    // mostly beyond the longest ttl: its leases are over when it wakes up
    const least = seeded.chance(0.75) ? longestTtlMs * 1.1 : 100;
    const forMs = Math.round(
      kind === 'pause' ? seeded.between(least, longestTtlMs * 1.6) : seeded.between(200, 1_500),
    );
    if (atMs + forMs > lengthMs) return blows;
    if (atMs < (backMs[client] ?? 0)) continue;
    backMs[client] = atMs + forMs + 2_000;
    blows.push({ kind, client, atMs: Math.round(atMs), forMs });
  }
}

/** Its process ends, so it needs a restart. */
export function isDown(kind: MasterFault): boolean {
  return kind === 'kill' || kind === 'stop';
}

function drawSome(seeded: Seeded, of: number, count: number): number[] {
  const left = Array.from({ length: of }, (_, i) => i);
  const some = Array.from({ length: count }, () => left.splice(seeded.whole(0, left.length - 1), 1)).flat();
  return some.sort((a, b) => a - b);
}

export function describePlan({ masters, clients }: Plan): string {
  const lines = [
    ...masters.map(({ kind, masters, data, atMs, forMs }) => {
      const whom = masters.map((i) => `m${i + 1}`).join(' ');
      return {
        atMs,
        text: `${kind.padEnd(14)}${whom}, for ${seconds(forMs)}${isDown(kind) ? `, back with data ${data}` : ''}`,
      };
    }),
    ...clients.map(({ kind, client, atMs, forMs }) => {
      return { atMs, text: `${kind.padEnd(14)}c${client + 1}, for ${seconds(forMs)}` };
    }),
  ];
  return lines
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, text }) => `${seconds(atMs).padStart(10)}  ${text}`)
    .join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
