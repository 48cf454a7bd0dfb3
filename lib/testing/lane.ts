/** One direction of a connection in memory: keeps the order, also where a message takes less time than the one before it. */
import type { Timer, Timers } from '../runtime/clock.js';

interface Message {
  readonly deliver: () => void;
  hasArrived: boolean;
  timer: Timer | undefined;
}

export class Lane {
  readonly #timers: Timers;
  #messages: Message[] = [];

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  send(delayMs: number, deliver: () => void): void {
    const message: Message = { deliver, hasArrived: false, timer: undefined };
    const arrive = (): void => {
      message.hasArrived = true;
      this.#deliver();
    };
    this.#messages.push(message);
    if (delayMs > 0) message.timer = this.#timers.background(delayMs, arrive);
    else void Promise.resolve().then(arrive); // not queueMicrotask: Jest fakes it
  }

  /** What is on its way is gone. */
  clear(): void {
    for (const { timer } of this.#messages) timer?.cancel();
    this.#messages = [];
  }

  #deliver(): void {
    while (this.#messages[0]?.hasArrived === true) this.#messages.shift()?.deliver();
  }
}
