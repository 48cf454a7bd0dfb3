/**
 * The floors: what the commands of a quorum lock cost on their own, in plain ioredis, written as lean as a good engineer
 * would. Both steps go to all masters.
 *
 * They are no locks to use: no validity, no timeouts, no undo and no retry, and they trust every client to be connected.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { quorumOf } from '../../lib/quorum.js';
import { type ClientOptions, ClientSession, openClients } from './clients.js';
import { type Contender, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';

interface FloorHeld {
  readonly resource: string;
  readonly token: string;
}

/** @param votesOf how many of N answers a step waits for */
export function floorOf(
  votesOf: (nodes: number) => number,
  options: ClientOptions = {},
): Contender<FloorHeld> {
  return {
    kinds: [PLAIN_HOLD],
    async open(urls) {
      const clients = await openClients(urls, options);
      // a master that comes back without its data has lost its scripts too
      for (const client of clients) client.on('ready', () => void loadScript(client).catch(() => undefined));
      await Promise.all(clients.map(loadScript));
      return new FloorSession(clients, votesOf(urls.length));
    },
  };
}

export { quorumOf };

/** Compare and delete, as short as it can be. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;
const DIGEST = createHash('sha1').update(RELEASE).digest('hex');

function loadScript(client: Redis): Promise<unknown> {
  return client.script('LOAD', RELEASE);
}

class FloorSession extends ClientSession implements Session<FloorHeld> {
  readonly #votes: number;
  readonly #spare: number;

  constructor(clients: readonly Redis[], votes: number) {
    super(clients);
    this.#votes = votes;
    this.#spare = clients.length - votes;
  }

  acquire(resource: string): Promise<FloorHeld> {
    const token = randomUUID();
    return new Promise((resolve, reject) => {
      let granted = 0;
      let failed = 0;
      const onFailure = (): void => {
        if (++failed > this.#spare) reject(new Error('no quorum'));
      };
      const onReply = (reply: 'OK' | null): void => {
        if (reply !== 'OK') onFailure();
        else if (++granted === this.#votes) resolve({ resource, token });
      };
      for (const client of this.clients) {
        client.set(resource, token, 'PX', TTL_MS, 'NX').then(onReply, onFailure);
      }
    });
  }

  release({ resource, token }: FloorHeld): Promise<void> {
    return new Promise((resolve, reject) => {
      let confirmed = 0;
      let failed = 0;
      const onFailure = (): void => {
        if (++failed > this.#spare) reject(new Error('no quorum'));
      };
      const onReply = (): void => {
        if (++confirmed === this.#votes) resolve();
      };
      for (const client of this.clients) {
        client.evalsha(DIGEST, 1, resource, token).then(onReply, onFailure);
      }
    });
  }
}
