/**
 * The floors: what the commands of a quorum lock cost on their own, in a plain client, written as lean as a good engineer
 * would. Both steps go to all masters.
 *
 * They are no locks to use: no validity, no timeouts, no undo and no retry, and they trust every client to be connected.
 * Only under faults they have a time limit, and give back what came of a claim that failed; else one whose master is silent
 * would never return, and what it took would be in the way of the next one.
 */
import { createHash, randomUUID } from 'node:crypto';
import { AHEAD_US, BACK_US, COUNTER_LIFE_MS } from '../../lib/protocol/lua/stored.js';
import { counterKey, markerKey, queueKey, turnKey } from '../../lib/protocol/keys.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { ClientSession, openConnections } from './clients.js';
import type { Connection } from './connection.js';
import { type Contender, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';

interface FloorHeld {
  readonly resource: string;
  readonly token: string;
}

/** What is sent to each master: made once for all of them. */
type Send = (connection: Connection) => Promise<unknown>;

/** What a floor sends. A script that a master does not know is loaded when the connection is made. */
export interface Sends {
  readonly claim: (resource: string, token: string) => Send;
  readonly release: (resource: string, token: string) => Send;
}

/**
 * @param votesOf how many of N answers a step waits for
 * @param connect where a client is not to have its defaults
 */
export function floorOf(
  votesOf: (nodes: number) => number,
  sends: Sends = PLAIN,
  connect = openConnections,
): Contender<FloorHeld> {
  return {
    kinds: [PLAIN_HOLD],
    async open(urls, client) {
      const connections = await connect(urls, client);
      // a master that comes back without its data has lost its scripts too
      for (const connection of connections) {
        connection.onReady(() => void loadScripts(connection).catch(() => undefined));
      }
      await Promise.all(connections.map(loadScripts));
      return new FloorSession(connections, votesOf(urls.length), sends);
    },
  };
}

export { quorumOf };

export const claimPlainly: Sends['claim'] = (resource, token) => (connection) =>
  connection.setNx(resource, token, TTL_MS);

/** Compare and delete, as short as it can be. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;
const RELEASE_DIGEST = digestOf(RELEASE);
export const releasePlainly: Sends['release'] = (resource, token) =>
  script(RELEASE_DIGEST, [resource], [token]);

const PLAIN: Sends = { claim: claimPlainly, release: releasePlainly };

/** The same, and tells by what it returns whether anybody waits in the queue: to whom the lock would have to be handed over. */
const LOOKING_RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1], KEYS[3]) end
return 0`;
const LOOKING_RELEASE_DIGEST = digestOf(LOOKING_RELEASE);
export const releaseLooking: Sends['release'] = (resource, token) => {
  const keys = [resource, queueKey(resource), turnKey(resource)];
  return script(LOOKING_RELEASE_DIGEST, keys, [token]);
};

/**
 * As short as it can be: claim, and lift the counter to the proposed fencing token, if that is near the master's clock and
 * above the last one.
 */
const FENCED_CLAIM = `if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  local time, fence = redis.call('TIME'), tonumber(ARGV[4])
  local now = time[1] * 1000000 + time[2]
  if fence < now - ${BACK_US} or fence > now + ${AHEAD_US} then return 0 end
  local last = redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3], 'GET')
  if last and tonumber(last) >= fence then return redis.call('INCR', KEYS[2]) end
  return fence
end
return 0`;
const FENCED_CLAIM_DIGEST = digestOf(FENCED_CLAIM);
/** µs since 1970. */
const propose = (): string => String(Math.round((performance.timeOrigin + performance.now()) * 1_000));
const TTL = String(TTL_MS);
const COUNTER_LIFE = String(COUNTER_LIFE_MS);
const claimFenced: Sends['claim'] = (resource, token) => {
  const terms = [token, TTL, COUNTER_LIFE, propose()];
  return script(FENCED_CLAIM_DIGEST, [resource, counterKey(resource)], terms);
};

/** With a fencing token, and nobody waits in the queue. */
export const FENCED: Sends = { claim: claimFenced, release: releasePlainly };

/** The same, where no marker of a restart guard says that the master may have forgotten votes. */
const WHOLE_CLAIM = `if redis.call('GET', KEYS[3]) then return 0 end
${FENCED_CLAIM}`;
const WHOLE_CLAIM_DIGEST = digestOf(WHOLE_CLAIM);
const MARKER = markerKey('');
export const claimWhole: Sends['claim'] = (resource, token) => {
  const terms = [token, TTL, COUNTER_LIFE, propose()];
  return script(WHOLE_CLAIM_DIGEST, [resource, counterKey(resource), MARKER], terms);
};

const SCRIPTS = [RELEASE, LOOKING_RELEASE, FENCED_CLAIM, WHOLE_CLAIM];

function digestOf(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}

function script(digest: string, keys: string[], args: string[]): Send {
  return (connection) => connection.evalSha(digest, keys, args);
}

export function loadScripts(connection: Connection): Promise<unknown> {
  return Promise.all(SCRIPTS.map((source) => connection.loadScript(source)));
}

class FloorSession extends ClientSession implements Session<FloorHeld> {
  readonly #sends: Sends;
  readonly #votes: number;
  readonly #spare: number;
  #limitMs: number | undefined;

  constructor(connections: readonly Connection[], votes: number, sends: Sends) {
    super(connections);
    this.#sends = sends;
    this.#votes = votes;
    this.#spare = connections.length - votes;
  }

  limit(stepMs: number): void {
    this.#limitMs = stepMs;
  }

  acquire(resource: string): Promise<FloorHeld> {
    const held = { resource, token: randomUUID() };
    return this.#limitMs === undefined ? this.#claim(held) : this.#claimWithin(this.#limitMs, held);
  }

  release(held: FloorHeld): Promise<void> {
    return this.#limitMs === undefined ? this.#giveBack(held) : within(this.#limitMs, this.#giveBack(held));
  }

  async #claimWithin(limitMs: number, held: FloorHeld): Promise<FloorHeld> {
    try {
      return await within(limitMs, this.#claim(held));
    } catch (error) {
      void this.#giveBack(held).catch(() => undefined);
      throw error;
    }
  }

  #claim(held: FloorHeld): Promise<FloorHeld> {
    return new Promise((resolve, reject) => {
      let granted = 0;
      let failed = 0;
      const onFailure = (): void => {
        if (++failed > this.#spare) reject(new Error('no quorum'));
      };
      const onReply = (reply: unknown): void => {
        if (reply !== 'OK' && !isFence(reply)) onFailure();
        else if (++granted === this.#votes) resolve(held);
      };
      const claim = this.#sends.claim(held.resource, held.token);
      for (const connection of this.connections) claim(connection).then(onReply, onFailure);
    });
  }

  #giveBack({ resource, token }: FloorHeld): Promise<void> {
    return new Promise((resolve, reject) => {
      let confirmed = 0;
      let failed = 0;
      const onFailure = (): void => {
        if (++failed > this.#spare) reject(new Error('no quorum'));
      };
      const onReply = (): void => {
        if (++confirmed === this.#votes) resolve();
      };
      const giveBack = this.#sends.release(resource, token);
      for (const connection of this.connections) giveBack(connection).then(onReply, onFailure);
    });
  }
}

async function within<Result>(limitMs: number, step: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs / 1_000} s`)), limitMs);
  });
  try {
    return await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** 0 is a refusal. */
function isFence(reply: unknown): boolean {
  return typeof reply === 'number' && reply > 0;
}
