/** redlock 5.0.0-beta.2 at its defaults: up to 10 retries, 200 ± 100 ms apart; extends 500 ms before the end. */
import { loadPeer, openIoredis } from './clients.js';
import { type Contender, PLAIN_HOLD } from './contender.js';
import { type RedlockClass, RedlockSession } from './redlock-like.js';

export const contender: Contender = {
  kinds: [PLAIN_HOLD],
  async open(urls) {
    const { default: Redlock } = await loadPeer<{ readonly default: RedlockClass }>('redlock5');
    return new RedlockSession(await openIoredis(urls), Redlock);
  },
};
