/**
 * The floors: what the commands of a quorum lock cost on their own, in plain ioredis, written as lean as a good engineer
 * would. Both steps go to all masters.
 *
 * They are no locks to use: no validity, no timeouts, no undo and no retry, and they trust every client to be connected.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { counterKey } from '../../lib/keys.js';
import { quorumOf } from '../../lib/quorum.js';
import { type ClientOptions, ClientSession, openClients } from './clients.js';
import { type Contender, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';

interface FloorHeld {
  readonly resource: string;
  readonly token: string;
}

/**
 * @param votesOf how many of N answers a step waits for
 * @param isFenced  a script counts each grant
 */
export function floorOf(
  votesOf: (nodes: number) => number,
  options: ClientOptions = {},
  isFenced = false,
): Contender<FloorHeld> {
  return {
    kinds: [PLAIN_HOLD],
    async open(urls) {
      const clients = await openClients(urls, options);
      // a master that comes back without its data has lost its scripts too
      for (const client of clients) client.on('ready', () => void loadScripts(client).catch(() => undefined));
      await Promise.all(clients.map(loadScripts));
      const votes = votesOf(urls.length);
      return isFenced ? new FencedSession(clients, votes) : new FloorSession(clients, votes);
    },
  };
}

export { quorumOf };

/** Compare and delete, as short as it can be. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;
const DIGEST = digestOf(RELEASE);

/** As short as it can be: claim, count, and let the counter outlive its last use. */
const FENCED_CLAIM = `if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  local fence = redis.call('INCR', KEYS[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  return fence
end
return 0`;
const FENCED_DIGEST = digestOf(FENCED_CLAIM);
const COUNTER_TTL_MS = 3_600_000;

function digestOf(script: string): string {
  return createHash('sha1').update(script).digest('hex');
}

function loadScripts(client: Redis): Promise<unknown> {
  return Promise.all([client.script('LOAD', RELEASE), client.script('LOAD', FENCED_CLAIM)]);
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
      const onReply = (reply: unknown): void => {
        if (reply !== 'OK' && !isFence(reply)) onFailure();
        else if (++granted === this.#votes) resolve({ resource, token });
      };
      for (const client of this.clients) this.claim(client, resource, token).then(onReply, onFailure);
    });
  }

  protected claim(client: Redis, resource: string, token: string): Promise<unknown> {
    return client.set(resource, token, 'PX', TTL_MS, 'NX');
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

class FencedSession extends FloorSession {
  protected override claim(client: Redis, resource: string, token: string): Promise<unknown> {
    return client.evalsha(FENCED_DIGEST, 2, resource, counterKey(resource), token, TTL_MS, COUNTER_TTL_MS);
  }
}

/** 0 is a refusal. */
function isFence(reply: unknown): boolean {
  return typeof reply === 'number' && reply > 0;
}
