import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { Lease } from '../lib/lease/lease.js';
import { Redlock } from '../lib/redlock.js';
import { SystemClock } from '../lib/runtime/clock.js';
import { fakeCluster } from './support/fake-cluster.js';
import { settle } from './support/fake-time.js';
import { needs } from './support/parts.js';
import { rejection } from './support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];

describe('redlock: each option has its effect', () => {
  it('ttlMs: the time that the masters keep a key, of the instance and of a call', async () => {
    const { redlock, masters } = fakeCluster(1, { ttlMs: 7_000 });
    await redlock.acquire('a');
    await redlock.acquire('b', { ttlMs: 9_000 });
    await redlock.acquire(['c', 'd'], { ttlMs: 8_000 });
    expect(['a', 'b', 'c', 'd'].map((key) => masters[0]?.ttlMs(key))).to.deep.equal([
      7_000, 9_000, 8_000, 8_000,
    ]);
  });

  it('waitMs: how long it goes on; the last attempt is made as it ends', async () => {
    for (const waitMs of [0, 1, 500, 3_000]) {
      const { redlock, masters, time } = fakeCluster(3);
      for (const master of masters) master.set('r', 'another', 600_000);
      const failed = rejection(redlock.acquire('r', { waitMs }));
      await time.advance(10_000);
      expect((await failed).elapsedMs).to.equal(waitMs);
    }
  });

  it('waitMs: Infinity waits until it is free', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.set('r', 'another', 600_000);
    const lease = redlock.acquire('r', { waitMs: Infinity });
    await time.advance(601_000);
    expect((await lease).status).to.equal('held');
  });

  it('nodeTimeoutMs: how long an attempt waits for silent masters', async () => {
    for (const [options, timeoutMs] of [
      [{}, 980],
      [{ ttlMs: 500 }, 125],
      [{ nodeTimeoutMs: 70 }, 70],
      [{ ttlMs: 500, nodeTimeoutMs: 300 }, 300],
    ] as const) {
      const { redlock, masters, time } = fakeCluster(3);
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(redlock.acquire('r', { ...options, waitMs: 0 }));
      await time.advance(1_000);
      expect((await failed).elapsedMs).to.equal(timeoutMs);
    }
  });

  it('driftFactor: what is taken off the ttl, with 2 ms on top', async () => {
    for (const [driftFactor, validMs] of [
      [0, 998],
      [0.01, 988],
      [0.25, 748],
    ] as const) {
      const { redlock } = fakeCluster(3, { driftFactor });
      expect((await redlock.acquire('r', { ttlMs: 1_000 })).remainingMs()).to.equal(validMs);
    }
  });

  it('keyPrefix: precedes the keys, and not the resources', async () => {
    const { redlock, masters } = fakeCluster(3, { keyPrefix: 'app:' });
    const lease = await redlock.acquire(['b', 'a']);
    expect(lease.resources).to.deep.equal(['a', 'b']);
    expect(masters.map((master) => [master.value('app:a'), master.value('a')])).to.deep.equal(
      masters.map(() => [lease.token, undefined]),
    );
  });

  it('renew: of the instance, and of a call that differs', async () => {
    for (const [ofInstance, ofCall, status] of [
      [true, undefined, 'held'],
      [true, false, 'lost'],
      [false, true, 'held'],
      [false, undefined, 'lost'],
    ] as const) {
      const { redlock, time } = fakeCluster(3, { renew: ofInstance, ttlMs: 1_000 });
      const lease = await redlock.acquire('r', ofCall === undefined ? {} : { renew: ofCall });
      await time.advance(10_000);
      expect(lease.status).to.equal(status);
    }
  });

  it('maxHoldMs: no renewal starts later, so that it ends a ttl later at most', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { renew: true, ttlMs: 3_000, maxHoldMs: 10_000 });
    await time.advance(10_000);
    expect(lease.status).to.equal('held');
    await time.advance(3_000);
    expect(lease.status).to.equal('lost');
    expect(time.pending).to.equal(0);
  });

  it('retry: attempts are that far apart', async () => {
    const attempts: number[] = [];
    for (const retry of [
      { minDelayMs: 10, maxDelayMs: 20 },
      { minDelayMs: 100, maxDelayMs: 200 },
      { minDelayMs: 1_000, maxDelayMs: 1_000 },
    ]) {
      const { redlock, masters, time } = fakeCluster(3, { retry });
      for (const master of masters) master.set('r', 'another', 600_000);
      const failed = rejection(redlock.acquire('r', { waitMs: 10_000 }));
      await time.advance(11_000);
      attempts.push((await failed).attempts);
    }
    expect(attempts[0]).to.be.within(500, 1_001);
    expect(attempts[1]).to.be.within(50, 101);
    expect(attempts[2]).to.equal(11);
  });

  it('signal: ends the wait with its reason, at once, and leaves nothing', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.manner = 'freeze';
    const controller = new AbortController();
    const failed = rejection(redlock.acquire('r', { signal: controller.signal }));
    await time.advance(50);
    const reason = new Error('not needed any more');
    controller.abort(reason);
    const error = await failed;
    expect([error.code, error.cause, error.elapsedMs]).to.deep.equal(['ABORTED', reason, 50]);
    for (const master of masters) master.thaw();
    await time.advance(2_000);
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });

  it('signal: aborted before: nothing is sent; aborted after: the lease is not concerned', async () => {
    const { redlock, masters } = fakeCluster(3);
    const error = await rejection(redlock.acquire('r', { signal: AbortSignal.abort('early') }));
    expect([error.code, error.cause]).to.deep.equal(['ABORTED', 'early']);
    expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    const controller = new AbortController();
    const lease = await redlock.acquire('r', { signal: controller.signal });
    controller.abort();
    await settle();
    expect([lease.status, lease.signal.aborted]).to.deep.equal(['held', false]);
  });
});

