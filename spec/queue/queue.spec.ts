/** Waiting in the queue, as an acquisition sees it: how it leaves the queue, and what follows. */
import { expect } from 'chai';
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import { Queue } from '../../lib/queue/queue.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import type { Lease } from '../../lib/lease/public.js';
import { releaseQueued, scriptedClaim } from '../../lib/protocol/request.js';
import { type Kind, MUTEX, READ, WRITE } from '../../lib/protocol/scope.js';
import { Repairs } from '../../lib/quorum/repairs.js';
import {
  type CommandKind,
  holdReplies,
  kindOf,
  kindsSentTo,
  plainScope,
  refuseNext,
} from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { hold, kindsOf, letGo, type QueueBench, queueBench, OTHER } from '../support/queue-bench.js';

interface Held extends Bench {
  readonly lease: Lease;
  /** Of three. */
  readonly m3: FakeMaster;
}

/** Another client holds `r`, on three masters. */
async function held(): Promise<Held> {
  const retry = { minDelayMs: 50, maxDelayMs: 50 };
  const options = { ttlMs: 600_000, waitMs: 60_000, nodeTimeoutMs: 50, retry };
  const bench = fakeCluster(3, options, { hasPushes: true });
  const lease = await bench.other().redlock.acquire('r');
  for (const master of bench.masters) master.sent.length = 0;
  const [, , m3] = bench.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
  return { ...bench, lease, m3 };
}

interface Standing extends QueueBench {
  readonly queue: Queue;
  readonly repairs: Repairs;
}

/** One that waits by itself for a second, with a ttl of a second, on three masters that another holds. */
function standingIn({ isOpen }: { readonly isOpen: boolean }): Standing {
  const bench = queueBench(3);
  for (const master of bench.masters) {
    hold(master);
    master.opensLines = isOpen;
  }
  return waitingIn(bench, MUTEX);
}

function waitingIn(bench: QueueBench, kind: Kind): Standing {
  const repairs = new Repairs(bench.nodes, bench.time, bench.time);
  const scope = { ...plainScope('r'), kind };
  const queue = new Queue(
    { ...bench, repairs },
    { scope, ttlMs: 1_000, nodeTimeoutMs: 50, handOver: 'reserve' },
  );
  void queue.wait(() => 1, bench.time.now() + 1_000);
  return { ...bench, queue, repairs };
}

describe('queue: it leaves without having claimed', () => {
  const standing = (isOpen: { readonly isOpen: boolean }): Queue => standingIn(isOpen).queue;

  it('and only where a foreign client was met is it said that one holds the lock', async () => {
    for (const end of ['foreign-client', 'hopeless', 'ended'] as const) {
      const queue = standing({ isOpen: true });
      await settle();
      expect(queue.depart(end).isForeignClient).to.equal(end === 'foreign-client');
    }
  });

  it('at the end of its wait: with a look at the lock, and with what the masters have said of it', async () => {
    const queue = standing({ isOpen: true });
    await settle();
    queue.end();
    const departure = queue.depart('ended');
    expect(departure).to.include({ looks: true, isUnasked: false });
    expect(departure.standing(undefined)).to.include({ failure: 'held', isOfLock: true });
  });

  it('before a quorum could be asked for a place: no look, and nothing is known of the lock', async () => {
    const queue = standing({ isOpen: false });
    await settle();
    queue.end();
    const departure = queue.depart('ended');
    expect(departure).to.include({ looks: false, isUnasked: true });
    expect(departure.standing(undefined)).to.equal(undefined);
  });

  it('as no quorum can be asked for a place: with what is known of the masters', async () => {
    const { queue, time } = standingIn({ isOpen: false });
    await time.advance(50);
    const departure = queue.depart('hopeless');
    expect(departure).to.include({ looks: false, isUnasked: false });
    expect(departure.standing(undefined)).to.include({ failure: 'unknown', isOfLock: true });
  });
});

