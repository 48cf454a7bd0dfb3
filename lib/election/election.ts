/** Elections of one name: the exclusive lock of that name, and the value of whoever holds it. */
import { invalidArgument, type RedlockError } from '../runtime/errors.js';
import { EventHub } from '../runtime/event-hub.js';
import { Emitter } from '../runtime/listenable.js';
import { cancelledError } from '../quorum/failure.js';
import type { Coordination } from '../lease/coordination.js';
import { NO_OPTIONS } from '../input/options.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import type { Notes } from '../lease/notes.js';
import { free } from '../lease/stealing.js';
import { MUTEX } from '../protocol/scope.js';
import { Outages } from '../lease/outages.js';
import { Lead, type OnOutage } from './lead.js';
import { type LeaderReading, readLeader, type SeenLeaders } from './leaders.js';
import { Leadership } from './leadership.js';
import { Observation } from './observation.js';
import {
  checkValue,
  resolveCampaign,
  resolveDepose,
  resolveElection,
  resolveLead,
  resolveObserve,
} from './options.js';
import type {
  CampaignOptions,
  DeposeOptions,
  Election as PublicElection,
  ElectionEvents,
  ElectionOptions,
  Leader,
  LeadOptions,
  LeadRoutine,
  ObserveOptions,
} from './public.js';

const EVENT_NAMES = ['leading', 'ended', 'failed'] as const;

class Election extends Emitter<ElectionEvents> implements PublicElection {
  readonly name: string;
  readonly #events: EventHub<ElectionEvents>;
  readonly #coordination: Coordination;
  readonly #terms: InstanceTerms;
  readonly #notes: Notes;
  readonly #seen: SeenLeaders;

  constructor(coordination: Coordination, seen: SeenLeaders, name: string, terms: InstanceTerms) {
    const events = new EventHub<ElectionEvents>();
    super(events, EVENT_NAMES);
    this.name = name;
    this.#events = events;
    this.#coordination = coordination;
    this.#terms = terms;
    this.#notes = coordination.notesOf(name, 'value');
    this.#seen = seen;
  }

  async campaign(value = '', options: CampaignOptions = NO_OPTIONS): Promise<Leadership> {
    const call = resolveCampaign(options, this.#terms);
    return this.#campaign(checkValue(value), call, options.signal);
  }

  async leader(): Promise<Leader | null> {
    const cancellation = this.#coordination.begin(undefined);
    try {
      const reading = await this.#read();
      return reading.kind === 'leader' ? reading.leader : null;
    } finally {
      this.#coordination.end(cancellation);
    }
  }

  async depose(options: DeposeOptions = NO_OPTIONS): Promise<boolean> {
    const graceMs = resolveDepose(options);
    return free(this.#coordination, [this.name, MUTEX], this.#terms, options.signal, { graceMs });
  }

  observe(options: ObserveOptions = NO_OPTIONS): AsyncIterableIterator<Leader | null> {
    const { channel } = this.#notes;
    return new Observation(this.#coordination, channel, () => this.#read(), resolveObserve(options));
  }

  async lead(routine: LeadRoutine, options: LeadOptions = NO_OPTIONS): Promise<void> {
    if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
    const candidate = {
      ...resolveLead(options),
      ...{ name: this.name, ttlMs: this.#terms.ttlMs, events: this.#events },
      campaign: (value: string, signal: AbortSignal | undefined, onOutage: OnOutage) =>
        this.#campaign(value, this.#terms, signal, onOutage),
    };
    return new Lead(this.#coordination, candidate, routine).run();
  }

  /** The value is there when it resolves, unless too few masters took it; then it follows. */
  async #campaign(
    value: string,
    call: CallTerms,
    signal: AbortSignal | undefined,
    onOutage?: OnOutage,
  ): Promise<Leadership> {
    const coordination = this.#coordination;
    const observer = onOutage && new Outages(coordination, this.name, call.ttlMs, onOutage);
    const lease = await coordination.acquire([this.name], MUTEX, call, signal, { observer });
    const leadership = new Leadership(coordination, lease, this.#notes, call, value);
    await leadership.write();
    try {
      leadership.assertHeld();
      if (signal?.aborted === true) throw this.#aborted(signal.reason);
    } catch (error) {
      await leadership.release();
      throw error;
    }
    return leadership;
  }

  async #read(): Promise<LeaderReading> {
    const { coordinator } = this.#coordination;
    const reading = readLeader(
      await this.#notes.read(coordinator.nodeTimeoutFor(this.#terms)),
      coordinator.quorum,
    );
    if (reading.kind !== 'leader') return reading;
    const leader = this.#seen.see(this.name, reading.leader);
    return leader === null ? { kind: 'unknown' } : { ...reading, leader };
  }

  #aborted(cause: unknown): RedlockError {
    const context = { resources: [this.name], attempts: 1, elapsedMs: 0 };
    return cancelledError(
      { code: 'ABORTED', cause },
      context,
      undefined,
      this.#coordination.coordinator.nodes,
    );
  }
}

/** @throws RedlockError `INVALID_ARGUMENT` */
export function electionOf(
  coordination: Coordination,
  seen: SeenLeaders,
  name: string,
  options: ElectionOptions,
): PublicElection {
  return new Election(coordination, seen, name, resolveElection(options, coordination.terms));
}
