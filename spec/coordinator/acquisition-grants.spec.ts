/** Grants of acquisitions: valid when they are given, and followed by what takes them back. */
import { expect } from 'chai';
import { releaseQueued } from '../../lib/protocol/request.js';
import { validUntilMs } from '../../lib/protocol/validity.js';
import { type AcquisitionBench, acquisitionBench, DRIFT_FACTOR } from '../support/acquisition-bench.js';
import { kindOf, plainScope } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { hold, OTHER } from '../support/queue-bench.js';
import { rejection } from '../support/rejection.js';

const TTL_MS = 10_000;
const VALID_MS = validUntilMs(0, TTL_MS, DRIFT_FACTOR);

async function handOver(masters: readonly FakeMaster[]): Promise<void> {
  for (const master of masters)
    await master.call(releaseQueued(plainScope('r'), OTHER, master.micros()).command);
}

/** It waits in the queue behind another. */
async function inQueue(): Promise<
  AcquisitionBench & { readonly wait: ReturnType<AcquisitionBench['acquire']> }
> {
  const bench = acquisitionBench(true);
  for (const master of bench.masters) hold(master);
  const wait = bench.acquire();
  await settle();
  return { ...bench, wait };
}

describe('acquisition: a lease that was handed over', () => {
  it('may be kept by masters for as long as a place and a vote after it', async () => {
    const { masters, time, wait } = await inQueue();
    await handOver(masters);
    const grant = await wait;
    expect(grant.expiredByMs - time.now()).to.be.above(70_000);
  });

  it('is given back behind the request for a place that a master has not answered', async () => {
    const bench = acquisitionBench(true);
    const [, , m3] = bench.masters;
    for (const master of bench.masters) hold(master);
    const send = m3.call.bind(m3);
    m3.call = (command) => {
      if (kindOf(command) === 'queue') m3.manner = 'freeze';
      return send(command);
    };
    const wait = bench.acquire();
    await settle();
    await handOver(bench.masters.slice(0, 2));
    const grant = await wait;
    expect([grant.origin, grant.open.length]).to.deep.equal(['marked', 1]);
  });

  it('is valid when it is granted, if the process stalls for all of its validity at any step between', async () => {
    for (let steps = 0; steps < 40; steps++) {
      const { grantedAtMs, masters, time, wait } = await inQueue();
      wait.catch(() => undefined);
      void handOver(masters);
      for (let step = 0; step < steps; step++) await Promise.resolve();
      time.stall(VALID_MS);
      await settle();
      const { validUntilMs: untilMs } = await wait;
      expect(untilMs, `${steps} steps`).to.be.above(grantedAtMs[0] ?? Infinity);
    }
  });
});

describe('acquisition: a claim', () => {
  it('is no lease at the instant at which its validity ends', async () => {
    for (const [lateMs, isLease] of [
      [VALID_MS - 1, true],
      [VALID_MS, false],
    ] as const) {
      const { acquire, masters, time } = acquisitionBench(false);
      for (const master of masters) master.latencyMs = lateMs;
      const end = acquire({ nodeTimeoutMs: TTL_MS, waitMs: 0 }).then(
        () => true,
        () => false,
      );
      await time.advance(2 * TTL_MS);
      expect(await end).to.equal(isLease);
    }
  });

  it('that runs at a lost master two minutes after its attempt was refused is taken back there', async () => {
    const { acquire, masters, time } = acquisitionBench(false);
    const [m1, m2, m3] = masters;
    for (const master of [m1, m2]) {
      hold(master);
      master.latencyMs = 20;
    }
    m3.manner = 'freeze';
    const failed = rejection(acquire({ waitMs: 0 }));
    await time.advance(10);
    m3.become('lost'); // the undo cannot follow it
    await time.advance(40);
    expect((await failed).code).to.equal('LOCK_TAKEN');
    await time.advance(120_000);
    m3.become('ready');
    m3.thaw();
    await time.advance(1_000);
    expect(m3.value('r')).to.equal(undefined);
  });
});
