/** The lease of the writer of a read-write lock. */
import type { Grant } from '../quorum/grant.js';
import { Lease } from './lease.js';
import type { LeaseParts, LeaseTerms } from './lease-parts.js';
import type { WriteLease as PublicWriteLease } from './public.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';

export class WriteLease extends Lease implements PublicWriteLease {
  readonly #grant: Grant;

  constructor(parts: LeaseParts, grant: Grant, resources: readonly string[], terms: LeaseTerms) {
    super(parts, grant, resources, terms);
    this.#grant = grant;
  }

  get mode(): 'read' | 'write' {
    return this.#grant.kind.name === 'write' ? 'write' : 'read';
  }

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
