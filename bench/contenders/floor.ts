/**
 * The floor: what the commands of a quorum lock cost on their own, in plain ioredis, written as lean as a good engineer
 * would. Both steps are sent to all masters and return at the quorum.
 *
 * It is no lock to use: it has no validity, no timeouts, no undo and no retry, and it trusts every client to be connected.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { DEFAULTS } from '../../lib/index.js';
import { quorumOf } from '../../lib/quorum.js';
import { RELEASE } from '../../lib/scripts.js';
import type { Contender, Session } from './contender.js';
import { closeClients, openClients, settleClients } from './clients.js';

interface FloorHeld {
  readonly resource: string;
  readonly token: string;
}

const DIGEST = createHash('sha1').update(RELEASE.source).digest('hex');

export const floor: Contender<FloorHeld> = {
  name: 'floor',
  about: 'plain ioredis: the same commands to all masters, returns at the quorum, checks nothing',
  kinds: [{ label: 'resource and token', renew: false, isWatched: false }],
  async open(urls) {
    const clients = await openClients(urls);
    // a master that comes back without its data has lost its scripts too
    for (const client of clients) client.on('ready', () => void loadScript(client).catch(() => undefined));
    await Promise.all(clients.map(loadScript));
    return new FloorSession(clients);
  },
};

function loadScript(client: Redis): Promise<unknown> {
  return client.script('LOAD', RELEASE.source);
}

class FloorSession implements Session<FloorHeld> {
  readonly #clients: readonly Redis[];
  readonly #quorum: number;
  readonly #spare: number;

  constructor(clients: readonly Redis[]) {
    this.#clients = clients;
    this.#quorum = quorumOf(clients.length);
    this.#spare = clients.length - this.#quorum;
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
        else if (++granted === this.#quorum) resolve({ resource, token });
      };
      for (const client of this.#clients) {
        client.set(resource, token, 'PX', DEFAULTS.ttlMs, 'NX').then(onReply, onFailure);
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
        if (++confirmed === this.#quorum) resolve();
      };
      for (const client of this.#clients) {
        client.evalsha(DIGEST, 1, resource, token).then(onReply, onFailure);
      }
    });
  }

  settled(): Promise<void> {
    return settleClients(this.#clients);
  }

  close(): Promise<void> {
    closeClients(this.#clients);
    return Promise.resolve();
  }
}
