/**
 * Faults in the middle of an acquisition, a hold and an extension: one suite, run on processes
 * (spec/chaos/processes.spec.ts) and on containers (spec/containers/chaos.spec.ts).
 */
import { once } from 'node:events';
import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import { ALL_KINDS, type AnyClient, CLIENT_KINDS, type ClientKind } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { Bench } from './kit/bench.js';
import type { ChaosBackend, ChaosMaster, Data } from './kit/masters.js';
import { eventually, type Guest } from './kit/stage.js';

const NODES = 5;
const ROUNDS = 5;
const GUARDED: RedlockOptions = { ...PATIENT, restartGuardMs: LONG_GUARD_MS, keyPrefix: 'guarded:' };

interface Trouble {
  readonly name: string;
  begin(master: ChaosMaster): Promise<void>;
  end(master: ChaosMaster): Promise<void>;
}

const heal = (master: ChaosMaster): Promise<void> => master.heal();
const restart = (master: ChaosMaster): Promise<void> => master.restart('kept');

const TROUBLES: readonly Trouble[] = [
  { name: 'killed', begin: (master) => master.kill(), end: restart },
  { name: 'stopped', begin: (master) => master.stopGently(), end: restart },
  { name: 'frozen', begin: (master) => master.freeze(), end: (master) => master.thaw() },
  { name: 'unplugged', begin: (master) => master.unplug(), end: heal },
  { name: 'cut off', begin: (master) => Promise.resolve(master.cut()), end: heal },
];

export function chaosSuite(backend: ChaosBackend): void {
  describe(`chaos over five ${backend === 'process' ? 'processes' : 'containers'}`, function () {
    const bench = new Bench(NODES);
    before(() => bench.start(backend));
    after(() => bench.stop());
    afterEach(() => bench.close());
    for (const [i, trouble] of TROUBLES.entries()) {
      const kind = ALL_KINDS[i % ALL_KINDS.length];
      if (kind === undefined) throw new Error('there are kinds');
      it(`two ${trouble.name} while a claim is answered (${kind.name}): the lock is had, kept and given back`, () =>
        duringAcquisition(bench, trouble, kind));
      it(`two ${trouble.name} while an extension is answered (${kind.name}): it is extended`, () =>
        duringExtension(bench, trouble, kind));
    }
    it('three gone: NO_QUORUM with each cause, the holder hears of its loss, and healed it works', () =>
      majorityGone(bench));
    for (const data of ['lost', 'stale'] as const) {
      it(`two come back with ${data} data, no guard: the others' votes still exclude`, () =>
        minorityForgets(bench, data));
      it(`three come back with ${data} data, guarded: they do not vote, and the lease is held on`, () =>
        majorityForgets(bench, data));
    }
  });
}

async function locksGoOn(bench: Bench, { redlock }: Guest): Promise<void> {
  for (let i = 0; i < ROUNDS; i++) {
    const resource = bench.resource();
    const lease = await redlock.acquire(resource);
    expect(await redlock.tryAcquire(resource)).to.equal(null);
    await lease.release();
  }
}

async function duringAcquisition(bench: Bench, trouble: Trouble, kind: ClientKind<AnyClient>): Promise<void> {
  const guest = await bench.open(kind);
  const two = bench.list.slice(0, 2);
  const resource = bench.resource();
  let lease: Awaited<ReturnType<Redlock['acquire']>> | undefined;
  await bench.during(
    'claim',
    async () => (lease = await guest.redlock.acquire(resource)),
    async () => void (await Promise.all(two.map((master) => trouble.begin(master)))),
  );
  expect(lease?.status).to.equal('held');
  await locksGoOn(bench, guest);
  await lease?.extend();
  expect(await guest.redlock.tryAcquire(resource)).to.equal(null);
  await Promise.all(two.map((master) => trouble.end(master)));
  await bench.untilReady(guest);
  lease?.assertHeld();
  await lease?.release();
  await bench.untilEmpty();
  // a connection may notice only now that it was cut off
  await eventually('all masters to say that it is free', async () => {
    const { nodes } = await guest.redlock.inspect(resource);
    return nodes.every(({ state }) => state === 'free');
  });
}

