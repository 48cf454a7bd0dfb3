/**
 * A Redis Cluster of three shards as the one master, and as one of three, also while a slot moves from shard to shard.
 * While a slot moves, its keys are on two shards; a command on several keys that are not all on one of them is answered
 * TRYAGAIN, and runs on neither.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { PATIENT } from '../../support/patience.js';
import {
  ALL_KINDS,
  type AnyClient,
  byHand,
  type ClientKind,
  eventually,
  startCluster,
} from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { expectPromises } from '../support/promises.js';
import { EVERY_KIND } from '../../support/unordered.js';
import { wide } from '../../support/breadth.js';

const SHARDS = 3;
const CLAIMS = 500;
const TAG = '{moving}';

/** A shard: its server, and its id in the cluster. */
interface Shard {
  readonly hand: Redis;
  readonly id: string;
  readonly port: number;
}

describe('set-ups: a Redis Cluster of three shards', () => {
  let masters: Masters;
  let shards: readonly Shard[];
  let others: Masters | undefined;
  const clients: AnyClient[] = [];
  const locks: Redlock[] = [];
  beforeEach(async () => {
    masters = await startCluster(SHARDS);
    shards = await Promise.all(
      masters.list.map(async ({ port }) => {
        const hand = byHand(port);
        return { hand, port, id: String(await hand.call('CLUSTER', 'MYID')) };
      }),
    );
  });
  afterEach(async () => {
    await Promise.all(locks.splice(0).map((redlock) => redlock.close({ releaseHeld: true })));
    for (const client of clients.splice(0)) client.disconnect();
    for (const { hand } of shards) hand.disconnect();
    await masters.stop();
    await others?.stop();
    others = undefined;
  });

  function open(
    kind: ClientKind<AnyClient> | undefined = ALL_KINDS[0],
    options: RedlockOptions = {},
  ): Redlock {
    if (kind === undefined) throw new Error('there are two');
    const more = (others?.list ?? []).map(({ port }) => kind.open(port));
    const all = [kind.openCluster(shards[0]?.port ?? 0), ...more];
    clients.push(...all);
    const redlock = new Redlock(all, { ...PATIENT, label: false, ...options });
    locks.push(redlock);
    return redlock;
  }

  /** Names of which each shard serves at least one. */
  const EVERYWHERE = ['{a}', '{b}', '{c}', '{d}', '{e}', '{f}'];

  async function ownersOf(tag: string): Promise<readonly [Shard, Shard]> {
    const slot = await slotOf(tag);
    const owned = await Promise.all(shards.map(async ({ hand }) => (await slotsOf(hand)).has(slot)));
    const from = shards[owned.indexOf(true)];
    const to = shards[owned.indexOf(false)];
    if (from === undefined || to === undefined) throw new Error('one of three serves it');
    return [from, to];
  }

  async function slotOf(name: string): Promise<number> {
    return Number(await shards[0]?.hand.call('CLUSTER', 'KEYSLOT', name));
  }

  async function begin(slot: number, from: Shard, to: Shard): Promise<void> {
    await to.hand.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.hand.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  }

  /** Moves some of its keys. @returns whether there were any */
  async function moveSome(slot: number, from: Shard, to: Shard, count: number): Promise<boolean> {
    const keys = (await from.hand.call('CLUSTER', 'GETKEYSINSLOT', slot, count)) as string[];
    if (keys.length > 0)
      await from.hand.call('MIGRATE', '127.0.0.1', to.port, '', 0, 60_000, 'KEYS', ...keys);
    return keys.length > 0;
  }

  async function end(slot: number, from: Shard, to: Shard): Promise<void> {
    while (await moveSome(slot, from, to, 100));
    for (const { hand } of [to, from]) await hand.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  }

  async function nothingHeld(): Promise<void> {
    for (const { hand } of shards) {
      await eventually(async () => (await hand.keys('*')).every((key) => key.includes(':fence:')));
    }
  }

  for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
    for (const nodes of [1, 3]) {
      it(`${kind.name}, N=${nodes}: all that locks do, on every shard`, async () => {
        if (nodes > 1) others = await startMasters(nodes - 1);
        const [one, other] = [open(kind), open(kind)];
        for (const tag of EVERYWHERE) await expectPromises(one, other, { hasQueue: false, tag });
        for (const { hand } of shards) expect(await hand.dbsize()).to.be.greaterThan(0); // counters
        await nothingHeld();
      });
    }

    it(`${kind.name}: ${CLAIMS} claims at once, right after construction, at the defaults: all are granted`, async () => {
      const redlock = open(kind, { nodeTimeoutMs: undefined });
      const names = Array.from({ length: CLAIMS }, (_, i) => `r${i}`);
      const leases = await Promise.all(names.map((name) => redlock.acquire(name)));
      await Promise.all(leases.map((lease) => lease.release()));
      await nothingHeld();
    });

    it(`${kind.name}: a slot moves while ${CLAIMS} claims are under way: one holder at a time, all are granted, nothing is left`, async () => {
      const [one, other] = [open(kind), open(kind)];
      const inside = new Set<string>();
      let isMoving = false;
      let granted = 0;
      const enter = async (name: string): Promise<void> => {
        expect(inside.has(name), name).to.equal(false);
        inside.add(name);
        granted++;
        await eventually(() => isMoving);
        inside.delete(name);
      };
      const names = Array.from({ length: CLAIMS / 2 }, (_, i) => `${TAG}:${i}`);
      const work = Promise.all(
        [one, other].flatMap((lock) => names.map((name) => lock.using(name, () => enter(name)))),
      );
      const slot = await slotOf(TAG);
      const [from, to] = await ownersOf(TAG);
      await eventually(() => granted === CLAIMS / 2); // and as many wait
      await begin(slot, from, to);
      await moveSome(slot, from, to, 20);
      isMoving = true;
      await eventually(async () => (await retried(to)) + (await retried(from)) > 0);
      await end(slot, from, to);
      await work;
      expect(granted).to.equal(CLAIMS);
      expect((await ownersOf(TAG))[0]).to.equal(to);
      await nothingHeld();
    });
  }

  it('a slot on two shards: what is on one is served, a new name gives NO_QUORUM, and is granted when it has moved', async () => {
    const [one, other] = [open(), open()];
    const slot = await slotOf(TAG);
    const [from, to] = await ownersOf(TAG);
    const lease = await one.acquire(`${TAG}:held`);
    await begin(slot, from, to);
    await lease.extend();
    expect(await other.tryAcquire(`${TAG}:held`)).to.equal(null);
    const error = await rejection(
      open(undefined, { nodeTimeoutMs: 300 }).acquire(`${TAG}:new`, { waitMs: 0 }),
    );
    expect(error.code).to.equal('NO_QUORUM');
    const next = other.acquire(`${TAG}:new`);
    await end(slot, from, to);
    await (await next).release();
    expect(await other.tryAcquire(`${TAG}:held`)).to.equal(null);
    await lease.extend();
    await lease.release();
    await nothingHeld();
  });
});

/** The slots that a server serves. */
async function slotsOf(hand: Redis): Promise<ReadonlySet<number>> {
  const nodes = String(await hand.call('CLUSTER', 'NODES'));
  const own = nodes.split('\n').find((line) => line.includes('myself')) ?? '';
  const ranges = own
    .split(' ')
    .slice(8)
    .filter((word) => /^\d/.test(word));
  return new Set(
    ranges.flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    }),
  );
}

/** How many commands it answered TRYAGAIN. */
async function retried(shard: Shard): Promise<number> {
  return Number(/errorstat_TRYAGAIN:count=(\d+)/.exec(await shard.hand.info('errorstats'))?.[1] ?? 0);
}
