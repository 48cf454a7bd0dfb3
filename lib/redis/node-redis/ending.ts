/** The end of a client of ours. */

/** The parts of a client that are needed to end it. */
export interface Endable {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  on(event: 'connect' | 'error' | 'end', listener: (error: Error) => void): unknown;
  unref(): void;
  destroy(): unknown;
}

/** Ends a client. While it dials, `destroy()` would leave the connection that comes, so that one is ended as it comes. */
export class Ending {
  readonly #client: Endable;
  #isDialled = false;
  #isEnded = false;

  constructor(client: Endable) {
    this.#client = client;
    client.on('connect', () => {
      this.#isDialled = true;
      if (this.#isEnded) this.#destroy();
    });
    client.on('error', () => (this.#isDialled = client.isReady === true));
    client.on('end', () => (this.#isDialled = false)); // and it may connect anew
  }

  /** It must not reconnect from here on. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  end(): void {
    this.#isEnded = true;
    if (this.#isDialled || !this.#client.isOpen) this.#destroy();
    else this.#client.unref();
  }

  #destroy(): void {
    try {
      this.#client.destroy();
    } catch {} // version 5 throws if it is closed
  }
}
