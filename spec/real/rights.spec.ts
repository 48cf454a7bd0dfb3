/**
 * The smallest sets of rights, as docs/OPERATION.md has them, each run by a user who has these and no others. What a set is
 * for does all that it does; then the servers have refused nothing, and everything that the set grants was used.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock, type RedlockOptions } from '../../lib/index.js';
import { TimestampLock, type TimestampLockOptions } from '../../lib/timestamp/index.js';
import { counterKey } from '../../lib/protocol/keys.js';
import type { Lockable } from '../../lib/locks/lockable.js';
import { LAST_FENCE } from '../../lib/protocol/lua/stored.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { DOCUMENTED, rightsOf, USER } from '../support/documented-rights.js';
import { LONG_GUARD_MS, LONGER_MS, PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const NODES = 3;
/** Shorter than the guard: masters that were just declared to have lost nothing can tell. */
const ONCE_MS = 500_000;
/** What the docs' `lock:*` allows. */
const PREFIX = 'lock:';
/** What ioredis asks for as it connects, and does without. */
const OF_IOREDIS = ['client', 'client|setname', 'client|setinfo'];

const SET_NAMES = [
  'exclusive',
  'shared',
  'plain',
  'timestamp',
  'timestamp commands',
  'guard',
  'select',
] as const;
type SetName = (typeof SET_NAMES)[number];

/** Servers with a user who has these rights, and locks of that user. */
class Ground {
  readonly hands: readonly Redis[];
  readonly #masters: Masters;
  readonly #sets: readonly SetName[];
  readonly #closers: (() => Promise<void> | void)[] = [];

  constructor(masters: Masters, sets: readonly SetName[]) {
    this.#masters = masters;
    this.#sets = sets;
    this.hands = masters.list.map(({ port }) => byHand(port, { db: this.db }));
  }

  get db(): number {
    return this.#sets.includes('select') ? 3 : 0;
  }

  /** Gives the rights; from here on refusals and commands are counted. */
  async allow(): Promise<void> {
    for (const hand of this.hands) {
      for (const set of this.#sets) await hand.call('ACL', 'SETUSER', USER, ...rightsOf(set));
      await hand.call('ACL', 'LOG', 'RESET');
      await hand.config('RESETSTAT');
    }
  }

  /** An instance with connections of its own. */
  async lock(options: RedlockOptions = {}): Promise<Redlock> {
    const isGuarded = this.#sets.includes('guard');
    const guard = isGuarded ? { restartGuardMs: LONG_GUARD_MS } : {};
    const masters = this.#masters.list.map((master) => this.#client(master.port));
    const redlock = Redlock.connect(masters, { ...PATIENT, keyPrefix: PREFIX, ...guard, ...options });
    this.#closers.push(() => redlock.close());
    await eventually(async () => (await redlock.inspect('any')).nodes.every(({ state }) => state === 'free'));
    if (isGuarded) await redlock.bootstrap();
    await redlock.ready();
    return redlock;
  }

  /** While one master does not answer: requests about what happens meanwhile arrive there together, at the end. */
  async withoutOne<T>(work: () => Promise<T>): Promise<T> {
    const last = this.#masters.list.at(-1);
    await last?.freeze();
    try {
      return await work();
    } finally {
      await last?.thaw();
    }
  }

  timestampLock(options: TimestampLockOptions): TimestampLock {
    const { port, ...client } = this.#client(this.#masters.list[0]?.port ?? 0);
    const redis = byHand(port, client);
    this.#closers.push(() => redis.disconnect());
    return new TimestampLock(redis, { ...PATIENT, unit: 'ms', pollMs: 10, ...options });
  }

  #client(port: number) {
    const rules = this.#sets.flatMap(rightsOf);
    const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
    // the ready check needs what the guard needs, and warns where it has not got it
    const enableReadyCheck = this.#sets.includes('guard');
    return { host: '127.0.0.1', port, db: this.db, username: USER, password, enableReadyCheck };
  }

  /** Puts a count where that lock counts its grants. */
  async count(name: string, count: number, hands = this.hands): Promise<void> {
    for (const hand of hands) await hand.set(counterKey(PREFIX + name), String(count), 'PX', PATIENT.ttlMs);
  }

  /** What the servers refused to the user. */
  async refused(): Promise<readonly string[]> {
    const all: string[] = [];
    for (const hand of this.hands) {
      for (const entry of (await hand.call('ACL', 'LOG')) as (readonly unknown[])[]) {
        const [context, object] = ['context', 'object'].map((name) => String(entry[entry.indexOf(name) + 1]));
        if (context !== 'toplevel' || !OF_IOREDIS.includes(object ?? '')) all.push(`${object} (${context})`);
      }
    }
    return all;
  }

