/** The history in compact lists: calls, leases and faults. Reading it does not check anything yet. */
import {
  type ClientEvent,
  CONDUCTOR,
  type ConductorEvent,
  type FaultKind,
  historyFiles,
  type Manner,
  type Mode,
  type Noted,
  type Place,
  readHistory,
  type RunFacts,
} from './history.js';

export interface Call {
  readonly process: string;
  readonly kind: Manner | 'extend' | 'release';
  /** The keys that are asked for. */
  readonly keys: readonly string[];
  readonly mode: Mode | undefined;
  readonly t: number;
  readonly boundMs: number;
  readonly place: Place;
  settledT?: number;
  /** Of its refusal. */
  code?: string;
}

export interface LeaseSpan {
  readonly id: string;
  readonly process: string;
  readonly keys: readonly string[];
  readonly fence: number;
  readonly call: Call;
  readonly t: number;
  readonly place: Place;
  readonly from: string | undefined;
  readonly renew: boolean;
  /** The end of its validity, as last known to its holder. */
  until: number;
  /** Its release was called, it was handed over, or its loss was reported: nobody relied on it from then on. */
  overT: number;
  outcome: 'open' | 'released' | 'gave' | 'lost';
  extensions: number;
  lastPlace: Place;
}

/** When its holder stopped relying on it. */
export function believedEnd({ until, overT }: LeaseSpan): number {
  return Math.min(until, overT);
}

/** The leases of each key, ordered by their grants. */
export function byKey(leases: readonly LeaseSpan[]): Map<string, LeaseSpan[]> {
  const map = new Map<string, LeaseSpan[]>();
  for (const lease of leases) {
    for (const key of lease.keys) {
      const list = map.get(key);
      if (list === undefined) map.set(key, [lease]);
      else list.push(lease);
    }
  }
  for (const list of map.values()) list.sort((a, b) => a.t - b.t);
  return map;
}

export interface Life {
  readonly process: string;
  readonly client: string;
  /** Of the library. */
  version: string;
  upT: number;
  /** It ended by itself. */
  downT?: number;
  readonly answers: number[];
}

export interface Span {
  readonly target: string;
  readonly kind: FaultKind;
  readonly how: string | undefined;
  /** Its effects are possible within [strikeT, mendedT], and certain within [struckT, mendT]. */
  readonly strikeT: number;
  struckT: number;
  mendT: number;
  mendedT: number;
  readonly place: Place;
}

export interface Violation {
  readonly kind: string;
  readonly text: string;
  readonly places: readonly Place[];
}

export interface RunModel {
  readonly facts: RunFacts;
  readonly startT: number;
  readonly endT: number;
  readonly isWhole: boolean;
  readonly calls: readonly Call[];
  readonly leases: readonly LeaseSpan[];
  readonly lives: readonly Life[];
  readonly spans: readonly Span[];
  /** Violations in single lines: inconsistent leases, processes that did not end well, keys that were left. */
  readonly seen: readonly Violation[];
}

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
  #facts: RunFacts | undefined;
  #startT = 0;
  #endT: number | undefined;
  #lastT = 0;
  /** Of the current file. */
  #life: Life | undefined;
  #asks = new Map<number, Call>();
  #underWay = new Map<string, Call>();

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
      seen: this.#seen,
    };
  }

  #begin(process: string, upT: number): void {
    this.#life = { process, client: process.replace(/\.\d+$/, ''), version: '', upT, answers: [] };
    if (this.#lives.length === 0 || upT < this.#startT) this.#startT = upT; // before that, processes were only started
    this.#lives.push(this.#life);
    this.#asks = new Map();
    this.#underWay = new Map();
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
      case 'exit':
        if (!event.meant)
          this.#see('exit', `${event.client} did not end by itself as it should: ${event.text}`, place);
        return;
      case 'keys':
        if (event.left > 0)
          this.#see('keys left', `${event.left} locks on ${event.target} one ttl after the end`, place);
        return;
      case 'strike': {
        const { t, target, kind, how } = event;
        const never = { struckT: Infinity, mendT: Infinity, mendedT: Infinity };
        this.#spans.push({ target, kind, how, strikeT: t, ...never, place });
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
        const { t, how: kind, keys, mode, boundMs } = event;
        const call: Call = { process, kind, keys, mode, t, boundMs, place };
        this.#asks.set(event.op, call);
        this.#calls.push(call);
        return;
      }
      case 'no':
        return this.#refuse(event, place);
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
    const { t, op, lease: id, keys, fence, until, renew, from } = event;
    const call = this.#asks.get(op);
    if (call === undefined)
      return this.#see('unfounded', `a grant for call ${op}, which was not made`, place);
    call.settledT = t;
    this.#life?.answers.push(t);
    const open = { overT: Infinity, outcome: 'open', extensions: 0, lastPlace: place } as const;
    this.#leases.set(id, { id, process, keys, fence, call, t, place, from, renew, until, ...open });
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
        return;
      case 'released':
        return this.#settle(event.lease, t);
      case 'gave':
        return end(lease, t, 'gave');
      case 'lost':
        return end(lease, t, 'lost');
      case 'odd':
        return this.#see('belief', `lease ${lease.id}: ${event.text}`, place, lease.place);
      case 'more':
        if (!lease.renew && lease.extensions === 0)
          this.#see('belief', `lease ${lease.id} went on by itself: nothing extended it`, place, lease.place);
        if (t > lease.overT)
          this.#see('belief', `lease ${lease.id} came back after its end`, place, lease.place);
        lease.until = Math.max(lease.until, event.until);
    }
  }

  #callOn(lease: LeaseSpan, call: Call): void {
    this.#calls.push(call);
    this.#underWay.set(lease.id, call);
  }

  #settle(lease: string, t: number): void {
    const call = this.#underWay.get(lease);
    if (call !== undefined) call.settledT = t;
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
