/**
 * The plan of a run: what is done to which master and which client, and when. It is drawn from the seed before the run,
 * so that it can be printed. What each fault meets depends on the machine.
 */
import { Seeded } from '../../simulation/world/seeded.js';
import { type ClientFault, type MasterFault, TIMESTAMP_SERVER } from './history.js';

/** The data with which a killed or stopped master comes back. */
export type Data = 'kept' | 'lost' | 'stale';

/** What is done to one server. */
export interface Hit {
  /** From 0. */
  readonly server: number;
  readonly kind: MasterFault;
  readonly data: Data;
  /** By how much a clock is changed in all, or each message delayed; 0 with the other kinds. */
  readonly byMs: number;
}

/** Servers that are struck at once, each in its own way. */
export interface MasterBlow {
  readonly hits: readonly Hit[];
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
  /** For the server of the timestamp locks. */
  readonly timestamps: readonly MasterBlow[];
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
  /** The clocks of masters can be changed. */
  readonly hasClocks: boolean;
}

const FIRST_MS = 2_000;
const MAJORITY_SHARE = 0.15;
/** The share of blows in which each struck master has a fault of its own. */
const MIXED_SHARE = 0.5;
const KINDS: readonly MasterFault[] = [
  'kill',
  'kill',
  'stop',
  'freeze',
  'freeze',
  'starve',
  'cut',
  'cut-to-master',
  'cut-to-client',
  'cut-pushes',
  'cut-pushes',
  'unplug',
  'half-open',
  'half-open',
  'delay',
  'delay',
  'full',
  'full',
  'clock-back',
  'clock-slew',
];
const CLOCK_KINDS: ReadonlySet<MasterFault> = new Set(['clock-back', 'clock-slew']);
/** A timestamp lock has one server, and is not meant to survive that it forgets. */
const TIMESTAMP_KINDS: readonly MasterFault[] = [
  'kill',
  'stop',
  'freeze',
  'starve',
  'cut',
  'unplug',
  'half-open',
  'delay',
];
const CLIENT_KINDS: readonly ClientFault[] = ['pause', 'pause', 'starve', 'crash', 'crash'];
/** By how much a clock runs fast or slow: within the drift of 1 % that leases allow for. */
export const SLEW = 0.008;

/** Deals each kind once, in random order, before any comes again: a short run meets many of them. */
class Deck<Kind> {
  readonly #seeded: Seeded;
  readonly #kinds: readonly Kind[];
  #left: Kind[] = [];

  constructor(seeded: Seeded, kinds: readonly Kind[]) {
    this.#seeded = seeded;
    this.#kinds = kinds;
  }

