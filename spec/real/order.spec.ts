/** Clients that send commands in any order: the order of what is sent for one resource is kept. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { transportOver } from '../../lib/redis/client.js';
import type { Transport } from '../../lib/redis/transport.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { wide } from '../support/breadth.js';
import { type AnyClient, byHand, eventually, startCluster } from '../support/real.js';
import { GLIDE_KINDS, POOL_KINDS } from '../support/unordered.js';

const AT_ONCE = 1_000;
const TTL_MS = '600000';
const TIME_LIMIT_MS = 100;

for (const kind of [...GLIDE_KINDS, ...POOL_KINDS]) {
  describe(`order: ${kind.name}`, () => {
    let masters: Masters;
    let client: AnyClient;
    let transport: Transport & { close(): void };
    let hand: Redis;
    beforeEach(async () => {
      masters = await startMasters(1);
      const port = masters.list[0]?.port ?? 0;
      client = kind.open(port);
      transport = transportOver(client);
      hand = byHand(port);
      await eventually(() => transport.state === 'ready');
    });
    afterEach(async () => {
      transport.close();
      client.disconnect();
      hand.disconnect();
      await masters.stop();
    });

    function claimAndUndo(key: string): readonly Promise<unknown>[] {
      const claim = transport.call({ name: 'set', args: [key, 'token', 'PX', TTL_MS, 'NX'] });
      return [claim, transport.call({ name: 'del', args: [key] })];
    }

    async function areUndone(first: number): Promise<void> {
      const keys = Array.from({ length: AT_ONCE }, (_, i) => `r${first + i}`);
      await Promise.all(keys.flatMap(claimAndUndo));
    }

    for (const keys of wide([AT_ONCE, 20_000], [AT_ONCE])) {
      it(`a claim and its undo for each of ${keys} keys, ${AT_ONCE} at a time: no key is left`, async () => {
        for (let first = 0; first < keys; first += AT_ONCE) await areUndone(first);
        expect(await hand.dbsize()).to.equal(0);
      });
    }

    it('frozen (SIGSTOP): undos follow their claims at the thaw, and no key is left', async () => {
      const [master] = masters.list;
      await master?.freeze();
      const calls = Array.from({ length: 16 }, (_, i) => claimAndUndo(`r${i}`));
      const over = Promise.allSettled(calls.flat());
      await master?.thaw();
      await over;
      await eventually(() => transport.state === 'ready');
      expect(await hand.dbsize()).to.equal(0);
    });
  });
}

describe('order: GLIDE 2 with a short time limit of its own', () => {
  for (const [server, start, open] of [
    ['one server', () => startMasters(1), 'open'],
    ['a one-node Redis Cluster', () => startCluster(), 'openCluster'],
  ] as const) {
    it(`${server}, frozen until claims have timed out: undos that are answered follow their claims at the thaw`, async () => {
      const masters = await start();
      const [master] = masters.list;
      const [kind] = GLIDE_KINDS;
      const client = kind?.[open](master?.port ?? 0, { requestTimeout: TIME_LIMIT_MS }) as AnyClient;
      let pings = 0;
      const glide = client as unknown as { customCommand(args: string[], options: object): Promise<unknown> };
      const send = glide.customCommand.bind(glide);
      glide.customCommand = (args, options) => {
        if (args[0] === 'PING') pings++; // of its own accord, and not of ours, which is in lower case
        return send(args, options);
      };
      const transport = transportOver(client);
      const hand = byHand(master?.port ?? 0);
      const isAnswered = (): Promise<boolean> =>
        transport.call({ name: 'ping', args: [] }).then(
          () => true,
          () => false,
        );
      try {
        await eventually(isAnswered);
        pings = 0;
        await master?.freeze();
        const failed: string[] = [];
        const over = Array.from({ length: AT_ONCE }, async (_, i) => {
          const key = `r${i}`;
          transport.call({ name: 'set', args: [key, 'token', 'PX', TTL_MS, 'NX'] }).catch(() => undefined);
          await transport.call({ name: 'del', args: [key] }).catch(() => failed.push(key)); // it is repeated
        });
        await eventually(() => pings > 0); // one has timed out
        await master?.thaw();
        await Promise.all(over);
        expect(await hand.info('commandstats')).to.match(/cmdstat_set:/);
        expect((await hand.keys('*')).filter((key) => !failed.includes(key))).to.deep.equal([]);
      } finally {
        transport.close();
        client.disconnect();
        hand.disconnect();
        await masters.stop();
      }
    });
  }
});
