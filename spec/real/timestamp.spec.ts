/**
 * Timestamp locks beside programs in other languages, on one real server: each excludes the others and is excluded by
 * them. The programs are in spec/support/timestamp.
 */
import { expect } from 'chai';
import { Redlock } from '../../lib/index.js';
import { TimestampLock, type TimestampLockOptions } from '../../lib/timestamp/index.js';
import { COUNTER, LANGUAGES, type Language, OldProgram } from '../support/old-program.js';
import { needs } from '../support/parts.js';
import { LONGER_MS, PATIENT } from '../support/patience.js';
import { byHand } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { oneServer } from '../support/server.js';

const KEY = 'lock.invoice';
const { ttlMs: TTL_MS } = PATIENT;
const METHODS = ['script', 'commands'] as const;
/** The seconds of the C++, PHP and Python texts, and the milliseconds of the Java one. */
const UNITS = ['s', 'ms'] as const;

describe('timestamp locks beside programs of other languages', function () {
  const server = oneServer();
  const programs: OldProgram[] = [];
  const port = (): number => server.redis.options.port ?? 0;
  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.kill()));
  });

  async function start(
    language: Language,
    unit: 's' | 'ms',
    options: { ttlMs?: number; pollMs?: number } = {},
  ): Promise<OldProgram> {
    const program = await OldProgram.start(language, {
      port: port(),
      key: KEY,
      unit,
      ttlMs: TTL_MS,
      ...options,
    });
    programs.push(program);
    return program;
  }

  function ours(options: TimestampLockOptions): TimestampLock {
    return new TimestampLock(server.redis, { ...PATIENT, pollMs: 5, ...options });
  }

  for (const unit of UNITS) {
    for (const method of METHODS) {
      for (const language of LANGUAGES) {
        it(`${language}, ${unit}, ${method}: a holder keeps the other out, both ways`, async function () {
          needs(this, language);
          const other = await start(language, unit);
          const lock = ours({ unit, method });
          const lease = await lock.acquire(KEY);
          expect(await other.tell('try')).to.equal('taken');
          await lease.release();
          expect(await server.redis.exists(KEY)).to.equal(0);

          expect(await other.tell('try')).to.match(/^held \d+$/);
          expect(await lock.tryAcquire(KEY)).to.equal(null);
          expect((await rejection(lock.acquire(KEY, { waitMs: 20 }))).code).to.equal('LOCK_TAKEN');
          expect(await other.tell('release')).to.equal('released');
          const again = await lock.acquire(KEY);
          expect(again.status).to.equal('held');
          await again.release();
        });
      }

      it(`${unit}, ${method}: the key holds the instant that the others write, ${method === 'script' ? 'and goes with it' : 'for ever'}`, async function () {
        needs(this, 'python3');
        const program = await start('python3', unit);
        const lock = ours({ unit, method });
        await program.tell('acquire');
        await program.tell('release');
        const beforeMs = Date.now();
        await lock.acquire(KEY);
        const afterMs = Date.now();
        const unitMs = unit === 's' ? 1_000 : 1;
        const instant = Number(await server.redis.get(KEY));
        expect(instant).to.be.at.least(Math.floor(beforeMs / unitMs) + TTL_MS / unitMs + 1);
        expect(instant).to.be.at.most(Math.floor(afterMs / unitMs) + TTL_MS / unitMs + 1);
        const ttlMs = await server.redis.pttl(KEY);
        if (method === 'commands') expect(ttlMs).to.equal(-1);
        else expect(ttlMs).to.be.within(1, TTL_MS + unitMs);
      });
    }
  }

  const LEFT_BEHIND = [
    ['python3', 's', 'commands', 1_000],
    ['perl', 'ms', 'script', 300],
    ['python3', 'ms', 'commands', 300],
  ] as const;
  for (const [language, unit, method, ttlMs] of LEFT_BEHIND) {
    it(`${language}, ${unit}, ${method}: a holder that died is taken over when its instant is past, not before`, async function () {
      needs(this, language);
      const dead = await start(language, unit, { ttlMs });
      const instant = Number((await dead.tell('acquire')).split(' ')[1]);
      await dead.kill();
      await ours({ unit, method, ttlMs, clockMarginMs: 0 }).acquire(KEY);
      expect(Date.now()).to.be.at.least((instant + 1) * (unit === 's' ? 1_000 : 1));
    });
  }

  for (const unit of UNITS) {
    it(`${unit}: python3, perl, and ours in both ways, 4 × 40 turns on a counter that only the lock protects`, async function () {
      needs(this, ...LANGUAGES);
      const old = await Promise.all(LANGUAGES.map((language) => start(language, unit, { pollMs: 2 })));
      const clients = METHODS.map(() => byHand(port()));
      const turns = METHODS.map(async (method, i) => {
        const redis = clients[i] ?? server.redis;
        const lock = new TimestampLock(redis, { ...PATIENT, unit, method, pollMs: 2 });
        for (let turn = 0; turn < 40; turn++) {
          await lock.using(KEY, { renew: false }, async () => {
            await redis.set(COUNTER, Number(await redis.get(COUNTER)) + 1);
          });
        }
      });
      try {
        await Promise.all([...old.map((program) => program.tell('add 40')), ...turns]);
      } finally {
        for (const client of clients) client.disconnect();
      }
      expect(await server.redis.get(COUNTER)).to.equal('160');
      expect(await server.redis.exists(KEY)).to.equal(0);
    });
  }

  for (const method of METHODS) {
    it(`${method}: a token lock of ours and a list on the key are WRONG_KIND, and stay`, async () => {
      const redlock = new Redlock([server.redis], PATIENT);
      const token = await redlock.acquire(KEY);
      expect((await rejection(ours({ method }).acquire(KEY))).code).to.equal('WRONG_KIND');
      expect((await redlock.inspect(KEY)).state).to.equal('held');
      await token.release();
      await redlock.close();
      await server.redis.lpush('list', '1');
      expect((await rejection(ours({ method }).tryAcquire('list'))).code).to.equal('WRONG_KIND');
      expect(await ours({ method }).inspect('list')).to.have.property('state', 'foreign');
      expect(await server.redis.type('list')).to.equal('list');
    });

    it(`${method}: a user without rights on the key is MISCONFIGURED, a server that is gone NO_QUORUM`, async () => {
      await server.redis.call('ACL', 'SETUSER', 'nobody', 'on', '>secret', '+@all', '~other');
      const client = byHand(port(), { username: 'nobody', password: 'secret', retryStrategy: () => null });
      const lock = new TimestampLock(client, { ...PATIENT, method });
      expect((await rejection(lock.acquire(KEY))).code).to.equal('MISCONFIGURED');
      client.disconnect();
      const error = await rejection(lock.acquire(KEY, { waitMs: 0 }));
      expect([error.code, error.tally[0]?.outcome]).to.deep.equal(['NO_QUORUM', 'unknown']);
      await server.redis.call('ACL', 'DELUSER', 'nobody');
    });

    it(`${method}: over a client with a prefix of its own, and extended`, async () => {
      const client = byHand(port(), { keyPrefix: 'app:' });
      const lock = new TimestampLock(client, { ...PATIENT, method, unit: 'ms' });
      try {
        await lock.using('r', async (lease) => {
          const first = Number(await server.redis.get('app:r'));
          await lease.extend(LONGER_MS);
          expect(Number(await server.redis.get('app:r'))).to.be.above(first);
        });
        expect(await server.redis.exists('app:r')).to.equal(0);
      } finally {
        client.disconnect();
      }
    });
  }
});
