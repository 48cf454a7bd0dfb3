/** What a claim of a job meets while it waits: outages, and locks on the job's name that no client of this library set. */
import { Outages } from '../lease/outages.js';
import type { Answers } from '../protocol/tally.js';
import type { Decision } from '../protocol/quorum.js';
import type { MastersTime } from './masters-time.js';

export class Meanwhile extends Outages {
  readonly #time: MastersTime;
  #elsewhereMs = 0;

  constructor(waiting: ConstructorParameters<typeof Outages>[0], time: MastersTime) {
    super(waiting);
    this.#time = time;
  }

  /** Up to this instant of the masters' time, another program had the name; 0 if none had. */
  get elsewhereMs(): number {
    return this.#elsewhereMs;
  }

  override refused(attempts: number, answers: Answers, decision: Decision): void {
    super.refused(attempts, answers, decision);
    const isForeign = answers.outcomes.some((one) => one?.kind === 'refused' && one.isForeignClient);
    if (isForeign) this.#elsewhereMs = this.#time.nowMs;
  }
}
