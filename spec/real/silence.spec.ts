import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { SILENT_WINDOW, WINDOW } from '../../lib/node/send-window.js';
import { type Master, type Masters, startMasters } from '../../scripts/masters.js';
import { locksOn } from '../support/commands.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, type AnyClient, byHand, type ClientKind, eventually, isReady } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { EVERY_KIND, GLIDE_KINDS } from '../support/unordered.js';
import { wide } from '../support/breadth.js';

/** What waits in a client: for an answer, and for a connection. */
interface Queues {
  readonly command: number;
  readonly offline: number;
}

/** ioredis has both on every client; of others, which show neither, it is counted what is not answered. */
function watched(client: AnyClient): () => Queues {
  if ('commandQueue' in client) {
    const queues = client as unknown as Record<string, { readonly length: number }>;
    return () => ({
      command: queues['commandQueue']?.length ?? 0,
      offline: queues['offlineQueue']?.length ?? 0,
    });
  }
  let command = 0;
  const counted = client as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
  // a pool lends a connection, GLIDE has a method for all commands
  const name = ['execute', 'customCommand', 'sendCommand'].find((one) => one in counted) ?? '';
  const send = counted[name]?.bind(client);
  counted[name] = async (...given) => {
    command++;
    return send?.(...given).finally(() => command--);
  };
  return () => ({ command, offline: 0 });
}

interface Bench {
  readonly masters: Masters;
  readonly clients: readonly AnyClient[];
  /** Of each client. */
  readonly queues: readonly (() => Queues)[];
  readonly hands: readonly Redis[];
  readonly redlock: Redlock;
}