  next(): Kind {
    if (this.#left.length === 0) this.#left = [...this.#kinds];
    const [kind] = this.#left.splice(this.#seeded.whole(0, this.#left.length - 1), 1);
    return kind ?? this.next(); // it was filled
  }
}

export function drawPlan(terms: PlanTerms): Plan {
  const seeded = new Seeded(`chaos ${terms.seed}`);
  const { strikesMasters } = terms;
  return {
    masters: strikesMasters ? drawMasterBlows(seeded.fork('masters'), terms) : [],
    timestamps: strikesMasters ? drawTimestampBlows(seeded.fork('timestamps'), terms) : [],
    clients: drawClientBlows(seeded.fork('clients'), terms),
  };
}

/**
 * One blow after another, each healed before the next. A master that comes back with a guard abstains for the guard's
 * period; the plan waits for it, so that a minority stays one.
 */
function drawMasterBlows(seeded: Seeded, terms: PlanTerms): MasterBlow[] {
  const kinds = terms.hasClocks ? KINDS : KINDS.filter((kind) => !CLOCK_KINDS.has(kind));
  const deck = new Deck(seeded, kinds);
  const blows: MasterBlow[] = [];
  for (let atMs = FIRST_MS; ;) {
    const forMs = Math.round(seeded.between(700, 4_000));
    const hits = drawHits(seeded, deck, { ...terms, forMs });
    if (atMs + forMs > terms.lengthMs) return blows;
    blows.push({ hits, forMs, atMs: Math.round(atMs) });
    const backMs = hits.some(({ kind }) => isDown(kind)) ? terms.guardMs : 0;
    atMs += forMs + backMs + seeded.between(700, 3_000);
  }
}

function drawHits(
  seeded: Seeded,
  deck: Deck<MasterFault>,
  { masters, guardMs, forMs }: PlanTerms & { readonly forMs: number },
): Hit[] {
  const minority = Math.floor((masters - 1) / 2);
  const isMajority = minority === 0 || seeded.chance(MAJORITY_SHARE);
  const count = isMajority ? seeded.whole(minority + 1, masters) : seeded.whole(1, minority);
  const isMixed = seeded.chance(MIXED_SHARE);
  let kind = deck.next();
  return drawSome(seeded, masters, count).map((server, i) => {
    if (isMixed && i > 0) kind = deck.next();
    const data = guardMs > 0 && isDown(kind) ? seeded.pick<Data>(['kept', 'lost', 'stale']) : 'kept';
    return { server, kind, data, byMs: drawAmount(seeded, kind, forMs) };
  });
}

/**
 * Clocks are set back only, never forward: keys then live longer, and leases do not notice. They are brought back slowly
 * enough for the drift that leases allow for.
 */
function drawAmount(seeded: Seeded, kind: MasterFault, forMs: number): number {
  switch (kind) {
    case 'delay':
      return seeded.whole(5, 120);
    case 'clock-back':
      return -seeded.whole(50, 250);
    case 'clock-slew':
      return Math.round(forMs * SLEW) * seeded.pick([-1, 1]);
    default:
      return 0;
  }
}

function drawTimestampBlows(seeded: Seeded, { lengthMs }: PlanTerms): MasterBlow[] {
  const deck = new Deck(seeded, TIMESTAMP_KINDS);
  const blows: MasterBlow[] = [];
  for (let atMs = FIRST_MS + seeded.between(0, 3_000); ;) {
    const kind = deck.next();
    const forMs = Math.round(seeded.between(400, 2_500));
    if (atMs + forMs > lengthMs) return blows;
    const byMs = drawAmount(seeded, kind, forMs);
    blows.push({ hits: [{ server: 0, kind, data: 'kept', byMs }], forMs, atMs: Math.round(atMs) });
    atMs += forMs + seeded.between(3_000, 8_000);
  }
}

/** In addition to the blows to masters; each client is struck again only when it is back. */
function drawClientBlows(seeded: Seeded, { lengthMs, clients, longestTtlMs }: PlanTerms): ClientBlow[] {
  const deck = new Deck(seeded, CLIENT_KINDS);
  const blows: ClientBlow[] = [];
  const backMs = Array.from({ length: clients }, () => 0);
  for (let atMs = FIRST_MS; ; atMs += seeded.between(1_500, 5_000)) {
    const client = seeded.whole(0, clients - 1);
    const kind = deck.next();
    const forMs = Math.round(drawClientTime(seeded, kind, longestTtlMs));
    if (atMs + forMs > lengthMs) return blows;
    if (atMs < (backMs[client] ?? 0)) continue;
    backMs[client] = atMs + forMs + 2_000;
    blows.push({ kind, client, atMs: Math.round(atMs), forMs });
  }
}

function drawClientTime(seeded: Seeded, kind: ClientFault, longestTtlMs: number): number {
  switch (kind) {
    case 'crash':
      return seeded.between(200, 1_500);
    case 'starve':
      return seeded.between(800, 3_000);
    case 'pause':
      // mostly beyond the longest ttl: its leases are over when it wakes up
      return seeded.between(seeded.chance(0.75) ? longestTtlMs * 1.1 : 100, longestTtlMs * 1.6);
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

export function describePlan({ masters, timestamps, clients }: Plan): string {
  const lines = [
    ...masters.map(({ hits, ...when }) => ({ ...when, text: describeHits(hits, nameOfMaster) })),
    ...timestamps.map(({ hits, ...when }) => ({ ...when, text: describeHits(hits, () => TIMESTAMP_SERVER) })),
    ...clients.map(({ kind, client, ...when }) => ({ ...when, text: `${kind} c${client + 1}` })),
  ];
  return lines
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, forMs, text }) => `${seconds(atMs).padStart(10)}  for ${seconds(forMs)}: ${text}`)
    .join('\n');
}

function describeHits(hits: readonly Hit[], nameOf: (server: number) => string): string {
  return hits
    .map(({ server, kind, data, byMs }) => {
      const back = isDown(kind) ? `, back with data ${data}` : '';
      return `${kind} ${nameOf(server)}${byMs === 0 ? '' : ` by ${byMs} ms`}${back}`;
    })
    .join('; ');
}

function nameOfMaster(server: number): string {
  return `m${server + 1}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
