/** Reads a history into a model. It does not check anything yet, but for lines that contradict each other. */
import { LONGEST_LIFE_MS } from '../../../lib/queue/queue-place.js';
import {
  type ClientEvent,
  CONDUCTOR,
  type ConductorEvent,
  historyFiles,
  type KeyLeft,
  type Noted,
  type Place,
  readHistory,
  type RunFacts,
} from './history.js';
import type {
  Call,
  LeaseSpan,
  Life,
  OnceRun,
  RunModel,
  Span,
  Stillness,
  TickRun,
  Tidings,
  Violation,
} from './model.js';
import { LEADER } from './options.js';

/** Grants that do not show that a client's own calls go on. */
const BACKGROUND: ReadonlySet<Call['kind']> = new Set(['job', 'plain', 'redlock5']);

/** @throws Error if the folder has no history, or a line cannot be read */
export async function readRun(folder: string): Promise<RunModel> {
  const reader = new RunReader();
  for (const file of await historyFiles(folder)) {
    for await (const noted of readHistory(file)) reader.take(noted);
  }
  return reader.model();
}

/** Takes the lines file by file, the conductor's first. */
export class RunReader {
  readonly #calls: Call[] = [];
  readonly #leases = new Map<string, LeaseSpan>();
  readonly #lives: Life[] = [];
  readonly #spans: Span[] = [];
  readonly #seen: Violation[] = [];
  readonly #ticks: TickRun[] = [];
  readonly #onces: OnceRun[] = [];
  readonly #stills: Stillness[] = [];
  readonly #told: Tidings['told'][number][] = [];
  readonly #proclaimed = new Map<number, Set<string>>();
  #facts: RunFacts | undefined;
  #startT = 0;
  #endT: number | undefined;
  #lastT = 0;
  /** Of the current file. */
  #life: Life | undefined;
  #asks = new Map<number, Call>();
  #underWay = new Map<string, Call>();
  #instance = 1;

