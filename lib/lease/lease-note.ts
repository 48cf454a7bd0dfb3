/**
 * The note of a lease: a text beside its votes, for people who look at the lock. It is written behind the grant and each
 * extension, and deleted before the release. Its key has the fingerprint of the lease's token, so holders of one lock do not
 * share it, and what comes late belongs to nobody else. The next turn in a local line has the same token: its note follows on
 * the same connections. It lives as long as a vote does.
 */
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import { noteKey } from '../protocol/keys.js';
import type { Request } from '../protocol/request.js';
import { textDropping, textWriting } from '../protocol/text-requests.js';

export class LeaseNote {
  readonly #nodes: readonly Node[];
  readonly #keys: readonly string[];
  readonly #text: string;

  /** @param keys  of the locks that the lease holds @param holder  the fingerprint of its token */
  constructor(nodes: readonly Node[], keys: readonly string[], holder: string, text: string) {
    this.#nodes = nodes;
    this.#keys = keys.map((key) => noteKey(key, holder));
    this.#text = text;
  }

  /** @param ttlMs  how long it lives from here on */
  write(ttlMs: number): void {
    this.#send((key) => textWriting(key, this.#text, ttlMs));
  }

  drop(): void {
    this.#send(textDropping);
  }

  #send(requestFor: (key: string) => Request): void {
    for (const key of this.#keys) {
      const ask = { request: requestFor(key), sink: IGNORED_ANSWER };
      for (const node of this.#nodes) if (node.isHealthy) node.send(ask);
    }
  }
}
