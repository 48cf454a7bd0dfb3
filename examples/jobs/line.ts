/** A worker's line to the conductor: what it tells, and the questions that the ledger answers. */
import type { Answer, FromWorker, ToWorker } from './messages.js';

type Unanswered = Extract<FromWorker, { question: number }>;
/** A question without its number, for each kind of question. */
type Question = Unanswered extends infer Each
  ? Each extends Unanswered
    ? Omit<Each, 'question'>
    : never
  : never;

export class Line {
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #questions = 0;

  tell(message: FromWorker): void {
    process.send?.(message);
  }

  ask(question: Question): Promise<Answer> {
    const number = ++this.#questions;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.tell({ ...question, question: number });
    });
  }

  listen(on: (message: Exclude<ToWorker, { kind: 'answer' }>) => void): void {
    // the cast: the conductor, our parent, sends nothing else
    process.on('message', (raw) => {
      const message = raw as ToWorker;
      if (message.kind !== 'answer') return on(message);
      this.#waiting.get(message.question)?.(message.answer);
      this.#waiting.delete(message.question);
    });
  }
}