  take({ process, place, event }: Noted): void {
    this.#lastT = Math.max(this.#lastT, event.t);
    // the casts: the process decides which events are in its file
    if (process === CONDUCTOR) return this.#takeConductor(event as ConductorEvent, place);
    if (this.#life?.process !== process) this.#begin(process, event.t);
    this.#takeClient(process, event as ClientEvent, place);
  }

  model(): RunModel {
    if (this.#facts === undefined) throw new Error('the history does not begin with the facts of its run');
    for (const span of this.#spans) {
      if (span.kind === 'crash' && span.mendedT === Infinity) continue;
      span.mendedT = Math.min(span.mendedT, this.#lastT);
    }
    return {
      facts: this.#facts,
      startT: this.#startT,
      endT: this.#endT ?? this.#lastT,
      isWhole: this.#endT !== undefined,
      calls: this.#calls,
      leases: [...this.#leases.values()],
      lives: this.#lives,
      spans: this.#spans,
      ticks: this.#ticks,
      onces: this.#onces,
      stills: this.#stills,
      tidings: { told: this.#told, proclaimed: this.#proclaimed },
      seen: this.#seen,
    };
  }

  #begin(process: string, upT: number): void {
    this.#life = { process, client: process.replace(/\.\d+$/, ''), version: '', upT, answers: [] };
    if (this.#lives.length === 0 || upT < this.#startT) this.#startT = upT; // before that, processes were only started
    this.#lives.push(this.#life);
    this.#asks = new Map();
    this.#underWay = new Map();
    this.#instance = 1;
  }

  #takeConductor(event: ConductorEvent, place: Place): void {
    switch (event.e) {
      case 'run':
        this.#facts = event.facts;
        this.#startT = event.t;
        return;
      case 'end':
        this.#endT = event.t;
        return;
      case 'still':
        return this.#still(CONDUCTOR, event);
      case 'exit':
        if (!event.meant)
          this.#see('exit', `${event.client} did not end by itself as it should: ${event.text}`, place);
        return;
      case 'keys': {
        const left = event.left.filter((one) => !isOfCandidate(one) && !isForPeople(one));
        if (left.length === 0) return;
        const keys = left.map(({ key, ttlMs }) => `${key} (${ttlMs} ms)`).join(', ');
        return this.#see('keys left', `on ${event.target}, one ttl after the end: ${keys}`, place);
      }
      case 'strike': {
        const { t, target, kind, how, byMs } = event;
        const never = { struckT: Infinity, mendT: Infinity, mendedT: Infinity };
        this.#spans.push({ target, kind, how, byMs, strikeT: t, ...never, place });
        return;
      }
      case 'struck':
      case 'mend':
      case 'mended': {
        const span = this.#spans.findLast(({ target }) => target === event.target);
        if (span !== undefined) span[`${event.e}T`] = event.t;
      }
    }
  }

  #takeClient(process: string, event: ClientEvent, place: Place): void {
    switch (event.e) {
      case 'up':
        if (this.#life !== undefined) this.#life.version = event.version;
        return;
      case 'down':
        if (this.#life !== undefined) this.#life.downT = event.t;
        return;
      case 'ask': {
        const { t, how: kind, keys, mode, boundMs, waitMs } = event;
        const call: Call = { process, kind, keys, mode, t, boundMs, waitMs, place };
        this.#asks.set(event.op, call);
        this.#calls.push(call);
        return;
      }
      case 'no':
        return this.#refuse(event, place);
      case 'fine': {
        const call = this.#asks.get(event.op);
        if (call !== undefined) call.settledT ??= event.t;
        return;
      }
      case 'still':
        return this.#still(process, event);
      case 'renewed':
        this.#instance++;
        return;
      case 'told': {
        const { by, leader } = event;
        const teller = `${process} ${this.#instance} ${by}`;
        if (leader !== null) this.#told.push({ teller, leader, place });
        return;
      }
      case 'once':
        this.#onces.push({ process, beganT: event.beganT, place });
        return;
      case 'got':
        return this.#grant(process, event, place);
      default:
        return this.#takeOfLease(process, event, place);
    }
  }

  #refuse({ op, t, code }: Extract<ClientEvent, { e: 'no' }>, place: Place): void {
    const call = this.#asks.get(op);
    this.#asks.delete(op);
    if (call === undefined)
      return this.#see('unfounded', `an answer to call ${op}, which was not made`, place);
    if (call.settledT !== undefined) return; // a `using` whose release failed
    call.settledT = t;
    call.code = code;
    if (code === 'LOCK_TAKEN') this.#life?.answers.push(t);
  }

  #grant(process: string, event: Extract<ClientEvent, { e: 'got' }>, place: Place): void {
    const { t, op, lease: id, keys, fence, until, renew, from, ttlMs } = event;
    const call = this.#asks.get(op);
    if (call === undefined)
      return this.#see('unfounded', `a grant for call ${op}, which was not made`, place);
    call.settledT = t;
    if (!BACKGROUND.has(call.kind)) this.#life?.answers.push(t);
    const open = {
      overT: Infinity,
      outcome: 'open',
      confirmedUntil: -Infinity,
      extensions: 0,
      lastPlace: place,
    } as const;
    this.#leases.set(id, { id, process, keys, fence, call, t, place, from, renew, ttlMs, until, ...open });
  }

  #takeOfLease(
    process: string,
    event: Exclude<Extract<ClientEvent, { readonly lease: string }>, { readonly e: 'got' }>,
    place: Place,
  ): void {
    const lease = this.#leases.get(event.lease);
    if (lease === undefined)
      return this.#see('unfounded', `${event.e} of lease ${event.lease}, never granted`, place);
    const { t } = event;
    lease.lastPlace = place;
    switch (event.e) {
      case 'proclaim': {
        const values = this.#proclaimed.get(lease.fence) ?? new Set();
        this.#proclaimed.set(lease.fence, values.add(event.value));
        return;
      }
      case 'tick':
        return this.#tick(lease, event, place);
      case 'extend':
      case 'release': {
        const { e: kind, boundMs } = event;
        const { keys } = lease;
        this.#callOn(lease, { process, kind, keys, mode: lease.call.mode, t, boundMs, place });
        if (kind === 'release') end(lease, t, 'released');
        return;
      }
      case 'extended':
        this.#settle(event.lease, t);
        if (event.code === undefined) lease.extensions++;
        else lease.confirmedUntil = t + (lease.ttlMs ?? Infinity);
        return;
      case 'released':
        return this.#settle(event.lease, t);
      case 'gave':
        return end(lease, t, 'gave');
      case 'lost':
        lease.lossCode ??= event.code;
        return end(lease, t, 'lost');
      case 'odd':
        return this.#see('belief', `lease ${lease.id}: ${event.text}`, place, lease.place);
      case 'more':
        if (!lease.renew && lease.extensions === 0 && event.until > lease.confirmedUntil)
          this.#see('belief', `lease ${lease.id} went on by itself: nothing extended it`, place, lease.place);
        if (t > lease.overT)
          this.#see('belief', `lease ${lease.id} came back after its end`, place, lease.place);
        lease.until = Math.max(lease.until, event.until);
    }
  }

  #tick(lease: LeaseSpan, event: Extract<ClientEvent, { e: 'tick' }>, place: Place): void {
    const { t, tick, wallMs, state } = event;
    if (state === 'started') this.#ticks.push({ lease, tick, t, wallMs, place });
    const run = this.#ticks.findLast((one) => one.lease === lease);
    if (run !== undefined && state !== 'started') run[`${state}T`] = t;
  }

  #callOn(lease: LeaseSpan, call: Call): void {
    this.#calls.push(call);
    this.#underWay.set(lease.id, call);
  }

  #settle(lease: string, t: number): void {
    const call = this.#underWay.get(lease);
    if (call !== undefined) call.settledT = t;
  }

  #still(process: string, { t, byMs }: { readonly t: number; readonly byMs: number }): void {
    this.#stills.push({ process, fromT: t - byMs, toT: t });
  }

  #see(kind: string, text: string, ...places: Place[]): void {
    this.#seen.push({ kind, text, places });
  }
}

function end(lease: LeaseSpan, t: number, outcome: 'released' | 'gave' | 'lost'): void {
  if (lease.overT !== Infinity) return;
  lease.overT = t;
  lease.outcome = outcome;
}

/** A candidate waits without a bound: what it leaves behind when it dies lives for as long as any place. */
function isOfCandidate({ key, ttlMs }: KeyLeft): boolean {
  const isPlace = new RegExp(`^quorate:(?:tagged:)?(?:queue|turn|looks):.*${LEADER}\\}?$`).test(key);
  return isPlace && ttlMs > 0 && ttlMs <= LONGEST_LIFE_MS;
}

/** A record of an instance lives for a minute, and a finding of a token of another library for ten. Nothing waits for either. */
function isForPeople({ key, ttlMs }: KeyLeft): boolean {
  if (ttlMs < 0) return false;
  if (key.startsWith('quorate:client:')) return ttlMs <= 60_000;
  return /^quorate:(?:tagged:)?foreign:/.test(key) && ttlMs <= 600_000;
}
