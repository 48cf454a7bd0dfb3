/**
 * The texts of all codes, as their callers get them: sentences that end with one stop, without a token, and whole in JSON.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { RedlockError, type RedlockErrorCode } from '../../lib/runtime/errors.js';
import { MemoryFence, RedisFence, SqlFence } from '../../lib/fence/index.js';
import { counterKey, markerKey } from '../../lib/protocol/keys.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { Redlock } from '../../lib/redlock.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { serverError } from '../support/fake-master.js';
import { TimestampBench } from '../support/timestamp-bench.js';

type Provocation = readonly [title: string, code: RedlockErrorCode, provoke: () => unknown];

const ONE = { waitMs: 0, nodeTimeoutMs: 50 } as const;
const NOW = 1_794_000_000_000_001;

/** Every master answers that to the next command. */
function answering(message: string, nodes = 3): ReturnType<typeof fakeCluster> {
  const bench = fakeCluster(nodes);
  for (const master of bench.masters) master.replies.push(serverError(message), serverError(message));
  return bench;
}

/** Lets the virtual time go on until the call has ended. */
async function inTime<T>({ time }: ReturnType<typeof fakeCluster>, call: Promise<T>): Promise<T> {
  const ended = call.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, turn(false)]))) await time.advance(50);
  return call;
}

async function held(): Promise<ReturnType<typeof fakeCluster>> {
  const bench = fakeCluster(3);
  await bench.other().redlock.acquire('r', { ttlMs: 60_000 });
  return bench;
}

function forgetting(): Promise<unknown> {
  const bench = fakeCluster(3, { restartGuardMs: 40_000 });
  return inTime(bench, bench.redlock.acquire('r', ONE));
}

async function lost(how: 'assertHeld' | 'extend' | 'refused' | 'signal' | 'adopt'): Promise<unknown> {
  const { redlock, masters, time } = fakeCluster(3);
  const lease = await redlock.acquire('r', { ttlMs: 3_000 });
  const { signal } = lease;
  if (how === 'refused' || how === 'adopt') {
    const handle = how === 'adopt' ? lease.giveAway() : undefined;
    for (const master of masters) master.set('r', 'another', 60_000);
    return handle === undefined ? lease.extend() : redlock.adopt(handle);
  }
  time.stall(3_000);
  if (how === 'assertHeld') lease.assertHeld();
  if (how === 'extend') return lease.extend();
  await time.advance(1);
  throw signal.reason;
}

async function released(call: 'assertHeld' | 'extend' | 'giveAway'): Promise<unknown> {
  const lease = await fakeCluster(3).redlock.acquire('r');
  await lease.release();
  return lease[call]();
}

async function ended(how: 'aborted' | 'closed' | 'after close' | 'adopt'): Promise<unknown> {
  const bench = await held();
  const controller = new AbortController();
  const { redlock } = bench;
  if (how === 'after close') await inTime(bench, redlock.close());
  const handle = { version: 1, resources: ['r'], token: 'client:secret', ttlMs: 30_000 } as const;
  const options = { signal: controller.signal };
  const call = how === 'adopt' ? redlock.adopt(handle, options) : redlock.acquire('r', options);
  if (how === 'closed') void redlock.close();
  else controller.abort('enough');
  return inTime(bench, call);
}

async function late(): Promise<unknown> {
  const bench = fakeCluster(3);
  for (const master of bench.masters) master.latencyMs = 90;
  return inTime(bench, bench.redlock.acquire('r', { ttlMs: 50, waitMs: 0, nodeTimeoutMs: 100 }));
}

async function disagreed(): Promise<unknown> {
  const bench = fakeCluster(3);
  await bench.other().redlock.semaphore('r', 3).acquire();
  return inTime(bench, bench.redlock.semaphore('r', 2).acquire(ONE));
}

async function otherKind(): Promise<unknown> {
  const bench = fakeCluster(3);
  await bench.other().redlock.semaphore('r', 3).acquire();
  return inTime(bench, bench.redlock.readWriteLock('r').read.acquire(ONE));
}

function withCounter(text: string): Promise<unknown> {
  const { redlock, masters } = fakeCluster(3);
  for (const master of masters) master.set(counterKey('r'), text);
  return redlock.acquire('r');
}

