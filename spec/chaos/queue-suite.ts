/**
 * Faults while clients wait in queues: one suite, run on processes (spec/chaos/processes.spec.ts) and on containers
 * (spec/containers/chaos.spec.ts). In each case the others are served, no two clients hold the lock at a time, fencing
 * tokens rise, and nothing is left.
 */
import { expect } from 'chai';
import { Bench } from './kit/bench.js';
import { kindsOf } from './kit/commands.js';
import { Queue } from './kit/queue.js';
import type { ChaosBackend, ChaosMaster, Data } from './kit/masters.js';
import { BRIEF_MS, eventually, LIMIT_MS, TTL_MS, within } from './kit/stage.js';

/** @param sizes  both by default; CI's time is bounded, so each backend takes one */
export function queueSuite(backend: ChaosBackend, sizes: readonly number[] = [3, 5]): void {
  for (const nodes of sizes) {
    const where = `${nodes} ${backend === 'process' ? 'processes' : 'containers'}`;
    describe(`chaos while clients wait in queues, over ${where}`, () => {
      const bench = new Bench(nodes);
      let queue: Queue;
      before(() => bench.start(backend));
      after(() => bench.stop());
      beforeEach(() => {
        queue = new Queue(bench);
      });
      afterEach(async () => {
        queue.close();
        await bench.close();
      });
      const most = Math.floor((nodes - 1) / 2);
      const minority = (): readonly ChaosMaster[] => bench.list.slice(0, most);
      const majority = (): readonly ChaosMaster[] => bench.list.slice(0, most + 1);

      it('the head is killed while it waits: it is skipped', () => headKilled(queue));
      it('the head is killed once it got its push: the next one is served', () => toldHeadKilled(queue));
      it('the head is paused when it gets its push: the next one is served, and it keeps its place', () =>
        headFrozen(queue));
      it('the head loses its connections when it claims: all are served', () => claimCut(queue));
      it('the holder is killed: the first waiter has it when its ttl is over', () => holderKilled(queue));
      for (const data of ['kept', 'lost'] as const) {
        it(`of the masters ${most} lost with their queues, and back with data ${data}: served in order`, () =>
          queuesLost(queue, minority(), data));
      }
      it(`of the masters ${most} frozen with their queues: served in order, nothing is left at the thaw`, () =>
        queuesFrozen(queue, minority()));
      it('a majority is killed and back while they wait: served in order', () =>
        majorityBack(queue, majority()));
      it('a majority is frozen while the holder releases: all are served after the thaw', () =>
        releasedMeanwhile(queue, majority()));
      it('all push connections break: opened anew, and served in order', () => pushesBroken(queue));
      it('all push connections break at the release: all are served', () => pushesBrokenAtRelease(queue));
      it('pushes of a minority are swallowed: served in order', () => pushesSwallowed(queue, minority()));
      it('pushes of all masters are swallowed: all are served', () => pushesSwallowed(queue, bench.list));
    });
  }
}

async function headKilled(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  const head = await queue.program('wait-in-queue', '1', queue.resource);
  const [dead] = await queue.heads();
  for (const name of ['b', 'c']) await queue.join(name);
  head.kill();
  await head.ends();
  await queue.listening(2); // a master behind a proxy learns of the end of a connection later
  await holder.release();
  expect(await queue.owners(), 'reserved for nobody who is gone').to.not.include(dead);
  expect(await queue.allServed()).to.deep.equal(['b', 'c']);
}

/**
 * The head never prints `served`: it is paused before it gets the push, and killed when all masters have reserved their
 * votes for it.
 */
async function toldHeadKilled(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  const head = await queue.program('wait-in-queue', '1', queue.resource);
  for (const name of ['b', 'c']) await queue.join(name);
  const heads = await queue.heads();
  head.process.kill('SIGSTOP');
  await holder.release();
  await queue.owned(heads);
  head.kill();
  await head.ends();
  expect(await queue.allServed()).to.deep.equal(['b', 'c']);
  expect(head.said).to.deep.equal([]);
}

