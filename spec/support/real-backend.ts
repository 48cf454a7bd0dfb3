/** The contract's backend over servers that listen on ports of this machine, whoever started them. */
import { Redlock } from '../../lib/redlock.js';
import type { Backend, Hand } from './contract.js';
import { byHand, type AnyClient } from './real.js';

export interface Servers {
  readonly ports: readonly number[];
  connect(port: number): AnyClient;
  stop(): Promise<void>;
}

const COMPARE_AND_DELETE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

function hand(redis: ReturnType<typeof byHand>): Hand {
  return {
    claim: async (key, value, ttlMs) => (await redis.set(key, value, 'PX', ttlMs, 'NX')) === 'OK',
    get: (key) => redis.get(key),
    pttl: (key) => redis.pttl(key),
    compareAndDelete: async (key, value) => {
      await redis.eval(COMPARE_AND_DELETE, 1, key, value);
    },
    putData: async (key, type) => {
      await redis.del(key);
      await (type === 'list' ? redis.lpush(key, 'data') : redis.hset(key, 'some', 'data'));
    },
    type: (key) => redis.type(key),
  };
}

export function realBackend({ ports, connect, stop }: Servers): Backend {
  const hands = ports.map((port) => byHand(port));
  const clients: AnyClient[] = [];
  return {
    hands: hands.map(hand),
    open(options) {
      const own = ports.map((port) => connect(port));
      clients.push(...own);
      return new Redlock(own, options);
    },
    settled: (promise) => promise,
    async stop() {
      for (const client of [...hands, ...clients]) client.disconnect();
      await stop();
    },
  };
}
