/**
 * Faults while clients wait in queues: one suite, run on processes (spec/chaos/processes.spec.ts) and on containers
 * (spec/containers/chaos.spec.ts). In each case the others are served, no two clients hold the lock at a time, fencing
 * tokens rise, and nothing is left.
 */
import { expect } from 'chai';
import { Bench } from './kit/bench.js';
import { kindsOf } from './kit/commands.js';
import { Line } from './kit/line.js';
import type { ChaosBackend, ChaosMaster, Data } from './kit/masters.js';
import { BRIEF_MS, eventually, LIMIT_MS, TTL_MS, within } from './kit/stage.js';

/** @param sizes  both by default; CI's time is bounded, so each backend takes one */
export function lineSuite(backend: ChaosBackend, sizes: readonly number[] = [3, 5]): void {
  for (const nodes of sizes) {
    const where = `${nodes} ${backend === 'process' ? 'processes' : 'containers'}`;
    describe(`chaos while clients wait in queues, over ${where}`, () => {
      const bench = new Bench(nodes);
      let line: Line;
      before(() => bench.start(backend));
      after(() => bench.stop());
      beforeEach(() => {
        line = new Line(bench);
      });
      afterEach(async () => {
        line.close();
        await bench.close();
      });
      const most = Math.floor((nodes - 1) / 2);
      const minority = (): readonly ChaosMaster[] => bench.list.slice(0, most);
      const majority = (): readonly ChaosMaster[] => bench.list.slice(0, most + 1);

      it('the head is killed while it waits: it is skipped', () => headKilled(line));
      it('the head is killed once it got its push: the next one is served', () => toldHeadKilled(line));
      it('the head is paused when it gets its push: the next one is served, and it keeps its place', () =>
        headFrozen(line));
      it('the head loses its connections when it claims: all are served', () => claimCut(line));
      it('the holder is killed: the first waiter has it when its ttl is over', () => holderKilled(line));
      for (const data of ['kept', 'lost'] as const) {
        it(`of the masters ${most} lost with their queues, and back with data ${data}: served in order`, () =>
          queuesLost(line, minority(), data));
      }
      it(`of the masters ${most} frozen with their queues: served in order, nothing is left at the thaw`, () =>
        queuesFrozen(line, minority()));
      it('a majority is killed and back while they wait: served in order', () =>
        majorityBack(line, majority()));
      it('a majority is frozen while the holder releases: all are served after the thaw', () =>
        releasedMeanwhile(line, majority()));
      it('all push connections break: opened anew, and served in order', () => pushesBroken(line));
      it('all push connections break at the release: all are served', () => pushesBrokenAtRelease(line));
      it('pushes of a minority are swallowed: served in order', () => pushesSwallowed(line, minority()));
      it('pushes of all masters are swallowed: all are served', () => pushesSwallowed(line, bench.list));
    });
  }
}

async function headKilled(line: Line): Promise<void> {
  const holder = await line.hold();
  const head = await line.program('wait-in-line', '1', line.resource);
  const [dead] = await line.heads();
  for (const name of ['b', 'c']) await line.join(name);
  head.kill();
  await head.ends();
  await holder.release();
  expect(await line.owners(), 'reserved for nobody who is gone').to.not.include(dead);
  expect(await line.allServed()).to.deep.equal(['b', 'c']);
}

/**
 * The head never prints `served`: it is paused before it gets the push, and killed when all masters have reserved their
 * votes for it.
 */
async function toldHeadKilled(line: Line): Promise<void> {
  const holder = await line.hold();
  const head = await line.program('wait-in-line', '1', line.resource);
  for (const name of ['b', 'c']) await line.join(name);
  const heads = await line.heads();
  head.process.kill('SIGSTOP');
  await holder.release();
  await line.owned(heads);
  head.kill();
  await head.ends();
  expect(await line.allServed()).to.deep.equal(['b', 'c']);
  expect(head.said).to.deep.equal([]);
}

