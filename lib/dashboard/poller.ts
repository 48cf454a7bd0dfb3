/**
 * One poller for all who look: it asks the masters every half a second while anybody does, and not at all once nobody has looked
 * for five seconds. How much one round asks is bounded, however many look and however many locks there are: a clock, 5,000 keys
 * of a scan, and 2,000 locks, of each master.
 */
import type { Runtime, Timer } from '../runtime/clock.js';
import { medianOf } from '../runtime/statistics.js';
import type { LockKnown } from './combining.js';
import { JobsSeen, leaderOf, type NextTick } from './coordination-shown.js';
import { Instances } from './instances.js';
import { LockBook } from './lock-book.js';
import type { Reader } from './master-reader.js';
import { Minute } from './minute.js';
import type { DashboardSnapshot, FindingShown, JobShown, LeaderShown, MasterShown } from './public.js';
import { type Done, Reports } from './reports.js';
import { isListed } from './view.js';

/** From the beginning of one round to that of the next, in ms. */
export const ROUND_MS = 500;
/** The least pause between two rounds. */
const PAUSE_MS = 50;
/** How long it goes on when nobody looks any more: a page that is loaded again finds everything there. */
export const LINGER_MS = 5_000;
/** How often servers are asked about themselves, and how often the doctor comes. */
const INFO_MS = 5_000;
const DOCTOR_MS = 60_000;
/** How many leaders and jobs are listed, at most. */
const MOST_COORDINATED = 500;

export interface PollerParts extends Pick<Runtime, 'clock' | 'timers'> {
  readonly readers: readonly Reader[];
  /** Whether locks of that name are shown. */
  readonly isWanted: (name: string) => boolean;
  readonly diagnose: (signal: AbortSignal) => Promise<readonly FindingShown[]>;
  readonly nextTick: NextTick;
  readonly keyPrefix: string;
}

/** Somebody who looks. */
export interface Viewer {
  /** Names that it shows. */
  readonly watched: readonly string[];
  /** The lock whose details it shows. */
  readonly opened: string | undefined;
  /** A round has ended. @param begun  how many rounds had begun when this one did, itself included */
  onRound(begun: number): void;
}

/** What there is to show beside locks. */
export type Shown = Pick<DashboardSnapshot, 'at' | 'masters' | 'leaders' | 'jobs' | 'minute'> & {
  readonly findings: readonly FindingShown[] | undefined;
};

export class Poller {
  readonly #parts: PollerParts;
  readonly #viewers = new Set<Viewer>();
  readonly #book = new LockBook();
  readonly #jobsSeen = new JobsSeen();
  readonly #minute = new Minute();
  readonly #reports = new Reports();
  /** What instances have reported in this round. */
  #done: readonly Done[] = [];
  readonly #instances: Instances;
  readonly #scanned = new Set<Reader>();
  #begun = 0;
  #isRunning = false;
  /** Whether a round has ended since it runs. */
  #hasLooked = false;
  #isClosed = false;
  #lastLookMs = 0;
  #timer: Timer | undefined;
  #wake: (() => void) | undefined;
  /** The masters' time, less ours. */
  #aheadMs = 0;
  /** How far each master's clock is ahead of ours. */
  #aheads: readonly (number | undefined)[] = [];
  #infoAtMs = -Infinity;
  #doctorAtMs = -Infinity;
  #doctor: AbortController | undefined;
  #findings: readonly FindingShown[] | undefined;
  #leaders: readonly LeaderShown[] = [];
  #jobs: readonly JobShown[] = [];