async function headFrozen(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  const head = await queue.program('wait-in-queue', '1', queue.resource);
  let letGo = (): void => undefined;
  const work = (): Promise<void> => new Promise((resolve) => (letGo = resolve));
  await queue.join('b', { work });
  await queue.join('c');
  head.process.kill('SIGSTOP');
  await holder.release();
  await eventually('the next one to be served', () => queue.served.length === 1);
  const last = await queue.heads();
  head.process.kill('SIGCONT');
  await queue.inQueue(2);
  for (const [i, first] of (await queue.heads()).entries()) expect(first, 'before c').to.not.equal(last[i]);
  letGo();
  await within('the head', LIMIT_MS, head.says('served'));
  expect(await queue.allServed()).to.deep.equal(['b', 'c']);
}

/** It gets the push and claims, and every master's connection breaks at that moment. */
async function claimCut(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  const traps = queue.bench.list.map(({ proxy }) =>
    proxy.trap({
      point: 'before-request',
      action: 'close',
      match: (words) => kindsOf(words).includes('claim'),
    }),
  );
  await holder.release();
  await within('the claim', LIMIT_MS, Promise.all(traps.map(({ sprung }) => sprung)));
  expect([...(await queue.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function holderKilled(queue: Queue): Promise<void> {
  const holder = await queue.program('hold', queue.resource, String(TTL_MS), 'renew');
  for (const name of ['a', 'b']) await queue.join(name);
  holder.kill();
  for (const hand of queue.bench.hands) await hand.pexpire(queue.resource, 500); // what is left of its ttl
  expect(await queue.allServed()).to.deep.equal(['a', 'b']);
}

/**
 * A master that lost its queue gets requests from the waiters again; if it lost the holder's vote too, it gives its vote
 * to the first.
 */
async function queuesLost(queue: Queue, lost: readonly ChaosMaster[], data: Data): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  await Promise.all(lost.map((master) => master.kill()));
  await Promise.all(lost.map((master) => master.restart(data)));
  await queue.inQueue(data === 'kept' ? 3 : 2, lost);
  await queue.listening(3);
  await holder.release();
  expect(await queue.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function queuesFrozen(queue: Queue, frozen: readonly ChaosMaster[]): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  await Promise.all(frozen.map((master) => master.freeze()));
  await holder.release();
  await eventually('all to be served', () => queue.served.length === 3);
  await Promise.all(frozen.map((master) => master.thaw()));
  expect(await queue.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function majorityBack(queue: Queue, gone: readonly ChaosMaster[]): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  await Promise.all(gone.map((master) => master.kill()));
  await Promise.all(gone.map((master) => master.restart('kept')));
  await queue.agreed(3);
  await queue.listening(3);
  expect(holder.status).to.equal('held');
  await holder.release();
  expect(await queue.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function releasedMeanwhile(queue: Queue, gone: readonly ChaosMaster[]): Promise<void> {
  const holder = await queue.hold(BRIEF_MS);
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  await Promise.all(gone.map((master) => master.freeze()));
  await within('release', LIMIT_MS, holder.release());
  expect(queue.served).to.deep.equal([]);
  await Promise.all(gone.map((master) => master.thaw()));
  expect([...(await queue.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function pushesBroken(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  for (const { proxy } of queue.bench.list) proxy.closePushes();
  await queue.listening(0);
  await queue.listening(3);
  await queue.inQueue(3);
  await holder.release();
  expect(await queue.allServed()).to.deep.equal(['a', 'b', 'c']);
}

/** The hand-over's push reaches nobody: a waiter that listens again asks again. */
async function pushesBrokenAtRelease(queue: Queue): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  for (const { proxy } of queue.bench.list) proxy.closePushes();
  await holder.release();
  expect([...(await queue.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function pushesSwallowed(queue: Queue, some: readonly ChaosMaster[]): Promise<void> {
  const holder = await queue.hold();
  for (const name of ['a', 'b', 'c']) await queue.join(name);
  for (const { proxy } of some) proxy.cutPushes();
  await holder.release();
  const isAll = some.length === queue.bench.list.length;
  const served = await queue.allServed();
  expect(isAll ? [...served].sort() : served).to.deep.equal(['a', 'b', 'c']);
  await Promise.all(some.map((master) => master.heal()));
}