function withMarker(text: string): Promise<unknown> {
  const { redlock, masters } = fakeCluster(3);
  for (const master of masters) master.set(markerKey(''), text);
  return redlock.acquire('r');
}

function foreign(): Promise<unknown> {
  const { redlock, masters } = fakeCluster(3);
  for (const master of masters) master.setForeign('r');
  return redlock.acquire(['q', 'r', 's', 't', 'u']);
}

function silent(state: 'frozen' | 'opening' | 'lost'): Promise<unknown> {
  const bench = fakeCluster(3);
  for (const master of bench.masters) {
    if (state === 'frozen') master.manner = 'freeze';
    else master.become(state);
  }
  return inTime(bench, bench.redlock.acquire('r', ONE));
}

async function timestamps(how: 'held' | 'foreign' | 'lost' | 'released'): Promise<unknown> {
  const bench = new TimestampBench();
  const lock = bench.lock();
  if (how === 'released' || how === 'held') {
    const lease = await bench.lock().acquire('r');
    if (how === 'held') return lock.acquire('r', { waitMs: 0 });
    await lease.release();
    return lease.extend();
  }
  if (how === 'foreign') bench.server.set('r', 'a text', 'none');
  else bench.server.become('lost');
  return lock.acquire('r', { waitMs: 0 });
}

function stale(): void {
  const guard = new MemoryFence();
  guard.check('r', NOW + 1);
  guard.check('r', NOW);
}

const PROVOCATIONS: readonly Provocation[] = [
  ['held by another', 'LOCK_TAKEN', async () => (await held()).redlock.acquire('r', ONE)],
  ['held by another, by timestamp', 'LOCK_TAKEN', () => timestamps('held')],
  ['silent masters', 'NO_QUORUM', () => silent('frozen')],
  ['masters that are being dialled', 'NO_QUORUM', () => silent('opening')],
  ['lost masters', 'NO_QUORUM', () => silent('lost')],
  ['a server that is lost, by timestamp', 'NO_QUORUM', () => timestamps('lost')],
  ['an error of the server', 'NO_QUORUM', () => answering('BUSY a script runs.').redlock.acquire('r', ONE)],
  ['masters that may have forgotten', 'QUARANTINED', forgetting],
  [
    'no rights',
    'MISCONFIGURED',
    () => answering("NOPERM no permissions to run 'set'").redlock.acquire('r', ONE),
  ],
  [
    'a wrong password',
    'MISCONFIGURED',
    () => answering('WRONGPASS or user is disabled.').redlock.acquire('r'),
  ],
  ['a guard of another period', 'MISCONFIGURED', () => withMarker('1|run1|0|70000')],
  ['a guard that is none', 'MISCONFIGURED', () => withMarker('text')],
  ['data of another type', 'WRONG_KIND', foreign],
  ['a counter that no fence can follow', 'WRONG_KIND', () => withCounter('9000000000000000')],
  ['another number of permits', 'WRONG_KIND', disagreed],
  ['another kind of lock', 'WRONG_KIND', otherKind],
  ['a text, by timestamp', 'WRONG_KIND', () => timestamps('foreign')],
  [
    'a table that gives no fence',
    'WRONG_KIND',
    () => new SqlFence().accepts(() => [{ fence: 'x' }], 'r', NOW),
  ],
  ['too late for the ttl', 'VALIDITY_EXPIRED', late],
  ...(['assertHeld', 'extend', 'refused', 'signal', 'adopt'] as const).map((how): Provocation => [
    `a lease that is lost: ${how}`,
    'LOCK_LOST',
    () => lost(how),
  ]),
  ['a late holder', 'STALE_FENCE', stale],
  ...(['assertHeld', 'extend', 'giveAway'] as const).map((call): Provocation => [
    `${call} of what was released`,
    'NOT_HELD',
    () => released(call),
  ]),
  ['an extension of what was released, by timestamp', 'NOT_HELD', () => timestamps('released')],
  [
    'reenter of what is not held',
    'NOT_HELD',
    () => fakeCluster(3).redlock.mutex('r', { reentrant: true }).reenter({ owner: 'me' }),
  ],
  ['the signal of the caller', 'ABORTED', () => ended('aborted')],
  ['the signal of the caller, in adopt', 'ABORTED', () => ended('adopt')],
  ['close', 'CLOSED', () => ended('closed')],
  ['after close', 'CLOSED', () => ended('after close')],
  ['masters in memory after close', 'CLOSED', closedMasters],
  ['a ttl', 'INVALID_ARGUMENT', () => fakeCluster(3).redlock.acquire('r', { ttlMs: 0 })],
  ['a long text', 'INVALID_ARGUMENT', () => fakeCluster(3, { keyPrefix: 5 as unknown as string })],
  ['an unknown option', 'INVALID_ARGUMENT', () => fakeCluster(3, { retryCount: 5 } as object)],
  ['one that may be meant', 'INVALID_ARGUMENT', () => fakeCluster(3, { ttl: 5 } as object)],
  ['a number for options', 'INVALID_ARGUMENT', () => fakeCluster(3).redlock.acquire('r', 1_000 as never)],
  ['no clients', 'INVALID_ARGUMENT', () => new Redlock([])],
  ['URLs', 'INVALID_ARGUMENT', () => new Redlock(['redis://a'] as never)],
  ['no URLs', 'INVALID_ARGUMENT', () => Redlock.connect('redis://a' as never)],
  [
    'an upgrade',
    'INVALID_ARGUMENT',
    () =>
      fakeCluster(3)
        .redlock.readWriteLock('r')
        .write.acquire({ from: 1 } as object),
  ],
  ['permits', 'INVALID_ARGUMENT', () => fakeCluster(3).redlock.semaphore('r', 0)],
  ['no fence', 'INVALID_ARGUMENT', () => new MemoryFence().check('r', undefined)],
  ['no rows', 'INVALID_ARGUMENT', () => new SqlFence().accepts(() => 5, 'r', NOW)],
  ['no client of a guard', 'INVALID_ARGUMENT', () => new RedisFence({} as never)],
  ['masters in memory', 'INVALID_ARGUMENT', () => new MemoryMasters(0)],
  ['no guard to bootstrap', 'INVALID_ARGUMENT', () => fakeCluster(3).redlock.bootstrap()],
];

