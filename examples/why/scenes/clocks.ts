import { judge, Tape } from '../tape.js';
import { claimantFor, giveBack, OUR_WAYS } from '../ways.js';
import { each, type Scene } from './scene.js';

const TTL_MS = 60_000;
const AHEAD_MS = 90_000;

export const clocks: Scene = {
  name: 'clocks',
  title: 'Clocks apart',
  weakness: `B's wall clock is 90 s ahead. The instant that A wrote a moment ago, 60 s from now, is past for B.`,
  answer: `A token lock leaves the time to the server's expiry: no client's clock is asked. Until clocks are apart by more than
a margin, a timestamp lock holds, too (clockMarginMs).`,
  expected: { commands: 'breaks', script: 'breaks', token: 'holds', quorum: 'holds', fenced: 'holds' },
  drawn: ['script', 'token'],
  play: (stage) =>
    each(OUR_WAYS, async (way, resource) => {
      const key = `clocks:${resource}`;
      const tape = new Tape('A', 'B');
      const a = claimantFor(way, await stage.quorum(), { ttlMs: TTL_MS });
      const b = claimantFor(way, await stage.quorum(), { ttlMs: TTL_MS, aheadMs: AHEAD_MS });
      const own = await a.acquire(key);
      tape.believes('A', 'acquires, for 60 s');
      tape.say('B', 'its clock is 90 s ahead', 'fault');
      const other = await b.tryAcquire(key);
      if (other === null) tape.say('B', 'is refused', 'good');
      else tape.believes('B', 'takes over what it reads as expired', 'bad');
      tape.say('A', own.status === 'held' ? 'goes on: its lease is held' : 'stops');
      await giveBack(own, other);
      return judge(tape, 'B took a lock that A held', 'B was refused');
    }),
};
