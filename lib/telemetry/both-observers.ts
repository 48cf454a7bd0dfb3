/** Two that hear of one acquisition: those who listen to the instance, and the election or job that it is for. */
import type { Decision } from '../protocol/quorum.js';
import type { Answers } from '../protocol/tally.js';
import type { AcquisitionObserver } from './observer.js';

export class BothObservers implements AcquisitionObserver {
  readonly #both: readonly [AcquisitionObserver, AcquisitionObserver];

  constructor(one: AcquisitionObserver, other: AcquisitionObserver) {
    this.#both = [one, other];
  }

  granted(attempts: number, answers: Answers, fence: number): void {
    for (const observer of this.#both) observer.granted(attempts, answers, fence);
  }

  refused(attempts: number, answers: Answers, decision: Decision): void {
    for (const observer of this.#both) observer.refused(attempts, answers, decision);
  }

  waits(attempts: number): void {
    for (const observer of this.#both) observer.waits(attempts);
  }
}
