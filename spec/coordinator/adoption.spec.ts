/** Adoption, one coordinator from another: what is asked of the masters, and how it can end. */
import { expect } from 'chai';
import type { AcquisitionTerms } from '../../lib/coordinator/acquisition-terms.js';
import { Coordinator } from '../../lib/coordinator/coordinator.js';
import type { Answers } from '../../lib/protocol/tally.js';
import { counterKey } from '../../lib/protocol/keys.js';
import type { Grant } from '../../lib/quorum/grant.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import { plainScope } from '../support/commands.js';
import { FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const VALID_MS = 988; // of a ttl of 1000
const HELD = { token: 'them:secret', fence: 5 };
const TERMS: AcquisitionTerms = {
  resources: ['r'],
  scope: { ...plainScope('r'), isFenced: true },
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
  adopt(terms?: Partial<AcquisitionTerms>, cancellation?: Cancellation): Promise<Grant>;
}

/** Three masters that hold a lease of another process. */
function bench(): Bench {
  const time = new FakeTime();
  const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
  for (const master of masters) {
    master.set('r', HELD.token, 1_000);
    master.set(counterKey('r'), '5', 60_000);
  }
  const random = new FakeRandom();
  const coordinator = new Coordinator(
    { transports: masters, clock: time, timers: time, random },
    { driftFactor: 0.01, fencing: true, maxWaiters: Infinity },
  );
  const adopt: Bench['adopt'] = (terms = {}, cancellation = new Cancellation()) =>
    coordinator.adopt({ ...TERMS, ...terms }, { ...HELD, isInFlight: false }, cancellation);
  return { time, masters, coordinator, adopt };
}

describe('adoption', () => {
  it('a quorum is enough: what its release could not delete there is owed for as long as they may keep it', async () => {
    const { adopt, coordinator, masters, time } = bench();
    masters[2]?.cut();
    const grant = await adopt();
    for (const master of masters) master.cut();
    await coordinator.release(grant, 50);
    await time.advance(1_011);
    expect(coordinator.owed).to.be.above(1);
    for (const master of masters) master.become('ready');
    await time.advance(1_000);
    expect([coordinator.owed, time.pending]).to.deep.equal([0, 0]);
  });

  it('what its release could not delete is owed for as long as masters may keep it', async () => {
    const { adopt, coordinator, masters, time } = bench();
    const grant = await adopt();
    expect(grant.expiredByMs - time.now()).to.equal(1_012);
    for (const master of masters) master.cut();
    await coordinator.release(grant, 50);
    expect(coordinator.owed).to.equal(3);
    await time.advance(1_011);
    expect(coordinator.owed).to.equal(3);
    for (const master of masters) master.become('ready');
    await time.advance(1_000);
    expect([coordinator.owed, time.pending]).to.deep.equal([0, 0]);
  });

  for (const [tookMs, isInTime] of [
    [VALID_MS - 1, true],
    [VALID_MS, false],
    [VALID_MS + 1_000, false],
  ] as const) {
    it(`a quorum says yes ${tookMs} ms after it was asked: ${isInTime ? 'held' : 'VALIDITY_EXPIRED'}`, async () => {
      const { adopt, masters, time } = bench();
      for (const master of masters) {
        master.set('r', HELD.token, 60_000);
        master.manner = 'freeze';
      }
      const adopting = adopt();
      const failed = isInTime ? undefined : rejection(adopting);
      await settle();
      time.stall(tookMs);
      for (const master of masters) master.thaw();
      if (failed === undefined) expect((await adopting).validUntilMs - time.now()).to.equal(1);
      else expect(await failed).to.include({ code: 'VALIDITY_EXPIRED', attempts: 1 });
    });
  }

  it('what is told of it: the attempt that was granted, with the fencing token of the lease', async () => {
    const { adopt, masters } = bench();
    const told: unknown[] = [];
    const observer = {
      granted: (attempts: number, { outcomes }: Answers, fence: number) =>
        told.push([attempts, outcomes.length, fence]),
      refused: () => told.push('refused'),
      waits: () => told.push('waits'),
    };
    await adopt({ observer });
    expect(told).to.deep.equal([[1, masters.length, HELD.fence]]);
  });

  it('the key has another type by now: LOCK_LOST at once, with the cause', async () => {
    const { adopt, masters } = bench();
    for (const master of masters) master.setForeign('r');
    const { attempts, cause, code } = await rejection(adopt({ waitMs: 1_000 }));
    expect([code, attempts, (cause as { code?: string }).code]).to.deep.equal(['LOCK_LOST', 1, 'WRONG_KIND']);
  });

  it('masters that do not allow it are not asked again: MISCONFIGURED', async () => {
    const { adopt, masters } = bench();
    for (const master of masters) master.replies.push(serverError('NOPERM no rights'));
    expect(await rejection(adopt({ waitMs: 1_000 }))).to.include({ code: 'MISCONFIGURED', attempts: 1 });
  });

  it('a quorum says yes after the node timeout: it has failed, and the other process has the lease as before', async () => {
    const { adopt, coordinator, masters, time } = bench();
    for (const master of masters) master.latencyMs = 60;
    const failed = rejection(adopt());
    await time.advance(1_000);
    expect((await failed).code).to.equal('NO_QUORUM');
    expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => HELD.token));
    expect([coordinator.owed, time.pending]).to.deep.equal([0, 0]);
  });

  it('ended before it begins: ABORTED, and nothing is sent', async () => {
    const { adopt, masters, time } = bench();
    const error = await rejection(adopt({}, new Cancellation(AbortSignal.abort('enough'))));
    expect(error).to.include({ code: 'ABORTED', cause: 'enough' });
    await settle();
    expect([time.pending, ...masters.map(({ calls }) => calls)]).to.deep.equal([0, 0, 0, 0]);
  });

  it('ended between two attempts: nothing more is sent', async () => {
    const { adopt, masters, time } = bench();
    for (const master of masters) master.replies.push(serverError('ERR busy'));
    const cancellation = new Cancellation();
    const failed = rejection(adopt({ waitMs: 1_000 }, cancellation));
    await settle();
    cancellation.cancel({ code: 'CLOSED' });
    expect((await failed).code).to.equal('CLOSED');
    await settle();
    expect([time.pending, ...masters.map(({ calls }) => calls)]).to.deep.equal([0, 1, 1, 1]);
  });

  it('masters that had not answered when it was ended do not count as silent', async () => {
    const { adopt, coordinator, masters, time } = bench();
    for (const master of masters) master.manner = 'freeze';
    const cancellation = new Cancellation();
    const failed = rejection(adopt({}, cancellation));
    await settle();
    cancellation.cancel({ code: 'CLOSED' });
    expect((await failed).code).to.equal('CLOSED');
    expect(coordinator.nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([true, true, true]);
    expect(time.pending).to.equal(0);
  });
});
