/**
 * Passes events on to listeners.
 *
 * Listeners run in a microtask after the code that reports an event, never within it: so their calls and failures never meet
 * half-finished work. A listener that throws, or returns a promise that rejects, harms neither the reporting code nor the
 * other listeners: a process warning reports it, once for each listener.
 *
 * Bound: the queue holds the events of one stretch of code without a microtask.
 */

type Listener = (event: never) => unknown;

/** One listener; the same function may be added twice. */
interface Entry {
  readonly listener: Listener;
  /** It is called for one event only. */
  readonly isOnce: boolean;
}

interface Told<Events> {
  readonly name: keyof Events;
  readonly event: Events[keyof Events];
}

export class EventHub<Events extends object> {
  /** Called when a first listener has come, or a last one has gone. */
  onChange: (() => void) | undefined;
  readonly #entries = new Map<keyof Events, readonly Entry[]>();
  readonly #reported = new WeakSet<Listener>();
  #queue: Told<Events>[] = [];

  /** Whether somebody listens to any event. */
  get isHeard(): boolean {
    return this.#entries.size > 0;
  }

  /** Whether somebody listens to this event. */
  has(name: keyof Events): boolean {
    return this.#entries.size > 0 && this.#entries.has(name);
  }

  count(name: keyof Events): number {
    return this.#entries.get(name)?.length ?? 0;
  }

  add(name: keyof Events, listener: Listener, isOnce = false): void {
    this.#set(name, [...(this.#entries.get(name) ?? []), { listener, isOnce }]);
  }

  /** Removes the listener's last entry; no effect without one. */
  remove(name: keyof Events, listener: Listener): void {
    const entries = this.#entries.get(name) ?? [];
    const last = entries.findLast((entry) => entry.listener === listener);
    if (last !== undefined) this.#drop(name, last);
  }

  /**
   * Queues an event for its listeners, who get it when the code that runs now is done. Ask `has` before you build a costly
   * event.
   */
  tell<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    Object.freeze(event);
    if (this.#queue.length === 0) void Promise.resolve().then(() => this.#flush()); // not queueMicrotask: Jest fakes it
    this.#queue.push({ name, event });
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    for (const { name, event } of queue) {
      for (const entry of this.#entries.get(name) ?? []) {
        if (entry.isOnce) this.#drop(name, entry);
        this.#call(name, entry.listener, event);
      }
    }
  }

  #call(name: keyof Events, listener: Listener, event: Events[keyof Events]): void {
    const onFailure = (error: unknown): void => this.#report(name, listener, error);
    try {
      const result = listener(event as never); // it was added under that name, and `on` is typed
      if (result instanceof Promise) result.catch(onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  #report(name: keyof Events, listener: Listener, error: unknown): void {
    if (this.#reported.has(listener)) return;
    this.#reported.add(listener);
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
    const more = stack === undefined ? {} : { detail: stack };
    const text = `a listener of '${String(name)}' failed, which is reported once: ${message}`;
    process.emitWarning(text, { type: 'QuorateWarning', code: 'QUORATE_LISTENER', ...more });
  }

  #drop(name: keyof Events, entry: Entry): void {
    this.#set(
      name,
      (this.#entries.get(name) ?? []).filter((other) => other !== entry),
    );
  }

  #set(name: keyof Events, entries: readonly Entry[]): void {
    const wasHeard = this.#entries.has(name);
    if (entries.length > 0) this.#entries.set(name, entries);
    else this.#entries.delete(name);
    if (wasHeard !== entries.length > 0) this.onChange?.();
  }
}
