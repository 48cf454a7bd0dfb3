/** An acquisition that waits in the queue: when it queues instead of trying, what it sends, how its wait ends. */
import { expect } from 'chai';
import { queueKey, looksKey } from '../../lib/protocol/keys.js';
import type { Lease } from '../../lib/lease/public.js';
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { holdBack, kindOf, kindsSentTo, refuseNext, tokenOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { all, contendedLately, held, LONG } from '../support/contended.js';
import { hold, THIRD } from '../support/queue-bench.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 3, 5];
/** A lease that is shorter by far than the life of a place. */
const SHORT = { ttlMs: 1_000, waitMs: 60_000, nodeTimeoutMs: 50 } as const;

interface Placed extends Bench {
  /** Held by votes of the other two. */
  readonly lease: Lease;
  /** It has lost its connection, and another client holds the lock there for long. */
  readonly lost: FakeMaster;
}

/**
 * A lease for which a place was asked for at three masters, one of which was lost before the claim.
 *
 * @param isUnanswered  that one has not answered for the place within the node timeout, and may still do so
 * @param isRefused  the first claim is refused by the others
 */
async function placed({ isUnanswered = false, isRefused = false } = {}): Promise<Placed> {
  const line = await held(3);
  const [m1, m2, lost] = line.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
  const send = lost.call.bind(lost);
  lost.call = (command) => {
    if (isUnanswered && kindOf(command) === 'queue') lost.manner = 'freeze';
    return send(command);
  };
  const wait = line.redlock.acquire('r', SHORT);
  await line.time.advance(2 * SHORT.nodeTimeoutMs);
  lost.become('lost');
  hold(lost, THIRD);
  if (isRefused) for (const master of [m1, m2]) refuseNext(master);
  await line.lease.release();
  await line.time.advance(isRefused ? 1_000 : 0); // it waits in the queue once more
  return { ...line, lease: await wait, lost };
}

describe('an acquisition that queues', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: tries, queues, and claims when a push says that it is its turn; no timer takes part`, async () => {
      const line = await held(nodes);
      const wait = line.redlock.acquire('r');
      await settle();
      expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['claim', 'queue']));
      await line.lease.release();
      const lease = await wait;
      await settle();
      expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['claim', 'queue', 'claim']));
      expect(line.masters.map((master) => master.value('r'))).to.deep.equal(all(line, lease.token));
      await lease.release();
    });

    it(`N=${nodes}: a lock that is held now and then is tried four times more, each time 1 to 7 ms later, at one master while it is held; then it is queued for`, async () => {
      const line = await contendedLately(nodes);
      await line.time.advance(7_000); // a share of 0.21
      const tries = (): number => line.masters.flatMap(line.kinds).filter((kind) => kind === 'claim').length;
      const wait = line.redlock.acquire('r');
      await settle();
      expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['claim']));
      await line.time.advance(TRY_AFTER_MS.least - 0.5);
      expect(tries()).to.equal(nodes);
      await line.time.advance(MOST_TRIES * TRY_AFTER_MS.most);
      expect(tries()).to.equal(nodes + 4);
      expect(line.masters.map((master) => line.kinds(master).at(-1))).to.deep.equal(all(line, 'queue'));
      await line.lease.release();
      await (await wait).release();
    });

    it(`N=${nodes}: such a try has the lock if it is free by then, and asks for no place`, async () => {
      const line = await contendedLately(nodes);
      await line.time.advance(7_000);
      const wait = line.redlock.acquire('r');
      await settle();
      await line.lease.release();
      await line.time.advance(TRY_AFTER_MS.most);
      await (await wait).release();
      expect(line.masters.flatMap(line.kinds)).to.not.include('queue');
    });

    it(`N=${nodes}: a wait that ends in the pause before such a try ends with LOCK_TAKEN`, async () => {
      const line = await contendedLately(nodes);
      await line.time.advance(7_000);
      const wait = rejection(line.redlock.acquire('r', { waitMs: TRY_AFTER_MS.least }));
      await line.time.advance(TRY_AFTER_MS.most);
      expect(await wait).to.have.property('code', 'LOCK_TAKEN');
      expect(line.masters.flatMap(line.kinds)).to.not.include('queue');
    });

    it(`N=${nodes}: a lock that is likely to be held is queued for at once`, async () => {
      const line = await contendedLately(nodes);
      const wait = line.redlock.acquire('r');
      await settle();
      expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['queue']));
      await line.lease.release();
      await (await wait).release();
    });

    it(`N=${nodes}: an acquisition that had to queue has met contention as well`, async () => {
      const line = await contendedLately(nodes); // a share of 0.55
      const wait = line.redlock.acquire('r');
      await line.time.advance(1_000); // 0.48, and less than a half without what it meets
      await line.lease.release();
      await (await wait).release();
      await line.other('fourth').redlock.acquire('r');
      for (const master of line.masters) master.sent.length = 0;
      const closing = line.redlock.acquire('r').catch(() => undefined);
      await settle();
      expect(line.masters.map((master) => line.kinds(master)[0])).to.deep.equal(all(line, 'queue'));
      await line.redlock.close({ releaseHeld: true });
      await closing;
    });

    it(`N=${nodes}: it tries first if push connections to a quorum are not open, after 5 s, and for another lock`, async () => {
      for (const [resource, afterMs, isCut] of [
        ['r', 0, true],
        ['r', 5_000, false],
        ['another', 0, false],
      ] as const) {
        const line = await contendedLately(nodes);
        if (isCut) {
          for (const master of line.masters.slice(0, Math.ceil(nodes / 2))) {
            master.opensLines = false;
            for (const one of master.connections) one.lose();
          }
        }
        await line.time.advance(afterMs);
        const wait = line.redlock.acquire(resource).catch(() => undefined);
        await settle();
        expect(line.masters.map((master) => line.kinds(master)[0])).to.deep.equal(all(line, 'claim'));
        const closed = line.redlock.close({ releaseHeld: true });
        await line.time.advance(1_000);
        await Promise.all([closed, wait]);
      }
    });

    it(`N=${nodes}: a wait that ends before push connections are open: LOCK_TAKEN after one look, and no place was asked for`, async () => {
      const line = await held(nodes);
      for (const master of line.masters) master.opensLines = false;
      const failed = rejection(line.redlock.acquire('r', { waitMs: 50 }));
      await line.time.advance(50);
      const { code, elapsedMs, tally } = await failed;
      expect([code, elapsedMs]).to.deep.equal(['LOCK_TAKEN', 50]);
      expect(tally.filter(({ outcome }) => outcome === 'refused').length).to.be.above((nodes - 1) / 2);
      await settle();
      for (const master of line.masters) {
        expect(line.kinds(master)).to.deep.equal(['claim', 'claim']);
      }
    });

    it(`N=${nodes}: the end of the wait: LOCK_TAKEN after a last look, and the place is given up`, async () => {
      const line = await held(nodes);
      const failed = rejection(line.redlock.acquire('r', { waitMs: 1_000 }));
      await line.time.advance(999);
      const waiting = line.masters.map((master) => master.members(queueKey('r')));
      for (const members of waiting) expect(members).to.have.length(1);
      await line.time.advance(1);
      const { attempts, code, elapsedMs, tally } = await failed;
      expect([attempts, code, elapsedMs]).to.deep.equal([2, 'LOCK_TAKEN', 1_000]);
      for (const one of tally) expect(one).to.include({ outcome: 'refused', remainingMs: 599_000 });
      expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['claim', 'queue', 'undo']));
      expect(line.masters.map((master) => master.members(queueKey('r')))).to.deep.equal(all(line, []));
    });

    it(`N=${nodes}, slow masters: its signal ends it at once, with what they said last, and the place is given up`, async () => {
      const line = await held(nodes);
      const controller = new AbortController();
      const failed = rejection(line.redlock.acquire('r', { signal: controller.signal }));
      await line.time.advance(500);
      for (const master of line.masters) master.latencyMs = 10;
      controller.abort();
      const error = await Promise.race([failed, settle()]); // the clock does not move
      expect(error?.code).to.equal('ABORTED');
      expect(error?.tally.map(({ outcome }) => outcome)).to.deep.equal(all(line, 'refused'));
      await line.time.advance(10);
      expect(line.masters.map((master) => master.members(queueKey('r')))).to.deep.equal(all(line, []));
      await Promise.all([line.lease.release(), line.time.advance(100)]);
      expect(line.masters.map(({ size }) => size)).to.deep.equal(all(line, 0));
    });

    it(`N=${nodes}, one silent: the last look ends after a node timeout, and its timer with it`, async () => {
      const line = await held(nodes);
      const failed = rejection(line.redlock.acquire('r', { waitMs: 1_000 }));
      await line.time.advance(999);
      const [silent] = line.masters;
      if (silent !== undefined) silent.manner = 'freeze';
      await line.time.advance(1 + LONG.nodeTimeoutMs);
      const error = await Promise.race([failed, settle()]);
      expect(error?.elapsedMs).to.equal(1_000 + LONG.nodeTimeoutMs);
      silent?.thaw();
      await line.time.advance(30_000);
      expect(line.time.pending).to.equal(0);
    });

    it(`N=${nodes}: no timer of the last look outlasts it`, async () => {
      const line = await held(nodes);
      const failed = rejection(line.redlock.acquire('r', { waitMs: 1_000 }));
      await line.time.advance(1_000);
      await failed;
      const before = line.time.pending;
      await line.time.advance(LONG.nodeTimeoutMs);
      expect(line.time.pending).to.equal(before);
    });
  }

  for (const kind of ['mutex', 'to write', 'permits'] as const) {
    it(`N=3, one silent, ${kind}: an attempt that ends after the wait is the last`, async () => {
      const bench = fakeCluster(3, LONG, { hasPushes: true });
      const lockOf = ({ redlock }: Pick<Bench, 'redlock'>) =>
        kind === 'mutex'
          ? redlock.mutex('r')
          : kind === 'permits'
            ? redlock.semaphore('r', 1)
            : redlock.readWriteLock('r').write;
      await lockOf(bench.other()).acquire();
      const [silent, ...others] = bench.masters;
      if (silent !== undefined) silent.manner = 'lose-reply';
      for (const master of others) master.latencyMs = 180; // longer than the wait, shorter than the node timeout
      const failed = rejection(lockOf(bench).acquire({ waitMs: 100, nodeTimeoutMs: 200 }));
      await bench.time.advance(100 + 200);
      const ended = await Promise.race([failed, settle()]);
      expect(ended).to.include({ code: 'LOCK_TAKEN' }); // G4: within the wait and one node timeout
    });
  }

  it('N=3: a claim that is refused is undone, and the next place has a fresh token and the old ticket', async () => {
    const line = await held(3);
    const wait = line.redlock.acquire('r');
    await settle();
    for (const master of line.masters) refuseNext(master);
    await line.lease.release();
    await line.time.advance(1_000);
    const lease = await wait;
    const queued = line.masters.map((master) => master.sent.filter((command) => kindOf(command) === 'queue'));
    for (const commands of queued) {
      const tickets = new Set(commands.map((command) => command.args.place?.split('|')[0]));
      expect([commands.length > 1, tickets.size, Number([...tickets][0]) > 0]).to.deep.equal([true, 1, true]);
      expect(new Set(commands.map(tokenOf)).size).to.equal(commands.length);
    }
    await lease.release();
    await settle();
    expect(line.masters.map(({ size }) => size)).to.deep.equal(all(line, 0));
  });

  it('N=3: a claim that is refused after the wait that the call began with: it queues once more, after a pause', async () => {
    const line = await contendedLately(3);
    const wait = line.redlock.acquire('r');
    await settle();
    for (const master of line.masters) refuseNext(master);
    await line.lease.release();
    await settle();
    expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['queue', 'claim']));
    await line.time.advance(1_000);
    expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['queue', 'claim', 'queue']));
    await (await wait).release();
  });

  it('N=3: ones that queued for a lock that was free by then make it less likely to be held', async () => {
    const line = await contendedLately(3);
    await line.lease.release();
    await (await line.redlock.acquire('r')).release();
    expect(line.masters.map((master) => line.kinds(master)[0])).to.deep.equal(all(line, 'queue'));
    for (const master of line.masters) master.sent.length = 0;
    await (await line.redlock.acquire('r')).release();
    expect(line.masters.map((master) => line.kinds(master)[0])).to.deep.equal(all(line, 'claim'));
  });

  it('N=3: its signal ends it at any step between its turn and its claim: no claim is sent after that', async () => {
    for (let steps = 0; steps < 40; steps++) {
      const line = await held(3);
      const controller = new AbortController();
      const wait = line.redlock.acquire('r', { signal: controller.signal }).catch(() => undefined);
      await settle();
      void line.lease.release();
      for (let step = 0; step < steps; step++) await Promise.resolve();
      controller.abort();
      const before = line.masters.map((master) => line.kinds(master).length);
      await settle();
      const after = line.masters.map((master, i) => line.kinds(master).slice(before[i]));
      expect(after.flat(), `${steps} steps`).to.not.include('claim');
      await (await wait)?.release();
    }
  });

  it('N=3: the last look, after a wait in which no place was asked for, is undone where it was not answered, and nowhere else', async () => {
    const line = await held(3);
    for (const master of line.masters) master.opensLines = false;
    const failed = rejection(line.redlock.acquire('r', { waitMs: 50 }));
    await line.time.advance(50);
    expect((await failed).attempts).to.equal(3); // it tried, it was to queue, and it looked
    const [m1, m2, m3] = line.masters.map((master) => {
      const mine = master.sent.filter((command) => line.random.tokens.includes(tokenOf(command)));
      return mine.map(kindOf);
    });
    expect([m1, m2]).to.deep.equal([
      ['claim', 'claim'],
      ['claim', 'claim'],
    ]);
    expect(m3).to.deep.equal(['claim', 'undo', 'claim', 'undo']);
  });

  for (const awayMs of [0, 30_000]) {
    it(`N=3, a master is lost after it gave a place, and is back ${awayMs} ms after the release: the place is removed from its queue as well`, async () => {
      const { lease, lost, time } = await placed();
      await lease.release();
      await time.advance(awayMs);
      expect(lost.members(queueKey('r'))).to.have.length(1);
      lost.become('ready');
      await time.advance(1_000);
      expect(lost.members(queueKey('r'))).to.deep.equal([]);
    });
  }

  it('N=3, a master is lost after it gave a place, and is back 30 s after the wait was ended: the place is given up', async () => {
    const line = await held(3);
    const controller = new AbortController();
    const failed = rejection(line.redlock.acquire('r', { ...SHORT, signal: controller.signal }));
    await settle();
    const [, , lost] = line.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    lost.become('lost');
    controller.abort();
    expect((await failed).code).to.equal('ABORTED');
    await line.time.advance(30_000);
    expect(lost.members(queueKey('r'))).to.have.length(1);
    lost.become('ready');
    await line.time.advance(1_000);
    expect(lost.members(queueKey('r'))).to.deep.equal([]);
  });

  for (const [what, isRefused] of [
    ['the lease was given back', false],
    ['its claim was refused', true],
  ] as const) {
    // as by a client that sends again, when it is connected, what was unanswered before
    it(`N=3, a master gives the place two minutes after ${what}: it is taken back there`, async () => {
      const { lease, lost, time } = await placed({ isUnanswered: true, isRefused });
      await lease.release();
      await time.advance(120_000);
      lost.become('ready');
      lost.thaw();
      expect(kindsSentTo(lost).at(-1)).to.equal('queue');
      await time.advance(1_000);
      expect(lost.members(queueKey('r'))).to.deep.equal([]);
    });
  }

  it('N=3: a lease is lost while a silent master has not answered for the place: the undo is behind it on the same connection', async () => {
    const { lease, lost, time } = await placed({ isUnanswered: true });
    lost.become('ready');
    time.stall(SHORT.ttlMs);
    expect(lease.status).to.equal('lost');
    await settle();
    const kinds = kindsSentTo(lost).filter((kind) => kind !== 'hello'); // its push connection is proven again
    expect(kinds.slice(-2)).to.deep.equal(['queue', 'undo']);
    lost.thaw();
    expect(lost.members(queueKey('r'))).to.deep.equal([]);
  });

  it('N=3: a lease that was handed over and is lost leaves no looks', async () => {
    const { redlock, masters, time, other } = fakeCluster(3, SHORT, { hasPushes: true });
    const first = await other().redlock.acquire('r');
    const second = redlock.acquire('r');
    await settle();
    await first.release();
    const lease = await second;
    const terms = (): unknown[] => masters.map((master) => master.names().includes(looksKey('r')));
    expect(terms()).to.deep.equal([true, true, true]);
    time.stall(SHORT.ttlMs);
    expect(lease.status).to.equal('lost');
    await settle();
    expect(terms()).to.deep.equal([false, false, false]);
  });

  for (const [title, isFree] of [
    ['is free there', true],
    ['another has it there', false],
  ] as const) {
    it(`N=3, a master has not handed it over, and the lock ${title}: the claim ends the place`, async () => {
      const line = await held(3);
      const wait = line.redlock.acquire('r');
      await settle();
      const [, , m3] = line.masters as [FakeMaster, FakeMaster, FakeMaster];
      holdBack(m3, 'release');
      const theirs = tokenFrom('theirs', '1');
      if (isFree) m3.delete('r');
      else m3.set('r', theirs, 600_000);
      expect(m3.members(queueKey('r'))).to.have.length(1);
      await line.lease.release();
      const lease = await wait;
      await settle();
      expect(m3.value('r')).to.equal(isFree ? lease.token : theirs);
      expect(m3.members(queueKey('r'))).to.deep.equal([]);
      await lease.release();
    });
  }

  it('N=3, fair false: it never queues', async () => {
    const line = await held(3);
    const failed = rejection(line.redlock.acquire('r', { fair: false, waitMs: 2_000 }));
    await line.time.advance(2_000);
    await failed;
    expect(line.masters.flatMap(line.kinds)).to.not.include('queue');
  });

  it('N=3: a quorum refuses pushes: it tries again and again, and is granted the lock', async () => {
    const line = await held(3, { ...LONG, retry: { minDelayMs: 50, maxDelayMs: 50 } });
    for (const master of line.masters) master.opensLines = false;
    let lease: Lease | undefined;
    void line.redlock.acquire('r').then((own) => (lease = own));
    await settle();
    for (const master of line.masters) master.connection.lose('NOPERM no channels', true);
    await line.time.advance(1_000);
    await line.lease.release();
    await line.time.advance(50);
    await lease?.release();
    expect(lease?.status).to.equal('released');
    expect(line.masters.flatMap(line.kinds)).to.not.include('queue');
  });

  it('N=3, ten instances contend: each is granted the lock, one at a time, and nothing is left', async () => {
    const bench = fakeCluster(3, LONG, { hasPushes: true });
    for (const master of bench.masters) master.latencyMs = 1;
    const served: number[] = [];
    let inside = 0;
    for (let i = 0; i < 10; i++) {
      void bench.other(`client-${i}`).redlock.using('r', async () => {
        expect(++inside).to.equal(1);
        await new Promise<void>((resolve) => bench.time.wait(5, resolve));
        inside--;
        served.push(i);
      });
      await bench.time.advance(1);
    }
    await bench.time.advance(10 * (5 + 4) + 100);
    expect(served.length).to.equal(10);
    expect(bench.masters.map(({ size }) => size)).to.deep.equal(all(bench, 0));
  });
});
