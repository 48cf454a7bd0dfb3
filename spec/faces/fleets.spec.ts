/**
 * Fleets that are half there and half here, as docs/MIGRATION.md has the steps: programs of a package and of quorate contend for
 * one lock, on three masters, and none meets another.
 */
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { Postgres, type Session } from '../fence/postgres.js';
import { needs, partOf } from '../support/parts.js';
import { PATIENT } from '../support/patience.js';
import { eventually, isReady } from '../support/real.js';
import { type AnySettings, clientOf, face, original, type Subject, type Version } from './subject.js';

const TURNS = 12;
const TTL_MS = 60_000;
/** How many turns each of several programs has if all have the same. */
const SHARE = 30;
/** Between two turns of a program. */
const REST_MS = 25;

const BRISK: AnySettings = { retryCount: 50, retryDelay: 10, retryJitter: 5 };

/** Runs the routine under the lock. */
type Program = (routine: () => Promise<void>) => Promise<void>;
type Opens = (clients: readonly Redis[]) => Program;

interface Universal {
  readonly IoredisAdapter: new (client: Redis) => object;
  createRedlock(config: object): { using(routine: () => Promise<void>): Promise<void> };
}

interface Semaphore {
  readonly RedlockMutex: new (
    clients: readonly Redis[],
    key: string,
    options: object,
  ) => { acquire(): Promise<void>; release(): Promise<void> };
}

const peer = createRequire(new URL('../../bench/package.json', import.meta.url));

/** Its calls fail after some attempts: then it begins again. */
async function insistently(attempt: () => Promise<void>): Promise<void> {
  let isDone = false;
  while (!isDone) {
    isDone = await attempt().then(
      () => true,
      () => false,
    );
  }
}

function redlock(subject: Subject, settings: AnySettings = BRISK): Opens {
  return (clients) => {
    const own = subject.make(clients, settings);
    return (routine) =>
      insistently(async () => {
        const lock = await own.acquire(['r'], TTL_MS);
        await routine();
        await own.release(lock);
      });
  };
}

const universal: Opens = (clients) => {
  const { createRedlock, IoredisAdapter } = peer('redlock-universal') as Universal;
  const adapters = clients.map((client) => new IoredisAdapter(client));
  const lock = createRedlock({ adapters, key: 'r', ttl: TTL_MS, retryAttempts: 50, retryDelay: 10 });
  return (routine) => insistently(() => lock.using(routine));
};

const semaphore: Opens = (clients) => {
  const { RedlockMutex } = peer('redis-semaphore') as Semaphore;
  return (routine) =>
    insistently(async () => {
      const mutex = new RedlockMutex(clients, 'r', { lockTimeout: TTL_MS, retryInterval: 10 });
      await mutex.acquire();
      await routine();
      await mutex.release();
    });
};

function quorate(names: readonly string[], keyPrefix = ''): Opens {
  return (clients) => {
    const own = new Redlock(clients, { ...PATIENT, keyPrefix });
    return (routine) => own.using(names, routine);
  };
}

/** Each step runs beside the one before it. */
const FLEETS: Readonly<Record<string, readonly Opens[]>> = {
  ...Object.fromEntries(
    (['4', '5'] as const).flatMap((version: Version) => [
      [`redlock ${version}, the face`, [redlock(original(version)), redlock(face(version)), quorate(['r'])]],
    ]),
  ),
  'redlock-universal': [universal, quorate(['r'])],
  'redis-semaphore, with another name at the end': [
    semaphore,
    quorate(['r'], 'mutex:'),
    quorate(['mutex:r', 'r']),
    quorate(['r']),
  ],
};

describe('fleets that are half there and half here', () => {
  let masters: Masters;
  const clients: Redis[] = [];
  before(async function () {
    needs(this, 'bench/node_modules');
    masters = await startMasters(3);
  });
  after(() => masters.stop());
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  async function open(opens: Opens): Promise<Program> {
    const own = masters.list.map(({ port }) => clientOf(port));
    clients.push(...own);
    await eventually(() => own.every(isReady));
    return opens(own);
  }

  /** Two programs of each of two steps, in turns on a count that only the lock protects. */
  async function contend(steps: readonly Opens[]): Promise<void> {
    const programs = await Promise.all([...steps, ...steps].map(open));
    let [count, inside, meetings] = [0, 0, 0];
    const routine = async (): Promise<void> => {
      const before = count;
      if (++inside > 1) meetings++;
      await pause(2);
      inside--;
      count = before + 1;
    };
    const run = async (program: Program): Promise<void> => {
      for (let turn = 0; turn < TURNS; turn++) {
        await program(routine);
        await pause(REST_MS);
      }
    };
    await Promise.all(programs.map(run));
    expect({ count, meetings }).to.deep.equal({ count: programs.length * TURNS, meetings: 0 });
  }

  /** Programs that want the lock all the time, until each could have had its share. @returns how many turns each has had */
  async function compete(opens: readonly Opens[]): Promise<readonly number[]> {
    const programs = await Promise.all(opens.map(open));
    const turns = programs.map(() => 0);
    const isOver = (): boolean => turns.reduce((sum, count) => sum + count, 0) >= programs.length * SHARE;
    await Promise.all(
      programs.map(async (program, i) => {
        while (!isOver()) {
          await program(async () => {
            turns[i] = (turns[i] ?? 0) + 1;
            await pause(20);
          });
          await pause(REST_MS + Math.random() * 2 * REST_MS);
        }
      }),
    );
    return turns;
  }

  describe('a lock that is always wanted: old programs get half of their share at least', () => {
    const theirs = redlock(original('5'), {}); // as its users have it: ten retries, 200 ms apart
    const fleets: Readonly<Record<string, Opens>> = {
      'beside quorate': quorate(['r']),
      'beside its face': redlock(face('5'), {}),
    };
    for (const [name, ours] of Object.entries(fleets)) {
      it(name, async () => {
        const [one = 0, other = 0, ...more] = await compete([theirs, theirs, ours, ours]);
        expect(one + other, `turns: ${[one, other, ...more].join()}`).to.be.at.least(SHARE);
      });
    }
  });

  describe('an advisory lock of PostgreSQL', () => {
    let server: Postgres | undefined;
    const sessions: Session[] = [];
    before(async function () {
      needs(this, 'PostgreSQL');
      server = new Postgres(partOf('PostgreSQL') ?? '');
      await server.start();
    });
    after(async () => {
      for (const session of sessions) await session.close();
      await server?.stop();
    });

    /** Under the advisory lock, by a session of its own, and under `inner`. */
    function advisory(inner: Opens): Opens {
      return (own) => {
        const [session, innerProgram] = [server?.connect(), inner(own)];
        if (session === undefined) throw new Error('it has been started');
        sessions.push(session);
        return async (routine) => {
          await session.run('SELECT pg_advisory_lock(42)');
          await innerProgram(routine);
          await session.run('SELECT pg_advisory_unlock(42)');
        };
      };
    }

    const steps = [advisory(() => (routine) => routine()), advisory(quorate(['r'])), quorate(['r'])];
    for (const [i, step] of steps.slice(1).entries())
      it(`step ${i + 1} beside the programs of the step before`, () => contend([steps[i] ?? step, step]));
  });

  for (const [name, steps] of Object.entries(FLEETS)) {
    for (const [i, step] of steps.slice(1).entries()) {
      it(`${name}: step ${i + 1} beside the programs of the step before`, () =>
        contend([steps[i] ?? step, step]));
    }
  }
});
