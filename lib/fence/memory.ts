/**
 * The guard for a resource that one process owns: a file, a device, a cache in this process.
 *
 * It is as big as the number of different resources it has seen, on purpose: a resource that was forgotten would accept
 * every late write again, so no bound can be kept safely. Give each set of resources an instance of its own, and drop
 * the instance with them.
 */
import { requireFence, staleFence } from './refusal.js';

/**
 * Remembers in this process; nothing is kept over a restart. Every call is synchronous, so nothing comes between the
 * check and an effect that follows it without an `await`.
 *
 * @example
 * ```ts
 * const guard = new MemoryFence();
 * guard.check('printer:1', lease.fence); // throws STALE_FENCE when a later holder was here
 * print(page);
 * ```
 */
export class MemoryFence {
  readonly #highest = new Map<string, number>();

  /**
   * True: go on, and the fence is remembered. False: a higher fence was accepted for the resource, so this one's lease is
   * over. The same fence is accepted again: one holder writes several times.
   *
   * @throws RedlockError `INVALID_ARGUMENT` for an empty resource, or a fence that is undefined (fencing is off) or no
   * positive safe integer
   */
  accepts(resource: string, fence: number | undefined): boolean {
    const given = requireFence(resource, fence);
    return this.#raise(resource, given) === given;
  }

  /**
   * The same, for those who would rather have an error.
   *
   * @throws RedlockError `STALE_FENCE` when a higher fence was accepted; `INVALID_ARGUMENT` as `accepts`
   */
  check(resource: string, fence: number | undefined): void {
    const given = requireFence(resource, fence);
    const highest = this.#raise(resource, given);
    if (highest !== given) throw staleFence(resource, given, highest);
  }

  /** The highest fence that was accepted for the resource; undefined where none was. */
  highest(resource: string): number | undefined {
    return this.#highest.get(resource);
  }

  /** The highest fence that the resource has seen, this one included. */
  #raise(resource: string, fence: number): number {
    const highest = Math.max(fence, this.#highest.get(resource) ?? 0);
    this.#highest.set(resource, highest);
    return highest;
  }
}
