/**
 * What is known of other instances: their records, read from the masters and remembered for a while, and the notes of holders.
 * A look-up asks all masters and ends with the first record, or with a quorum that has none; it never rejects.
 */
import type { Coordinator } from '../coordinator/coordinator.js';
import { isNote } from '../input/texts.js';
import { clientKey, noteKey } from '../protocol/keys.js';
import { textReading } from '../protocol/text-requests.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import type { Clock } from '../runtime/clock.js';
import type { InstanceInfo } from '../runtime/instance-info.js';
import { type GrantedAt, type InstanceRecord, readRecord } from './instance-record.js';

/** How long a record holds. The holder refreshes it every 20 s, with the leases that it holds by then. */
const KNOWN_MS = 30_000;
/** How many instances are remembered. */
export const MOST_KNOWN = 1_000;

interface Known {
  readonly record: InstanceRecord;
  readonly untilMs: number;
}

export class InstanceNames {
  readonly #coordinator: Pick<Coordinator, 'survey' | 'quorum'>;
  readonly #clock: Clock;
  readonly #keyPrefix: string;
  readonly #known = new Map<string, Known>();
  /** Look-ups under way. */
  readonly #asked = new Map<string, Promise<void>>();

  constructor(coordinator: Pick<Coordinator, 'survey' | 'quorum'>, clock: Clock, keyPrefix: string) {
    this.#coordinator = coordinator;
    this.#clock = clock;
    this.#keyPrefix = keyPrefix;
  }

  /** As far as is known. */
  of(id: string): InstanceInfo {
    return this.#known.get(id)?.record.info ?? { id };
  }

  /** When a lease that this instance holds was granted; undefined if that is not known. */
  grantOf(id: string, holder: string): GrantedAt | undefined {
    return this.#known.get(id)?.record.held.get(holder);
  }

  /** Learns who they are, as far as that is not known. */
  async learn(ids: Iterable<string>, timeoutMs: number): Promise<void> {
    const nowMs = this.#clock.earliest();
    const unknown = [...new Set(ids)].filter((id) => !((this.#known.get(id)?.untilMs ?? -Infinity) > nowMs));
    await Promise.all(unknown.map((id) => this.#asked.get(id) ?? this.#ask(id, timeoutMs)));
  }

  /** The record of that instance as it is now; undefined without one. */
  async latest(id: string, timeoutMs: number): Promise<InstanceRecord | undefined> {
    const key = clientKey(this.#keyPrefix, id);
    const answers = await this.#coordinator.survey(textReading(key), timeoutMs, { isEnough: this.#isQuorum });
    const records = textsIn(answers).flatMap((text) => readRecord(id, text) ?? []);
    const latest = records.reduce<InstanceRecord | undefined>(
      (best, one) => (best === undefined || one.beat > best.beat ? one : best),
      undefined,
    );
    if (latest !== undefined) this.#remember(id, latest);
    return latest;
  }

  /** The note of that holder; undefined without one. */
  async note(key: string, holder: string, timeoutMs: number): Promise<string | undefined> {
    const text = await this.#read(noteKey(key, holder), timeoutMs);
    return isNote(text) && text !== '' ? text : undefined;
  }

  #ask(id: string, timeoutMs: number): Promise<void> {
    const asked = this.#read(clientKey(this.#keyPrefix, id), timeoutMs).then((text) => {
      this.#asked.delete(id);
      const record = text === undefined ? undefined : readRecord(id, text);
      if (record !== undefined) this.#remember(id, record);
    });
    this.#asked.set(id, asked);
    return asked;
  }

  #remember(id: string, record: InstanceRecord): void {
    this.#known.delete(id);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(id, { record, untilMs: this.#clock.earliest() + KNOWN_MS });
  }

  async #read(key: string, timeoutMs: number): Promise<string | undefined> {
    const isEnough = (answers: readonly (SurveyAnswer | undefined)[]): boolean =>
      textsIn(answers).length > 0 || this.#isQuorum(answers);
    return textsIn(await this.#coordinator.survey(textReading(key), timeoutMs, { isEnough }))[0];
  }

  readonly #isQuorum = (answers: readonly (SurveyAnswer | undefined)[]): boolean =>
    answers.filter((one) => one?.kind === 'answered').length >= this.#coordinator.quorum;
}

function textsIn(answers: readonly (SurveyAnswer | undefined)[]): readonly string[] {
  return answers.flatMap((answer) =>
    answer?.kind === 'answered' && typeof answer.reply === 'string' ? [answer.reply] : [],
  );
}