  /** What the rights grant and no server was asked for. */
  async unused(): Promise<readonly string[]> {
    const granted = this.#sets
      .flatMap(rightsOf)
      .flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : []));
    expect(granted).to.not.deep.equal([]);
    const used = new Set<string>();
    for (const hand of this.hands) {
      const stats = await hand.info('commandstats');
      for (const [, name = ''] of stats.matchAll(/^cmdstat_([^:|]+)[^:]*:calls=[1-9]/gm)) used.add(name);
    }
    return granted.filter((name) => !used.has(name));
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    for (const hand of this.hands) hand.disconnect();
  }
}

type Work = (environment: Ground) => Promise<void>;

/** One has it, one is let in after that one, another gives up. @param lockOf  the lock, of an instance of its own */
async function takeTurns(lockOf: () => Promise<Lockable>, isQueued = true): Promise<void> {
  const [first, second, third] = [await lockOf(), await lockOf(), await lockOf()];
  const waiting = (count: number): Promise<void> =>
    isQueued ? eventually(async () => (await first.inspect()).waiting === count) : Promise.resolve();
  const lease = await first.acquire();
  await lease.extend(LONGER_MS);
  expect(await second.tryAcquire()).to.equal(null);
  const next = second.acquire();
  await waiting(1);
  const controller = new AbortController();
  const givenUp = rejection(third.acquire({ signal: controller.signal }));
  await waiting(2);
  controller.abort();
  expect((await givenUp).code).to.equal('ABORTED');
  expect((await first.inspect()).state).to.equal('held');
  await lease.release();
  const following = await next;
  const last = first.acquire(); // after one that has waited itself: handed over directly
  await waiting(1);
  await following.release();
  await (await last).release();
}

/** Many at a time, several at once, from one process to another, and with counters that differ. */
async function exclusively(environment: Ground, options: RedlockOptions): Promise<void> {
  const one = await environment.lock(options);
  const names = Array.from({ length: 40 }, (_, i) => `many${i}`);
  // where masters count differently, releases go without a look at many: these have no counters
  const leases = await Promise.all(names.map((name) => one.acquire(name, { fencing: false })));
  await Promise.all(leases.map((lease) => lease.extend(LONGER_MS)));
  await Promise.all(leases.map((lease) => lease.release()));
  const several = await one.acquire(['a', 'b', 'c']);
  const next = (await environment.lock(options)).acquire(['b', 'd']);
  await several.release();
  const handle = (await next).giveAway();
  await (await one.adopt(handle)).release();
}

/** A claim that has not arrived by then is asked about. @param lockOf  the lock, of an instance of its own */
async function giveAwayEarly(environment: Ground, lockOf: () => Promise<Lockable>): Promise<void> {
  const [giver, adopter] = [await lockOf(), await environment.lock()];
  const handle = await environment.withoutOne(async () => (await giver.acquire()).giveAway());
  await (await adopter.adopt(handle)).release();
  await eventually(async () => (await giver.inspect()).nodes.every(({ state }) => state === 'free'));
}

/** Elections and jobs need what exclusive locks do. */
async function coordinating(environment: Ground): Promise<void> {
  const [one, other] = [await environment.lock(), await environment.lock()];
  const watching = other.election('e').observe();
  expect(await watching.next()).to.include({ value: null });
  const leadership = await one.election('e').campaign('a');
  expect((await watching.next()).value).to.include({ value: 'a' });
  await leadership.resign();
  expect(await watching.next()).to.include({ value: null });
  await watching.return?.();
  expect(await one.runOnce('o', ONCE_MS, () => 1)).to.deep.equal({ executed: true, value: 1 });
  expect(await other.runOnce('o', ONCE_MS, () => 2)).to.deep.equal({ executed: false, reason: 'done' });
  const job = await one.job('j', { every: 3_600_000 }, () => 3);
  expect(await job.run()).to.deep.equal({ executed: true, value: 3 });
  await job.stop();
}

const exclusive: Work = async (environment) => {
  await coordinating(environment);
  await takeTurns(async () => (await environment.lock()).mutex('turns'));
  await exclusively(environment, {});
  await giveAwayEarly(environment, async () => (await environment.lock()).mutex('early'));
  const redlock = await environment.lock();
  await environment.count('apart', LAST_FENCE / 2, environment.hands.slice(1));
  await (await redlock.acquire('apart')).release();
  await environment.count('spent', LAST_FENCE);
  expect((await rejection(redlock.acquire('spent'))).code).to.equal('WRONG_KIND');
  const counted = environment.hands.map((hand) => hand.exists(counterKey(`${PREFIX}turns`)));
  expect(await Promise.all(counted), `in database ${environment.db}`).to.deep.equal([1, 1, 1]);
};

