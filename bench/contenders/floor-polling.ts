/**
 * A lock by hand that waits: the floor's commands, and another try 5 to 15 ms later (or 10 to 30), until it has a quorum. What it
 * got of a lock that is held it gives back first. As the other floors it is no lock to use.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ClientSession, openConnections } from './clients.js';
import type { Connection } from './connection.js';
import { type Contender, PLAIN_HOLD, type Session } from './contender.js';
import { claimPlainly, loadScripts, quorumOf, releasePlainly } from './floor.js';

interface Held {
  readonly resource: string;
  readonly token: string;
}

/** The range of the pause before the next try, in ms. */
interface Pause {
  readonly least: number;
  readonly most: number;
}

export function pollingEvery(between: Pause): Contender<Held> {
  return {
    kinds: [PLAIN_HOLD],
    async open(urls, client) {
      const connections = await openConnections(urls, client);
      await Promise.all(connections.map(loadScripts));
      return new PollingSession(connections, between);
    },
  };
}

export const contender = pollingEvery({ least: 5, most: 15 });

class PollingSession extends ClientSession implements Session<Held> {
  readonly #votes: number;
  readonly #between: Pause;

  constructor(connections: readonly Connection[], between: Pause) {
    super(connections);
    this.#between = between;
    this.#votes = quorumOf(connections.length);
  }

  async acquire(resource: string): Promise<Held> {
    for (;;) {
      const held = { resource, token: randomUUID() };
      if (await this.#claim(held)) return held;
      await this.release(held);
      const { least, most } = this.#between;
      await pause(least + Math.random() * (most - least));
    }
  }

  release({ resource, token }: Held): Promise<void> {
    const giveBack = releasePlainly(resource, token);
    return new Promise((resolve, reject) => {
      let confirmed = 0;
      const onReply = (): void => {
        if (++confirmed === this.#votes) resolve();
      };
      for (const connection of this.connections) giveBack(connection).then(onReply, reject);
    });
  }

  #claim({ resource, token }: Held): Promise<boolean> {
    const claim = claimPlainly(resource, token);
    return new Promise((resolve, reject) => {
      let granted = 0;
      let refused = 0;
      const onReply = (reply: unknown): void => {
        if (reply === 'OK') {
          if (++granted === this.#votes) resolve(true);
        } else if (++refused > this.connections.length - this.#votes) resolve(false);
      };
      for (const connection of this.connections) claim(connection).then(onReply, reject);
    });
  }
}
