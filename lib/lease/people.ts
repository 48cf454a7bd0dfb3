/**
 * The names of holders and waiters, for one instance: its own record on the masters, the names of others in what `inspect`
 * shows, and the holder's name in an error. An instance whose process is not known has none of it.
 */
import { clientKey } from '../protocol/keys.js';
import { inspection, type Request, sharedInspection } from '../protocol/request.js';
import type { Kind } from '../protocol/scope.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { fingerprint } from '../redis/transport.js';
import type { Timers } from '../runtime/clock.js';
import { RedlockError } from '../runtime/errors.js';
import { describeDeadlock } from '../runtime/deadlock.js';
import { describeHolder, type HeldBy, type InstanceInfo } from '../runtime/instance-info.js';
import { isOurs, publicPart } from '../runtime/random.js';
import { defaultLabel, type ThisProcess } from '../runtime/this-process.js';
import { HolderLookups } from './holder-lookups.js';
import type { InstanceParts } from './coordination.js';
import { CHECK_MS, Deadlocks } from './deadlock/deadlocks.js';
import { readInspection, tokensIn } from './inspection.js';
import { InstanceNames } from './instance-names.js';
import { MOST_LEASES, recordText } from './instance-record.js';
import { holdersOf } from './deadlock/lock-holders.js';
import type { Lore, Tokens } from './lore.js';
import type { NestedCall } from './deadlock/nested-call.js';
import { RecordWriter } from './record-writer.js';
import { readShared, sharedTokensIn } from './shared-inspection.js';

/** How many holders and waiters of one lock are looked up. */
const MOST_NAMED = 64;

type Parts = Omit<InstanceParts, 'renewals' | 'timers'>;

interface Setting {
  readonly process: ThisProcess;
  /** None of these keeps a process alive for the record: timers of leases may. */
  readonly timers: Timers;
  /** Whether the instance holds or waits. */
  readonly isBusy: () => boolean;
}

export class People {
  readonly lookups: HolderLookups;
  readonly deadlocks: Deadlocks;
  readonly #parts: Parts;
  readonly #process: ThisProcess;
  readonly #label: string | false;
  readonly #names: InstanceNames;
  /** Undefined without a label. */
  readonly #writer: RecordWriter | undefined;
  readonly #madeAtMs: number;
  #ownId: string | undefined;
  /** How often the record was made. */
  #beat = 0;

