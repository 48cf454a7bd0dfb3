import { expect } from 'chai';
import { RedlockError } from '../../lib/runtime/errors.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const TTL_MS = 3_000;

/** The error of a loss, whoever asks: all say the same. */
function asLoss(reason: unknown): RedlockError {
  if (!RedlockError.is(reason)) throw new Error(`no loss: ${String(reason)}`);
  expect(reason.code).to.equal('LOCK_LOST');
  return reason;
}

describe('a lost lease says why it could not be kept', () => {
  for (const nodes of [1, 2, 3, 5]) {
    it(`N=${nodes}, a majority frozen, renewed: tally and cause of the last renewal, by signal, assertHeld and extend`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: TTL_MS, renew: true });
      void lease.signal;
      const frozen = masters.slice(0, Math.ceil(nodes / 2));
      for (const master of frozen) master.manner = 'freeze';
      await time.advance(TTL_MS);
      const error = asLoss(lease.signal.reason);
      expect(error.tally.map(({ node, outcome }) => `${node} ${outcome}`)).to.deep.equal(
        masters.map(({ name }, i) => `${name} ${i < frozen.length ? 'unknown' : 'granted'}`),
      );
      expect(asCode(error.cause)).to.equal('NO_QUORUM');
      expect(error.message).to.match(
        /its validity ended.*m1 unknown \(no reply (within \d+ ms|before the lease ended)\)/,
      );
      expect(thrown(() => lease.assertHeld())).to.equal(error);
      expect(await rejection(lease.extend())).to.equal(error);
    });
  }

  it('N=3, many that are renewed together: each has its own', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
    const leases = await Promise.all(
      names.map((name) => redlock.acquire(name, { ttlMs: TTL_MS, renew: true })),
    );
    for (const lease of leases) void lease.signal;
    for (const master of masters.slice(1)) master.manner = 'freeze';
    await time.advance(TTL_MS);
    for (const lease of leases) {
      const error = asLoss(lease.signal.reason);
      expect([error.resources, error.tally.length, asCode(error.cause)]).to.deep.equal([
        lease.resources,
        3,
        'NO_QUORUM',
      ]);
    }
  });

  it('N=3, the only extension is under way as validity ends: what was answered by then', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: TTL_MS, nodeTimeoutMs: 60_000 });
    void lease.signal;
    for (const master of masters.slice(1)) master.manner = 'freeze';
    const failed = rejection(lease.extend());
    await time.advance(TTL_MS);
    const error = asLoss(lease.signal.reason);
    expect(error.tally.map(({ outcome }) => outcome)).to.deep.equal(['granted', 'unknown', 'unknown']);
    expect(error.message).to.contain('m2 unknown (no reply before the lease ended)');
    expect(await failed).to.equal(error);
  });

  it('N=3, a quorum said yes too late: the cause is VALIDITY_EXPIRED', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: TTL_MS, nodeTimeoutMs: 60_000 });
    const failed = rejection(lease.extend());
    time.stall(TTL_MS);
    await settle();
    expect((await failed).code).to.equal('VALIDITY_EXPIRED');
    expect(masters).to.have.length(3);
    expect(asCode(thrown(() => lease.assertHeld()).cause)).to.equal('VALIDITY_EXPIRED');
  });

  it('N=3, an extension failed and a later one did not: no old cause is reported', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: TTL_MS });
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(lease.extend());
    await time.advance(200);
    expect((await failed).code).to.equal('NO_QUORUM');
    for (const master of masters) master.manner = 'answer';
    await lease.extend();
    await time.advance(TTL_MS);
    const error = asLoss(thrown(() => lease.assertHeld()));
    expect([error.cause, error.tally, error.message.includes('failed')]).to.deep.equal([
      undefined,
      [],
      false,
    ]);
  });
});

function asCode(error: unknown): string {
  return RedlockError.is(error) ? error.code : String(error);
}
