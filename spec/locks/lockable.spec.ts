/** Read-write locks, semaphores and mutexes over masters in memory, under virtual time: what does not need real ones. */
import { expect } from 'chai';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { Lease as OwnLease, WriteLease } from '../../lib/lease/lease.js';
import type { Lease } from '../../lib/lease/public.js';
import { MOST_PERMITS } from '../../lib/protocol/scope.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type CommandKind, kindOf, kindsSentTo } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const FAR_MS = 3_000_000;

/** What each master's hash holds of that token, without the instant: the role or the slots; '' for nothing. */
function heldAt(masters: readonly FakeMaster[], token: string, key = 'r'): string[] {
  return masters.map((master) => {
    const fields = master.fields(key);
    return fields === WRONG_TYPE ? 'foreign' : ((fields.get(token) ?? '').split('|')[0] ?? '');
  });
}

/** Another holder's slots at one master. */
function occupy(master: FakeMaster | undefined, who: string, slots: string, permits: number): void {
  if (master === undefined) return;
  const ends = Math.floor(master.micros() / 1_000) + FAR_MS;
  master.setFields('r', { [tokenFrom(who, '1')]: `${slots}|${ends}|${permits}` });
  master.expire('r', FAR_MS);
}

/** Permits that are put to a master stay on their way until the returned function is called. */
function holdBackSettling(master: FakeMaster): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  master.call = (command) =>
    kindOf(command) === 'permit-align'
      ? new Promise((resolve) => late.push(() => resolve(send(command))))
      : send(command);
  return () => {
    for (const run of late) run();
  };
}

/** What this master answers stays on its way until the returned function is called. */
function holdReply(master: FakeMaster): () => void {
  const send = master.call.bind(master);
  let arrive = (): void => undefined;
  master.call = (command) => {
    const reply = send(command);
    master.call = send;
    return new Promise((resolve) => (arrive = () => resolve(reply)));
  };
  return () => arrive();
}

function kindsAt(master: FakeMaster | undefined): CommandKind[] {
  return master === undefined ? [] : kindsSentTo(master);
}

describe('locks of one name: what is refused before anything is sent', () => {
  const { redlock, masters } = fakeCluster(3);
  const wrong = (error: RedlockError, ...texts: readonly string[]): void => {
    expect(error.code).to.equal('INVALID_ARGUMENT');
    for (const text of texts) expect(error.message).to.include(text);
    expect(masters.every(({ sent }) => sent.length === 0)).to.equal(true);
  };

  it('names: empty, reserved, not one', () => {
    for (const name of ['', 'quorate:x', ['a', 'b'] as unknown as string]) {
      wrong(thrown(() => redlock.mutex(name)));
      wrong(thrown(() => redlock.readWriteLock(name)));
      wrong(thrown(() => redlock.semaphore(name, 2)));
    }
  });

  it('permits: 0, negative, no whole number, above the bound', () => {
    for (const permits of [0, -1, 1.5, NaN, Infinity, MOST_PERMITS + 1, '2' as unknown as number])
      wrong(
        thrown(() => redlock.semaphore('r', permits)),
        'permits',
        String(permits),
      );
  });

  it('more permits than there are, or none, per call; nothing is taken', async () => {
    for (const permits of [0, -1, 1.5, 4, '1' as unknown as number]) {
      const semaphore = redlock.semaphore('r', 3);
      wrong(await rejection(semaphore.acquire({ permits })), 'permits', String(permits), 'from 1 to 3');
      wrong(await rejection(semaphore.tryAcquire({ permits })), 'permits');
    }
  });

  it('an upgrade, which two readers would wait for for ever', async () => {
    const { write } = redlock.readWriteLock('r');
    const options = { from: 'a lease' } as object;
    wrong(await rejection(write.acquire(options)), 'cannot become a write lease');
    wrong(await rejection(write.tryAcquire(options)), 'cannot become a write lease');
    wrong(await rejection(write.using(options, () => undefined)), 'cannot become a write lease');
  });

  it('options that would have no effect, and unknown ones', async () => {
    const { read, write } = redlock.readWriteLock('r');
    for (const call of [
      read.acquire({ fencing: true } as object),
      read.tryAcquire({ waitMs: 5 } as object),
      read.acquire({ localTurns: 8 } as object),
      write.acquire({ localTurns: 8 } as object),
      write.tryAcquire({ localTurns: 8 } as object),
      write.acquire({ permits: 1 } as object),
      redlock.semaphore('r', 3).acquire({ fencing: false } as object),
      redlock.semaphore('r', 3).acquire({ localTurns: 8 } as object),
    ])
      wrong(await rejection(call), 'is not an option here');
    wrong(
      thrown(() => redlock.mutex('r', { ttlMs: 5 } as object)),
      'ttlMs',
    );
    wrong(
      thrown(() => redlock.mutex('r', { fair: 'yes' } as object)),
      'fair',
    );
    wrong(
      thrown(() => redlock.mutex('r', { localTurns: 64 })),
      'localTurns',
    );
    wrong(await rejection(read.using(undefined as unknown as () => void)), 'routine');
  });
});

