/** The channels of one server, and their subscribers. */

export type Listener = (text: string) => void;

export class Channels {
  readonly #listeners = new Map<string, Set<Listener>>();
  #published: (() => void)[] = [];

  /** Each listener represents a connection; the same one counts once. @returns a function that unsubscribes */
  subscribe(channel: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel);
    };
  }

  /** Publishes to the current listeners. `deliver` calls them when the command that published is done. */
  publish(channel: string, text: string): number {
    const listeners = [...(this.#listeners.get(channel) ?? [])];
    for (const listener of listeners) this.#published.push(() => listener(text));
    return listeners.length;
  }

  deliver(): void {
    for (const tell of this.#published.splice(0)) tell();
  }

  /** Nobody is connected any longer. */
  clear(): void {
    this.#listeners.clear();
    this.#published = [];
  }
}
