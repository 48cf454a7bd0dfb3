/** What the writer of a read-write lock has. */
import type { Grant } from '../quorum/grant.js';
import { Lease, type LeaseEnvironment, type LeaseTerms } from './lease.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';

export class WriteLease extends Lease {
  readonly #grant: Grant;

  /** @internal Leases come from `acquire`, `tryAcquire`, `using` and `adopt`. */
  constructor(environment: LeaseEnvironment, grant: Grant, resources: readonly string[], terms: LeaseTerms) {
    super(environment, grant, resources, terms);
    this.#grant = grant;
  }

  /** `write`, until `downgrade` was called. */
  get mode(): 'read' | 'write' {
    return this.#grant.kind.name === 'write' ? 'write' : 'read';
  }

  /**
   * From here on it holds the lock as a reader: other readers may come in, and no writer was there in between. It is extended
   * by its ttl, and keeps its fence. Does nothing the second time. There is no way back.
   *
   * It counts as a reader at once, before any master has heard of it. Resolves when a quorum of them has; when it throws
   * `NO_QUORUM` or `MISCONFIGURED`, the lease is held all the same, and the next extension says it again: until then other
   * readers may have to wait, for no longer than the ttl.
   *
   * @throws RedlockError as `extend` does
   */
  async downgrade(): Promise<void> {
    this.assertHeld();
    if (this.mode === 'read') return;
    this.#grant.downgrade();
    await this.extend();
  }

  override [INSPECT](...given: Inspecting): string {
    return printed(this, 'WriteLease', ...given);
  }
}
