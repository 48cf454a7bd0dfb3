/**
 * Locks beside programs in other languages, on real masters: the plain key is what they have in common. The programs are in
 * spec/support/languages; spec/chaos/languages.spec.ts has all of them at once, under faults.
 */
import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import type { Redlock } from '../../lib/redlock.js';
import { queueKey } from '../../lib/protocol/keys.js';
import { quorate } from '../command/support/program.js';
import { type Language, LanguageProgram, PYTHON_LOCK, REDLOCKS } from '../support/language-program.js';
import { needs, partOf } from '../support/parts.js';
import { PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { RealBench } from './support/real-bench.js';

const KEY = 'invoice:42';
const { ttlMs: TTL_MS } = PATIENT;
/** As the command ends where a key holds something that it leaves alone. */
const WRONG_KIND = 65;
/** As it ends where it can ask nobody. */
const MISUSE = 64;

class Ground extends RealBench {
  readonly #others: LanguageProgram[] = [];

  other(language: Language): LanguageProgram {
    const ports = this.masters.list.map(({ port }) => port);
    const program = new LanguageProgram(language, { ports, ttlMs: TTL_MS, timeoutMs: PATIENT.nodeTimeoutMs });
    this.#others.push(program);
    return program;
  }

  override async close(): Promise<void> {
    await Promise.all(this.#others.map((program) => program.kill()));
    await super.close();
  }

  /** On how many masters the key has that value. */
  async count(value: string | null): Promise<number> {
    const values = await Promise.all(this.hands.map((hand) => hand.get(KEY).catch(() => 'another kind')));
    return values.filter((one) => one === value).length;
  }

  /** Resolves when it has that value on all masters: a grant and a release may be late on a minority. */
  async has(value: string | null): Promise<void> {
    await eventually(async () => (await this.count(value)) === this.hands.length);
  }

  /** On all masters. */
  async acquire(redlock: Redlock): Promise<Lease> {
    const lease = await redlock.acquire(KEY);
    await this.has(lease.token);
    return lease;
  }

  /** On all masters. */
  async release(lease: Lease): Promise<void> {
    await lease.release();
    await this.has(null);
  }

  /** As the end of its ttl does. */
  async expire(): Promise<void> {
    await Promise.all(this.hands.map((hand) => hand.pexpire(KEY, 0)));
  }
}

/** An acquisition that was refused, and waits. */
async function waiterOf(redlock: Redlock): Promise<{ readonly lease: Promise<Lease> }> {
  let isWaiting = false;
  redlock.once('waiting', () => (isWaiting = true));
  const lease = redlock.acquire(KEY);
  await eventually(() => isWaiting);
  return { lease };
}

const SETTINGS = [
  ...REDLOCKS.map((language) => ({ language, nodes: 5 })),
  { language: PYTHON_LOCK, nodes: 1 },
] as const;

for (const { language, nodes } of SETTINGS) {
  describe(`other languages: ${language.file}, N=${nodes}`, function () {
    let ground: Ground;
    let redlock: Redlock;
    let other: LanguageProgram;
    before(function () {
      needs(this, language.part);
    });
    beforeEach(async () => {
      ground = new Ground();
      await ground.open(nodes);
      redlock = await ground.lock();
      other = ground.other(language);
    });
    afterEach(() => ground.close());

    it('while quorate holds, the other is refused, and its undo and its release delete nothing', async () => {
      const lease = await ground.acquire(redlock);
      expect(await other.try(KEY)).to.equal(null);
      expect(await other.release()).to.equal(0);
      await ground.has(lease.token);
      await lease.extend();
      await ground.release(lease);
      expect(await other.try(KEY)).to.be.a('string');
    });

    it('while the other holds, quorate is refused, changes nothing, and waits until the release; fences rise', async () => {
      const first = await ground.acquire(redlock);
      await ground.release(first);
      const value = await other.try(KEY);
      expect(value).to.be.a('string');
      expect(await redlock.tryAcquire(KEY)).to.equal(null);
      expect((await rejection(redlock.acquire(KEY, { waitMs: 20 }))).code).to.equal('LOCK_TAKEN');
      const { lease } = await waiterOf(redlock);
      await ground.has(value);
      expect(await other.release()).to.equal(nodes);
      const second = await lease;
      expect(second.fence).to.be.above(first.fence ?? Infinity);
      expect(await ground.count(second.token)).to.be.above(nodes / 2); // the others may have been released too late for it
    });

    it('the other dies: quorate waits for the end of its ttl', async () => {
      const value = await other.try(KEY);
      await other.kill();
      const { lease } = await waiterOf(redlock);
      await ground.has(value);
      await ground.expire();
      expect((await lease).status).to.equal('held');
    });

    it('quorate dies: the other is refused until the end of its ttl', async () => {
      const lease = await ground.acquire(redlock);
      lease.giveAway(); // nobody renews or releases it
      expect(await other.try(KEY)).to.equal(null);
      await ground.expire();
      expect(await other.try(KEY)).to.be.a('string');
    });

    it('a late release deletes nothing of the next holder, either way', async () => {
      expect(await other.try(KEY)).to.be.a('string');
      await ground.expire();
      const lease = await ground.acquire(redlock);
      expect(await other.release()).to.equal(0);
      await ground.has(lease.token);

      await ground.expire();
      const value = await other.try(KEY);
      expect(value).to.be.a('string');
      await lease.release();
      await ground.has(value);
    });

    it('inspect shows a fingerprint of the other as the holder, and the time left', async () => {
      const value = (await other.try(KEY)) ?? '';
      const inspection = await redlock.inspect(KEY);
      expect(inspection.state).to.equal('held');
      expect(inspection.holder).to.be.a('string');
      expect(inspection.remainingMs).to.be.within(1, TTL_MS);
      expect(JSON.stringify(inspection)).not.to.contain(value);
    });

    it('a read-write lock keeps the other out, and the other a read-write lock', async () => {
      const { read } = redlock.readWriteLock(KEY);
      const lease = await read.acquire();
      expect(await other.try(KEY)).to.equal(null);
      expect(await other.release()).to.equal(0);
      await ground.release(lease);
      expect(await other.try(KEY)).to.be.a('string');
      expect((await rejection(read.acquire({ waitMs: 20 }))).code).to.equal('WRONG_KIND');
    });
  });
}

describe('other languages: redis-cli and the command quorate, N=3', function () {
  const NODES = 3;
  let ground: Ground;
  let redlock: Redlock;
  let env: Readonly<Record<string, string>>;
  before(function () {
    needs(this, 'redis-cli');
  });
  beforeEach(async () => {
    ground = new Ground();
    await ground.open(NODES);
    redlock = await ground.lock();
    env = { QUORATE_NODES: ground.masters.urls.join(',') };
  });
  afterEach(() => ground.close());

  /** On each master. @returns what it printed, each once */
  function redisCli(...words: readonly string[]): readonly string[] {
    const printed = ground.masters.list.map(({ port }) =>
      execFileSync(partOf('redis-cli') ?? '', ['-p', String(port), ...words], { encoding: 'utf8' }).trim(),
    );
    return [...new Set(printed)];
  }

  /** Releases it to one that queues on all masters. */
  async function handOver(lease: Lease, to: Redlock): Promise<Lease> {
    const { lease: next } = await waiterOf(to);
    await eventually(async () => {
      const queues = await Promise.all(ground.hands.map((hand) => hand.zcard(queueKey(KEY))));
      return queues.every((size) => size === 1);
    });
    await lease.release();
    return next;
  }

  it('GET shows the token of the holder, with a + after a hand-over', async () => {
    const first = await ground.acquire(redlock);
    expect(redisCli('GET', KEY)).to.deep.equal([first.token]);
    const second = await handOver(first, await ground.lock());
    const third = await handOver(second, redlock); // the releaser has waited itself: it hands over directly
    await eventually(() => redisCli('GET', KEY).join() === `${third.token}+`);
  });

  it('status shows the holder, and unlock deletes its keys only with --force', async () => {
    const other = ground.other(REDLOCKS[3] ?? PYTHON_LOCK);
    const value = (await other.try(KEY)) ?? '';
    const status = await quorate(['status', KEY], { env });
    expect(status.out).to.contain('held by').and.not.to.contain(value);
    expect((await quorate(['unlock', KEY], { env, input: '' })).code).to.equal(MISUSE);
    const unlock = await quorate(['unlock', '--force', '--json', KEY], { env });
    expect(JSON.parse(unlock.out)).to.include({ resource: KEY, released: NODES });
    await ground.has(null);
  });

  it('a key without expiry is held for ever: by SET without PX, or by redis.lock.Lock without a timeout', async () => {
    redisCli('SET', KEY, 'value', 'NX');
    expect(await redlock.tryAcquire(KEY)).to.equal(null);
    expect(await redlock.inspect(KEY)).to.include({ state: 'held', remainingMs: Infinity });
    expect((await quorate(['unlock', '--force', KEY], { env })).code).to.equal(WRONG_KIND);
    await ground.has('value');
  });

  it('the value ~ is a key at rest: inspect calls it free, and claims are refused', async () => {
    redisCli('SET', KEY, '~', 'NX', 'PX', '600000');
    expect((await redlock.inspect(KEY)).state).to.equal('free');
    expect(await redlock.tryAcquire(KEY)).to.equal(null);
  });

  it('a hash at the key, as Redisson has it, is WRONG_KIND, and stays', async () => {
    redisCli('HSET', KEY, 'client:1', '1');
    expect((await rejection(redlock.acquire(KEY))).code).to.equal('WRONG_KIND');
    expect(redisCli('TYPE', KEY)).to.deep.equal(['hash']);
    expect(redisCli('GET', KEY).join()).to.match(/^WRONGTYPE/); // as on a read-write lock and a semaphore
  });

  for (const [words, why] of [
    [['DEL', KEY], 'a release that does not compare'],
    [['RENAME', KEY, 'other'], 'a move'],
    [['FLUSHALL'], 'an empty master'],
  ] as const) {
    it(`${words.join(' ')}, ${why}: two hold the lock, until the extension of the first one fails`, async () => {
      const other = ground.other(REDLOCKS[3] ?? PYTHON_LOCK);
      const lease = await ground.acquire(redlock);
      redisCli(...words);
      expect(await other.try(KEY)).to.be.a('string');
      expect(lease.status).to.equal('held');
      expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
    });
  }

  it('SET without NX: the writer has the lock beside its holder, until the extension of the holder fails', async () => {
    const lease = await ground.acquire(redlock);
    redisCli('SET', KEY, 'value', 'PX', '600000');
    expect(lease.status).to.equal('held');
    expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
    await ground.has('value');
  });
});