describe('redlock: close', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: whatever the moment, a call under way ends as CLOSED or as a lease that is given back`, async () => {
      for (const call of ['acquire', 'adopt'] as const) {
        // each microtask of the call is a moment of its own
        for (let moment = 0; moment < 40; moment++) {
          const { redlock, masters, time, other } = fakeCluster(nodes);
          const handle = call === 'adopt' ? (await other().redlock.acquire('r')).giveAway() : undefined;
          await settle();
          const result = (handle === undefined ? redlock.acquire('r') : redlock.adopt(handle)).catch(
            (error: unknown) => error,
          );
          for (let turn = 0; turn < moment; turn++) await Promise.resolve();
          await redlock.close({ releaseHeld: true });
          await time.advance(1_000);
          const end = await result;
          const text = `${call}, moment ${moment}`;
          if (!(end instanceof Lease)) expect(end, text).to.include({ code: 'CLOSED' });
          else expect(end.status, text).to.equal('released');
          if (call === 'acquire' || end instanceof Lease) {
            expect(
              masters.map(({ size }) => size),
              text,
            ).to.deep.equal(masters.map(() => 0));
          }
        }
      }
    });
  }

  it('N=3, releaseHeld: releases what is held, fails what waits, and refuses what comes after', async () => {
    const { redlock, masters, time, other } = fakeCluster(3);
    const lease = await redlock.acquire('a', { renew: true });
    await other().redlock.acquire('b');
    const waiting = rejection(redlock.acquire('b'));
    await time.advance(100);
    await redlock.close({ releaseHeld: true });
    expect([lease.status, (await waiting).code]).to.deep.equal(['released', 'CLOSED']);
    expect(masters.map((master) => master.value('a'))).to.deep.equal([undefined, undefined, undefined]);
    const calls = [
      redlock.acquire('c'),
      redlock.tryAcquire('c'),
      redlock.using('c', () => 1),
      redlock.inspect('c'),
      redlock.ready(),
    ];
    for (const call of calls) expect((await rejection(call)).code).to.equal('CLOSED');
    await time.advance(1_000);
    expect(time.pending).to.equal(0);
  });

  it('N=3, all silent: takes a node timeout for the releases and one for the undos, and leaves no timer', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    await redlock.acquire('a', { renew: true });
    for (const master of masters) master.manner = 'freeze';
    let isClosed = false;
    void redlock.close({ releaseHeld: true }).then(() => (isClosed = true));
    await time.advance(400);
    expect(isClosed).to.equal(true);
    expect(time.pending).to.equal(0);
  });

  it('may be called again, also by `await using`', async () => {
    const { redlock } = fakeCluster(1);
    await Promise.all([redlock.close(), redlock.close()]);
    await redlock[Symbol.asyncDispose]();
    expect((await rejection(redlock.acquire('r'))).code).to.equal('CLOSED');
  });
});

describe('redlock: an abort at whatever moment', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: ends as ABORTED without a key left, or as a lease`, async () => {
      for (let moment = 0; moment < 40; moment++) {
        const { redlock, masters, time } = fakeCluster(nodes);
        const controller = new AbortController();
        const result = redlock.acquire('r', { signal: controller.signal }).catch((error: unknown) => error);
        for (let turn = 0; turn < moment; turn++) await Promise.resolve();
        controller.abort();
        await time.advance(1_000);
        const end = await result;
        if (end instanceof Lease) expect(end.status).to.equal('held');
        else expect(end).to.include({ code: 'ABORTED' });
        const left = end instanceof Lease ? 1 : 0;
        expect(
          masters.map(({ size }) => size),
          `moment ${moment}`,
        ).to.deep.equal(masters.map(() => left));
      }
    });
  }
});

describe('redlock: what an instance costs', () => {
  it('a hundred of them open no more files than one', function () {
    needs(this, '/proc');
    const open = (): number => readdirSync('/proc/self/fd').length;
    const clocks = [new SystemClock()];
    const before = open();
    for (let i = 0; i < 100; i++) clocks.push(new SystemClock());
    expect(open() - before).to.equal(0);
    expect(clocks.every((clock) => clock.now() > 0)).to.equal(true);
  });

  it('tokens are in no text: not of errors, not of a lease', async () => {
    const { redlock, masters, random } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.set('s', random.tokens[0] ?? '', 60_000);
    const error = await rejection(redlock.acquire('s', { waitMs: 0 }));
    const texts = [
      JSON.stringify(lease),
      String(lease),
      error.message,
      String(error.stack),
      JSON.stringify(error),
    ];
    expect(texts.join()).to.not.contain('secret');
  });

  it('shows the options in force, frozen', () => {
    const { redlock } = fakeCluster(1, { ttlMs: 5_000 });
    expect(redlock).to.be.instanceOf(Redlock);
    expect(redlock.options).to.include({ ttlMs: 5_000, waitMs: 10_000 });
    expect(Object.isFrozen(redlock.options)).to.equal(true);
  });
});