for (const nodes of [1, 2, 3, 4, 5]) {
  describe(`locks of one name: N=${nodes}`, () => {
    it('each is a lockable: acquire, tryAcquire, using, inspect', async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const { read, write } = redlock.readWriteLock('r');
      for (const lock of [redlock.mutex('m'), read, write, redlock.semaphore('s', 2)]) {
        const lease = await lock.acquire();
        expect(lease).to.be.instanceOf(OwnLease);
        expect(await lock.inspect()).to.include({ resource: lock.name, state: 'held' });
        await lease.release();
        await (await lock.tryAcquire())?.release();
        expect(await lock.using(async ({ status }) => Promise.resolve(status))).to.equal('held');
        const failed = lock.using(() => {
          throw new Error('the routine fails');
        });
        expect(await failed.catch(String)).to.equal('Error: the routine fails');
        expect(await lock.inspect()).to.include({ resource: lock.name, state: 'free' });
      }
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it('uncontended, each takes one call a master, and one to give it back', async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const { read, write } = redlock.readWriteLock('r');
      for (const lock of [read, write, redlock.semaphore('s', 2)]) await lock.using(() => undefined);
      const before = masters.map(({ sent }) => sent.length);
      for (const lock of [read, write, redlock.semaphore('s', 2)]) {
        await (await lock.acquire()).release();
      }
      expect(masters.map(({ sent }, i) => sent.length - (before[i] ?? 0))).to.deep.equal(
        masters.map(() => 6),
      );
    });

    it('a mutex keeps its own fair, and a call may say otherwise', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const holder = await redlock.mutex('r').acquire({ ttlMs: 60_000 });
      const failed = rejection(redlock.mutex('r', { fair: false }).acquire({ waitMs: 500 }));
      await time.advance(700);
      expect((await failed).code).to.equal('LOCK_TAKEN');
      expect(kindsAt(masters[0])).not.to.include('queue');
      await holder.release();
    });

    it('a mutex keeps its own localTurns, and a call may say otherwise', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const holder = await redlock.acquire('r', { ttlMs: 60_000 });
      const sent = (): number => masters.reduce((sum, master) => sum + master.sent.length, 0);
      const before = sent();
      const mutex = redlock.mutex('r', { localTurns: 0 });
      const failed = rejection(mutex.acquire({ waitMs: 500, localTurns: 8 }));
      await time.advance(500);
      expect([(await failed).attempts, sent()]).to.deep.equal([0, before]);
      expect((await rejection(mutex.acquire({ waitMs: 0 }))).attempts).to.equal(1);
      expect(sent()).to.be.above(before);
      await holder.release();
    });

    it('a writer that waits keeps new readers out, those that are in go on, and it is the next', async () => {
      const { redlock, other, time } = fakeCluster(nodes);
      const reader = await redlock.readWriteLock('r').read.acquire({ ttlMs: 60_000 });
      const wait = other('writer', { fair: false })
        .redlock.readWriteLock('r')
        .write.acquire({ ttlMs: 60_000 });
      await time.advance(20);
      expect(await redlock.readWriteLock('r').read.tryAcquire()).to.equal(null);
      await reader.extend();
      await reader.release();
      await time.advance(500);
      const writer = await wait;
      expect(writer).to.be.instanceOf(WriteLease);
      await writer.release();
      expect(await redlock.readWriteLock('r').read.tryAcquire()).not.to.equal(null);
    });

    it('a downgrade counts at once, before any master has heard of it, and whatever they answer', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const writer = await redlock.readWriteLock('r').write.acquire({ ttlMs: 10_000 });
      const { fence, token } = writer;
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(writer.downgrade());
      expect([writer.mode, heldAt(masters, token)]).to.deep.equal(['read', masters.map(() => 'w')]);
      await time.advance(300);
      expect((await failed).code).to.equal('NO_QUORUM');
      for (const master of masters) master.thaw();
      await time.advance(1);
      expect([writer.status, writer.fence]).to.deep.equal(['held', fence]);
      await writer.extend(); // says it again
      expect(heldAt(masters, token)).to.deep.equal(masters.map(() => 'r'));
      await writer.release();
      expect(heldAt(masters, token)).to.deep.equal(masters.map(() => ''));
    });
  });
}

