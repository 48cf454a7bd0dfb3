/**
 * The way over from a timestamp lock to a quorum, as docs/MIGRATION.md has it: with the old programs, those of the step
 * between and the new ones, at work beside each other on a counter that only the locks protect.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/index.js';
import { TimestampLock } from '../../lib/timestamp/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { usingBoth } from '../support/both.js';
import { COUNTER, LANGUAGES, OldProgram } from '../support/old-program.js';
import { needs } from '../support/parts.js';
import { PATIENT } from '../support/patience.js';
import { byHand } from '../support/real.js';

const KEY = 'lock.invoice';
const RESOURCE = 'invoice';
const TURNS = 25;

/** Runs the routine while it holds what this program holds. */
type Using = (routine: () => Promise<void>) => Promise<void>;

describe('from a timestamp lock to a quorum: the recipe', function () {
  let masters: Masters;
  let clients: Redis[] = [];
  let programs: OldProgram[] = [];
  const instances: Redlock[] = [];

  before(async () => {
    masters = await startMasters(4);
  });
  beforeEach(async () => {
    await open(0).flushall();
  });
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((instance) => instance.close({ releaseHeld: true })));
    await Promise.all(programs.splice(0).map((program) => program.kill()));
    for (const client of clients.splice(0)) client.disconnect();
  });
  after(() => masters.stop());

  function open(i: number): Redis {
    const client = byHand(masters.list[i]?.port ?? 0);
    clients = [...clients, client];
    return client;
  }

  /** The old server is the first; the quorum are the other three. */
  function quorum(): Redlock {
    const redlock = new Redlock([open(1), open(2), open(3)], PATIENT);
    instances.push(redlock);
    return redlock;
  }

  function between(): Using {
    const lock = new TimestampLock(open(0), { ...PATIENT, pollMs: 3 });
    const redlock = quorum();
    return (routine) => usingBoth({ lock, key: KEY }, { redlock, resource: RESOURCE }, routine);
  }

  function after2(): Using {
    const redlock = quorum();
    return (routine) => redlock.using(RESOURCE, routine);
  }

  async function startOld(): Promise<OldProgram[]> {
    const port = masters.list[0]?.port ?? 0;
    programs = await Promise.all(
      LANGUAGES.map((language) =>
        OldProgram.start(language, { port, key: KEY, unit: 's', ttlMs: PATIENT.ttlMs, pollMs: 3 }),
      ),
    );
    return programs;
  }

  async function add(using: Using): Promise<void> {
    const redis = open(0);
    for (let turn = 0; turn < TURNS; turn++) {
      await using(async () => {
        await redis.set(COUNTER, Number(await redis.get(COUNTER)) + 1);
      });
    }
  }

  it('step 1: old programs and those that take both, at work beside each other: no update is lost', async function () {
    needs(this, ...LANGUAGES);
    const old = await startOld();
    await Promise.all([
      ...old.map((program) => program.tell(`add ${TURNS}`)),
      add(between()),
      add(between()),
    ]);
    expect(await open(0).get(COUNTER)).to.equal(String(4 * TURNS));
  });

  it('step 2: no old program is left; those that take both and the new ones: no update is lost', async () => {
    await Promise.all([add(between()), add(between()), add(after2()), add(after2())]);
    expect(await open(0).get(COUNTER)).to.equal(String(4 * TURNS));
    expect(await open(0).exists(KEY)).to.equal(0);
  });

  it('a program that takes both keeps out the old and the new; the old one keeps out the one that takes both', async function () {
    needs(this, ...LANGUAGES);
    const [old] = await startOld();
    if (old === undefined) throw new Error('it was started');
    const redlock = quorum();
    await between()(async () => {
      expect(await old.tell('try')).to.equal('taken');
      expect(await redlock.tryAcquire(RESOURCE)).to.equal(null);
    });
    expect(await old.tell('try')).to.match(/^held/);
    let isIn = false;
    const waiting = between()(() => {
      isIn = true;
      return Promise.resolve();
    });
    expect(await redlock.inspect(RESOURCE)).to.have.property('state', 'free');
    expect(isIn).to.equal(false);
    expect(await old.tell('release')).to.equal('released');
    await waiting;
    expect(isIn).to.equal(true);
  });

  it('the loss of either lock is signalled to the routine', async () => {
    const quick = { ttlMs: 1_000, waitMs: PATIENT.waitMs };
    for (const loseOld of [true, false]) {
      const lock = new TimestampLock(open(0), quick);
      const redlock = new Redlock([open(1), open(2), open(3)], quick);
      instances.push(redlock);
      const reason = await usingBoth({ lock, key: KEY }, { redlock, resource: RESOURCE }, async (signal) => {
        const lost = new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
        if (loseOld) await open(0).del(KEY);
        else for (const i of [1, 2, 3]) await open(i).set(RESOURCE, 'another');
        return lost;
      });
      expect(reason).to.have.property('code', 'LOCK_LOST');
      await Promise.all([1, 2, 3].map((i) => open(i).del(RESOURCE)));
    }
  });

  it('why no old program may be left in step 2: the old and the new do not see each other', async function () {
    needs(this, ...LANGUAGES);
    const [old] = await startOld();
    expect(await old?.tell('try')).to.match(/^held/);
    const lease = await quorum().tryAcquire(RESOURCE);
    expect(lease?.status).to.equal('held');
    await lease?.release();
  });

  it('docs/MIGRATION.md has the very function', () => {
    const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
    const [, source = 'missing'] = read('../support/both.ts').split(/\/\/ docs (?:begin|end)\n/);
    expect(read('../../docs/MIGRATION.md')).to.contain(source.trim());
  });
});
