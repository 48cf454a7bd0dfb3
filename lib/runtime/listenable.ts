/**
 * Events, as an instance, an election and a job have them: the methods of Node's `EventEmitter` that concern listeners. It is
 * that shape, and not `EventTarget`'s, because an event is a plain object then, `on` and `once` of `node:events` know it, and
 * nothing is made for an event to which nobody listens. It is no `EventEmitter` itself: only the object tells its events, and
 * a listener that throws must not reach the code that tells of them.
 */
import { invalidArgument } from './errors.js';
import type { EventHub } from './event-hub.js';

/** What is called with an event. What it returns is not looked at, unless it is a promise that rejects. */
export type Listener<Event> = (event: Event) => unknown;

/** What has events and listeners to them. */
export interface Listenable<Events extends object> {
  /**
   * Calls the listener with every such event from now on, after the code that the event comes from. A listener that throws
   * or rejects harms nobody: a process warning (`QUORATE_LISTENER`) tells, once for each listener.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  on<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** As `on`, for the next event only. */
  once<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** Does not call the listener any more. No effect if it was not added. */
  off<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** As `on`. */
  addListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** As `off`. */
  removeListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this;
  /** How many listeners an event has. */
  listenerCount(event: keyof Events): number;
}

/** Tells events from a hub. */
export class Emitter<Events extends object> implements Listenable<Events> {
  readonly #hub: EventHub<Events>;
  readonly #names: readonly (keyof Events)[];

  /** @internal */
  constructor(hub: EventHub<Events>, names: readonly (keyof Events)[]) {
    this.#hub = hub;
    this.#names = names;
  }

  /**
   * Calls the listener with every such event from now on, after the code that the event comes from. A listener that throws
   * or rejects harms nobody: a process warning (`QUORATE_LISTENER`) tells, once for each listener.
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

  /** As `on`, for the next event only. @throws RedlockError `INVALID_ARGUMENT` */
  once<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.#add(event, listener, true);
  }

  /** Does not call the listener any more. No effect if it was not added. */
  off<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    this.#hub.remove(event, listener);
    return this;
  }

  /** As `on`. */
  addListener<Name extends keyof Events>(event: Name, listener: Listener<Events[Name]>): this {
    return this.on(event, listener);
  }

  /** As `off`. */
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