const shared: Work = async (environment) => {
  await takeTurns(async () => (await environment.lock()).readWriteLock('turns').write);
  await takeTurns(async () => (await environment.lock()).semaphore('permits', 1));
  await giveAwayEarly(environment, async () => (await environment.lock()).semaphore('early', 2));
  const [one, other] = [await environment.lock(), await environment.lock()];
  const [mine, theirs] = [one.readWriteLock('rw'), other.readWriteLock('rw')];
  const readers = [await mine.read.acquire(), await theirs.read.acquire()];
  const writing = theirs.write.acquire();
  await eventually(async () => (await mine.read.inspect()).waiting > 0);
  for (const reader of readers) await reader.release();
  const writer = await writing;
  await writer.downgrade();
  await (await mine.read.acquire()).release();
  await (await one.adopt(writer.giveAway())).release();
  const permits = one.semaphore('several', 3);
  const two = await permits.acquire({ permits: 2 });
  const more = other.semaphore('several', 3).acquire({ permits: 2 });
  await eventually(async () => (await permits.inspect()).waiting > 0);
  await (await one.adopt(two.giveAway())).release();
  await (await more).release();
  await environment.count('apart', LAST_FENCE / 2, environment.hands.slice(1));
  await (await one.readWriteLock('apart').write.acquire()).release();
};

const plain: Work = async (environment) => {
  const options = { fencing: false, fair: false } as const;
  await takeTurns(async () => (await environment.lock(options)).mutex('turns'), false);
  await exclusively(environment, options);
};

function timestamps(method: 'script' | 'commands'): Work {
  return async (environment) => {
    const [one, other] = [environment.timestampLock({ method }), environment.timestampLock({ method })];
    const lease = await one.acquire(`${PREFIX}t`);
    await lease.extend();
    expect(await other.tryAcquire(`${PREFIX}t`)).to.equal(null);
    expect((await other.inspect(`${PREFIX}t`)).state).to.equal('held');
    const next = other.acquire(`${PREFIX}t`);
    await lease.release();
    await (await next).release();
    await environment.hands[0]?.set(`${PREFIX}left`, '1700000000000'); // by a holder that died
    await (await one.acquire(`${PREFIX}left`)).release();
  };
}

const CASES: readonly (readonly [sets: readonly SetName[], work: Work])[] = [
  [['exclusive'], exclusive],
  [['exclusive', 'guard'], exclusive],
  [['exclusive', 'select'], exclusive],
  [['shared'], shared],
  [['shared', 'guard'], shared],
  [['shared', 'select'], shared],
  [['plain'], plain],
  [['timestamp'], timestamps('script')],
  [['timestamp commands'], timestamps('commands')],
];

/** How users begin: as the server has it, and with all channels, as in Redis 6.2. */
const SERVERS: readonly (readonly [title: string, args: readonly string[]])[] = [
  ['users begin without channels', ['--acl-pubsub-default', 'resetchannels']],
  ['users begin with all channels, as in 6.2', ['--acl-pubsub-default', 'allchannels']],
];

for (const [title, args] of SERVERS) {
  describe(`the rights that the docs give, where ${title}`, () => {
    let masters: Masters;
    let environment: Ground;
    before(async () => {
      masters = await startMasters(NODES, { backend: 'process', args });
    });
    after(() => masters.stop());
    afterEach(async () => {
      const { hands } = environment;
      for (const hand of hands) {
        await hand.flushall();
        await hand.call('ACL', 'DELUSER', USER);
      }
      await environment.close();
    });

    for (const [sets, work] of CASES) {
      it(`${sets.join(' + ')}: nothing is refused, and nothing of it is too much`, async () => {
        environment = new Ground(masters, sets);
        await environment.allow();
        await work(environment);
        expect(await environment.refused(), 'refused').to.deep.equal([]);
        expect(await environment.unused(), 'unused').to.deep.equal([]);
      });
    }
  });
}

describe('the rights that the docs give', () => {
  it('are all run here, but for those of the dashboard', () => {
    expect(DOCUMENTED).to.have.members([...SET_NAMES, 'dashboard']);
    expect(new Set(CASES.flatMap(([sets]) => sets))).to.deep.equal(new Set(SET_NAMES));
  });
});
