/** A service that works under a lock. It gets the application's `Redlock` as it gets anything else. */
import { Injectable } from '@nestjs/common';
import type { Lease, Redlock } from '../../lib/index.js'; // you write: from 'quorate'

@Injectable()
export class InvoicesService {
  readonly #redlock: Redlock;

  constructor(redlock: Redlock) {
    this.#redlock = redlock;
  }

  /** One at a time for each invoice, in all processes. There is no decorator for it: the work needs the lease. */
  bill(id: string, work: (lease: Lease) => Promise<void>): Promise<void> {
    return this.#redlock.using(`invoice:${id}`, { ttlMs: 5_000, onLoss: 'throw' }, work);
  }
}