async function duringExtension(bench: Bench, trouble: Trouble, kind: ClientKind<AnyClient>): Promise<void> {
  const guest = await bench.open(kind);
  const two = bench.list.slice(0, 2);
  const resource = bench.resource();
  const lease = await guest.redlock.acquire(resource);
  await bench.during(
    'extend',
    () => lease.extend(),
    async () => void (await Promise.all(two.map((master) => trouble.begin(master)))),
  );
  expect(lease.status).to.equal('held');
  expect(await guest.redlock.tryAcquire(resource)).to.equal(null);
  await lease.release(); // while two are away: their votes are undone when they are back
  const after = await guest.redlock.acquire(resource);
  expect(after.fence).to.be.above(lease.fence ?? Infinity);
  await after.release();
  await Promise.all(two.map((master) => trouble.end(master)));
  await bench.untilReady(guest);
  await bench.untilEmpty();
}

async function majorityGone(bench: Bench): Promise<void> {
  const guest = await bench.open();
  const { redlock } = guest;
  const gone = bench.list.slice(0, 3);
  const [frozen, killed, lonely] = gone;
  const lease = await redlock.acquire(bench.resource(), { ttlMs: 3_000, renew: true });
  await Promise.all([frozen?.freeze(), killed?.kill(), lonely?.unplug()]);
  const error = await rejection(redlock.acquire(bench.resource(), { waitMs: 500, nodeTimeoutMs: 300 }));
  expect(error.code).to.equal('NO_QUORUM');
  expect(error.tally).to.have.length(NODES);
  for (const { port } of gone) {
    const entry = error.tally.find(({ node }) => node.endsWith(`:${port}`));
    expect(entry?.outcome, `port ${port}`).to.equal('unknown');
    expect(entry).to.have.property('cause').that.is.instanceOf(Error);
  }
  if (!lease.signal.aborted) await once(lease.signal, 'abort');
  expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
  await Promise.all([frozen?.thaw(), killed?.restart('kept'), lonely?.heal()]);
  await bench.untilReady(guest);
  await locksGoOn(bench, guest);
  await bench.untilEmpty();
}

/** Two of five lose their data: three votes are left, and nobody else can get three. */
async function minorityForgets(bench: Bench, data: Data): Promise<void> {
  const guest = await bench.open();
  const two = bench.list.slice(0, 2);
  await Promise.all(two.map((master) => master.checkpoint()));
  const resource = bench.resource();
  const lease = await guest.redlock.acquire(resource);
  await Promise.all(two.map((master) => master.kill()));
  await Promise.all(two.map((master) => master.restart(data)));
  await bench.untilReady(guest);
  expect(await guest.redlock.tryAcquire(resource)).to.equal(null);
  lease.assertHeld();
  await lease.release();
  const after = await guest.redlock.acquire(resource);
  expect(after.fence).to.be.above(lease.fence ?? Infinity);
  await after.release();
  await bench.untilEmpty();
}

/** Three of five lose their data: only the guard prevents a second holder. */
async function majorityForgets(bench: Bench, data: Data): Promise<void> {
  const guest = await bench.open(CLIENT_KINDS[0], GUARDED);
  const { redlock } = guest;
  await redlock.bootstrap({ force: true });
  const three = bench.list.slice(0, 3);
  await Promise.all(three.map((master) => master.checkpoint()));
  const resource = bench.resource();
  const lease = await redlock.acquire(resource);
  await Promise.all(three.map((master) => master.kill()));
  await Promise.all(three.map((master) => master.restart(data)));
  await bench.untilReady(guest);
  const error = await rejection(redlock.acquire(resource, { waitMs: 0 }));
  expect(error.code).to.equal('QUARANTINED');
  lease.assertHeld();
  await lease.release();
  await bench.untilEmpty();
}