describe('queue: it was handed the lease', () => {
  it('before that, it has no votes to tell of', () => {
    expect(standingIn({ isOpen: true }).queue.outcomes).to.deep.equal([]);
  });

  for (const [nodes, isWhole] of [
    [1, true],
    [2, true],
    [3, false],
  ] as const)
    it(`N=${nodes}: it lacks votes, and is renewed soon, unless every master has given its own`, async () => {
      const bench = queueBench(nodes);
      for (const master of bench.masters) hold(master);
      const repairs = new Repairs(bench.nodes, bench.time, bench.time);
      const terms = { ttlMs: 1_000, nodeTimeoutMs: 50, handOver: 'direct' } as const;
      const queue = new Queue({ ...bench, repairs }, { scope: plainScope('r'), ...terms });
      const end = queue.wait(() => 1, bench.time.now() + 1_000);
      await settle();
      for (const master of bench.masters) {
        await master.call(releaseQueued(plainScope('r'), OTHER, master.micros()).command);
        await settle();
      }
      expect([await end, queue.win(bench.time.now())?.isWhole]).to.deep.equal(['granted', isWhole]);
    });
});

describe('queue: it was free', () => {
  const permit: Kind = { name: 'semaphore', permits: 1, wanted: 1, slots: '' };

  for (const [kind, other] of [
    [MUTEX, MUTEX],
    [READ, WRITE],
    [WRITE, READ],
    [permit, permit],
  ] as const) {
    it(`${kind.name}: if every master gave its vote at once`, async () => {
      for (const isHeld of [true, false]) {
        const bench = queueBench(3);
        const taken = scriptedClaim({ ...plainScope('r'), kind: other }, OTHER, 60_000, 0);
        if (isHeld) await bench.masters[0]?.call(taken.command);
        const { queue } = waitingIn(bench, kind);
        await settle();
        expect(queue.wasFree).to.equal(!isHeld);
        queue.failed();
      }
    });
  }
});

describe('queue: what is owed to masters when its votes are given back', () => {
  for (const [title, giveBack] of [
    ['after a claim that failed', (queue: Queue) => queue.failed()],
    ['when it leaves', (queue: Queue) => queue.depart('reserved')],
  ] as const)
    it(`${title}: a vote that is handed over to it later is declined, and none before`, async () => {
      const { queue, masters, random } = standingIn({ isOpen: true });
      const [m1] = masters as readonly [FakeMaster];
      await settle();
      for (const master of masters) await letGo(master);
      await settle();
      const [token = ''] = random.tokens;
      const told = (): CommandKind | undefined => {
        m1.connection.tell(`g ${m1.micros() + 1} ${token} r`);
        return kindsOf(m1, token).at(-1);
      };
      expect(told()).to.equal('queue');
      giveBack(queue);
      expect(told()).to.equal('yield');
    });

  it('a claim outside the queue that failed has no votes of a wait to give back', async () => {
    const { queue } = standingIn({ isOpen: true });
    await settle();
    queue.end();
    queue.stepAside();
    expect(() => queue.failed()).not.to.throw();
  });

  it('an undo is owed for as long as a place may live, and a vote after it', async () => {
    const { queue, masters, repairs, time } = standingIn({ isOpen: true });
    await settle();
    masters[0]?.become('lost');
    await queue.depart('hopeless').withdrawal.send();
    await time.advance(LONGEST_LIFE_MS + 900);
    expect(repairs.size).to.equal(1);
    await time.advance(3_000);
    expect(repairs.size).to.equal(0);
  });
});