async function closedMasters(): Promise<unknown> {
  const masters = new MemoryMasters(3);
  await masters.close();
  return masters.redlock();
}

async function errorOf(provoke: () => unknown): Promise<unknown> {
  try {
    await provoke();
  } catch (error) {
    return error;
  }
  throw new Error('it should have failed');
}

describe('error texts: sentences, each with a stop at its end', () => {
  for (const [title, code, provoke] of PROVOCATIONS) {
    it(`${code}: ${title}`, async () => {
      const error = await errorOf(provoke);
      if (!RedlockError.is(error)) throw error;
      expect(error.code, error.message).to.equal(code);
      expect(error.message)
        .to.match(/[^.:;,?! ]\.$/)
        .and.not.match(/\.\.|\[object| {2}|\(\)\)/);
      expect(error.message).to.not.match(/[\w-]+:(?:secret|_{10})/);
      const json = JSON.parse(JSON.stringify(error)) as RedlockError;
      expect([json.name, json.code, json.message]).to.deep.equal(['RedlockError', code, error.message]);
      expect(json.tally.map(({ node }) => node)).to.deep.equal(error.tally.map(({ node }) => node));
      expect(JSON.stringify(error)).to.not.match(/secret/);
    });
  }

  it('none of the codes is missing here', () => {
    const codes: Record<RedlockErrorCode, true> = {
      ...{ LOCK_TAKEN: true, NO_QUORUM: true, QUARANTINED: true, MISCONFIGURED: true, WRONG_KIND: true },
      ...{ VALIDITY_EXPIRED: true, LOCK_LOST: true, STALE_FENCE: true, NOT_HELD: true, ABORTED: true },
      ...{ CLOSED: true, INVALID_ARGUMENT: true },
    };
    expect(new Set(PROVOCATIONS.map(([, code]) => code))).to.deep.equal(new Set(Object.keys(codes)));
  });
});