async function headFrozen(line: Line): Promise<void> {
  const holder = await line.hold();
  const head = await line.program('wait-in-line', '1', line.resource);
  let letGo = (): void => undefined;
  const work = (): Promise<void> => new Promise((resolve) => (letGo = resolve));
  await line.join('b', { work });
  await line.join('c');
  head.process.kill('SIGSTOP');
  await holder.release();
  await eventually('the next one to be served', () => line.served.length === 1);
  const last = await line.heads();
  head.process.kill('SIGCONT');
  await line.inLine(2);
  for (const [i, first] of (await line.heads()).entries()) expect(first, 'before c').to.not.equal(last[i]);
  letGo();
  await within('the head', LIMIT_MS, head.says('served'));
  expect(await line.allServed()).to.deep.equal(['b', 'c']);
}

/** It gets the push and claims, and every master's connection breaks at that moment. */
async function claimCut(line: Line): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  const traps = line.bench.list.map(({ proxy }) =>
    proxy.trap({
      point: 'before-request',
      action: 'close',
      match: (words) => kindsOf(words).includes('claim'),
    }),
  );
  await holder.release();
  await within('the claim', LIMIT_MS, Promise.all(traps.map(({ sprung }) => sprung)));
  expect([...(await line.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function holderKilled(line: Line): Promise<void> {
  const holder = await line.program('hold', line.resource, String(TTL_MS), 'renew');
  for (const name of ['a', 'b']) await line.join(name);
  holder.kill();
  for (const hand of line.bench.hands) await hand.pexpire(line.resource, 500); // what is left of its ttl
  expect(await line.allServed()).to.deep.equal(['a', 'b']);
}

/**
 * A master that lost its queue gets requests from the waiters again; if it lost the holder's vote too, it gives its vote
 * to the first.
 */
async function queuesLost(line: Line, lost: readonly ChaosMaster[], data: Data): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  await Promise.all(lost.map((master) => master.kill()));
  await Promise.all(lost.map((master) => master.restart(data)));
  await line.inLine(data === 'kept' ? 3 : 2, lost);
  await line.listening(3);
  await holder.release();
  expect(await line.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function queuesFrozen(line: Line, frozen: readonly ChaosMaster[]): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  await Promise.all(frozen.map((master) => master.freeze()));
  await holder.release();
  await eventually('all to be served', () => line.served.length === 3);
  await Promise.all(frozen.map((master) => master.thaw()));
  expect(await line.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function majorityBack(line: Line, gone: readonly ChaosMaster[]): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  await Promise.all(gone.map((master) => master.kill()));
  await Promise.all(gone.map((master) => master.restart('kept')));
  await line.agreed(3);
  await line.listening(3);
  expect(holder.status).to.equal('held');
  await holder.release();
  expect(await line.allServed()).to.deep.equal(['a', 'b', 'c']);
}

async function releasedMeanwhile(line: Line, gone: readonly ChaosMaster[]): Promise<void> {
  const holder = await line.hold(BRIEF_MS);
  for (const name of ['a', 'b', 'c']) await line.join(name);
  await Promise.all(gone.map((master) => master.freeze()));
  await within('release', LIMIT_MS, holder.release());
  expect(line.served).to.deep.equal([]);
  await Promise.all(gone.map((master) => master.thaw()));
  expect([...(await line.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function pushesBroken(line: Line): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  for (const { proxy } of line.bench.list) proxy.closePushes();
  await line.listening(0);
  await line.listening(3);
  await line.inLine(3);
  await holder.release();
  expect(await line.allServed()).to.deep.equal(['a', 'b', 'c']);
}

/** The hand-over's push reaches nobody: a waiter that listens again asks again. */
async function pushesBrokenAtRelease(line: Line): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  for (const { proxy } of line.bench.list) proxy.closePushes();
  await holder.release();
  expect([...(await line.allServed())].sort()).to.deep.equal(['a', 'b', 'c']);
}

async function pushesSwallowed(line: Line, some: readonly ChaosMaster[]): Promise<void> {
  const holder = await line.hold();
  for (const name of ['a', 'b', 'c']) await line.join(name);
  for (const { proxy } of some) proxy.cutPushes();
  await holder.release();
  const isAll = some.length === line.bench.list.length;
  const served = await line.allServed();
  expect(isAll ? [...served].sort() : served).to.deep.equal(['a', 'b', 'c']);
  await Promise.all(some.map((master) => master.heal()));
}
