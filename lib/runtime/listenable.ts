/**
 * Events of an instance, an election or a job: the methods of Node's `EventEmitter` that concern listeners. It has that
 * shape, and not `EventTarget`'s, because then an event is a plain object, `on` and `once` of `node:events` know it, and an
 * event without listeners costs nothing. It is not an `EventEmitter` itself: only the object emits its events, and a listener
 * that throws must not reach the code that emits them.
 */
import { invalidArgument } from './errors.js';
import type { EventHub } from './event-hub.js';

/** A function that is called with an event. Its result is ignored, unless it is a promise that rejects. */
export type Listener<Event> = (event: Event) => unknown;

/** An object that emits events. */
export interface Listenable<Events extends object> {
  /**
   * Calls the listener with each such event from now on, in a microtask after the code that emitted it. A listener that throws
   * or rejects disturbs nothing: a process warning (`QUORATE_LISTENER`) reports it, once per listener.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  on<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** Like `on`, for the next event only. */
  once<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** Stops calling the listener. Has no effect if it was not added. */
  off<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** Like `on`. */
  addListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** Like `off`. */
  removeListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** How many listeners an event has. */
  listenerCount(event: keyof Events): number;
}

/** Emits the events of a hub. */
export class Emitter<Events extends object> implements Listenable<Events> {
  readonly #hub: EventHub<Events>;
  readonly #names: readonly (keyof Events)[];

  /** @internal */
  constructor(hub: EventHub<Events>, names: readonly (keyof Events)[]) {
    this.#hub = hub;
    this.#names = names;
  }

  /**
   * Calls the listener with each such event from now on, in a microtask after the code that emitted it. A listener that throws
   * or rejects disturbs nothing: a process warning (`QUORATE_LISTENER`) reports it, once per listener.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * redlock.on('lost', ({ resources, heldMs, cause }) => {
   *   console.error(`lost ${resources.join()} after ${heldMs} ms: ${cause.message}`);
   * });
   * ```
   */
  on<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.#add(event, listener, false);
  }

  /** Like `on`, for the next event only. @throws RedlockError `INVALID_ARGUMENT` */
  once<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.#add(event, listener, true);
  }

  /** Stops calling the listener. Has no effect if it was not added. */
  off<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    this.#hub.remove(event, listener);
    return this;
  }

  /** Like `on`. */
  addListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.on(event, listener);
  }

  /** Like `off`. */
  removeListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.off(event, listener);
  }

  /** How many listeners an event has. */
  listenerCount(event: keyof Events): number {
    return this.#hub.count(event);
  }

  #add<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>, isOnce: boolean): this {
    if (typeof listener !== 'function') throw invalidArgument('listener', listener, 'a function');
    if (!this.#names.includes(event) && !isOfNodeEvents(event))
      throw invalidArgument('event', event, `one of ${this.#names.join(', ')}`);
    this.#hub.add(event, listener, isOnce);
    return this;
  }
}

/** `on` and `once` of `node:events` also listen to `error`. There is no such event, so it is never called. */
function isOfNodeEvents(event: PropertyKey): boolean {
  return event === 'error';
}
