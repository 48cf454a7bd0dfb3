/** What every backend must show: the same behaviour over masters in memory, real servers and a Redis Cluster. */
import { expect } from 'chai';
import { DEFAULTS, type RedlockOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { driftMs } from '../../lib/protocol/validity.js';
import { EVERY_MASTER, PATIENT } from './patience.js';
import { rejection } from './rejection.js';

/** One master, as somebody with a command line sees it. */
export interface Hand {
  /** SET key value NX PX ttl: whether it was set. */
  claim(key: string, value: string, ttlMs: number): Promise<boolean>;
  get(key: string): Promise<string | null>;
  pttl(key: string): Promise<number>;
  /** Deletes the key if it has this value. */
  compareAndDelete(key: string, value: string): Promise<void>;
  /** Puts data of another type there. */
  putData(key: string, type: 'list' | 'hash'): Promise<void>;
  type(key: string): Promise<string>;
}

export interface Backend {
  readonly hands: readonly Hand[];
  /** Another instance, with connections of its own. */
  open(options?: RedlockOptions): Redlock;
  /** Lets time pass until it has settled. */
  settled<T>(promise: Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

export type BackendFactory = (nodes: number) => Promise<Backend>;

const TTL_MS = PATIENT.ttlMs;

let used = 0;

/** Runs the contract for each of these sizes. All names of one spec share a hash tag, for the sake of clusters. */
export function contract(title: string, sizes: readonly number[], start: BackendFactory): void {
  for (const nodes of sizes) {
    describe(`contract: ${title}, N=${nodes}`, () => {
      let backend: Backend;
      let name: (suffix?: string) => string;
      before(async () => {
        backend = await start(nodes);
      });
      beforeEach(() => {
        used++;
        const tag = `{spec-${used}}`;
        name = (suffix = '') => `${tag}${suffix}`;
      });
      after(() => backend.stop());
      claims(() => ({ backend, name, quorum: Math.floor(nodes / 2) + 1 }));
      leases(() => ({ backend, name, quorum: Math.floor(nodes / 2) + 1 }));
      others(() => ({ backend, name, quorum: Math.floor(nodes / 2) + 1 }));
    });
  }
}

interface Context {
  readonly backend: Backend;
  readonly name: (suffix?: string) => string;
  readonly quorum: number;
}

/** How many masters hold this value there. */
async function holders({ backend }: Context, key: string, value: string | null): Promise<number> {
  const values = await Promise.all(backend.hands.map((hand) => hand.get(key)));
  return values.filter((one) => one === value).length;
}

async function free(context: Context, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    while ((await holders(context, key, null)) < context.backend.hands.length) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** Another instance, patient and connected: what a spec is about does not depend on how long anything takes. */
async function opened(backend: Backend, options?: RedlockOptions): Promise<Redlock> {
  const redlock = backend.open({ ...PATIENT, ...options });
  await backend.settled(redlock.ready(EVERY_MASTER));
  return redlock;
}

function claims(get: () => Context): void {
  it('acquire: a quorum of keys holds the token for no longer than the ttl; release: all are free', async () => {
    const context = get();
    const { backend, name, quorum } = context;
    const lease = await backend.settled((await opened(backend)).acquire(name()));
    expect(await holders(context, name(), lease.token)).to.be.at.least(quorum);
    for (const hand of backend.hands) expect(await hand.pttl(name())).to.be.at.most(TTL_MS);
    expect(lease.remainingMs()).to.be.within(1, TTL_MS - driftMs(TTL_MS, DEFAULTS.driftFactor));
    await backend.settled(lease.release());
    expect(lease.status).to.equal('released');
    await free(context, name());
  });

  it('tryAcquire: null while it is held, a lease afterwards', async () => {
    const { backend, name } = get();
    const [one, other] = [await opened(backend), await opened(backend)];
    const lease = await backend.settled(one.acquire(name()));
    expect(await backend.settled(other.tryAcquire(name()))).to.equal(null);
    await backend.settled(lease.release());
    const next = await backend.settled(other.acquire(name()));
    expect(next.token).to.not.equal(lease.token);
    await backend.settled(next.release());
  });

  it('acquire: LOCK_TAKEN after waitMs, with the time left on the masters that refused', async () => {
    const { backend, name, quorum } = get();
    const lease = await backend.settled((await opened(backend)).acquire(name()));
    const error = await backend.settled(rejection((await opened(backend)).acquire(name(), { waitMs: 100 })));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.resources).to.deep.equal([name()]);
    const times = error.tally.flatMap((one) => (one.outcome === 'refused' ? [one.remainingMs ?? 0] : []));
    expect(times.length).to.be.at.least(backend.hands.length - quorum + 1);
    expect(Math.max(...times)).to.be.within(1, TTL_MS);
    expect(error.message).to.not.contain(lease.token);
    await backend.settled(lease.release());
  });

  it('acquire: waits until it is released', async () => {
    const { backend, name } = get();
    const lease = await backend.settled((await opened(backend)).acquire(name()));
    const waiting = (await opened(backend)).acquire(name());
    await backend.settled(lease.release());
    await backend.settled((await backend.settled(waiting)).release());
  });

  it('several: all or none, and nothing is left of an attempt that failed', async () => {
    const context = get();
    const { backend, name } = context;
    const [a, b, c] = [name('a'), name('b'), name('c')];
    const lease = await backend.settled((await opened(backend)).acquire([b, a]));
    expect(lease.resources).to.deep.equal([a, b]);
    expect(await backend.settled((await opened(backend)).tryAcquire([c, b]))).to.equal(null);
    await free(context, c);
    await backend.settled(lease.release());
    await free(context, a, b);
    const next = await backend.settled((await opened(backend)).acquire([c, b]));
    await backend.settled(next.release());
  });

  it('abort: ABORTED, with the reason, and nothing is left', async () => {
    const context = get();
    const { backend, name } = context;
    const lease = await backend.settled((await opened(backend)).acquire(name()));
    const controller = new AbortController();
    const waiting = rejection((await opened(backend)).acquire(name(), { signal: controller.signal }));
    controller.abort('enough');
    expect(await backend.settled(waiting)).to.include({ code: 'ABORTED', cause: 'enough' });
    await backend.settled(lease.release());
    await free(context, name());
  });

  it('contention: many instances, one holder at a time, and each gets its turn', async () => {
    const { backend, name } = get();
    let holdersNow = 0;
    let turns = 0;
    const compete = async (): Promise<void> => {
      const redlock = await opened(backend, { retry: { minDelayMs: 1, maxDelayMs: 10 } });
      for (let round = 0; round < 4; round++) {
        await redlock.using(name(), async (lease) => {
          expect(++holdersNow, 'holders at a time').to.equal(1);
          await new Promise((resolve) => setImmediate(resolve));
          lease.assertHeld();
          holdersNow--;
          turns++;
        });
      }
    };
    await backend.settled(Promise.all(Array.from({ length: 5 }, compete)));
    expect(turns).to.equal(20);
  });
}

function leases(get: () => Context): void {
  it('using: returns the result, throws the error, and frees the resource', async () => {
    const context = get();
    const { backend, name } = context;
    const redlock = await opened(backend);
    expect(await backend.settled(redlock.using(name(), (lease) => lease.status))).to.equal('held');
    const error = new Error('mine');
    const failed = redlock.using(name(), () => Promise.reject(error)).catch((caught: unknown) => caught);
    expect(await backend.settled(failed)).to.equal(error);
    await free(context, name());
  });

  it('extend: lengthens, never shortens, and sets keys that are gone again', async () => {
    const { backend, name, quorum } = get();
    const lease = await backend.settled(
      (await opened(backend)).acquire([name('a'), name('b')], { ttlMs: 300_000 }),
    );
    const lasting = async (ms: number): Promise<number> => {
      const ttls = await Promise.all(
        backend.hands.flatMap((hand) => [hand.pttl(name('a')), hand.pttl(name('b'))]),
      );
      return ttls.filter((ttl) => ttl > ms).length;
    };
    await backend.settled(lease.extend(900_000));
    expect(await lasting(TTL_MS)).to.be.at.least(2 * quorum);
    await backend.settled(lease.extend(1_000));
    expect(await lasting(TTL_MS)).to.be.at.least(2 * quorum);
    expect(lease.remainingMs()).to.be.above(TTL_MS);
    for (const hand of backend.hands) await hand.compareAndDelete(name('a'), lease.token);
    await backend.settled(lease.extend());
    expect(await lasting(5_000)).to.be.at.least(2 * quorum);
    await backend.settled(lease.release());
  });

  it('giveAway and adopt: the lease goes over, and the giver holds nothing', async () => {
    const context = get();
    const { backend, name, quorum } = context;
    const lease = await backend.settled((await opened(backend)).acquire([name('a'), name('b')]));
    const handle = JSON.parse(JSON.stringify(lease.giveAway())) as ReturnType<typeof lease.giveAway>;
    expect(lease.status).to.equal('released');
    expect((await rejection(lease.extend())).code).to.equal('NOT_HELD');
    await backend.settled(lease.release());
    const adopted = await backend.settled((await opened(backend)).adopt(handle));
    expect([adopted.status, adopted.token, adopted.resources]).to.deep.equal([
      'held',
      lease.token,
      lease.resources,
    ]);
    expect(await holders(context, name('a'), lease.token)).to.be.at.least(quorum);
    await backend.settled(adopted.release());
    await free(context, name('a'), name('b'));
    const error = await backend.settled(rejection((await opened(backend)).adopt(handle)));
    expect(error.code).to.equal('LOCK_LOST');
    await free(context, name('a'), name('b'));
  });

  it('inspect: free, held by whom and for how long, or something else', async () => {
    const { backend, name } = get();
    const redlock = await opened(backend);
    expect((await backend.settled(redlock.inspect(name()))).state).to.equal('free');
    const lease = await backend.settled(redlock.acquire(name()));
    const seen = await backend.settled((await opened(backend)).inspect(name()));
    expect(seen).to.include({ state: 'held', holder: fingerprint(lease.token) });
    expect(seen.remainingMs).to.be.within(1, TTL_MS);
    expect(JSON.stringify(seen)).to.not.contain(lease.token);
    await backend.settled(lease.release());
    for (const hand of backend.hands) await hand.putData(name('data'), 'hash');
    expect((await backend.settled(redlock.inspect(name('data')))).state).to.equal('foreign');
  });

  it('close: releases what is held, and ends what waits with CLOSED', async () => {
    const context = get();
    const { backend, name } = context;
    const [one, other] = [await opened(backend), await opened(backend)];
    const lease = await backend.settled(one.acquire(name('a')));
    const held = await backend.settled(other.acquire(name('b')));
    const waiting = rejection(one.acquire(name('b')));
    await backend.settled(one.close({ releaseHeld: true }));
    expect([(await waiting).code, lease.status]).to.deep.equal(['CLOSED', 'released']);
    expect((await rejection(one.acquire(name('c')))).code).to.equal('CLOSED');
    await backend.settled(held.release());
    await free(context, name('a'), name('b'), name('c'));
  });
}

function others(get: () => Context): void {
  for (const type of ['list', 'hash'] as const) {
    it(`WRONG_KIND on a ${type}, alone or among several; the data stays`, async () => {
      const context = get();
      const { backend, name } = context;
      for (const hand of backend.hands) await hand.putData(name('x'), type);
      for (const resources of [name('x'), [name('x'), name('y')]]) {
        const error = await backend.settled(rejection((await opened(backend)).acquire(resources)));
        expect(error.code).to.equal('WRONG_KIND');
        expect(
          (await backend.settled(rejection((await opened(backend)).tryAcquire(resources)))).code,
        ).to.equal('WRONG_KIND');
      }
      for (const hand of backend.hands) expect(await hand.type(name('x'))).to.equal(type);
      await free(context, name('y'));
    });
  }

  it('another client: a plain SET NX PX by hand excludes us, until it is deleted by hand', async () => {
    const { backend, name } = get();
    for (const hand of backend.hands) expect(await hand.claim(name(), 'by hand', TTL_MS)).to.equal(true);
    const redlock = await opened(backend);
    expect(await backend.settled(redlock.tryAcquire(name()))).to.equal(null);
    expect(await backend.settled(redlock.tryAcquire([name(), name('b')]))).to.equal(null);
    for (const hand of backend.hands) {
      expect(await hand.get(name())).to.equal('by hand');
      await hand.compareAndDelete(name(), 'by hand');
    }
    const lease = await backend.settled(redlock.acquire(name()));
    await backend.settled(lease.release());
  });

  it('another client: we exclude it, and compare-and-delete by hand gives our votes back', async () => {
    const context = get();
    const { backend, name, quorum } = context;
    const lease = await backend.settled((await opened(backend)).acquire(name()));
    const claimed = await Promise.all(backend.hands.map((hand) => hand.claim(name(), 'by hand', TTL_MS)));
    expect(claimed.filter((isSet) => isSet).length).to.be.at.most(backend.hands.length - quorum);
    do {
      for (const hand of backend.hands) {
        await hand.compareAndDelete(name(), 'by hand');
        await hand.compareAndDelete(name(), lease.token); // the vote of the last master may come late
      }
    } while ((await holders(context, name(), null)) < backend.hands.length);
    const next = await backend.settled((await opened(backend)).acquire(name()));
    expect((await backend.settled(rejection(lease.extend()))).code).to.equal('LOCK_LOST');
    await backend.settled(lease.release());
    expect(await holders(context, name(), next.token)).to.be.at.least(quorum);
    await backend.settled(next.release());
  });
}
