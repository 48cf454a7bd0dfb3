/** What the workers tell, as a stream that the fault plan waits on: no fault begins or ends by a blind sleep. */
import type { FromWorker } from './messages.js';

/** Something that should have happened did not; its text is all one needs. */
export class NotAsPlanned extends Error {
  override readonly name = 'NotAsPlanned';
}

/** Longer than the longest ttl that may be asked for and what comes after it. */
const PATIENCE_MS = 10_000;

export type Told<Kind extends FromWorker['kind']> = Extract<FromWorker, { kind: Kind }> & {
  readonly worker: string;
};

interface Wish {
  readonly kind: FromWorker['kind'];
  readonly take: (worker: string, message: FromWorker) => void;
  readonly giveUp: (reason: unknown) => void;
}

export class Events {
  readonly #wishes = new Set<Wish>();
  readonly #stop: AbortSignal;

  /** Every wait ends with the reason of `stop` when that is aborted. */
  constructor(stop: AbortSignal) {
    this.#stop = stop;
    stop.addEventListener('abort', () => this.#wishes.forEach((wish) => wish.giveUp(stop.reason)), {
      once: true,
    });
  }

  emit(worker: string, message: FromWorker): void {
    for (const wish of this.#wishes) if (wish.kind === message.kind) wish.take(worker, message);
  }

  /** The next message of a kind that `fits`; rejects after a while, naming what was waited for. */
  async next<Kind extends FromWorker['kind']>(
    kind: Kind,
    what: string,
    fits: (message: Told<Kind>) => boolean = () => true,
    patienceMs = PATIENCE_MS,
  ): Promise<Told<Kind>> {
    this.#stop.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#wishes.delete(wish);
        clearTimeout(timer);
      };
      const take = (worker: string, message: FromWorker): void => {
        // the cast: emit() looked at the kind
        const told = { ...message, worker } as Told<Kind>;
        if (!fits(told)) return;
        end();
        resolve(told);
      };
      const giveUp = (reason: unknown): void => {
        end();
        // the stop's reason is an Error (main.ts), as ours is
        reject(reason instanceof Error ? reason : new Error(String(reason)));
      };
      const wish: Wish = { kind, take, giveUp };
      const timer = setTimeout(
        () => giveUp(new NotAsPlanned(`waited ${patienceMs} ms for ${what}`)),
        patienceMs,
      );
      timer.unref(); // what is not waited for any more keeps nothing alive
      this.#wishes.add(wish);
    });
  }
}
