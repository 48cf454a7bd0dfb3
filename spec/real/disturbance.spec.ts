import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { type AnyClient, byHand, eventually, isReady, Program } from '../support/real.js';
import { wide } from '../support/breadth.js';
import { EVERY_KIND, GLIDE_KINDS } from '../support/unordered.js';

/** Of all connections to a master but ours. */
async function connectionsOf(hand: Redis): Promise<readonly string[]> {
  const [own, list] = await Promise.all([hand.client('ID'), hand.client('LIST')]);
  const ids = [...String(list).matchAll(/^id=(\d+)/gm)].map(([, id = '']) => id);
  return ids.filter((id) => id !== String(own));
}

const always = (): boolean => true;
const never = (): boolean => false;

const CASES = EVERY_KIND.flatMap((kind) => [3, 1].map((nodes) => ({ kind, nodes })));

for (const { kind, nodes } of wide(CASES, CASES.slice(0, 1))) {
  describe(`disturbances: N=${nodes}, ${kind.name} at its defaults`, function () {
    let masters: Masters;
    let hands: Redis[];
    let clients: AnyClient[];
    let redlock: Redlock;
    beforeEach(async () => {
      masters = await startMasters(nodes, { persist: true });
      hands = masters.list.map(({ port }) => byHand(port));
      clients = masters.list.map(({ port }) => kind.open(port));
      redlock = new Redlock(clients, PATIENT);
      await redlock.ready(EVERY_MASTER);
    });
    afterEach(async () => {
      await redlock.close({ releaseHeld: true });
      for (const client of [...clients, ...hands]) client.disconnect();
      await masters.stop();
    });
    /** Nothing of ours is left once it is quiet. */
    const nothingLeft = async (): Promise<void> => {
      for (const hand of hands) await eventually(async () => (await hand.keys('r*')).length === 0);
    };

    /** Kills all connections but ours, and waits until the clients have others. */
    const killConnections = async (): Promise<void> => {
      const before = await Promise.all(hands.map(connectionsOf));
      for (const hand of hands) await hand.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await eventually(async () => {
        const now = await Promise.all(hands.map(connectionsOf));
        const areOthers = now.every((ids, i) => ids.length > 0 && !ids.some((id) => before[i]?.includes(id)));
        return areOthers && clients.every(isReady);
      });
      await redlock.ready(); // some clients do not show that they have lost a connection
    };

    it('connections are killed in the middle of use: callers get their locks, and no key is left', async () => {
      let [ran, killed] = [0, 0];
      const work = Array.from({ length: 10 }, async (_, i) => {
        for (let round = 0; round < 5 || killed < 3; round++) {
          await redlock.using([`r${i}`, `r${i}-too`], () => ran++);
        }
      });
      for (; killed < 3; killed++) await killConnections();
      await Promise.all(work);
      expect(ran).to.be.at.least(50);
      await nothingLeft();
    });

    it('connections are killed while a lease is extended: it stays held', async () => {
      const lease = await redlock.acquire('r');
      for (let times = 0; times < 5; times++) {
        const extension = lease.extend().catch(() => undefined); // it may meet no connection, or its answer is lost
        await killConnections();
        await extension;
        lease.assertHeld();
        // GLIDE may give up the new connection, too, with what was sent by it
        if (GLIDE_KINDS.includes(kind)) await eventually(() => lease.extend().then(always, never));
        else await lease.extend();
      }
      await lease.release();
      await nothingLeft();
    });

    it('SCRIPT FLUSH between and during calls costs nothing', async () => {
      for (let round = 0; round < 20; round++) {
        await Promise.all([
          redlock.using(['r1', 'r2'], { waitMs: 0 }, (lease) => lease.extend()),
          ...hands.map((hand) => hand.script('FLUSH')),
        ]);
      }
      await nothingLeft();
    });

    it('FLUSHALL while it is held: a release does nothing, and the next one gets it', async () => {
      const lease = await redlock.acquire('r');
      for (const hand of hands) await hand.flushall();
      await lease.release();
      await (await redlock.acquire('r')).release();
      await nothingLeft();
    });

    it('each server restarts in turn, and keeps its keys: the lease is still held, by the masters as well', async () => {
      const lease = await redlock.acquire('r');
      for (const [i, master] of masters.list.entries()) {
        await master.kill();
        await master.restart();
        await eventually(() => [clients[i], hands[i]].every((one) => one !== undefined && isReady(one)));
        // a pool does not show that it has lost its connections: a command does
        await eventually(async () =>
          (await redlock.health()).nodes.every(({ cause }) => cause === undefined),
        );
      }
      expect(await redlock.tryAcquire('r', { localTurns: 0 })).to.equal(null);
      await lease.extend();
      await lease.release();
      await nothingLeft();
    });
  });
}

describe('many instances in several processes', () => {
  for (const nodes of wide([1, 3], [3])) {
    it(`N=${nodes}: one holder at a time, and all are served, with a master frozen meanwhile where possible`, async () => {
      const [masters, shared] = await Promise.all([startMasters(nodes), startMasters(1)]);
      const counter = byHand(shared.list[0]?.port ?? 0);
      const programs = Array.from(
        { length: 4 },
        () => new Program('compete', masters.urls.join(), 'r', '25', shared.urls[0] ?? ''),
      );
      try {
        await eventually(async () => Number(await counter.get('turns')) > 20);
        if (nodes > 1) await masters.list[0]?.freeze();
        await eventually(async () => Number(await counter.get('turns')) > 50);
        if (nodes > 1) await masters.list[0]?.thaw();
        for (const program of programs) expect(await program.says('overlaps')).to.equal('overlaps 0');
        for (const program of programs) expect(await program.ends()).to.equal(0);
        expect(await counter.get('turns')).to.equal('100');
      } finally {
        for (const program of programs) program.kill();
        counter.disconnect();
        await Promise.all([masters.stop(), shared.stop()]);
      }
    });
  }
});
