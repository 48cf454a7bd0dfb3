/** Each adapter does what the bench takes it for: on real masters, and where its library is installed. */
import { expect } from 'chai';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startMasters, type Masters } from '../../scripts/masters.js';
import { CLIENT_NAMES, type ClientName, DEFAULT_CLIENT } from '../../bench/contenders/connection.js';
import type { Contender, Session } from '../../bench/contenders/contender.js';
import { type ContenderName, entryOf, isFor, isOn, NAMES } from '../../bench/contenders/index.js';
import { needs } from '../support/parts.js';

describe('bench: contenders', function () {
  let masters: Masters;
  let looker: Redis;
  const sessions: Session[] = [];

  before(async () => {
    masters = await startMasters(3);
    looker = new Redis(masters.urls[0] ?? '');
  });
  after(async () => {
    looker.disconnect();
    await masters.stop();
  });
  afterEach(async () => {
    await Promise.all(sessions.splice(0).map((session) => session.close()));
  });

  /** The locks on the first master, whatever a library calls their keys. */
  async function locks(resource: string): Promise<string[]> {
    const keys = await looker.keys(`*${resource}*`);
    return keys.filter((key) => !key.startsWith('quorate:')); // counters of fences outlive their locks
  }

  /** How long a lock lives on, in ms: by its expiry in Redis, or by the instant that it holds. */
  async function livesFor(key: string): Promise<number> {
    const ms = await looker.pttl(key);
    return ms === -1 ? Number(await looker.get(key)) - Date.now() : ms;
  }

  const places = CLIENT_NAMES.flatMap((client) =>
    NAMES.filter((name) => isOn(name, client)).map((name): [ContenderName, ClientName] => [name, client]),
  );
  for (const [name, client] of places) {
    describe(client === DEFAULT_CLIENT ? name : `${name}, by ${client}`, function () {
      let contender: Contender;

      before(async function () {
        if (entryOf(name).module !== undefined) needs(this, 'bench/node_modules');
        // from here, where bench/node_modules is found as well as it is from the compiled worker
        ({ contender } = await entryOf(name).load());
        await looker.select(entryOf(name).database ?? 0);
      });

      const open = async (count: number): Promise<Session> => {
        const session = await contender.open(masters.urls.slice(0, count), client);
        sessions.push(session);
        return session;
      };

      const most = isFor(name, 3) ? 3 : 1;

      for (const nodes of most === 1 ? [1] : [1, 3]) {
        it(`N = ${nodes}: takes a lock on the masters for the ttl that all have, and gives it back`, async () => {
          const session = await open(nodes);
          const resource = `spec-${name}-${nodes}`;
          const held = await session.acquire(resource);
          await session.settled();
          const [key = ''] = await locks(resource);
          expect(await livesFor(key)).to.be.within(1, 30_001);
          await session.release(held);
          await session.settled();
          expect(await locks(resource)).to.deep.equal([]);
        });
      }

      it('counts what it sends: at least one command to each master for each step', async () => {
        const session = await open(most);
        const held = await session.acquire(`spec-${name}-warm`);
        await session.release(held);
        await session.settled();
        expect(session.sent()).to.equal(0);
        const next = await session.acquire(`spec-${name}-sent`);
        await session.release(next);
        await session.settled();
        expect(session.sent()).to.be.within(3 * most, 6 * most); // with a PING to each, and what clears up
      });

      if (entryOf(name).waits) {
        it('two instances: the second has the lock only after the first gave it back', async () => {
          const [one, two] = [await open(most), await open(most)];
          const resource = `spec-${name}-two`;
          const order: string[] = [];
          const held = await one.acquire(resource);
          const waiting = Promise.resolve(two.acquire(resource)).then((own) => {
            order.push('granted');
            return own;
          });
          await two.settled(); // its first claim was answered
          order.push('given back');
          await one.release(held);
          await two.release(await waiting);
          expect(order).to.deep.equal(['given back', 'granted']);
        });
      }

      it(`says that it ${entryOf(name).renews ? 'renews' : 'does not renew'}, and does so`, async function () {
        this.retries(2); // some begin so late that a stall of this machine loses the lease
        const session = await open(most);
        expect(session.keep !== undefined).to.equal(entryOf(name).renews);
        const kept = await session.keep?.(`spec-${name}-kept`, 1_000);
        if (kept === undefined) return;
        for (let last = Infinity, now = 0; now <= last;) {
          await pause(20);
          const [key] = await locks(`spec-${name}-kept`);
          if (key === undefined) throw new Error('it ran out');
          [last, now] = [now === 0 ? Infinity : now, await livesFor(key)];
        }
        await kept.letGo();
        await session.settled();
        expect(await locks(`spec-${name}-kept`)).to.deep.equal([]);
      });
    });
  }
});
