/**
 * Direct hand-over on real masters: a release gives the lock to the first waiter. That the waiter sends nothing more is shown
 * under virtual time: `spec/queue/queue-wait-direct.spec.ts`.
 */
import { expect } from 'chai';
import { queueKey } from '../../lib/protocol/keys.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import type { Lease } from '../../lib/lease/public.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import { RESERVED_MARK } from '../../lib/runtime/random.js';
import { commitOf, EarlierTree } from '../../scripts/earlier.js';
import { PATIENT } from '../support/patience.js';
import {
  ALL_KINDS,
  CLIENT_KINDS,
  type ClientKind,
  eventually,
  type AnyClient,
  type SpecClient,
} from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { RealBench } from './support/real-bench.js';
import { EVERY_KIND } from '../support/unordered.js';
import { wide } from '../support/breadth.js';

/** Less than the others' ttl. */
const SHORTER_MS = PATIENT.ttlMs / 2;
const QUEUE = queueKey('r');
/** The last commit whose clients are handed reservations only. */
const BEFORE = '8d2a512';
const [IOREDIS_6] = CLIENT_KINDS as readonly [ClientKind, ClientKind];

interface Held {
  readonly lock: Redlock;
  readonly lease: Lease;
  /** Whose release gave it the lock. */
  readonly before: Lease;
  /** It was handed the lock; else it claimed what was given to it. */
  readonly isDirect: boolean;
}

class Ground extends RealBench {
  async inQueue(count: number): Promise<void> {
    for (const hand of this.hands) await eventually(async () => (await hand.zcard(QUEUE)) === count);
  }

  values(): Promise<(string | null)[]> {
    return Promise.all(this.hands.map((hand) => hand.get('r')));
  }

  async votes(isSo: (value: string | null) => boolean): Promise<void> {
    await eventually(async () => (await this.values()).every(isSo));
  }

  /** It has waited for the holder, and has the votes of all masters: the next one will wait at each. */
  async next(before: Lease, options: RedlockOptions = {}, kind?: ClientKind<AnyClient>): Promise<Held> {
    const lock = await this.lock(options, kind);
    const wait = lock.acquire('r');
    await this.inQueue(1);
    await before.release();
    const lease = await wait;
    await this.votes((value) => value?.startsWith(before.token) !== true);
    const isDirect = (value: string | null): boolean => value === lease.token + RESERVED_MARK;
    // its claim may have passed the release on the way to a master, which was free then
    if (!(await this.values()).some(isDirect)) await lease.extend();
    await this.votes((value) => value?.startsWith(lease.token) === true);
    return { lock, lease, before, isDirect: (await this.values()).every(isDirect) };
  }

  /** On a busy machine a release may come to the masters with different fencing tokens: then the next one waits, and so on. */
  async handed(options: RedlockOptions = {}, kind?: ClientKind<AnyClient>): Promise<Held> {
    let holder = await (await this.lock()).acquire('r');
    for (;;) {
      const held = await this.next(holder, options, kind);
      if (held.isDirect) return held;
      holder = held.lease;
    }
  }
}