describe('queue: what follows the wait', () => {
  it('N=3, no pushes after all: attempts ask the home master alone, and take back only what was sent', async () => {
    const { lease, masters, redlock, time } = await held();
    for (const master of masters) master.opensLines = false;
    const wait = redlock.acquire('r');
    await settle();
    for (const master of masters) master.connection.lose('NOPERM no channels', true);
    await time.advance(60); // all masters were asked once more
    for (const master of masters) master.sent.length = 0;
    await time.advance(300);
    const asked = masters.map((master) => kindsSentTo(master));
    expect(asked.map((kinds) => kinds.length > 0)).to.have.members([true, false, false]);
    expect(new Set(asked.flat())).to.deep.equal(new Set<CommandKind>(['claim']));
    await lease.release();
    await time.advance(60);
    expect((await wait).status).to.equal('held');
  });

  it('N=3: a lock that was held more often than not lately is queued for at once; after some that found it free, it is tried', async () => {
    const { lease, masters, redlock, time } = await held();
    const [m1] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    let holder = lease;
    const first = async (isHeld: boolean): Promise<CommandKind | undefined> => {
      const before = m1.sent.length;
      if (!isHeld) await holder.release();
      const wait = redlock.acquire('r', { localTurns: 0 }); // it may be the holder
      await time.advance(MOST_TRIES * TRY_AFTER_MS.most); // it may try before it queues
      const kind = kindsSentTo(m1).slice(isHeld ? before : before + 1)[0];
      if (isHeld) await holder.release();
      holder = await wait;
      return kind;
    };
    const kinds: (CommandKind | undefined)[] = [];
    const tried = Array<CommandKind>(6).fill('claim');
    for (const isHeld of [...tried.map(() => true), true, false, false, false])
      kinds.push(await first(isHeld));
    expect(kinds).to.deep.equal([...tried, 'queue', 'queue', 'queue', 'claim']);
  });

  it('N=3, permits: those who found the lock held more often than not queue at once, and are free to try after some that did not', async () => {
    const options = { ttlMs: 60_000, waitMs: 60_000 };
    const bench = fakeCluster(3, options, { hasPushes: true });
    const holder = bench.other('holder').redlock.semaphore('r', 1);
    const first = async (isHeld: boolean): Promise<string | undefined> => {
      const taken = isHeld ? await holder.acquire() : undefined;
      const sent = bench.masters[0]?.sent ?? [];
      const before = sent.length;
      const wait = bench.redlock.semaphore('r', 1).acquire();
      await bench.time.advance(100);
      const name = sent[before]?.kind;
      await taken?.release();
      await bench.time.advance(100);
      await (await wait).release();
      await bench.time.advance(100);
      return name;
    };
    const names: (string | undefined)[] = [];
    const tried = Array<string>(7).fill('permit-claim');
    for (const isHeld of [...tried.map(() => true), true, false, false, false])
      names.push(await first(isHeld));
    expect(names).to.deep.equal([...tried, 'queue', 'queue', 'permit-claim', 'permit-claim']);
  });

  it('N=3: a try that is granted at once counts as free; where nobody waited lately, a release reserves', async () => {
    const { lease, masters, redlock } = await held();
    const [m1] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    const wait = redlock.acquire('r'); // 1/8
    await settle();
    await lease.release();
    await (await wait).release();
    for (let i = 0; i < 12; i++) await (await redlock.acquire('r')).release(); // below 1/32
    await settle();
    const keys = m1.sent.slice(-24).map(({ keys: named }) => named.length);
    const [claim, release, inQueue] = [3, 3, 5];
    expect(keys.filter((_, i) => i % 2 === 0)).to.deep.equal(Array.from({ length: 12 }, () => claim));
    expect(keys.filter((_, i) => i % 2 === 1)).to.deep.equal([
      ...Array.from({ length: 10 }, () => inQueue),
      ...[release, release],
    ]);
  });

  it('N=3: a place that is given late, while the lease is held, costs the lease no vote', async () => {
    const { lease, m3, redlock, time } = await held();
    const arrive = holdReplies(m3, 'queue');
    const wait = redlock.acquire('r');
    await time.advance(60); // it is silent by now
    await lease.release();
    const next = await wait;
    await settle();
    arrive();
    await time.advance(1_000);
    expect([next.status, m3.value('r')]).to.deep.equal(['held', next.token]);
  });

  it('N=3, a master is silent from the place on, and the claim is refused: one undo follows both there', async () => {
    const { lease, m3, masters, random, redlock, time } = await held();
    const send = m3.call.bind(m3);
    m3.call = (command) => {
      if (kindOf(command) === 'queue') m3.manner = 'freeze';
      return send(command);
    };
    const wait = redlock.acquire('r');
    await time.advance(60);
    for (const master of masters) if (master !== m3) refuseNext(master);
    await lease.release();
    await time.advance(60);
    m3.thaw();
    await time.advance(1_000);
    const [, token = ''] = random.tokens; // of the first claim in the queue
    const ofIt = m3.sent.filter((one) => one.token === token);
    const isUndo = (kind: CommandKind): boolean => kind !== 'yield'; // a push for it may come when it has left
    expect(ofIt.map(kindOf).filter(isUndo)).to.deep.equal(['queue', 'claim', 'undo']);
    await (await wait).release();
  });
});