  constructor(parts: PollerParts) {
    this.#parts = parts;
    this.#instances = new Instances(parts.keyPrefix, parts.clock);
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** How many rounds have begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Whether what it knows is of now. */
  get isFresh(): boolean {
    return this.#isRunning && this.#hasLooked;
  }

  get isPartial(): boolean {
    const up = this.#parts.readers.filter(({ state }) => state === 'up');
    return this.#book.isFull || up.some((reader) => !this.#scanned.has(reader));
  }

  get locks(): readonly LockKnown[] {
    return this.#book.all();
  }

  lock(name: string): LockKnown | undefined {
    return this.#book.get(name);
  }

  get shown(): Shown {
    return {
      at: Math.round(this.#nowMs),
      masters: this.#parts.readers.map((reader, i) => this.#masterShown(reader, this.#aheads[i])),
      ...{ findings: this.#findings, leaders: this.#leaders, jobs: this.#jobs, minute: this.#minute.shown },
    };
  }

  /** @returns what ends it */
  attach(viewer: Viewer): () => void {
    this.#viewers.add(viewer);
    if (!this.#isRunning && !this.#isClosed) void this.#run();
    return () => {
      if (this.#viewers.delete(viewer)) this.#lastLookMs = this.#parts.clock.now();
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#viewers.clear();
    this.#doctor?.abort();
    this.#timer?.cancel();
    this.#wake?.();
  }

  get #nowMs(): number {
    return this.#parts.clock.now() + this.#aheadMs;
  }

  get #isWatched(): boolean {
    if (this.#isClosed) return false;
    return this.#viewers.size > 0 || this.#parts.clock.now() - this.#lastLookMs < LINGER_MS;
  }

  async #run(): Promise<void> {
    const { clock, timers } = this.#parts;
    this.#isRunning = true;
    this.#hasLooked = false;
    while (this.#isWatched) {
      const startMs = clock.now();
      const begun = ++this.#begun;
      await this.#round();
      this.#hasLooked = true;
      for (const viewer of this.#viewers) viewer.onRound(begun);
      const pauseMs = Math.max(PAUSE_MS, startMs + ROUND_MS - clock.now());
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (this.#isClosed) resolve();
        else this.#timer = timers.background(pauseMs, resolve);
      });
    }
    if (this.#doctor !== undefined) this.#doctorAtMs = -Infinity;
    this.#doctor?.abort();
    this.#reports.clear();
    this.#book.clear();
    this.#scanned.clear();
    this.#isRunning = false;
  }

  async #round(): Promise<void> {
    const { isWanted, readers } = this.#parts;
    this.#aheads = await Promise.all(readers.map((reader) => reader.time()));
    const known = this.#aheads.filter((one) => one !== undefined);
    if (known.length > 0) this.#aheadMs = medianOf(known);
    this.#callDoctor();
    await this.#askServers();
    await Promise.all(
      readers.map(async (reader) => {
        const found = await reader.scan();
        if (found.isOver) this.#scanned.add(reader);
        this.#book.add(found.names.filter(isWanted));
        this.#instances.found(found.clients);
      }),
    );
    await this.#readLocks();
    this.#sumUp();
  }

  async #readLocks(): Promise<void> {
    const { readers } = this.#parts;
    const viewers = [...this.#viewers];
    const opened = new Set(viewers.flatMap(({ opened }) => opened ?? []));
    const watched = new Set([...opened, ...viewers.flatMap((viewer) => viewer.watched)]);
    const due = this.#book.due(watched);
    const all = await Promise.all(readers.map((reader) => reader.read(due, opened)));
    const nodes = readers.map(({ node }) => node);
    const nowMs = this.#nowMs;
    const published = await this.#instances.learn(readers, all, watched);
    this.#done = [...published.counts].flatMap(([id, counts]) => this.#reports.read(id, counts, nowMs) ?? []);
    for (const name of due)
      this.#book.read({ name, nodes, nowMs, published, reads: all.map((reads) => reads.get(name)) });
  }

  /** What is said of all locks together. */
  #sumUp(): void {
    const { nextTick } = this.#parts;
    const nowMs = this.#nowMs;
    const locks = this.#book.all();
    const byName = <T extends { readonly name: string }>(some: readonly T[]): readonly T[] =>
      [...some].sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, MOST_COORDINATED);
    this.#leaders = byName(locks.flatMap((lock) => leaderOf(lock) ?? []));
    this.#jobs = byName(locks.flatMap((lock) => this.#jobsSeen.jobOf(lock, nowMs, nextTick) ?? []));
    const held = locks.filter(({ holding }) => holding > 0).length;
    const waiting = locks.filter(isListed).reduce((sum, lock) => sum + lock.waiting, 0);
    const reported = { done: this.#done, untilMs: this.#reports.knownUntilMs(nowMs) };
    this.#minute.note(nowMs, { held, waiting }, this.#reports.isEmpty ? undefined : reported);
  }

  async #askServers(): Promise<void> {
    const { clock, readers } = this.#parts;
    if (clock.now() - this.#infoAtMs < INFO_MS) return;
    this.#infoAtMs = clock.now();
    await Promise.all(readers.map((reader) => reader.ask()));
  }

  /** It takes its time, and holds nobody up. */
  #callDoctor(): void {
    const { clock, diagnose } = this.#parts;
    if (this.#doctor !== undefined || clock.now() - this.#doctorAtMs < DOCTOR_MS) return;
    this.#doctorAtMs = clock.now();
    const doctor = new AbortController();
    this.#doctor = doctor;
    void diagnose(doctor.signal)
      .then((findings) => (this.#findings = findings))
      .catch(() => undefined) // the instance is closed, or nobody looks any more
      .finally(() => (this.#doctor = undefined));
  }

  #masterShown(reader: Reader, aheadMs: number | undefined): MasterShown {
    const { cause, info, latencyMs, node, state } = reader;
    const [memory, limit] = [info?.number('used_memory'), info?.number('maxmemory')];
    return {
      ...{ node, state },
      ...(cause === undefined ? {} : { cause }),
      ...(latencyMs === undefined ? {} : { latencyMs: rounded(latencyMs) }),
      ...(aheadMs === undefined ? {} : { clockAheadMs: rounded(aheadMs - this.#aheadMs) }),
      ...(info === undefined ? {} : { server: `${info.software.name} ${info.software.version}`.trim() }),
      ...(memory === undefined ? {} : { memoryBytes: memory }),
      ...(limit === undefined || limit === 0 ? {} : { memoryLimitBytes: limit }),
    };
  }
}

/** To a tenth. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
