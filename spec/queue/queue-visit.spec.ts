/** Waiting in the queues of several resources, one after another, each held while the next is waited for. */
import { expect } from 'chai';
import { QueueVisit } from '../../lib/queue/queue-visit.js';
import { Grant } from '../../lib/quorum/grant.js';
import { counterKey, queueKey } from '../../lib/protocol/keys.js';
import type { Outcome } from '../../lib/protocol/quorum.js';
import { MUTEX, SettledScope } from '../../lib/protocol/scope.js';
import type { QueueWaitEnd } from '../../lib/queue/terms.js';
import { countedFor } from '../support/fence-blocks.js';
import { holdReplies, keysOf, kindOf, tokenOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { hold, letGo, type QueueBench, queueBench, MINE, THIRD } from '../support/queue-bench.js';

const TTL_MS = 3_000;
const SIZES = [1, 2, 3, 5];

interface Bench extends QueueBench {
  readonly wait: QueueVisit;
  readonly ends: QueueWaitEnd[];
  readonly late: string[];
  readonly m1: FakeMaster;
}

/** How its votes are handed over: as reservations by default. */
interface Manner {
  readonly isFenced?: boolean;
  readonly handOver?: 'direct' | 'reserve';
}

function bench(
  nodes: number,
  keys: readonly string[],
  prepare: (master: FakeMaster) => void,
  { isFenced = true, handOver = 'reserve' }: Manner = {},
): Bench {
  const environment = queueBench(nodes);
  environment.masters.forEach(prepare);
  const [m1] = environment.masters;
  if (m1 === undefined) throw new Error('there is one');
  const scope = new SettledScope(keys, { isFenced, marker: undefined, guardMs: -1, kind: MUTEX });
  const untilMs = environment.clock.now() + 600_000;
  const terms = {
    scope,
    ttlMs: TTL_MS,
    nodeTimeoutMs: 100,
    token: MINE,
    ticket: () => 1_000,
    untilMs,
    handOver,
  };
  const [ends, late]: [QueueWaitEnd[], string[]] = [[], []];
  const wait = new QueueVisit(environment, terms, (node) => late.push(node.name));
  return { ...environment, wait, ends, late, m1 };
}

async function started(nodes: number, keys: readonly string[], ...held: readonly string[]): Promise<Bench> {
  const one = bench(nodes, keys, (master) => {
    for (const key of held) hold(master, undefined, key);
  });
  void one.wait.run().then((end) => one.ends.push(end));
  await settle();
  return one;
}

/** What was sent there under its token, and for which resource. */
const steps = (master: FakeMaster): string[] =>
  master.sent
    .filter((command) => tokenOf(command) === MINE)
    .map((command) => `${kindOf(command)} ${keysOf(command)[0]}`);

const extensions = (master: FakeMaster): string[] =>
  steps(master).filter((step) => step.startsWith('extend'));

describe('waiting for several resources', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: each is queued for and then held, in their order; the last is only reserved`, async () => {
      const { ends, masters, wait } = await started(nodes, ['a', 'b', 'c']);
      expect([ends, wait.wasFree]).to.deep.equal([['reserved'], true]);
      for (const master of masters) {
        expect(master.names().filter((key) => key.startsWith('quorate:fence:'))).to.deep.equal([]);
        expect(steps(master)).to.deep.equal(['queue a', 'claim a', 'queue b', 'claim b', 'queue c']);
        expect(['a', 'b', 'c'].map((key) => master.value(key))).to.deep.equal([MINE, MINE, `${MINE}+`]);
      }
      wait.withdrawn();
    });

    it(`N=${nodes}: nothing is queued for before what comes first is held`, async () => {
      const { ends, masters, wait } = await started(nodes, ['a', 'b'], 'a');
      expect(masters.map((master) => steps(master).at(-1))).to.deep.equal(masters.map(() => 'queue a'));
      for (const master of masters) await letGo(master, undefined, 'a');
      await settle();
      expect([ends, wait.wasFree]).to.deep.equal([['reserved'], false]);
      wait.withdrawn();
    });

    it(`N=${nodes}: the resources that are held are extended while the next is waited for`, async () => {
      const { ends, masters, time, wait } = await started(nodes, ['a', 'b', 'c'], 'c');
      for (let passedMs = 0; passedMs < 10 * TTL_MS; passedMs += 500) {
        await time.advance(500);
        for (const master of masters)
          for (const key of ['a', 'b']) {
            expect(master.value(key)).to.equal(MINE);
            expect(master.ttlMs(key)).to.be.above(TTL_MS / 2);
          }
      }
      for (const master of masters) await letGo(master, undefined, 'c');
      await settle();
      expect(ends).to.deep.equal(['reserved']);
      wait.withdrawn();
      const before = masters.map((master) => extensions(master).length);
      await time.advance(5 * TTL_MS);
      expect(masters.map((master) => extensions(master).length)).to.deep.equal(before);
    });
  }

  it('none of several is the lease as it is handed over: the claim of all decides', async () => {
    const { m1, wait } = bench(3, ['a', 'b'], () => undefined, { handOver: 'direct' });
    expect([await wait.run(), wait.won]).to.deep.equal(['reserved', undefined]);
    expect(steps(m1)).to.deep.equal(['queue a', 'claim a', 'queue b']);
    wait.withdrawn();
  });

  it('one resource: it is queued for, and nothing else', async () => {
    const { ends, m1, time, wait } = await started(3, ['a']);
    await time.advance(10_000);
    expect([ends, steps(m1), wait.sentTo.length]).to.deep.equal([['reserved'], ['queue a'], 3]);
  });

  it('one resource: what it was handed is the lease, with a fencing token where the lock is fenced', async () => {
    for (const isFenced of [true, false]) {
      const { m1, wait } = bench(3, ['a'], () => undefined, { isFenced, handOver: 'direct' });
      expect([wait.won, await wait.run()]).to.deep.equal([undefined, 'granted']);
      expect([wait.won?.token, (wait.won?.fence ?? 0) > 0]).to.deep.equal([MINE, isFenced]);
      expect(m1.value(counterKey('a'))).to.equal(isFenced ? countedFor(wait.won?.fence) : undefined);
      wait.withdrawn();
    }
  });

  it('once all is claimed nothing is extended, and no timer of the wait is left', async () => {
    const { m1, nodes, time, wait } = await started(3, ['a', 'b']);
    const scope = new SettledScope(['a', 'b'], {
      isFenced: true,
      marker: undefined,
      guardMs: -1,
      kind: MUTEX,
    });
    wait.granted(new Grant(scope, MINE, 1, nodes));
    expect(time.pending).to.equal(1); // the one that closes the connections
    await time.advance(2 * TTL_MS);
    expect(extensions(m1)).to.deep.equal([]);
  });

  it('an extension that a silent master has not answered is followed by what takes it back, also after later ones', async () => {
    const { m1, time, wait } = await started(3, ['a', 'b'], 'b');
    m1.manner = 'freeze';
    await time.advance(TTL_MS / 3);
    const open = wait.sent;
    expect([extensions(m1).length, open.length]).to.deep.equal([1, 1]);
    await time.advance((2 * TTL_MS) / 3);
    expect(wait.sent).to.include.members([...open]);
    wait.end('ended');
  });

  it('a resource that is held is extended after a third of the ttl, and never created again', async () => {
    const { m1, time, wait } = await started(3, ['a', 'b'], 'b');
    await time.advance(TTL_MS / 3 - 1);
    expect(extensions(m1)).to.deep.equal([]);
    m1.delete('a');
    await time.advance(1);
    expect([extensions(m1), m1.value('a')]).to.deep.equal([['extend a'], undefined]);
    wait.end('ended');
  });
});

describe('waiting for several resources: it ends', () => {
  it('by a foreign client that holds the second', async () => {
    const { ends, wait } = await started(3, ['a', 'b'], 'a');
    expect(ends).to.deep.equal([]);
    wait.end('ended');
    const other = bench(3, ['a', 'b'], (master) => master.set('b', 'a foreign client'));
    expect(await other.wait.run()).to.equal('foreign-client');
    expect([other.m1.value('a'), other.wait.sentTo]).to.deep.equal([MINE, other.nodes]);
    other.wait.withdrawn();
  });

  it('where the first cannot be held: masters do not answer the claim within the node timeout', async () => {
    const one = bench(3, ['a', 'b'], () => undefined);
    const arrive = one.masters.slice(1).map((master) => holdReplies(master, 'claim'));
    void one.wait.run().then((end) => one.ends.push(end));
    await one.time.advance(99);
    expect(one.ends).to.deep.equal([]);
    await one.time.advance(1);
    expect(one.ends).to.deep.equal(['hopeless']);
    expect([one.wait.sent.length, one.nodes.map(({ isHealthy }) => isHealthy)]).to.deep.equal([
      1,
      [true, false, false],
    ]);
    one.late.length = 0; // the last answers to the requests for a place
    for (const run of arrive) run();
    await settle();
    expect([one.late, one.wait.sent]).to.deep.equal([['m2', 'm3'], []]);
  });

  it('where the claim of the first took as long as its ttl', async () => {
    for (const [lateMs, end] of [
      [TTL_MS, 'hopeless'],
      [TTL_MS - 1, 'reserved'],
    ] as const) {
      const one = bench(3, ['a', 'b'], () => undefined);
      const arrive = one.masters.map((master) => holdReplies(master, 'claim'));
      void one.wait.run().then((how) => one.ends.push(how));
      await settle();
      one.time.stall(lateMs);
      for (const run of arrive) run();
      await settle();
      expect(one.ends).to.deep.equal([end]);
      one.wait.withdrawn();
    }
  });

  it('by the caller: while it is queued, and nothing is extended any more', async () => {
    const { ends, m1, time, wait } = await started(3, ['a', 'b'], 'b');
    wait.end('ended');
    wait.end('foreign-client');
    await settle();
    expect(ends).to.deep.equal(['ended']);
    await time.advance(10_000);
    expect(steps(m1)).to.deep.equal(['queue a', 'claim a', 'queue b']);
  });

  it('by the caller: while the first is claimed', async () => {
    const one = bench(3, ['a', 'b'], () => undefined);
    for (const master of one.masters) master.latencyMs = 10;
    const run = one.wait.run();
    await one.time.advance(25); // hello, queue, claim
    expect(steps(one.m1)).to.deep.equal(['queue a', 'claim a']);
    one.wait.end('ended');
    expect(await run).to.equal('ended');
    expect(one.nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([true, true, true]); // not silent: not waited for
    await one.time.advance(10_000);
    expect(steps(one.m1)).to.deep.equal(['queue a', 'claim a']);
  });

  it('by the caller: in the very step in which the first is held; it is not extended', async () => {
    const one = bench(1, ['a', 'b'], () => undefined);
    const send = one.m1.call.bind(one.m1);
    one.m1.call = (command) => {
      const reply = send(command);
      // one step after it was read
      if (kindOf(command) === 'claim')
        void reply.then(() => Promise.resolve().then(() => one.wait.end('ended')));
      return reply;
    };
    expect(await one.wait.run()).to.equal('ended');
    await one.time.advance(10_000);
    expect(steps(one.m1)).to.deep.equal(['queue a', 'claim a']);
  });

  it('by the caller: in the very step in which the last is handed over', async () => {
    const one = bench(1, ['a'], () => undefined);
    const hold = one.subscriptions.hold.bind(one.subscriptions);
    one.subscriptions.hold = (...won) => {
      hold(...won);
      one.wait.end('ended');
    };
    expect(await one.wait.run()).to.equal('ended');
  });

  it('by the caller: before it began; nothing is sent', async () => {
    const { m1, time, wait } = bench(3, ['a', 'b'], () => undefined);
    wait.end('ended');
    expect(await wait.run()).to.equal('ended');
    expect([m1.sent, wait.sentTo, time.pending]).to.deep.equal([[], [], 0]);
  });

  it('leave: all is given back, and handed over', async () => {
    const { m1, masters, time, wait } = await started(3, ['a', 'b'], 'b');
    expect(wait.isGone).to.equal(false);
    const failed: string[] = [];
    await wait.leave((node) => failed.push(node.name)).send();
    expect([wait.isGone, failed]).to.deep.equal([true, []]);
    for (const master of masters)
      expect([master.value('a'), master.members(queueKey('b'))]).to.deep.equal([undefined, []]);
    await time.advance(10_000);
    expect(extensions(m1)).to.deep.equal([]);
  });

  it('leave, a master without pushes among them: what was held there is given back as well', async () => {
    const one = bench(3, ['a', 'b'], (master) => hold(master, undefined, 'b'));
    const [, , deaf] = one.masters;
    if (deaf === undefined) throw new Error('there are three');
    deaf.opensLines = false;
    void one.wait.run();
    await settle();
    expect([steps(deaf), deaf.value('a')]).to.deep.equal([['claim a'], MINE]);
    await one.wait.leave(() => undefined).send();
    expect(one.masters.map((master) => master.value('a'))).to.deep.equal([undefined, undefined, undefined]);
  });

  it('it is gone with the grant that came of it', () => {
    const { nodes, wait } = bench(3, ['a'], () => undefined);
    const scope = new SettledScope(['a'], { isFenced: true, marker: undefined, guardMs: -1, kind: MUTEX });
    const grant = new Grant(scope, MINE, 0, nodes);
    wait.granted(grant);
    expect(wait.isGone).to.equal(false);
    grant.end();
    expect(wait.isGone).to.equal(true);
  });
});

describe('waiting for several resources: the outcomes of the masters', () => {
  const show = (outcomes: readonly Outcome[]): unknown[] =>
    outcomes.map((one) =>
      one.kind === 'refused' ? one.remainingMs : one.kind === 'unknown' ? one.cause.message : one.kind,
    );
  const free: Outcome = { kind: 'granted', fence: 0, clockUs: 0 };
  const taken: Outcome = { kind: 'refused', remainingMs: 70, isWrongType: false, isForeignClient: false };

  /** m1 refused, m2 gave its vote, m3 was lost. */
  async function stood(): Promise<Bench> {
    const one = bench(3, ['a'], () => undefined);
    const [m1, m2, m3] = one.masters as [FakeMaster, FakeMaster, FakeMaster];
    m1.set('a', THIRD, 500);
    one.subscriptions.enter(`${MINE}0`, {
      onPush: () => undefined,
      onOpen: () => undefined,
      onClosed: () => undefined,
    });
    await settle(); // connections are open
    m3.replies.push(new Error('ERR lost'));
    void one.wait.run();
    await settle();
    expect([m2.value('a'), m1.value('a')]).to.deep.equal([`${MINE}+`, THIRD]);
    return one;
  }

  it('without a look: those of their places', async () => {
    const { wait } = await stood();
    expect(show(wait.outcomesAfter(undefined))).to.deep.equal([500, 'granted', 'ERR lost']);
    wait.end('ended');
  });

  it('with a look: what it saw; a lock that is free at that moment is taken', async () => {
    const { wait } = await stood();
    const [, second, third] = wait.outcomesAfter([taken, free, free]);
    expect(show(wait.outcomesAfter([taken, free, free]))).to.deep.equal([70, 0, 0]);
    for (const one of [second, third])
      expect(one).to.include({ kind: 'refused', isWrongType: false, isForeignClient: false });
    wait.end('ended');
  });

  it('with a look that a master did not answer: unknown, whatever it had said about the lock', async () => {
    const { wait } = await stood();
    expect(show(wait.outcomesAfter([]))).to.deep.equal([
      'no reply within 100 ms',
      'no reply within 100 ms',
      'ERR lost',
    ]);
    wait.end('ended');
  });

  it('before it began: unknown', () => {
    const { wait } = bench(2, ['a'], () => undefined);
    for (const looks of [undefined, []])
      expect(show(wait.outcomesAfter(looks))).to.deep.equal([
        'no reply within 100 ms',
        'no reply within 100 ms',
      ]);
  });
});
