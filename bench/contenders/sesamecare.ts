/** @sesamecare-oss/redlock, a fork of redlock 5, at its defaults, which are the same. */
import { loadPeer, openIoredis } from './clients.js';
import { type Contender, PLAIN_HOLD } from './contender.js';
import { type RedlockClass, RedlockSession } from './redlock-like.js';

export const contender: Contender = {
  kinds: [PLAIN_HOLD],
  async open(urls) {
    const { Redlock } = await loadPeer<{ readonly Redlock: RedlockClass }>('@sesamecare-oss/redlock');
    return new RedlockSession(await openIoredis(urls), Redlock);
  },
};
