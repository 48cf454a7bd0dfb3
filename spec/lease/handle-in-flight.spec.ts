/** Leases that are given away while an extension is in flight: it may arrive when the lease has been given back. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { takenKey } from '../../lib/protocol/keys.js';
import type { Redlock } from '../../lib/redlock.js';
import type { Command, Transport } from '../../lib/redis/transport.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TTL = { ttlMs: 8_000 } as const;
const KINDS: readonly (readonly [string, (redlock: Redlock) => Promise<Lease>])[] = [
  ['a lock', (redlock) => redlock.acquire('r')],
  ['several locks', (redlock) => redlock.acquire(['r', 's'])],
  ['a read lock', (redlock) => redlock.readWriteLock('r').read.acquire()],
  ['a write lock', (redlock) => redlock.readWriteLock('r').write.acquire()],
  ['permits', (redlock) => redlock.semaphore('r', 3).acquire({ permits: 2 })],
];

/** How many keys of locks each master has. */
function locks({ masters }: Bench): number[] {
  return masters.map((master) => master.names().filter((name) => !name.startsWith('quorate:')).length);
}

/** A lease of which an extension is on its way to two masters. */
async function extending(
  bench: Bench,
  acquire: (redlock: Redlock) => Promise<Lease>,
): Promise<{ readonly lease: Lease; readonly arrive: () => Promise<void> }> {
  const lease = await acquire(bench.redlock);
  await settle();
  const held: (() => void)[] = [];
  for (const master of bench.masters.slice(1)) {
    const call = master.call.bind(master);
    // on the giver's connection: those of others are not slow
    master.call = (command) =>
      new Promise((resolve, reject) => void held.push(() => void call(command).then(resolve, reject)));
    void Promise.resolve().then(() => (master.call = call));
  }
  lease.extend().catch(() => undefined);
  await settle();
  return {
    lease,
    arrive: async () => {
      for (const pass of held) pass();
      await settle();
    },
  };
}

/** A connection on which commands are on their way until they are let through. */
class SlowLink {
  readonly transport: Transport;
  /** The answers to such commands are lost. */
  loses: Command['name'] | undefined;
  readonly sent: Command[] = [];
  readonly #held: (() => void)[] = [];
  #isOpen = false;

