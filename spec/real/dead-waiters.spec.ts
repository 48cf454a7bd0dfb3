/**
 * Waiters that are killed on real masters: whoever lives is served, and places of the dead do not stay. That the holder may
 * be killed as well, and when who lives is served, is shown under virtual time: `spec/simulation/crash-simulation.ts`, `spec/queue/dead-waiters.spec.ts`.
 */
import { expect } from 'chai';
import { queueKey, looksKey, turnKey } from '../../lib/protocol/keys.js';
import { GONE_MS } from '../../lib/protocol/lua/waiting.js';
import type { Redlock } from '../../lib/redlock.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { eventually } from '../support/real.js';
import { RealBench } from './support/real-bench.js';
import { wide } from '../support/breadth.js';

const DEAD = 8;

/** What is wanted, and how somebody else asks for it. */
const WANTED: readonly (readonly [string, (redlock: Redlock) => Promise<{ release(): unknown }>])[] = [
  ['lock', (redlock) => redlock.acquire('r')],
  ['write', (redlock) => redlock.readWriteLock('r').write.acquire()],
  [
    'lead',
    async (redlock) => {
      const leadership = await redlock.election('r').campaign('another');
      return { release: () => leadership.resign() };
    },
  ],
];

describe('waiters that are killed, on real masters', () => {
  let bench: RealBench;
  beforeEach(async () => {
    bench = new RealBench();
    await bench.open(3, { persist: true });
  });
  afterEach(() => bench.close());

  const waiting = (): Promise<string[][]> =>
    Promise.all(bench.hands.map((hand) => hand.zrange(queueKey('r'), '0', '-1')));
  const inQueue = (count: number): Promise<void> =>
    eventually(async () => (await waiting()).every(({ length }) => length === count));

  for (const [kind, want] of wide(WANTED, WANTED.slice(0, 1))) {
    it(`${kind}: ${DEAD} waiters are killed, and their places are dropped; then the holder releases, and who lives is served`, async () => {
      const holder = await want(await bench.lock());
      const dead = bench.program('want-for-good', String(DEAD), 'r', kind);
      await inQueue(DEAD);
      const wait = want(await bench.lock());
      await inQueue(DEAD + 1);
      dead.kill();
      await inQueue(1);
      await holder.release();
      await (await wait).release();
      await inQueue(0);
    });
  }

  it('a hundred places of nobody: dropped by the first look of one that lives; they are not counted as waiting', async () => {
    const holder = await (await bench.lock()).acquire('r');
    const tokens = Array.from({ length: 100 }, (_, i) => tokenFrom(`gone${i}`, String(i)));
    for (const hand of bench.hands) {
      await hand.zadd(queueKey('r'), ...tokens.flatMap((token, i) => [i + 1, token]));
      await hand.set(turnKey('r'), '0||');
    }
    const lock = await bench.lock();
    expect((await lock.inspect('r')).waiting).to.equal(100); // nobody knows better
    const wait = lock.acquire('r');
    await inQueue(1);
    await eventually(async () => (await lock.inspect('r')).waiting === 1);
    await holder.release();
    await (await wait).release();
  });

  for (const kind of ['exclusive', 'shared'] as const) {
    it(`${kind}: places whose owners have not looked for ${GONE_MS} ms are not counted as waiting, whoever looks`, async () => {
      const [dead = '', living = '', unknown = ''] = ['dead', 'living', 'unknown'].map((name) =>
        tokenFrom(name, '1'),
      );
      for (const hand of bench.hands) {
        const [seconds] = await hand.time();
        await hand.zadd(queueKey('r'), 1, dead, 2, living, 3, unknown);
        const look = (agoS: number): string => `${Number(seconds) - agoS}000000`;
        await hand.hset(looksKey('r'), {
          [dead]: `${look(GONE_MS / 1_000 + 1)}|7|3000|0||0`,
          [living]: look(-60), // and not while this spec lasts
        });
      }
      const lock = await bench.lock();
      const told = kind === 'exclusive' ? lock.inspect('r') : lock.readWriteLock('r').write.inspect();
      expect((await told).waiting).to.equal(2);
    });
  }
});
