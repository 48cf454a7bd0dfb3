/**
 * Locks in a database other than 0: all that is sent is carried out there, or fails; nothing in another one. ioredis goes on
 * where a server refuses its SELECT, and is ready in database 0; node-redis does not connect then.
 */
import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { TimestampLock } from '../../lib/timestamp/lock.js';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import {
  type AnyClient,
  CLIENT_KINDS,
  eventually,
  isReady,
  NODE_REDIS_KINDS,
  type SpecClient,
} from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { DATABASE, DatabaseBench } from './support/database-bench.js';

/** What a spec does with a lease of any kind. */
interface Held {
  readonly status: string;
  extend(): Promise<void>;
  release(): Promise<void>;
}

/** A kind of lock, or a way to take one. */
interface Way {
  readonly name: string;
  readonly nodes: readonly number[];
  /** Takes `r` in one attempt; null where it is held. */
  take(clients: readonly AnyClient[]): Promise<Held | null>;
}

/** By Redlock, over one master unless it says otherwise. */
function byRedlock(
  name: string,
  options: RedlockOptions,
  {
    resources = ['r'],
    nodes = [1],
  }: { readonly resources?: readonly string[]; readonly nodes?: readonly number[] } = {},
): Way {
  const take: Way['take'] = async (clients) => {
    const redlock = new Redlock(clients, { ...PATIENT, ...options });
    if (options.restartGuardMs !== undefined) await redlock.bootstrap();
    return redlock.tryAcquire(resources);
  };
  return { name, nodes, take };
}

function byMembers(name: string, take: (redlock: Redlock) => Promise<Held | null>): Way {
  return { name, nodes: [1], take: (clients) => take(new Redlock(clients, PATIENT)) };
}

function byTimestamp(method: 'script' | 'commands'): Way {
  const take: Way['take'] = ([client]) => {
    if (client === undefined) throw new Error('it has one');
    return new TimestampLock(client, { ...PATIENT, unit: 'ms', method }).tryAcquire('r');
  };
  return { name: `timestamp, ${method}`, nodes: [1], take };
}

const WAYS: readonly Way[] = [
  byRedlock('as it comes', {}, { nodes: [1, 3] }),
  byRedlock('two resources', {}, { resources: ['q', 'r'] }),
  byRedlock('no fencing', { fencing: false }),
  byRedlock('no line', { fair: false }),
  byRedlock('plain', { fencing: false, fair: false }, { nodes: [1, 3] }),
  byRedlock('guarded', { restartGuardMs: LONG_GUARD_MS }),
  byMembers('to read', (redlock) => redlock.readWriteLock('r').read.tryAcquire()),
  byMembers('to write', (redlock) => redlock.readWriteLock('r').write.tryAcquire()),
  byMembers('a permit', (redlock) => redlock.semaphore('r', 1).tryAcquire()),
  byTimestamp('script'),
  byTimestamp('commands'),
];

/** What ioredis keeps on every client. */
interface Inside {
  readonly commandQueue: { readonly length: number };
  readonly stream: { destroy(): void };
}

/** Breaks the connections when the call is on them, before any answer: ioredis sends it again on the next ones. */
async function sentTwice<T>(clients: readonly SpecClient[], call: Promise<T>): Promise<T> {
  const insides = clients as unknown as readonly Inside[];
  while (insides.some(({ commandQueue }) => commandQueue.length === 0)) {
    await new Promise<void>((resolve) => process.nextTick(resolve)); // no answer comes in meanwhile
  }
  for (const { stream } of insides) stream.destroy();
  return call;
}

function isThere(held: Held | null): asserts held is Held {
  expect(held).to.not.equal(null);
}

