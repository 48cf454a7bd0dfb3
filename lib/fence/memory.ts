/**
 * The fence for a resource that one process owns: a file, a device, a cache in this process.
 *
 * Its memory grows with the number of different resources, on purpose: a forgotten resource would accept every late write
 * again, so no bound is safe. Give each set of resources its own instance, and drop the instance together with the set.
 */
import { requireFence, staleFence } from './refusal.js';

/**
 * A fence with its memory in this process; a restart forgets it. Every call is synchronous: no other code runs between the
 * check and a write that follows it without an `await`.
 *
 * @example
 * ```ts
 * const fence = new MemoryFence();
 * fence.check('printer:1', lease.fence); // throws STALE_FENCE if a later holder was here
 * print(page);
 * ```
 */
export class MemoryFence {
  readonly #highest = new Map<string, number>();

  /**
   * Returns true and remembers the token, unless a higher token was accepted for the resource. Returns false if one was: the
   * writer's lease has ended. Accepts the same token again, since one holder may write several times.
   *
   * @param fence  the writer's fencing token, `lease.fence`
   * @throws RedlockError `INVALID_ARGUMENT`: the resource is empty, or the token is undefined (fencing is off) or not a
   *   positive safe integer
   */
  accepts(resource: string, fence: number | undefined): boolean {
    const given = requireFence(resource, fence);
    return this.#raise(resource, given) === given;
  }

  /**
   * Like `accepts`, but throws for a stale token.
   *
   * @throws RedlockError `STALE_FENCE`: a higher token was accepted · `INVALID_ARGUMENT` as `accepts` does
   */
  check(resource: string, fence: number | undefined): void {
    const given = requireFence(resource, fence);
    const highest = this.#raise(resource, given);
    if (highest !== given) throw staleFence(resource, given, highest);
  }

  /** The highest token that was accepted for the resource; undefined if none was. */
  highest(resource: string): number | undefined {
    return this.#highest.get(resource);
  }

  /** The highest token of the resource, this one included. */
  #raise(resource: string, fence: number): number {
    const highest = Math.max(fence, this.#highest.get(resource) ?? 0);
    this.#highest.set(resource, highest);
    return highest;
  }
}
