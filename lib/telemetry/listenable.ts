/**
 * The listeners of an instance: the methods of Node's `EventEmitter` that concern listeners. It is that shape, and not
 * `EventTarget`'s, because an event is a plain object then, `on` of `node:events` knows it, and nothing is made
 * for an event to which nobody listens. It is no `EventEmitter` itself: only the instance tells its events, and a listener that
 * throws must not reach the code that tells of them.
 */
import { invalidArgument } from '../runtime/errors.js';
import type { EventHub } from './event-hub.js';
import { EVENT_NAMES, type RedlockEvent, type RedlockListener } from './events.js';

/** What has events and listeners to them. */
export class Listenable {
  readonly #hub: EventHub;

  /** @internal */
  constructor(hub: EventHub) {
    this.#hub = hub;
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
  on<Name extends RedlockEvent>(event: Name, listener: RedlockListener<Name>): this {
    if (typeof listener !== 'function') throw invalidArgument('listener', listener, 'a function');
    if (!EVENT_NAMES.includes(event) && !isOfNodeEvents(event))
      throw invalidArgument('event', event, `one of ${EVENT_NAMES.join(', ')}`);
    this.#hub.add(event, listener);
    return this;
  }

  /** Does not call the listener any more. No effect if it was not added. */
  off<Name extends RedlockEvent>(event: Name, listener: RedlockListener<Name>): this {
    this.#hub.remove(event, listener);
    return this;
  }

  /** As `on`. */
  addListener<Name extends RedlockEvent>(event: Name, listener: RedlockListener<Name>): this {
    return this.on(event, listener);
  }

  /** As `off`. */
  removeListener<Name extends RedlockEvent>(event: Name, listener: RedlockListener<Name>): this {
    return this.off(event, listener);
  }

  /** How many listeners an event has. */
  listenerCount(event: RedlockEvent): number {
    return this.#hub.count(event);
  }
}

/** `on` of `node:events` also listens to `error`. There is no such event, so it is never called. */
function isOfNodeEvents(event: string): boolean {
  return event === 'error';
}