for (const kind of CLIENT_KINDS) {
  for (const { name, nodes: sizes, take } of WAYS) {
    for (const nodes of sizes) {
      describe(`database ${DATABASE}: ${kind.name}, ${name}, N=${nodes}`, () => {
        let environment: DatabaseBench;
        beforeEach(async () => {
          environment = new DatabaseBench();
          await environment.open(nodes);
        });
        afterEach(() => environment.close());

        it('another user may not select it: MISCONFIGURED, which says so, and no second holder in database 0', async () => {
          const held = await take(await environment.connect(kind));
          await environment.allow('-select');
          const error = await rejection(take(await environment.connect(kind)));
          expect(error.code).to.equal('MISCONFIGURED');
          expect(error.message).to.contain(`database ${DATABASE}`).and.contain('+select');
          await environment.expectNothingElsewhere();
          await environment.allow('+select');
          await held?.release();
          await environment.expectReleased('q', 'r');
        });

        it('allowed after it was refused to the connection: all is done in it', async () => {
          const held = await take(await environment.connectAstray(kind));
          await environment.expectHeld('r');
          const other = await take(await environment.connect(kind));
          expect(other === null).to.equal(name !== 'to read');
          for (const lease of [held, other]) await lease?.extend();
          for (const lease of [held, other]) await lease?.release();
          await environment.expectReleased('q', 'r');
          await environment.expectNothingElsewhere();
        });

        it('a claim is sent again after the right was taken away: MISCONFIGURED, and nothing in database 0', async () => {
          const clients = await environment.connect(kind);
          await environment.allow('-select');
          const error = await rejection(sentTwice(clients, take(clients)));
          expect(error.code).to.equal('MISCONFIGURED');
          await environment.expectNothingElsewhere();
        });

        it('an extension is sent again after the right was taken away: it fails, and the lease stays held', async () => {
          const clients = await environment.connect(kind);
          const held = await take(clients);
          isThere(held);
          await environment.allow('-select');
          const error = await rejection(sentTwice(clients, held.extend()));
          expect([error.code, held.status]).to.deep.equal(['MISCONFIGURED', 'held']);
          await environment.expectNothingElsewhere();
          await environment.allow('+select');
          await held.release();
          await environment.expectReleased('q', 'r');
        });

        it('what is sent again may still select it: nothing in database 0', async () => {
          const clients = await environment.connect(kind);
          const held = await sentTwice(clients, take(clients)); // some are refused by what they left themselves
          await held?.release();
          await environment.expectNothingElsewhere();
        });
      });
    }
  }
}

/** It is the client that refuses: what asks it matters less. */
const SOME_WAYS = WAYS.filter(({ name }) => ['as it comes', 'to read', 'timestamp, script'].includes(name));

for (const kind of NODE_REDIS_KINDS) {
  for (const { name, nodes: sizes, take } of SOME_WAYS) {
    for (const nodes of sizes) {
      describe(`database ${DATABASE}: ${kind.name}, ${name}, N=${nodes}`, () => {
        let environment: DatabaseBench;
        beforeEach(async () => {
          environment = new DatabaseBench();
          await environment.open(nodes);
        });
        afterEach(() => environment.close());

        it('another user may not select it: MISCONFIGURED, which says so; allowed, all is done in it', async () => {
          const held = await take(await environment.connect(kind));
          await environment.allow('-select');
          const clients = environment.begin(kind);
          const error = await rejection(take(clients));
          expect(error.code).to.equal('MISCONFIGURED');
          expect(error.message).to.contain("'select' command");
          await environment.allow('+select');
          await eventually(() => clients.every(isReady)); // it connects again by itself
          const other = await take(clients);
          expect(other === null).to.equal(name !== 'to read');
          for (const lease of [held, other]) await lease?.extend();
          for (const lease of [held, other]) await lease?.release();
          await environment.expectReleased('q', 'r');
          await environment.expectNothingElsewhere();
        });

        it('the right is taken away, and the connections end: MISCONFIGURED, and nothing in database 0', async () => {
          const clients = await environment.connect(kind);
          const held = await take(clients);
          await environment.allow('-select');
          await environment.disconnect();
          await eventually(async () => (await rejection(take(clients))).code === 'MISCONFIGURED'); // NO_QUORUM until it tried
          await environment.allow('+select');
          await eventually(() => clients.every(isReady));
          await held?.release();
          await environment.expectReleased('q', 'r');
          await environment.expectNothingElsewhere();
        });
      });
    }
  }
}