  constructor(parts: Parts, { isBusy, process, timers }: Setting) {
    const { clock, coordinator, terms } = parts;
    this.#parts = parts;
    this.#process = process;
    this.#madeAtMs = clock.earliest();
    this.#label = terms.label === true ? defaultLabel(process) : terms.label;
    this.#names = new InstanceNames(coordinator, clock, terms.keyPrefix);
    this.lookups = new HolderLookups(
      { clock, timers },
      (resource, isShared) => this.#look(resource, isShared),
      (resource) => this.#holdsItself(resource),
    );
    this.deadlocks = this.#deadlocksBy(timers);
    if (this.#label === false) return;
    const writing = { nodes: coordinator.nodes, clock, timers };
    this.#writer = new RecordWriter(writing, {
      key: () => this.#recordKey,
      text: () => this.#recordText(),
      isBusy,
    });
  }

  /** The instance's own; undefined without a label. */
  get label(): string | undefined {
    return this.#label === false ? undefined : this.#label;
  }

  /** A call for a lease begins. */
  used(): void {
    this.#writer?.used();
  }

  /** @param isGone  nothing is held any more */
  close(isGone: boolean): void {
    this.deadlocks.close();
    this.#writer?.close(isGone);
  }

  /** The names and notes that belong to these answers about a lock. */
  async lore(key: string, tokens: Tokens): Promise<Lore> {
    const timeoutMs = this.#timeoutMs;
    const holders = [...new Set(tokens.holders)].filter(isOurs).slice(0, MOST_NAMED);
    const waiters = [...new Set(tokens.waiters)].slice(0, MOST_NAMED);
    const notes = new Map<string, string>();
    const noted = holders.map(async (token) => {
      const holder = fingerprint(token);
      const note = await this.#names.note(key, holder, timeoutMs);
      if (note !== undefined) notes.set(holder, note);
    });
    await Promise.all([this.#names.learn([...holders, ...waiters].map(publicPart), timeoutMs), ...noted]);
    return {
      of: (id) => this.#names.of(id),
      grantOf: (id, holder) => this.#names.grantOf(id, holder),
      noteOf: (holder) => notes.get(holder),
    };
  }

  /**
   * The same error, with the holder's name if that can be found out within the node timeout, and with the deadlock that its call
   * was in.
   */
  async named(
    error: RedlockError,
    resources: readonly string[],
    kind: Kind,
    nested: NestedCall | undefined,
  ): Promise<RedlockError> {
    const deadlock = nested?.deadlock;
    if (nested !== undefined) this.deadlocks.end(nested);
    if (error.elapsedMs > CHECK_MS) this.#parts.held.flows.waitedInVain();
    const found = await this.lookups.find(resources, kind, this.#timeoutMs);
    if (found === undefined && deadlock === undefined) return error;
    const { attempts, code, elapsedMs, tally } = error; // it has no cause
    const holder = found && describeHolder(found.heldBy);
    const what = resources.length === 1 ? 'It' : JSON.stringify(found?.resource);
    const texts = [
      ...(holder === undefined ? [] : [`${what} is held by ${holder}.`]),
      ...(deadlock === undefined ? [] : [describeDeadlock(deadlock)]),
    ];
    return new RedlockError(code, [error.message, ...texts].join(' '), {
      ...{ attempts, elapsedMs, tally, resources: error.resources, heldBy: found?.heldBy, deadlock },
    });
  }

  get #timeoutMs(): number {
    const { coordinator, terms } = this.#parts;
    return coordinator.nodeTimeoutFor(terms);
  }

  get #own(): InstanceInfo {
    this.#ownId ??= publicPart(this.#parts.random.token());
    const { host, pid, startedAtMs, version } = this.#process;
    const id = this.#ownId;
    return this.#label === false
      ? { id }
      : { id, label: this.#label, host, pid, version, startedAt: startedAtMs };
  }

  get #recordKey(): string {
    return clientKey(this.#parts.terms.keyPrefix, this.#own.id);
  }

  #recordText(): string {
    const { clock, coordinator, held, telemetry } = this.#parts;
    const nowMs = clock.earliest();
    const oldest = held.oldest(MOST_LEASES, nowMs).map(({ fence, sinceMs, token }) => ({
      ...{ holder: fingerprint(token), fence },
      sinceMs: fence === undefined ? coordinator.mastersTimeAt(sinceMs) : undefined,
    }));
    const { acquired, lost, waits } = telemetry.counts;
    const ageMs = Math.round(nowMs - this.#madeAtMs);
    return recordText(this.#own, {
      ...{ held: oldest, beat: ++this.#beat, waits: this.deadlocks.waits },
      counts: { ageMs, acquired, lost, waits: waits.counts },
    });
  }

  #deadlocksBy(timers: Timers): Deadlocks {
    const { coordinator, held, telemetry, terms } = this.#parts;
    const { keyPrefix } = terms;
    held.flows.isAsked = () => telemetry.events.has('deadlock');
    return new Deadlocks({
      timers,
      flows: held.flows,
      own: () => this.#own,
      publish: () => this.#writer?.renew(),
      isOwn: (resource) => coordinator.localAt(keyPrefix + resource).turn !== undefined,
      holders: (resource, kind) =>
        holdersOf({ coordinator, keyPrefix, timeoutMs: this.#timeoutMs }, resource, kind).catch(() => []),
      record: (id) => this.#names.latest(id, this.#timeoutMs).catch(() => undefined),
      onFound: (wanted, steps) => telemetry.deadlocked(wanted, steps),
    });
  }

  /** This instance, if it has the lock. */
  #holdsItself(resource: string): HeldBy | undefined {
    const { coordinator, terms } = this.#parts;
    return coordinator.localAt(terms.keyPrefix + resource).turn === undefined ? undefined : this.#own;
  }

  async #look(resource: string, isShared: boolean): Promise<HeldBy | undefined> {
    const { coordinator, terms } = this.#parts;
    const key = terms.keyPrefix + resource;
    if (isShared) {
      const found = await this.#survey(
        sharedInspection(key),
        (answers) => readShared(resource, answers, coordinator.nodes).heldBy.length > 0,
      );
      const lore = await this.lore(key, { ...sharedTokensIn(found), waiters: [] });
      return readShared(resource, found, coordinator.nodes, lore).heldBy[0];
    }
    const found = await this.#survey(
      inspection(key),
      (answers) => readInspection(resource, answers, coordinator.nodes).holder !== undefined,
    );
    const lore = await this.lore(key, { ...tokensIn(found), waiters: [] });
    return readInspection(resource, found, coordinator.nodes, lore).heldBy;
  }

  /** Asks all masters. @param isEnough  whether these answers show a holder: then nothing more is waited for */
  #survey(
    request: Request,
    isEnough: (answers: readonly (SurveyAnswer | undefined)[]) => boolean,
  ): Promise<readonly SurveyAnswer[]> {
    return this.#parts.coordinator.survey(request, this.#timeoutMs, { isEnough });
  }
}
