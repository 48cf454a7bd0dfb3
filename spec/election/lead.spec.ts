/** `lead` over masters in memory, under virtual time. */
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import type { Leading } from '../../lib/election/public.js';
import { serverError } from '../../lib/testing/master/execution.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { changesOf } from '../support/election-changes.js';

const TERMS = { ttlMs: 3_000, nodeTimeoutMs: 200 } as const;

/** Runs until its signal aborts. */
function untilAborted({ signal }: Leading): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

describe('lead', () => {
  it('runs the routine while it leads, and resolves when its signal ends it, with nothing left', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const controller = new AbortController();
    const election = redlock.election('boss');
    const changes = changesOf(election);
    let led = 0;
    const leading = election.lead(
      async (one) => {
        led = one.fence;
        await one.proclaim('ready');
        await untilAborted(one);
      },
      { value: 'a', signal: controller.signal },
    );
    await time.advance(20_000);
    expect(await redlock.election('boss').leader()).to.deep.equal({ value: 'ready', fence: led, seq: 2 });
    controller.abort('over');
    await leading;
    expect(changes).to.deep.equal([
      { state: 'leading', fence: led },
      { state: 'ended', fence: led, reason: 'over', error: undefined },
    ]);
    for (const master of masters) expect(master.size).to.equal(0);
  });

  it('campaigns again after a loss, once the routine has ended, with a higher fence', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const controller = new AbortController();
    const fences: number[] = [];
    const reasons: unknown[] = [];
    const leading = redlock.election('boss').lead(
      async (one) => {
        fences.push(one.fence);
        await untilAborted(one);
        reasons.push(one.signal.reason);
        throw new Error('the work was cut short');
      },
      { signal: controller.signal },
    );
    await time.advance(100);
    for (const master of masters) master.set('boss', 'another', 1_000);
    await time.advance(6_000);
    expect(fences).to.have.lengthOf(2);
    expect(fences[1]).to.be.above(fences[0] ?? Infinity);
    expect(reasons[0]).to.include({ code: 'LOCK_LOST' });
    controller.abort();
    await leading;
  });

  it('what a routine throws after its signal aborted is told as the end, and nothing else', async () => {
    const { redlock, time } = fakeCluster(1, TERMS);
    const controller = new AbortController();
    const election = redlock.election('boss');
    const changes = changesOf(election);
    const error = new Error('cut short');
    const leading = election.lead(
      async (one) => {
        await untilAborted(one);
        throw error;
      },
      { signal: controller.signal },
    );
    await time.advance(10);
    controller.abort();
    await leading;
    expect(changes[1]).to.include({ state: 'ended', error });
  });

  it('rejects with what a routine throws while it leads, and has resigned by then', async () => {
    const { redlock, masters } = fakeCluster(3, TERMS);
    const failure = new Error('a bug');
    const caught = await redlock
      .election('boss')
      .lead(() => {
        throw failure;
      })
      .catch((error: unknown) => error);
    expect(caught).to.equal(failure);
    for (const master of masters) expect(master.size).to.equal(0);
  });

  it('a routine that returns resigns, and its process is a candidate again', async () => {
    const { redlock, time } = fakeCluster(3, TERMS);
    const controller = new AbortController();
    let runs = 0;
    const leading = redlock.election('boss').lead(() => void runs++, { signal: controller.signal });
    await time.advance(2_000);
    expect(runs).to.be.within(5, 200); // it hesitates in between
    controller.abort();
    await leading;
  });

  it('two that return at once take turns', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const controller = new AbortController();
    const turns = [0, 0];
    const candidates = [bench.redlock, bench.other('b').redlock].map((redlock, i) =>
      redlock.election('boss').lead(
        async ({ signal }) => {
          turns[i] = (turns[i] ?? 0) + 1;
          await new Promise<void>((resolve) => {
            bench.time.wait(100, resolve);
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
        },
        { signal: controller.signal },
      ),
    );
    await bench.time.advance(5_000);
    for (const count of turns) expect(count).to.be.at.least(5);
    controller.abort();
    await bench.time.advance(1_000);
    await Promise.all(candidates);
  });

  it('goes on while no quorum is there, and leads when one is back', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const controller = new AbortController();
    for (const master of masters.slice(1)) master.state = 'lost';
    let isLeading = false;
    const leading = redlock.election('boss').lead(
      (one) => {
        isLeading = true;
        return untilAborted(one);
      },
      { signal: controller.signal },
    );
    await time.advance(60_000);
    expect(isLeading).to.equal(false);
    for (const master of masters) master.state = 'ready';
    await time.advance(1_000);
    expect(isLeading).to.equal(true);
    controller.abort();
    await leading;
  });

  for (const hasPushes of [false, true]) {
    it(`tells of an outage, once for each, ${hasPushes ? 'in the queue' : 'without a line'} too`, async () => {
      const bench = fakeCluster(3, TERMS, { hasPushes });
      const { masters, time } = bench;
      const controller = new AbortController();
      const held = await bench.other('b').redlock.acquire('boss', { renew: true });
      const election = bench.redlock.election('boss');
      const changes = changesOf(election);
      const leading = election.lead(untilAborted, { signal: controller.signal });
      await time.advance(1_000);
      for (const outage of [1, 2]) {
        for (const master of masters.slice(1)) master.become('lost');
        await time.advance(20_000);
        expect(changes.map(({ state }) => state)).to.deep.equal(
          Array.from({ length: outage }, () => 'failed'),
        );
        for (const master of masters.slice(1)) {
          master.become('ready');
          master.set('boss', 'another', 8_000);
        }
        await time.advance(5_000);
      }
      const [first] = changes;
      expect(first?.state === 'failed' && first.error).to.include({ code: 'NO_QUORUM' });
      await time.advance(10_000);
      expect(changes.at(-1)).to.include({ state: 'leading' });
      controller.abort();
      await leading;
      await held.release();
    });
  }

  it('masters in quarantine are told as well', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ...TERMS, restartGuardMs: 10_000 });
    const controller = new AbortController();
    const election = redlock.election('boss');
    const changes = changesOf(election);
    const leading = election.lead(untilAborted, { signal: controller.signal });
    await time.advance(5_000);
    expect(masters).to.have.lengthOf(3);
    expect(
      changes.map((change) => [change.state, change.state === 'failed' && change.error]),
    ).to.have.nested.property('[0][1].code', 'QUARANTINED');
    await time.advance(10_000);
    expect(changes.map(({ state }) => state)).to.deep.equal(['failed', 'leading']);
    controller.abort();
    await leading;
  });

  it('rejects where no campaign can succeed: WRONG_KIND', async () => {
    const { redlock, masters } = fakeCluster(1, TERMS);
    masters[0]?.setForeign('boss');
    expect(await rejection(redlock.election('boss').lead(() => undefined))).to.include({
      code: 'WRONG_KIND',
    });
  });

  it('leaves nothing with its signal, however often it led', async () => {
    const controller = new AbortController();
    const { redlock, time } = fakeCluster(3, TERMS);
    let runs = 0;
    const leading = redlock.election('boss').lead(() => void runs++, { signal: controller.signal });
    while (runs < 10) await time.advance(1_000);
    // where Node keeps the signals that AbortSignal.any made of this one
    const kept = Object.getOwnPropertySymbols(controller.signal).filter(
      ({ description }) => description === 'kDependantSignals',
    );
    expect(kept).to.deep.equal([]);
    controller.abort();
    await leading;
    expect(getEventListeners(controller.signal, 'abort')).to.deep.equal([]);
  });

  it('goes on where a campaign may not wait, and meets a fail-over', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ...TERMS, maxWaiters: 0 });
    for (const master of masters) master.replies.push(serverError('READONLY it is a replica yet'));
    const controller = new AbortController();
    const election = redlock.election('boss');
    const changes = changesOf(election);
    const leading = election.lead(untilAborted, { signal: controller.signal });
    await time.advance(2_000);
    expect(changes[0]).to.have.nested.property('error.code', 'MISCONFIGURED');
    expect(changes.at(-1)).to.include({ state: 'leading' });
    controller.abort();
    await leading;
  });

  it('resolves at once with a signal that has aborted, and sends nothing', async () => {
    const { redlock, masters } = fakeCluster(1, TERMS);
    await redlock.election('boss').lead(() => undefined, { signal: AbortSignal.abort() });
    expect(masters[0]?.sent).to.deep.equal([]);
  });

  it('close() tells the routine to stop, waits for it, and lead rejects with CLOSED', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    let reason: unknown;
    let isOver = false;
    const leading = rejection(
      redlock.election('boss').lead(async (one) => {
        await untilAborted(one);
        reason = one.signal.reason;
        await new Promise<void>((resolve) => void time.wait(5_000, resolve));
        isOver = true;
      }),
    );
    await time.advance(100);
    const closing = redlock.close();
    await settle();
    expect(reason).to.include({ code: 'CLOSED' });
    await time.advance(6_000);
    expect(await leading).to.include({ code: 'CLOSED' });
    await closing;
    expect(isOver).to.equal(true);
    for (const master of masters) expect(master.size).to.equal(0);
  });
});
