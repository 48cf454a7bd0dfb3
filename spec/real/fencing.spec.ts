import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { AHEAD_US, COUNTER_LIFE_MS } from '../../lib/protocol/lua/stored.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { countedFor } from '../support/fence-blocks.js';
import { PATIENT } from '../support/patience.js';
import { byHand, ALL_KINDS, type ClientKind, eventually, isReady, type AnyClient } from '../support/real.js';
import { further, wide } from '../support/breadth.js';
import { untilAllAnswer } from './support/promises.js';
import { EVERY_KIND } from '../support/unordered.js';

const CONTENDERS = 50;
const TURNS = 2;
/** Two votes each and a silent fifth master: such an attempt is undecided until the node timeout, and tried again. */
const UNDECIDED_MS = 200;
const RETRY = { minDelayMs: 1, maxDelayMs: 20 } as const;

interface CrowdTerms extends Pick<RedlockOptions, 'nodeTimeoutMs' | 'localTurns'> {
  readonly instances: number;
}

/** Instances with connections of their own; contenders share them, five to each. */
class Crowd {
  readonly instances: readonly Redlock[];
  readonly #clients: readonly AnyClient[];

  constructor(masters: Masters, kind: ClientKind<AnyClient>, { instances, ...terms }: CrowdTerms) {
    const clients: AnyClient[] = [];
    this.instances = Array.from({ length: instances }, () => {
      const own = masters.list.map(({ port }) => kind.open(port));
      clients.push(...own);
      return new Redlock(own, { ...PATIENT, ...terms, retry: RETRY });
    });
    this.#clients = clients;
  }

  async connected(): Promise<void> {
    await eventually(() => this.#clients.every(isReady));
  }

  stop(): void {
    for (const client of this.#clients) client.disconnect();
  }
}

for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
  describe(`fencing on real servers, ${kind.name}`, function () {
    let masters: Masters;
    let crowd: Crowd;
    const open = async (nodes: number, instances: number, terms: RedlockOptions = {}): Promise<void> => {
      masters = await startMasters(nodes);
      crowd = new Crowd(masters, kind, { instances, ...terms });
      await crowd.connected();
    };
    afterEach(async () => {
      crowd.stop();
      await masters.stop();
    });

    /** All of them at once; each grant's token must be above every one that was handed out before its attempt. */
    async function compete(sets: readonly (readonly string[])[], contenders = CONTENDERS): Promise<number> {
      const highest = new Map<string, number>();
      let [grants, inside] = [0, 0];
      const contender = async (i: number): Promise<void> => {
        const redlock = crowd.instances[i % crowd.instances.length];
        for (let turn = 0; turn < TURNS; turn++) {
          const set = sets[(i + turn) % sets.length] ?? [];
          const before = Math.max(...set.map((name) => highest.get(name) ?? 0));
          await redlock?.using(set, async ({ fence = NaN }) => {
            if (sets.length === 1) expect(++inside, 'holders at a time').to.equal(1);
            expect(fence, set.join()).to.be.above(before);
            // one holder at a time: it is above those that were handed out meanwhile as well
            for (const name of set) {
              expect(fence, name).to.be.above(highest.get(name) ?? 0);
              highest.set(name, fence);
            }
            grants++;
            await new Promise((resolve) => setImmediate(resolve));
            inside--;
          });
        }
      };
      await Promise.all(Array.from({ length: contenders }, (_, i) => contender(i)));
      return grants;
    }

    for (const localTurns of [8, 0])
      further(
        `T-A11: N=5, one frozen, ${CONTENDERS} contenders, localTurns: ${localTurns}: tokens rise in real time, also after the thaw`,
        async () => {
          await open(5, 10, { nodeTimeoutMs: UNDECIDED_MS, localTurns });
          const [frozen] = masters.list;
          await frozen?.freeze();
          expect(await compete([['r']])).to.equal(CONTENDERS * TURNS);
          await frozen?.thaw();
          expect(await compete([['r']])).to.equal(CONTENDERS * TURNS);
        },
      );

    for (const contenders of wide([20, CONTENDERS], [20])) {
      it(`N=3, ${contenders} contenders for sets that overlap: tokens rise for each resource`, async () => {
        await open(3, 10);
        const sets = [['a', 'b'], ['b', 'c'], ['c'], ['a', 'b', 'c']];
        expect(await compete(sets, contenders)).to.equal(contenders * TURNS);
      });
    }

    it('T-A5: N=3, one master after another is killed and comes back empty, or is flushed: tokens rise', async () => {
      await open(3, 1);
      const [redlock] = crowd.instances;
      const fences: number[] = [];
      const grant = async (): Promise<void> => {
        await redlock?.using('r', ({ fence = NaN }) => void fences.push(fence));
      };
      await grant();
      for (const master of masters.list) {
        await master.kill();
        await grant();
        await master.restart({ empty: true });
        await untilAllAnswer(...crowd.instances); // GLIDE does not show that it has connected anew
        await grant();
        const hand = byHand(master.port);
        await hand.flushall();
        hand.disconnect();
        await grant();
      }
      for (let i = 1; i < fences.length; i++) expect(fences[i]).to.be.above(fences[i - 1] ?? NaN);
    });

    it('N=1, FLUSHALL between any two grants: tokens rise, since its clock goes on', async () => {
      await open(1, 1);
      const [redlock] = crowd.instances;
      const hand = byHand(masters.list[0]?.port ?? 0);
      let last = 0;
      for (let turn = 0; turn < 20; turn++) {
        await redlock?.using('r', ({ fence = NaN }) => {
          expect(fence).to.be.above(last);
          last = fence;
        });
        await hand.flushall();
      }
      hand.disconnect();
    });

    it('N=3: what is handed out is what a quorum of counters holds, as a plain integer, and it lives for a minute', async () => {
      await open(3, 1);
      const [redlock] = crowd.instances;
      const lease = await redlock?.acquire('{x}r');
      const hands = masters.list.map(({ port }) => byHand(port));
      const counts = await Promise.all(hands.map((hand) => hand.get(counterKey('{x}r'))));
      expect(counts.filter((count) => count === countedFor(lease?.fence)).length).to.be.at.least(quorumOf(3));
      expect(lease?.fence).to.be.above(2 ** 50);
      for (const hand of hands) {
        if ((await hand.get(counterKey('{x}r'))) === null) continue; // the third one may still be on its way
        expect(await hand.pttl(counterKey('{x}r'))).to.be.within(1, COUNTER_LIFE_MS + AHEAD_US / 1_000);
      }
      await lease?.release();
      for (const hand of hands) hand.disconnect();
    });
  });
}
