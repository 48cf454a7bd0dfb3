import { expect } from 'chai';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import { Extension, type ExtensionEnd } from '../../lib/quorum/renewal-batch.js';
import type { Grant } from '../../lib/quorum/grant.js';
import { inspection } from '../../lib/protocol/request.js';
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { FakeRandom } from '../support/fake-cluster.js';
import { kindsSentTo, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const SIZES = [1, 2, 3, 4, 5];
const VALID_MS = 988; // of a ttl of 1000
const WISH: AcquisitionTerms = {
  resources: ['r'],
  scope: plainScope('r'),
  ttlMs: 1_000,
  nodeTimeoutMs: 50,
  waitMs: 0,
  minDelayMs: 10,
  maxDelayMs: 20,
  fair: true,
  handOver: 'direct',
  localTurns: 0,
  observer: undefined,
};

interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly coordinator: Coordinator;
}

function bench(nodes: number): Bench {
  const time = new FakeTime();
  const masters = Array.from({ length: nodes }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  const environment = {
    transports: masters,
    clock: time,
    timers: time,
    random: new FakeRandom(),
  };
  const terms = { driftFactor: 0.01, fencing: true, maxWaiters: Infinity };
  return { time, masters, coordinator: new Coordinator(environment, terms) };
}

function extendBy(coordinator: Coordinator, grant: Grant, ttlMs: number): Promise<ExtensionEnd> {
  const wanted = { ttlMs, nodeTimeoutMs: 50, isPatient: false, onLate: () => undefined };
  return new Promise((resolve) => coordinator.extend(new Extension(grant, { ...wanted, onEnd: resolve })));
}

describe('Coordinator', () => {
  it('N=3: an extension that its validity cuts short does not say that the node timeout was too short', async () => {
    const { time, masters, coordinator } = bench(3);
    const grant = await coordinator.acquire(WISH, new Cancellation());
    for (const master of masters) master.manner = 'freeze';
    for (const cause of ['no reply within 50 ms', 'no reply before its validity ended']) {
      const extended = extendBy(coordinator, grant, 1_000);
      await time.advance(grant.validUntilMs - time.now() === VALID_MS ? VALID_MS - 20 : 50);
      const end = await extended;
      const causes = end.kind === 'failed' ? end.round.outcomes : [];
      expect(causes.map((one) => (one?.kind === 'unknown' ? one.cause.message : one?.kind))).to.deep.equal(
        masters.map(() => cause),
      );
    }
  });

  for (const nodes of SIZES) {
    const quorum = Math.floor(nodes / 2) + 1;

    it(`N=${nodes}: acquire resolves with a grant that has its validity, the masters it was sent to, and the time when all votes are gone`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      masters[0]?.become(nodes > 2 ? 'lost' : 'ready');
      const grant = await coordinator.acquire(WISH, new Cancellation());
      expect(coordinator.quorum).to.equal(quorum);
      expect([grant.validUntilMs - time.now(), grant.expiredByMs - time.now()]).to.deep.equal([
        VALID_MS,
        1_012,
      ]);
      const sent = masters.filter((master) => master.sent.length > 0).map(({ name }) => name);
      expect(grant.sentTo.map(({ name }) => name)).to.deep.equal(sent);
    });

    it(`N=${nodes}: extend moves the validity, says so, and never moves it back`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire(WISH, new Cancellation());
      await time.advance(400);
      expect((await extendBy(coordinator, grant, 1_000)).kind).to.equal('extended');
      expect(grant.validUntilMs - time.now()).to.equal(VALID_MS);
      expect((await extendBy(coordinator, grant, 100)).kind).to.equal('extended');
      expect(grant.validUntilMs - time.now()).to.equal(VALID_MS);
      for (const master of masters) expect(master.ttlMs('r')).to.equal(1_000);
    });

    it(`N=${nodes}: an extension that ends late is failed and late, and moves nothing`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire(WISH, new Cancellation());
      const { validUntilMs } = grant;
      for (const master of masters) master.latencyMs = 10;
      const extending = extendBy(coordinator, grant, 5_000);
      await settle();
      time.stall(2_000);
      await time.advance(20);
      expect(await extending).to.include({ kind: 'failed', isLate: true });
      expect(grant.validUntilMs).to.equal(validUntilMs);
    });

    it(`N=${nodes}: an extension that some masters carried out makes the repairs last for its ttl`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire(WISH, new Cancellation());
      for (const master of masters) master.manner = 'lose-reply';
      const extending = extendBy(coordinator, grant, 60_000);
      await time.advance(50);
      expect((await extending).kind).to.equal('failed');
      expect(grant.expiredByMs - time.now()).to.be.at.least(60_000);
    });

    it(`N=${nodes}: abandon undoes what healthy masters hold, once, and schedules nothing`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire(WISH, new Cancellation());
      if (nodes > 1) masters[0]?.become('lost');
      coordinator.abandon(grant);
      await settle();
      expect([time.pending, coordinator.owed, grant.isEnded]).to.deep.equal([0, 0, true]);
      for (const master of masters) {
        const undos = kindsSentTo(master).filter((kind) => kind === 'undo').length;
        expect(undos).to.equal(master.state === 'ready' ? 1 : 0);
      }
    });

    it(`N=${nodes}: release owes what was not confirmed, and close gives that one node timeout`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire({ ...WISH, ttlMs: 60_000 }, new Cancellation());
      for (const master of masters) master.cut();
      await coordinator.release(grant, 50);
      expect(coordinator.owed).to.equal(nodes);
      for (const master of masters.slice(0, quorum)) master.become('ready');
      let isClosed = false;
      void coordinator.close(50).then(() => (isClosed = true));
      await time.advance(50);
      expect(isClosed).to.equal(true);
      expect(masters.filter(({ size }) => size > 0).length).to.equal(nodes - quorum);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}: close with nothing owed is immediate; with silent masters it takes one node timeout`, async () => {
      const idle = bench(nodes);
      await idle.coordinator.close(50);
      const { time, masters, coordinator } = bench(nodes);
      const grant = await coordinator.acquire(WISH, new Cancellation());
      for (const master of masters) master.cut();
      await coordinator.release(grant, 50);
      for (const master of masters) {
        master.become('ready');
        master.manner = 'freeze';
      }
      let tookMs = -1;
      const startedAtMs = time.now();
      void coordinator.close(50).then(() => (tookMs = time.now() - startedAtMs));
      await time.advance(500);
      expect([tookMs, time.pending]).to.deep.equal([50, 0]);
    });

    it(`N=${nodes}: a survey asks all at once, settles with the node timeout, and leaves nothing behind`, async () => {
      const { time, masters, coordinator } = bench(nodes);
      const [silent] = masters;
      if (silent === undefined) throw new Error('there is one at least');
      silent.manner = 'freeze';
      const looking = coordinator.survey(inspection('r'), 50);
      await time.advance(50);
      const kinds = (await looking).map(({ kind }) => kind);
      expect(kinds).to.deep.equal(masters.map((master) => (master === silent ? 'unknown' : 'answered')));
      silent.thaw();
      await settle();
      expect([time.pending, coordinator.owed]).to.deep.equal([0, 0]);
      for (const master of masters) expect(kindsSentTo(master)).to.deep.equal(['inspect']);
    });

    it(`N=${nodes}: ready resolves at a quorum, and at once when its wait was cancelled`, async () => {
      const { masters, coordinator } = bench(nodes);
      for (const master of masters) master.become('lost');
      const cancellation = new Cancellation();
      let isReady = false;
      void coordinator.ready(cancellation).then(() => (isReady = true));
      for (const master of masters.slice(0, quorum - 1)) master.become('ready');
      await settle();
      expect(isReady).to.equal(false);
      cancellation.cancel({ code: 'CLOSED' });
      await settle();
      expect(isReady).to.equal(true);
      await coordinator.ready(cancellation);
      expect(masters.map(({ listeners }) => listeners)).to.deep.equal(masters.map(() => 0));
    });
  }
});