for (const kind of wide(EVERY_KIND, ALL_KINDS.slice(0, 1))) {
  for (const [nodes, silent] of [
    [3, 1],
    [5, 2],
  ] as const) {
    describe(`silence: N=${nodes}, ${silent} silent, ${kind.name} at its defaults`, () => {
      const isOrdered = ALL_KINDS.includes(kind);
      /** Not by GLIDE, which reports no loss: when this instance notices a dead master is up to GLIDE. */
      const ofDead = GLIDE_KINDS.includes(kind) ? () => undefined : it;
      let bench: Bench;
      /** Whether so many of the masters, from the first on, are lost. A pool does not show it by itself. */
      const areLost = async (count: number): Promise<boolean> => {
        const { clients, redlock } = bench;
        if (isOrdered) return !clients.slice(0, count).some(isReady);
        await redlock.inspect('r');
        return redlock
          .stats()
          .nodes.slice(0, count)
          .every(({ state }) => state === 'disconnected');
      };
      const areBack = async (): Promise<boolean> => {
        const { clients, redlock } = bench;
        if (isOrdered) return clients.every(isReady);
        return (await redlock.inspect('r')).nodes.every(({ state }) => state === 'free');
      };
      beforeEach(async () => {
        bench = await open(kind, nodes);
      });
      afterEach(() => close(bench));
      const few = (): readonly Master[] => bench.masters.list.slice(0, silent);

      it('frozen: 1,500 acquisitions and releases go on, the requests in flight are bounded, and all is undone at the thaw', async () => {
        const { redlock, queues, hands } = bench;
        await traffic(redlock, 50);
        for (const master of few()) await master.freeze();
        await traffic(redlock, 1_000);
        const inFlight = (): number[] => queues.slice(0, silent).map((waiting) => waiting().command);
        let late: number[] = [];
        await eventually(async () => {
          const early = inFlight(); // and no more once the silence is found out
          await traffic(redlock, 500);
          late = inFlight();
          return late.join() === early.join();
        });
        expect(Math.max(...late)).to.be.within(1, 2 * WINDOW + SILENT_WINDOW);
        expect(queues.map((waiting) => waiting().offline)).to.deep.equal(queues.map(() => 0));
        for (const master of few()) await master.thaw();
        for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
        expect((await redlock.inspect('r')).nodes.map(({ state }) => state)).to.not.include('unknown');
      });

      ofDead(
        'dead: acquire and release go on, nothing waits in a queue, and nothing runs when they are back',
        async () => {
          const { redlock, queues, hands } = bench;
          await traffic(redlock, 50);
          await eventually(() => queues.every((waiting) => waiting().command === 0));
          for (const master of few()) await master.kill();
          await eventually(() => areLost(silent));
          await traffic(redlock, 500);
          for (const waiting of queues.slice(0, silent)) {
            expect(waiting().offline).to.equal(0);
            expect(waiting().command).to.be.at.most(isOrdered ? 0 : 1); // a PING asks whether it is back
          }
          for (const master of few()) await master.restart({ empty: true });
          await eventually(areBack);
          for (const hand of hands.slice(0, silent)) {
            await eventually(() => hand.status === 'ready');
            await hand.ping();
            // a pool was asked above whether it is back
            if (isOrdered)
              expect(await hand.info('commandstats')).to.not.match(/cmdstat_(?:set|eval|evalsha):/);
          }
          await traffic(redlock, 50);
          for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
        },
      );

      it('a majority frozen: NO_QUORUM that names each node and its cause; all is undone at the thaw', async () => {
        const { redlock, masters, queues, hands } = bench;
        const most = masters.list.slice(0, nodes - Math.floor(nodes / 2));
        for (const master of most) await master.freeze();
        const attempt = (): Promise<RedlockError> =>
          rejection(redlock.acquire('r', { nodeTimeoutMs: 100, waitMs: 0 }));
        let error = await attempt();
        const isGranted = ({ outcome }: { readonly outcome: string }): boolean => outcome === 'granted';
        while (!error.tally.slice(most.length).every(isGranted)) error = await attempt(); // some were slow
        expect(error.code).to.equal('NO_QUORUM');
        expect(error.tally.map(({ node }) => node)).to.deep.equal(
          masters.list.map(({ host, port }) => `${host}:${port}`),
        );
        for (const [i, entry] of error.tally.entries()) {
          if (i < most.length)
            expect(entry)
              .to.have.nested.property('cause.message')
              .that.matches(/^no reply within 100 ms$/);
          else expect(entry.outcome).to.equal('granted');
          expect(error.message).to.contain(
            i < most.length ? `${entry.node} unknown (no reply` : 'masters granted',
          );
        }
        expect(queues.map((waiting) => waiting().offline)).to.deep.equal(queues.map(() => 0));
        for (const master of most) await master.thaw();
        for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
        await (await redlock.acquire('r')).release();
      });

      ofDead('a majority dead: NO_QUORUM that names each node and its cause', async () => {
        const { redlock, masters, queues } = bench;
        const most = masters.list.slice(0, nodes - Math.floor(nodes / 2));
        for (const master of most) await master.kill();
        await eventually(() => areLost(most.length));
        const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
        expect(error.code).to.equal('NO_QUORUM');
        for (const { name: _name, host, port } of most)
          expect(error.message).to.contain(`${host}:${port} unknown (not connected`);
        expect(queues.map((waiting) => waiting().offline)).to.deep.equal(queues.map(() => 0));
      });
    });
  }
}

async function open(kind: ClientKind<AnyClient>, nodes: number): Promise<Bench> {
  const masters = await startMasters(nodes);
  const clients = masters.list.map(({ port }) => kind.open(port));
  const hands = masters.list.map(({ port }) => byHand(port));
  const queues = clients.map(watched);
  const redlock = new Redlock(clients, PATIENT);
  await eventually(() => [...clients, ...hands].every(isReady));
  return { masters, clients, queues, hands, redlock };
}

async function close({ masters, clients, hands }: Bench): Promise<void> {
  for (const client of [...clients, ...hands]) client.disconnect();
  await masters.stop();
}

/** Acquires and releases so many resources, ten at a time. */
async function traffic(redlock: Redlock, count: number): Promise<void> {
  for (let done = 0; done < count; done += 10) {
    const leases = await Promise.all(Array.from({ length: 10 }, (_, i) => redlock.acquire(`r${done + i}`)));
    await Promise.all(leases.map((lease) => lease.release()));
  }
}