describe('permits that masters gave differently (T-D5)', () => {
  it('N=3: what a master gave instead of the agreed is given up, and a release leaves nothing', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    occupy(masters[0], 'ann', '0', 3);
    const lease = await redlock.semaphore('r', 3).acquire();
    await time.advance(1);
    expect(heldAt(masters, lease.token)).to.deep.equal(['', '0', '0']);
    await lease.release();
    expect(heldAt(masters, lease.token)).to.deep.equal(['', '', '']);
  });

  for (const [first, second, agreed] of [
    ['0', '', '1'],
    ['', '0', '1'],
    ['0,1', '0', '2'],
  ] as const) {
    it(`N=3, one dead, ${first || 'nothing'} taken at m1 and ${second || 'nothing'} at m2: both agree on ${agreed}`, async () => {
      const { redlock, masters } = fakeCluster(3);
      masters[2]?.become('lost');
      if (first !== '') occupy(masters[0], 'ann', first, 3);
      if (second !== '') occupy(masters[1], 'ann', second, 3);
      const lease = await redlock.semaphore('r', 3).acquire({ waitMs: 0 });
      expect(heldAt(masters.slice(0, 2), lease.token)).to.deep.equal([agreed, agreed]);
      await lease.release();
      expect(heldAt(masters, lease.token)).to.deep.equal(['', '', '']);
    });
  }

  it('N=3, one dead: no set that both can give: nothing is held, and nothing is left', async () => {
    const { redlock, masters, random } = fakeCluster(3);
    masters[2]?.become('lost');
    occupy(masters[0], 'ann', '0', 2);
    occupy(masters[1], 'ben', '1', 2);
    const error = await rejection(redlock.semaphore('r', 2).tryAcquire());
    expect(error.code).to.equal('NO_QUORUM');
    expect(heldAt(masters, random.tokens[0] ?? '')).to.deep.equal(['', '', '']);
  });

  describe('N=5, two gave 0, two gave 1, the fifth is silent: 1 is put to the first two', () => {
    interface Put extends Bench {
      readonly silent: FakeMaster;
      readonly acquired: Promise<Lease>;
      /** The permits are put to the masters now. */
      readonly arrive: () => void;
    }

    async function put(): Promise<Put> {
      const bench = fakeCluster(5);
      const { masters, redlock, time } = bench;
      const silent = masters[4];
      if (silent === undefined) throw new Error('there are five');
      for (const master of masters.slice(2)) master.manner = 'freeze';
      const failed = rejection(redlock.semaphore('another', 2).acquire({ waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      expect((await failed).code).to.equal('NO_QUORUM');
      for (const master of masters.slice(2, 4)) {
        master.thaw();
        occupy(master, 'ann', '0', 2);
      }
      const late = masters.map(holdBackSettling);
      const acquired = redlock.semaphore('r', 2).acquire({ waitMs: 0, nodeTimeoutMs: 50 });
      await settle();
      const arrive = (): void => late.forEach((run) => run());
      return { ...bench, silent, acquired, arrive };
    }

    it('the fifth gives 0 as well: three gave that, and it is 1 all the same', async () => {
      const { acquired, arrive, masters, random, silent } = await put();
      silent.thaw();
      await settle();
      expect(heldAt(masters, random.tokens.at(-1) ?? '')).to.deep.equal(['0', '0', '1', '1', '0']);
      arrive();
      const lease = await acquired;
      await settle();
      expect(lease.giveAway().lock).to.deep.equal({ permits: 2, slots: '1' });
      expect(heldAt(masters, lease.token)).to.deep.equal(['1', '1', '1', '1', '1']);
    });

    it('and time is up before they have answered to that: no lease, and all is given back', async () => {
      const { acquired, arrive, masters, random, silent, time } = await put();
      silent.thaw();
      const failed = rejection(acquired);
      await time.advance(50);
      expect((await failed).code).to.equal('NO_QUORUM');
      arrive(); // they find nothing any more
      await time.advance(100);
      expect(heldAt(masters, random.tokens.at(-1) ?? '')).to.deep.equal(['', '', '', '', '']);
    });
  });

  it('N=3, one dead: what was put to a master that is connecting again waits no longer than the attempt', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const [m1, m2, m3] = masters;
    if (m1 === undefined || m2 === undefined) throw new Error('there are three');
    m3?.become('lost');
    occupy(m2, 'ann', '0', 2);
    const answer = holdReply(m2);
    const failed = rejection(redlock.semaphore('r', 2).acquire({ waitMs: 0, nodeTimeoutMs: 50 }));
    await settle();
    m1.become('opening');
    answer();
    await settle();
    expect(m1.listeners).to.equal(1);
    await time.advance(50);
    expect((await failed).code).to.equal('NO_QUORUM');
    expect(m1.listeners).to.equal(0);
    m1.become('ready');
    await time.advance(1_000);
    expect(kindsAt(m1)).to.not.include('permit-align');
    expect(m1.size).to.equal(0);
  });

  it('N=5: answers that are about to come are waited for, and no set is put to anybody where they agree', async () => {
    const { redlock, masters } = fakeCluster(5);
    occupy(masters[0], 'ann', '0', 3);
    const lease = await redlock.semaphore('r', 3).acquire();
    expect(heldAt(masters, lease.token).filter((slots) => slots === '0')).to.have.length(4);
    expect(masters.slice(1).flatMap(kindsAt)).not.to.include('permit-align');
    // the first is told to give up what is of no use
    expect(kindsAt(masters[0])).to.deep.equal(['permit-claim', 'permit-align']);
  });

  it('a late vote for others is given up as well', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    occupy(masters[2], 'ann', '0', 3);
    const [, , late] = masters;
    if (late === undefined) throw new Error('there are three');
    late.manner = 'freeze';
    const lease = await redlock.semaphore('r', 3).acquire({ ttlMs: 60_000 });
    late.thaw();
    await time.advance(1);
    expect(heldAt(masters, lease.token)).to.deep.equal(['0', '0', '']);
    await lease.extend(); // it has not got slot 0 to give
    expect(heldAt(masters, lease.token)).to.deep.equal(['0', '0', '']);
  });

  it('N=3, k=2: votes AB, BC, AC never make three holders (T-D1)', async () => {
    const { redlock, masters, other } = fakeCluster(3);
    const [a, b] = [
      await redlock.semaphore('r', 2).acquire(),
      await other('b').redlock.semaphore('r', 2).acquire(),
    ];
    for (const [i, master] of masters.entries()) {
      // each master forgets one of the two, and would have a state
      const gone = [a, b, undefined][i];
      if (gone !== undefined) master.setFields('r', { [gone.token]: undefined });
    }
    expect(await other('c').redlock.semaphore('r', 2).tryAcquire()).to.equal(null);
    expect([a.status, b.status]).to.deep.equal(['held', 'held']);
  });

  it('an extension takes a permit again if it is free, and exactly its own (T-D7)', async () => {
    const { redlock, masters, other } = fakeCluster(3);
    const lease = await redlock.semaphore('r', 2).acquire({ permits: 2 });
    masters[0]?.forget();
    await lease.extend();
    expect(heldAt(masters, lease.token)).to.deep.equal(['0,1', '0,1', '0,1']);
    masters[0]?.forget();
    occupy(masters[0], 'ann', '1', 2);
    await lease.extend();
    expect(heldAt(masters, lease.token)).to.deep.equal(['', '0,1', '0,1']);
    await lease.release();
    expect(await other('c').redlock.semaphore('r', 2).tryAcquire({ permits: 2 })).not.to.equal(null);
  });
});
