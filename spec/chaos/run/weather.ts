/** What was faulty, and when: from the conductor's record. */
import { type FaultKind, type Place, TIMESTAMP_SERVER } from './history.js';
import type { RunModel, Span } from './model.js';

export type Phase = 'healthy' | 'minority faulty' | 'majority faulty' | 'just healed';
export const PHASES: readonly Phase[] = ['healthy', 'minority faulty', 'majority faulty', 'just healed'];
const JUST_HEALED_MS = 3_000;

/** No master votes under these. Under the others, some calls may get through. */
const SILENT: ReadonlySet<FaultKind> = new Set([
  'kill',
  'stop',
  'freeze',
  'cut',
  'cut-to-master',
  'cut-to-client',
  'unplug',
]);
/** Clocks that go wrong within what is allowed are no reason for a refusal. */
const HARMLESS: ReadonlySet<FaultKind> = new Set(['clock-back', 'clock-slew']);

/** The same masters may be faulty from this time on. */
interface Change {
  readonly t: number;
  readonly faulty: number;
}

export class Weather {
  readonly #quorum: number;
  readonly #masters: number;
  readonly #changes: readonly Change[];
  readonly #masterSpans: readonly Span[];
  readonly #timestampSpans: readonly Span[];
  readonly #clientSpans: ReadonlyMap<string, readonly Span[]>;

  constructor({ facts, spans }: Pick<RunModel, 'facts' | 'spans'>) {
    this.#masters = facts.masters;
    this.#quorum = Math.floor(facts.masters / 2) + 1;
    this.#masterSpans = spans.filter(isOfMaster).sort((a, b) => a.strikeT - b.strikeT);
    this.#timestampSpans = spans.filter(({ target }) => target === TIMESTAMP_SERVER);
    this.#clientSpans = byTarget(spans.filter(isOfClient));
    this.#changes = changesOf(this.#masterSpans.filter(({ kind }) => !HARMLESS.has(kind)));
  }

  /** The worst that was possible between two times. */
  phase(fromT: number, toT: number): Phase {
    const faulty = this.#mostFaulty(fromT, toT);
    if (faulty > this.#masters - this.#quorum) return 'majority faulty';
    if (faulty > 0) return 'minority faulty';
    return this.#mostFaulty(fromT - JUST_HEALED_MS, fromT) > 0 ? 'just healed' : 'healthy';
  }

  /** The lines that prove it, if no quorum can have answered between two times. */
  majorityCertainlyFaulty(fromT: number, toT: number): Place[] | undefined {
    const through = silentThrough(this.#masterSpans, fromT, toT);
    return through.length > this.#masters - this.#quorum ? through.map(({ place }) => place) : undefined;
  }

  /** The same for the one server of the timestamp locks. */
  timestampServerCertainlyFaulty(fromT: number, toT: number): Place[] | undefined {
    const through = silentThrough(this.#timestampSpans, fromT, toT);
    return through.length > 0 ? through.map(({ place }) => place) : undefined;
  }

  /** When any master was faulty, and when a majority was. */
  troubles(): { fromT: number; toT: number; isWorst: boolean }[] {
    return this.#changes.flatMap(({ t, faulty }, i) => {
      const toT = this.#changes[i + 1]?.t ?? t;
      return faulty === 0 || toT === t
        ? []
        : [{ fromT: t, toT, isWorst: faulty > this.#masters - this.#quorum }];
    });
  }

  /** Each time at which the last faulty master was mended. */
  heals(): { t: number; place: Place }[] {
    return this.#changes.flatMap(({ t, faulty }, i) => {
      if (faulty > 0 || i === 0) return [];
      const place = this.#masterSpans.find(({ mendedT }) => mendedT === t)?.place ?? '';
      return [{ t, place }];
    });
  }

  /** Whether a majority of the masters, or the client itself, was struck between two times. */
  isDisturbed(client: string, fromT: number, toT: number): boolean {
    if (this.#mostFaulty(fromT, toT) > this.#masters - this.#quorum) return true;
    return this.#of(client).some(({ strikeT, mendedT }) => strikeT < toT && mendedT > fromT);
  }

  /** The faults of masters of these kinds that were possible between two times. */
  between(fromT: number, toT: number, kinds: ReadonlySet<FaultKind>): readonly Span[] {
    return this.#masterSpans.filter(
      ({ kind, strikeT, mendedT }) => kinds.has(kind) && strikeT < toT && mendedT > fromT,
    );
  }

  /** Whether the client was stopped, if only now and then, between two times. */
  wasStopped(client: string, fromT: number, toT: number): boolean {
    return this.#of(client).some(
      ({ kind, strikeT, mendedT }) => kind !== 'crash' && strikeT < toT && mendedT > fromT,
    );
  }

  /** The time `ms` later, counting only the time in which the client was not stopped. */
  later(client: string, t: number, ms: number): number {
    let end = t + ms;
    for (const { kind, strikeT, mendedT } of this.#of(client)) {
      if (kind !== 'crash' && strikeT < end && mendedT > t) end += mendedT - Math.max(t, strikeT);
    }
    return end;
  }

  /** When the client was killed after `t`. */
  killedAfter(client: string, t: number): number | undefined {
    const crash = this.#of(client).find(
      ({ kind, strikeT, struckT }) => kind === 'crash' && Math.max(strikeT, struckT) > t,
    );
    return crash === undefined ? undefined : Math.min(crash.struckT, crash.mendT);
  }

  wasKilled(client: string, endT: number): boolean {
    return this.#of(client).some(({ kind, struckT }) => kind === 'crash' && struckT === endT);
  }

  #of(client: string): readonly Span[] {
    return this.#clientSpans.get(client) ?? [];
  }

  #mostFaulty(fromT: number, toT: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.t ?? Infinity) <= fromT) low = middle + 1;
      else high = middle;
    }
    let most = this.#changes[low - 1]?.faulty ?? 0;
    for (let i = low; ; i++) {
      const change = this.#changes[i];
      if (change === undefined || change.t > toT) return most;
      most = Math.max(most, change.faulty);
    }
  }
}

function silentThrough(spans: readonly Span[], fromT: number, toT: number): readonly Span[] {
  return spans.filter(({ kind, struckT, mendT }) => struckT < fromT && mendT > toT && SILENT.has(kind));
}

/** Of the quorum: a server for timestamp locks is none. */
export function isOfMaster({ target }: Pick<Span, 'target'>): boolean {
  return target.startsWith('m');
}

export function isOfClient({ target }: Pick<Span, 'target'>): boolean {
  return target.startsWith('c');
}

function byTarget(spans: readonly Span[]): Map<string, Span[]> {
  const map = new Map<string, Span[]>();
  for (const span of spans) map.set(span.target, [...(map.get(span.target) ?? []), span]);
  return map;
}

function changesOf(spans: readonly Span[]): Change[] {
  const steps = spans.flatMap(({ strikeT, mendedT }) => [
    { t: strikeT, by: 1 },
    { t: mendedT, by: -1 },
  ]);
  let faulty = 0;
  return steps.sort((a, b) => a.t - b.t || b.by - a.by).map(({ t, by }) => ({ t, faulty: (faulty += by) }));
}
