/** What the end of a lease does for the next call of its own instance, and against requests of its earlier holders. */
import { expect } from 'chai';
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import { takenKey } from '../../lib/protocol/keys.js';
import { Extension } from '../../lib/quorum/renewal-batch.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { kindsSentTo, plainScope } from '../support/commands.js';
import { FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const THEIRS = tokenFrom('them', '1');

function termsFor(key: string, more: Partial<AcquisitionTerms> = {}): AcquisitionTerms {
  return {
    resources: [key],
    scope: plainScope(key),
    ttlMs: 60_000,
    nodeTimeoutMs: 50,
    waitMs: 30_000,
    minDelayMs: 10,
    maxDelayMs: 10,
    fair: true,
    handOver: 'direct',
    localTurns: 8,
    observer: undefined,
    ...more,
  };
}

interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly [FakeMaster, FakeMaster, FakeMaster];
  readonly coordinator: Coordinator;
}

function bench(): Bench {
  const time = new FakeTime();
  const masters = [
    new FakeMaster('m1', time),
    new FakeMaster('m2', time),
    new FakeMaster('m3', time),
  ] as const;
  for (const master of masters) master.hasPushes = true;
  const coordinator = new Coordinator(
    { transports: masters, clock: time, timers: time, random: new FakeRandom() },
    { driftFactor: 0.01, fencing: false, maxWaiters: Infinity },
  );
  return { time, masters, coordinator };
}

describe('coordinator: a release, and a call of its instance that waits', () => {
  it('hands the lock on: no master is asked, so it is written and settled at once', async () => {
    const { coordinator, masters } = bench();
    const first = await coordinator.acquire(termsFor('r'), new Cancellation());
    const next = coordinator.acquire(termsFor('r'), new Cancellation());
    const told: unknown[] = [];
    await coordinator.release(first, 50, Infinity, {
      onWritten: () => told.push('written'),
      onSettled: ({ outcomes }) => told.push(outcomes),
    });
    expect([await next, told]).to.deep.equal([first, ['written', []]]);
    expect(masters.map(kindsSentTo)).to.deep.equal(masters.map(() => ['claim']));
  });

  it('may not hand it on: the call looks in front of it, gets the votes from it, and claims nothing', async () => {
    const { coordinator, masters, time } = bench();
    for (const master of masters) master.set('s', THEIRS, 600_000);
    void coordinator.acquire(termsFor('s'), new Cancellation()).catch(() => undefined);
    await time.advance(1_000); // it waits in the queue, so push connections are open
    const first = await coordinator.acquire(termsFor('r'), new Cancellation());
    const next = coordinator.acquire(termsFor('r', { localTurns: 1 }), new Cancellation());
    for (const master of masters) Object.assign(master, { latencyMs: 1 }).sent.length = 0;
    const [node] = coordinator.nodes;
    if (node === undefined) throw new Error('there are three');
    const urgent: unknown[] = [];
    const withdraw = node.withdraw.bind(node);
    node.withdraw = (ask, rounds) => {
      urgent.push(ask.isUrgent);
      withdraw(ask, rounds);
    };
    void coordinator.release(first, 50);
    await time.advance(10);
    expect((await next).origin).to.equal('marked');
    expect(masters.map(kindsSentTo)).to.deep.equal(masters.map(() => ['queue', 'release']));
    expect(urgent, 'somebody waits for it').to.deep.equal([true]);
  });
});

describe('coordinator: the end of a lease that was adopted with requests in flight', () => {
  /** Adopts and releases it. @returns by master, how long it lists which token, and how many calls it was sent */
  async function listed(token: string, ttlMs: number, taken: string | undefined): Promise<unknown[]> {
    const { coordinator, masters } = bench();
    for (const master of masters) master.set('r', token, ttlMs);
    const terms = termsFor('r', { ttlMs, scope: { ...plainScope('r'), taken } });
    const held = { token, fence: 0, isInFlight: true };
    const grant = await coordinator.adopt(terms, held, new Cancellation());
    await coordinator.release(grant, 50);
    await settle();
    return masters.map(({ sent }, i) => [
      ...sent.filter(({ kind }) => kind === 'take').map(({ command }) => command.args.slice(-2)),
      coordinator.nodes[i]?.window.calls,
    ]);
  }

  it('masters list its token for as long as such a request could set a vote, and for ten seconds at least', async () => {
    for (const [ttlMs, lifeMs] of [
      [1_000, '10000'],
      [60_000, '60602'],
    ] as const) {
      const each = [[lifeMs, THEIRS], 3];
      expect(await listed(THEIRS, ttlMs, takenKey(''))).to.deep.equal([each, each, each]);
    }
  });

  it('not on a cluster, which has no list, nor a token of another library', async () => {
    expect(await listed(THEIRS, 1_000, undefined)).to.deep.equal([[2], [2], [2]]);
    expect(await listed('a token of theirs', 1_000, takenKey(''))).to.deep.equal([[2], [2], [2]]);
  });
});

describe('coordinator: what is over leaves no timer', () => {
  it('an instance that ends while a vote is regained', async () => {
    const { coordinator, masters, time } = bench();
    const grant = await coordinator.acquire(termsFor('r'), new Cancellation());
    masters[0].set('r', THEIRS, 60_000);
    const wanted = { ttlMs: 60_000, nodeTimeoutMs: 50, isPatient: false, onLate: () => undefined };
    await new Promise((onEnd) => coordinator.extend(new Extension(grant, { ...wanted, onEnd })));
    expect(time.pending).to.equal(1);
    await coordinator.close(50);
    expect(time.pending).to.equal(0);
  });

  it('a wait for connections, once there are enough', async () => {
    const { coordinator, masters, time } = bench();
    for (const master of masters) master.become('lost');
    const ready = coordinator.ready(new Cancellation(), { withinMs: 1_000 });
    for (const master of masters.slice(1)) master.become('ready');
    await ready;
    expect(time.pending).to.equal(0);
  });
});
