/** Tokens that may not be set again: on a real server and in memory; their replies and keys must be the same. */
import { expect } from 'chai';
import { Batch } from '../../../lib/node/batch.js';
import { entryReplies } from '../../support/entries.js';
import { takenKey } from '../../../lib/protocol/keys.js';
import { MOST_TAKEN, TAKEN_AWAY } from '../../../lib/protocol/lua/stored.js';
import { extension } from '../../../lib/protocol/request.js';
import { type Kind, MUTEX, NO_MARKER, READ, type Scope, WRITE } from '../../../lib/protocol/scope.js';
import { taking } from '../../../lib/protocol/lone-requests.js';
import type { Command } from '../../../lib/redis/transport.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import { oneServer } from '../../support/server.js';

const HOUR_MS = 3_600_000;
const LIST = takenKey('');
const MARKER = 'quorate:guard';
const PERMITS: Kind = { name: 'semaphore', permits: 3, wanted: 2, slots: '0,2' };
const KINDS: readonly Kind[] = [MUTEX, READ, WRITE, PERMITS];
const DENIED = [TAKEN_AWAY, 0, 0];
const YES = [1, 0, 0];

function scopeOf(kind: Kind, keys: readonly string[], taken: string | undefined, isGuarded = false): Scope {
  const [marker, guardMs] = isGuarded ? [MARKER, 0] : [undefined, NO_MARKER];
  return { keys, isFenced: false, marker, guardMs, kind, taken };
}

describe('tokens that may not be set again', () => {
  const server = oneServer();
  let fake = new FakeMaster('fake', new FakeTime());
  beforeEach(() => (fake = new FakeMaster('fake', new FakeTime())));

  /** On both. @returns the script's reply */
  async function send({ name, args: [script = '', count = '', ...rest] }: Command): Promise<unknown> {
    const real = await server.redis.call(name, script, count, ...rest);
    expect(await fake.call({ name, args: [script, count, ...rest] })).to.deep.equal(real);
    expect((await server.redis.keys('*')).sort()).to.deep.equal(fake.names().sort());
    return real;
  }
  const extend = async (scope: Scope, token: string, mayCreate = true): Promise<unknown> => {
    const request = extension(scope, token, { ttlMs: HOUR_MS, mayCreate });
    return entryReplies([request], await send(request.whole()))[0];
  };
  const forbid = (...tokens: readonly string[]): Promise<unknown> =>
    send(taking(LIST, tokens, HOUR_MS).whole());

  for (const kind of KINDS) {
    for (const isGuarded of [false, true]) {
      describe(`${kind.name}${isGuarded ? ', beside a marker that is looked at' : ''}`, () => {
        const scope = scopeOf(kind, ['a'], LIST, isGuarded);

        it('a free key is set by an extension whose token is not listed', async () => {
          await forbid('other:token', 'ann:tok', 'nn:token', 'ann:token2');
          expect(await extend(scope, 'ann:token')).to.deep.equal(YES);
          expect(await server.redis.exists('a')).to.equal(1);
        });

        it(`{${DENIED.join(', ')}}: not by one whose token is; nothing is set`, async () => {
          await forbid('other:token', 'ann:token');
          expect(await extend(scope, 'ann:token')).to.deep.equal(DENIED);
          expect(await server.redis.keys('*')).to.deep.equal([LIST]);
        });

        it('one that holds the key is extended, listed or not', async () => {
          expect(await extend(scope, 'ann:token')).to.deep.equal(YES);
          await forbid('ann:token');
          expect(await extend(scope, 'ann:token')).to.deep.equal(YES);
        });

        it('where a free key is not set anyway, and where the list is not among the keys, nobody looks', async () => {
          await forbid('ann:token');
          expect(await extend(scope, 'ann:token', false)).to.deep.equal([0, -2, 0]);
          const without = scopeOf(kind, ['a'], undefined, isGuarded);
          expect(await extend(without, 'ann:token')).to.deep.equal(YES);
        });

        it('a list that holds something else forbids nothing', async () => {
          await server.redis.lpush(LIST, 'text');
          fake.setFields(LIST, { text: '' });
          expect(await extend(scope, 'ann:token')).to.deep.equal(YES);
        });

        it('in one call with others: each has its own reply', async () => {
          await forbid('ann:token');
          const batch = new Batch();
          for (const token of ['ben:token', 'ann:token', 'cat:token'])
            batch.add(
              extension(scopeOf(kind, [token.slice(0, 1)], LIST, isGuarded), token, {
                ttlMs: HOUR_MS,
                mayCreate: true,
              }),
            );
          const held = scopeOf(kind, ['z'], LIST, isGuarded);
          batch.add(extension(held, 'zoe:token', { ttlMs: HOUR_MS, mayCreate: false }));
          expect(await send(batch.command(true))).to.deep.equal([1, DENIED, 1, [0, -2, 0]]);
        });
      });
    }
  }

  it('an exclusive lock of several resources: one of them is gone, and none is extended', async () => {
    const scope = scopeOf(MUTEX, ['a', 'b'], LIST);
    expect(await extend(scope, 'ann:token')).to.deep.equal(YES);
    await server.redis.del('b');
    fake.delete('b');
    await forbid('ann:token');
    expect(await extend(scope, 'ann:token')).to.deep.equal(DENIED);
    expect(await server.redis.exists('a', 'b')).to.equal(1);
  });

  describe('the list', () => {
    /** @returns how many are listed, and for how long it lives */
    async function list(lifeMs: number, ...tokens: string[]): Promise<[unknown, number]> {
      const count = await send(taking(LIST, tokens, lifeMs).command);
      expect(fake.get(LIST)).to.equal(await server.redis.get(LIST));
      const left = await server.redis.pttl(LIST);
      expect(fake.pttl(LIST)).to.be.within(left, left + 60_000);
      return [count, Math.round(left / 100_000) * 100_000];
    }

    it('lives as long as the last of its tokens', async () => {
      expect(await list(300_000, 'a:1')).to.deep.equal([1, 300_000]);
      expect(await list(900_000, 'b:1', 'c:1')).to.deep.equal([3, 900_000]);
      expect(await list(100_000, 'd:1')).to.deep.equal([4, 900_000]);
    });

    it('has each once', async () => {
      await list(300_000, 'a:1', 'b:1');
      expect(await list(300_000, 'a:1')).to.deep.equal([2, 300_000]);
      expect(await server.redis.get(LIST)).to.equal('\nb:1\na:1\n');
    });

    it(`has ${MOST_TAKEN} at most: the latest`, async () => {
      await list(900_000, ...Array.from({ length: MOST_TAKEN - 1 }, (_, i) => `many:${i}`));
      expect(await list(900_000, 'x:1', 'y:1')).to.deep.equal([MOST_TAKEN, 900_000]);
      const text = await server.redis.get(LIST);
      const has = (token: string): boolean => text?.includes(`\n${token}\n`) === true;
      expect(['many:0', 'many:1', 'y:1'].map(has)).to.deep.equal([false, true, true]);
    });

    it('takes the place of something else', async () => {
      await server.redis.lpush(LIST, 'text');
      fake.setFields(LIST, { text: '' });
      expect(await list(300_000, 'a:1')).to.deep.equal([1, 300_000]);
    });
  });
});