  constructor(master: FakeMaster) {
    const pass = async (command: Command): Promise<unknown> => {
      const answer = await master.call(command);
      if (command.name === this.loses) throw new Error('the connection was lost');
      return answer;
    };
    const call: Transport['call'] = (command) => {
      this.sent.push(command);
      if (this.#isOpen) return pass(command);
      return new Promise((resolve, reject) => {
        this.#held.push(() => void pass(command).then(resolve, reject));
      });
    };
    this.transport = new Proxy(master, {
      get(target, name) {
        if (name === 'call') return call;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
  }

  /** What is on its way arrives, in order, and whatever follows. */
  async arrive(): Promise<void> {
    this.#isOpen = true;
    for (const pass of this.#held.splice(0)) pass();
    await settle();
  }
}

/** An instance that is slow to reach the last of three masters. */
function slowInstance(bench: Bench, name: string): { readonly redlock: Redlock; readonly link: SlowLink } {
  const [first, second, third] = bench.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
  const link = new SlowLink(third);
  return { redlock: bench.other(name, TTL, [first, second, link.transport]).redlock, link };
}

function slowGiver(bench: Bench): { readonly giver: Redlock; readonly link: SlowLink } {
  const { link, redlock: giver } = slowInstance(bench, 'giver');
  return { giver, link };
}

describe('a lease that is given away while its claim is in flight', () => {
  for (const [title, acquire] of KINDS) {
    it(`${title}: adopted and released, it is free, and stays free when the claim arrives`, async () => {
      const bench = fakeCluster(3, TTL);
      const { giver, link } = slowGiver(bench);
      const handle = (await acquire(giver)).giveAway();
      expect(handle.inFlight).to.equal(true);
      const adopted = await bench.redlock.adopt(handle);
      await adopted.release();
      await settle();
      await link.arrive();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
      expect(giver.stats().owedUndos).to.equal(0);
    });

    it(`${title}: the claim arrives while the lease is held by another process: its vote counts`, async () => {
      const bench = fakeCluster(3, TTL);
      const { giver, link } = slowGiver(bench);
      const adopted = await bench.redlock.adopt((await acquire(giver)).giveAway());
      await link.arrive();
      expect(locks(bench).every((count) => count > 0)).to.equal(true);
      await adopted.extend();
      await adopted.release();
      await settle();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
    });
  }

  it('its look, too: it had waited in the queue', async () => {
    const bench = fakeCluster(3, TTL, { hasPushes: true });
    const { giver, link } = slowGiver(bench);
    const holder = await bench.redlock.acquire('r');
    const waiting = giver.acquire('r');
    await settle();
    await holder.release();
    const adopted = await bench.other('adopter').redlock.adopt((await waiting).giveAway());
    await adopted.release();
    await settle();
    expect(locks(bench)).to.deep.equal([0, 0, 0]);
    await link.arrive();
    expect(locks(bench)).to.deep.equal([0, 0, 0]);
  });

  it('the answer that would show that the lease is over is lost: it is asked again', async () => {
    const bench = fakeCluster(3, TTL);
    const { giver, link } = slowGiver(bench);
    const adopted = await bench.redlock.adopt((await giver.acquire('r')).giveAway());
    await adopted.release();
    await settle();
    link.loses = 'mget';
    await link.arrive();
    expect(locks(bench)).to.deep.equal([0, 0, 1]);
    link.loses = undefined;
    await bench.time.advance(1_000);
    expect(locks(bench)).to.deep.equal([0, 0, 0]);
  });

  it('an adopter that has much in flight sends what forbids the token in front of its release', async () => {
    const bench = fakeCluster(3, TTL);
    const { giver } = slowGiver(bench);
    const { link, redlock: adopter } = slowInstance(bench, 'adopter');
    const handle = (await giver.acquire('r')).giveAway();
    const adopted = await adopter.adopt(handle);
    await Promise.all(['a', 'b', 'c'].map((name) => adopter.acquire(name)));
    await adopted.release();
    await settle();
    const ofToken = link.sent.filter(({ args }) => args.includes(handle.token));
    const isListing = ({ args }: Command): boolean => args[2] === takenKey('');
    expect(ofToken.map(isListing)).to.deep.equal([false, true, false]);
  });

  it('on a Redis Cluster there is no list to look at: nothing is asked', async () => {
    const bench = fakeCluster(1, TTL, { isCluster: true });
    const [master] = bench.masters as readonly [FakeMaster];
    const lease = await bench.redlock.acquire('r');
    await settle();
    master.manner = 'freeze';
    lease.extend().catch(() => undefined);
    await settle();
    lease.giveAway();
    master.thaw();
    await settle();
    expect(master.sent.map(({ command }) => command.name)).to.not.include('mget');
  });

  it('the giver is closed meanwhile: that waits for the undo', async () => {
    const bench = fakeCluster(3, TTL);
    const { giver, link } = slowGiver(bench);
    const adopted = await bench.redlock.adopt((await giver.acquire('r')).giveAway());
    await adopted.release();
    const closed = giver.close();
    await link.arrive();
    await closed;
    expect(locks(bench)).to.deep.equal([0, 0, 0]);
  });
});

describe('a lease that is given away while an extension is in flight', () => {
  for (const [title, acquire] of KINDS) {
    it(`${title}: adopted and released, it is free, and stays free when the extension arrives`, async () => {
      const bench = fakeCluster(3, TTL);
      const { arrive, lease } = await extending(bench, acquire);
      const handle = lease.giveAway();
      expect(handle.inFlight).to.equal(true);
      const adopted = await bench.other().redlock.adopt(handle);
      await adopted.release();
      await settle();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
      await arrive();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
    });

    it(`${title}: it goes through two more hands, and the second time nothing is in flight`, async () => {
      const bench = fakeCluster(3, TTL);
      const { arrive, lease } = await extending(bench, acquire);
      const first = await bench.other('first').redlock.adopt(lease.giveAway());
      await settle();
      const handle = first.giveAway();
      expect(handle.inFlight).to.equal(true);
      const second = await bench.other('second').redlock.adopt(handle);
      await second.release();
      await arrive();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
    });

    it(`${title}: the extension arrives before it is adopted: it is like any other`, async () => {
      const bench = fakeCluster(3, TTL);
      const { arrive, lease } = await extending(bench, acquire);
      const handle = lease.giveAway();
      await arrive();
      const adopted = await bench.other().redlock.adopt(handle);
      await adopted.extend();
      await adopted.release();
      await settle();
      expect(locks(bench)).to.deep.equal([0, 0, 0]);
    });
  }

  it('it is lost in other hands: that is the same', async () => {
    const bench = fakeCluster(3, TTL);
    const { arrive, lease } = await extending(bench, (redlock) => redlock.acquire('r'));
    const adopted = await bench.other().redlock.adopt(lease.giveAway());
    for (const master of bench.masters) master.delete('r');
    for (const master of bench.masters) master.set('r', 'somebody', 1_000);
    expect((await rejection(adopted.extend())).code).to.equal('LOCK_LOST');
    await settle();
    for (const master of bench.masters) master.delete('r');
    await arrive();
    expect(locks(bench)).to.deep.equal([0, 0, 0]);
  });

  it('with nothing in flight the handle says nothing, and masters are told nothing', async () => {
    const bench = fakeCluster(3, TTL);
    const lease = await bench.redlock.acquire('r');
    await settle();
    await lease.extend();
    await settle();
    const handle = lease.giveAway();
    expect(handle).to.not.have.property('inFlight');
    await (await bench.other().redlock.adopt(handle)).release();
    await settle();
    for (const master of bench.masters) expect(master.names()).to.not.include(takenKey(''));
  });

  for (const [nodes, lost] of [
    [1, 0],
    [3, 1],
    [5, 2],
  ] as const)
    it(`N=${nodes}, ${lost} lost: nothing is in flight once the last answer has decided an extension`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, TTL);
      const lease = await redlock.acquire('r', { renew: true });
      for (const master of masters.slice(0, lost)) master.become('lost');
      await lease.extend();
      await time.advance(10 * TTL.ttlMs);
      expect([lease.status, 'inFlight' in lease.giveAway()]).to.deep.equal(['held', false]);
    });

  it('what else a handle may say there is refused', async () => {
    const bench = fakeCluster(3, TTL);
    const lease = await bench.redlock.acquire('r');
    const handle = { ...lease.giveAway(), inFlight: 'yes' as unknown as true };
    const { code, message } = await rejection(bench.redlock.adopt(handle));
    expect([code, message]).to.deep.equal([
      'INVALID_ARGUMENT',
      'handle.inFlight must be true, or nothing; got "yes".',
    ]);
  });

  it('on a Redis Cluster the list would lie in another slot: it is not written', async () => {
    const bench = fakeCluster(1, TTL, { isCluster: true });
    const lease = await bench.redlock.acquire('r');
    await settle();
    const [master] = bench.masters;
    if (master === undefined) return;
    master.manner = 'freeze';
    lease.extend().catch(() => undefined);
    await settle();
    const handle = lease.giveAway();
    master.thaw();
    await settle();
    await (await bench.other().redlock.adopt(handle)).release();
    await settle();
    expect(master.names()).to.not.include(takenKey(''));
  });
});