for (const nodes of [1, 3, 5]) {
  describe(`direct hand-over on real masters: N=${nodes}`, () => {
    let environment: Ground;
    beforeEach(async () => {
      environment = new Ground();
      await environment.open(nodes, { persist: true });
    });
    afterEach(() => environment.close());

    for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
      it(`${kind.name}: the votes are the waiter's for its ttl, with the mark until it extends; its fence is above the holder's`, async () => {
        const { before, lease } = await environment.handed({ ttlMs: SHORTER_MS }, kind);
        expect(lease.fence).to.be.above(before.fence ?? 0);
        expect(lease.remainingMs()).to.be.within(1, SHORTER_MS);
        expect(new Set(await environment.values())).to.deep.equal(new Set([lease.token + RESERVED_MARK]));
        for (const hand of environment.hands) expect(await hand.pttl('r')).to.be.within(1, SHORTER_MS);
        await lease.extend();
        await environment.votes((value) => value === lease.token);
        await lease.release();
        await environment.nothingLeft();
      });
    }

    it('without fencing, and where a lock is free: one round trip, and no claim', async () => {
      const { lease, lock } = await environment.handed({ fencing: false, localTurns: 0 });
      const wait = lock.acquire('r');
      await environment.inQueue(1);
      await lease.release();
      const second = await wait;
      expect(second.fence).to.equal(undefined);
      await second.release();
      await (await lock.acquire('r')).release();
      await environment.nothingLeft();
    });

    it("handOver 'reserve': the release reserves, and the waiter claims: three calls a master, and no mark", async () => {
      const { lease } = await environment.handed();
      const waiter = await environment.lock({ handOver: 'reserve' });
      const wait = waiter.acquire('r');
      await environment.inQueue(1);
      const before = await environment.calls();
      await lease.release();
      const next = await wait;
      await eventually(async () => (await environment.calls()) >= before + 2 * nodes);
      const votes = (await environment.values()).filter((value) => value === next.token);
      expect(votes).to.have.length.at.least(quorumOf(nodes)); // a claim may pass the release on its way to a master
      await next.release();
      await environment.nothingLeft();
    });

    it('half of ten waiters close or abort while it is handed over again and again: nobody leaves a ttl behind', async () => {
      const { lease } = await environment.handed();
      const aborts: AbortController[] = [];
      const locks = await Promise.all(Array.from({ length: 10 }, () => environment.lock()));
      let served = 0;
      const waits = locks.map(async (lock, i) => {
        const abort = new AbortController();
        aborts.push(abort);
        const got = await lock.acquire('r', { signal: abort.signal }).catch(() => undefined);
        if (got === undefined) return;
        served++;
        if (i % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
        await got.release();
      });
      await environment.inQueue(10);
      const leaving = locks.map((lock, i) => {
        if (i % 4 === 1) return lock.close({ releaseHeld: true });
        if (i % 4 === 3) aborts[i]?.abort();
        return undefined;
      });
      await lease.release();
      await Promise.all([...waits, ...leaving]); // a spec does not last as long as a ttl or a wait
      expect(served).to.be.at.least(5);
      const next = await (await environment.lock()).acquire('r');
      await next.release();
      await environment.nothingLeft();
    });

    it('a handle of a lease that was handed over says so until it was extended, and can be adopted either way', async () => {
      for (const isExtended of [false, true]) {
        const { lease } = await environment.handed();
        if (isExtended) await lease.extend();
        const handle = lease.giveAway();
        expect(handle.version).to.equal(isExtended ? 1 : 2);
        const adopted = await (await environment.lock()).adopt(handle);
        await environment.votes((value) => value === lease.token);
        expect(adopted.giveAway().version).to.equal(1);
        await (await (await environment.lock()).adopt({ ...handle })).release();
        await environment.nothingLeft();
      }
    });
  });
}

describe('direct hand-over in a mixed fleet: N=3, beside the version before', () => {
  let environment: Ground;
  let tree: EarlierTree;
  let Earlier: typeof Redlock;
  before(async () => {
    tree = new EarlierTree(commitOf(BEFORE));
    ({ Redlock: Earlier } = (await import(`${tree.path}/lib/index.ts`)) as { Redlock: typeof Redlock }); // its own build
  });
  after(() => tree[Symbol.dispose]());
  const earlier: Redlock[] = [];
  const clients: SpecClient[] = [];
  beforeEach(async () => {
    environment = new Ground();
    await environment.open(3, { persist: true });
  });
  afterEach(async () => {
    await Promise.all(earlier.splice(0).map((lock) => lock.close({ releaseHeld: true })));
    for (const client of clients.splice(0)) client.disconnect();
    await environment.close();
  });

  function old(): Redlock {
    const own = environment.masters.list.map(({ port }) => IOREDIS_6.open(port, {}));
    const lock = new Earlier(own, PATIENT);
    clients.push(...own);
    earlier.push(lock);
    return lock;
  }

  it('both versions wait in one line: fences rise, nobody meets another, everybody is served', async () => {
    const locks = await Promise.all(
      [1, 2, 3, 4].map((i) => (i % 2 === 0 ? environment.lock() : Promise.resolve(old()))),
    );
    let last = 0;
    let inside = 0;
    await Promise.all(
      locks.map(async (lock) => {
        for (let turn = 0; turn < 12; turn++) {
          const lease = await lock.acquire('r');
          expect(++inside).to.equal(1);
          expect(lease.fence).to.be.above(last);
          last = lease.fence ?? 0;
          if (turn % 3 === 0) await lease.extend();
          inside--;
          await lease.release();
        }
      }),
    );
    await environment.nothingLeft();
  });

  it('the version before refuses a handle that it could not adopt, and adopts it once it was extended', async () => {
    const { lease } = await environment.handed();
    const handle = lease.giveAway();
    const error = await rejection(old().adopt(handle));
    expect(error).to.include({ code: 'INVALID_ARGUMENT' });
    const back = await (await environment.lock()).adopt(handle);
    await (await old().adopt(back.giveAway())).release();
    await environment.nothingLeft();
  });
});
