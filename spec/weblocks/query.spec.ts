/** Web locks: `query`, what it shows of this manager and of others, and what it does not. */
import { expect } from 'chai';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { rejection, until } from '../support/rejection.js';
import { gate, hold } from './holding.js';

for (const nodes of [1, 3]) {
  describe(`web locks: query, N=${nodes}`, () => {
    let masters: MemoryMasters;
    let locks: LockManager;
    let other: LockManager;
    beforeEach(() => {
      masters = new MemoryMasters(nodes);
      [locks, other] = [new LockManager(masters.redlock()), new LockManager(masters.redlock())];
    });
    afterEach(() => masters.close());

    it('nothing is held or asked for: two empty arrays, new ones each time', async () => {
      const [one, two] = [await locks.query(), await locks.query()];
      expect(one).to.deep.equal({ held: [], pending: [] });
      expect(one.held).not.to.equal(two.held);
    });

    it('its own: name, mode and one clientId for all, held in the order of grants, pending in that of requests', async () => {
      const { clientId } = locks;
      expect(clientId).to.match(/^[\w-]{8}$/);
      expect(other.clientId).not.to.equal(clientId);
      const held = [
        await hold(locks, 'a', { mode: 'shared' }),
        await hold(locks, 'a', { mode: 'shared' }),
        await hold(locks, 'b'),
      ];
      const pending = [
        locks.request('a', () => undefined),
        locks.request('a', { mode: 'shared' }, () => undefined),
        locks.request('b', { mode: 'shared' }, () => undefined),
      ];
      expect(await locks.query()).to.deep.equal({
        held: [
          { name: 'a', mode: 'shared', clientId },
          { name: 'a', mode: 'shared', clientId },
          { name: 'b', mode: 'exclusive', clientId },
        ],
        pending: [
          { name: 'a', mode: 'exclusive', clientId },
          { name: 'a', mode: 'shared', clientId },
          { name: 'b', mode: 'shared', clientId },
        ],
      });
      for (const { release } of held) await release();
      await Promise.all(pending);
      expect(await locks.query()).to.deep.equal({ held: [], pending: [] });
    });

    it('requests of the same tick: the first is held, and the second waits', async () => {
      const { opened, open } = gate();
      const requests = [locks.request('a', () => opened), locks.request('a', () => undefined)];
      const { held, pending } = await locks.query();
      expect([held.length, pending.length]).to.deep.equal([1, 1]);
      open();
      await Promise.all(requests);
    });

    it('holders of others, for names that it asks for: their modes, each with a fingerprint', async () => {
      const held = [await hold(other, 'a', { mode: 'shared' }), await hold(locks, 'a', { mode: 'shared' })];
      const exclusive = await hold(other, 'b');
      const pending = locks.request('b', { mode: 'shared' }, () => undefined);
      const unseen = await hold(other, 'c'); // a name that only the other uses
      const snapshot = await locks.query();
      expect(snapshot.held.map(({ name, mode }) => `${name} ${mode}`)).to.deep.equal([
        'a shared',
        'a shared',
        'b exclusive',
      ]);
      const [own, shared, writer] = snapshot.held.map(({ clientId }) => clientId);
      expect(own).to.equal(locks.clientId);
      const { readers } = await masters.redlock().readWriteLock('weblocks:a').read.inspect();
      expect(readers).to.include(shared);
      expect((await masters.redlock().readWriteLock('weblocks:b').read.inspect()).writer).to.equal(writer);
      expect(snapshot.pending).to.deep.equal([{ name: 'b', mode: 'shared', clientId: locks.clientId }]);
      expect((await other.query()).pending).to.deep.equal([]); // not the requests of others
      for (const { release } of [...held, exclusive, unseen]) await release();
      await pending;
    });

    it('requests with ifAvailable never wait, so they are never pending', async () => {
      const held = await hold(other, 'a');
      const available = locks.request('a', { ifAvailable: true }, (lock) => lock);
      expect((await locks.query()).pending).to.deep.equal([]);
      expect(await available).to.equal(null);
      await held.release();
    });

    it('a lock that was lost is not held any more, although its callback still runs', async () => {
      const short = new LockManager(masters.redlock(), { ttlMs: 300 });
      const held = await hold(short, 'a');
      for (const master of masters.list) master.flush();
      const next = await hold(other, 'a');
      await until(() => held.lock.signal.aborted);
      expect(held.lock.signal.reason).to.have.property('code', 'LOCK_LOST');
      const { held: shown } = await short.query();
      expect(shown).to.have.length(1);
      expect(shown[0]?.clientId).not.to.equal(short.clientId);
      await held.release();
      await next.release();
    });

    it('too few masters answer: NO_QUORUM with the causes, and not a list that leaves out others', async () => {
      const held = await hold(locks, 'a');
      for (const master of masters.list) await master.kill();
      const error = await rejection(locks.query());
      expect([error.code, error.resources, error.tally.length]).to.deep.equal([
        'NO_QUORUM',
        ['weblocks:a'],
        nodes,
      ]);
      expect(error.message).to.match(
        /^too few masters showed who holds "weblocks:a": memory-1 unknown \(.+\)/,
      );
      for (const master of masters.list) master.restart({ data: 'kept' });
      await held.release();
    });

    it('asks about many names, some at a time', async () => {
      const all = await Promise.all(Array.from({ length: 70 }, (_, i) => hold(locks, `name ${i}`)));
      const { held } = await locks.query();
      expect(new Set(held.map(({ name }) => name)).size).to.equal(70);
      await Promise.all(all.map(({ release }) => release()));
    });
  });
}
