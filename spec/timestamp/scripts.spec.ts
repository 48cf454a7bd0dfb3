/** Each documented reply of the scripts of timestamp locks on a real server, and the same in memory. */
import { expect } from 'chai';
import {
  type Script,
  TIMESTAMP_CLAIM,
  TIMESTAMP_EXTEND,
  TIMESTAMP_RELEASE,
  TIMESTAMP_SCRIPTS,
} from '../../lib/protocol/lua/scripts.js';
import { execute } from '../../lib/testing/master/execution.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { Draw } from '../support/draw.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';
import { oneServer, putData, type Type } from '../support/server.js';

const OWN = 1_790_000_061;
const KEY = 'lock';
const PLAIN = ['setnx', 'get', 'getset', 'del'] as const;

describe('timestamp scripts', () => {
  const server = oneServer();
  const claim = (below: number, own: number | string = OWN, unit = 's'): Promise<unknown> =>
    server.run(TIMESTAMP_CLAIM, [KEY], own, below, 600_000, unit);

  for (const { name, source } of TIMESTAMP_SCRIPTS) {
    it(`${name}: keys are declared and used in place`, () => {
      expect(source).to.not.match(/local\s+\w+\s*=\s*KEYS/);
      expect(source.match(/'(?:GET|SET|SETNX|GETSET|DEL|PEXPIRE)', (?!KEYS\[1\])/g)).to.equal(null);
    });
  }

  it('claim 0: a free key, with the life that was given', async () => {
    expect(await claim(1_790_000_000)).to.deep.equal([0]);
    expect(await server.redis.get(KEY)).to.equal(String(OWN));
    expect(await server.redis.pttl(KEY)).to.be.within(300_000, 600_000);
  });

  it('claim 0: an instant that has run out, by whole units, and the life begins anew', async () => {
    await server.redis.set(KEY, '1789999999');
    expect(await claim(1_790_000_000)).to.deep.equal([0]);
    expect(await server.redis.get(KEY)).to.equal(String(OWN));
    expect(await server.redis.pttl(KEY)).to.be.within(300_000, 600_000);
  });

  for (const text of ['1790000000', '1790000000.5', '1790000055']) {
    it(`claim 2: ${text} is not over, and nothing changes`, async () => {
      await server.redis.set(KEY, text);
      expect(await claim(1_790_000_000)).to.deep.equal([2, text]);
      expect([await server.redis.get(KEY), await server.redis.pttl(KEY)]).to.deep.equal([text, -1]);
    });
  }

  for (const [text, unit] of [
    ['a token', 's'],
    ['', 's'],
    ['-5', 's'],
    ['1e3', 's'],
    ['1790000000000', 's'],
    ['1790000000', 'ms'],
    ['100000000000000', 'ms'],
  ] as const) {
    it(`claim 4: ${JSON.stringify(text)} is no instant with unit ${unit}, and nothing changes`, async () => {
      await server.redis.set(KEY, text);
      expect(await claim(9_000_000_000_000, OWN, unit)).to.deep.equal([4]);
      expect(await server.redis.get(KEY)).to.equal(text);
    });
  }

  for (const type of ['list', 'hash', 'set', 'zset', 'stream'] satisfies Type[]) {
    it(`a ${type}: claim 4, release 0, extend 0, and it stays`, async () => {
      await putData(server.redis, KEY, type);
      expect(await claim(1_790_000_000)).to.deep.equal([4]);
      expect(await server.run(TIMESTAMP_RELEASE, [KEY], 0, 9e12)).to.equal(0);
      expect(await server.run(TIMESTAMP_EXTEND, [KEY], 0, 9e12, 9e12, 1_000)).to.equal(0);
      expect(await server.redis.type(KEY)).to.equal(type);
    });
  }

  it('claim: milliseconds keep every digit', async () => {
    await server.redis.set(KEY, '1789999999999');
    expect(await claim(1_790_000_000_000, '1790000060001', 'ms')).to.deep.equal([0]);
    expect(await server.redis.get(KEY)).to.equal('1790000060001');
  });

  for (const [text, reply] of [
    ['1790000060', 1],
    ['1790000062', 1],
    ['1790000059', 0],
    ['1790000063', 0],
    ['else', 0],
  ] as const) {
    it(`release: from 1790000060 up to 1790000062 is the caller's own; ${text} → ${reply}`, async () => {
      await server.redis.set(KEY, text);
      expect(await server.run(TIMESTAMP_RELEASE, [KEY], 1_790_000_060, 1_790_000_062)).to.equal(reply);
      expect(await server.redis.exists(KEY)).to.equal(1 - reply);
    });

    it(`extend: the same; ${text} → ${reply}`, async () => {
      await server.redis.set(KEY, text, 'EX', 1_000);
      const extend = server.run(
        TIMESTAMP_EXTEND,
        [KEY],
        1_790_000_060,
        1_790_000_062,
        1_790_000_099,
        300_000,
      );
      expect(await extend).to.equal(reply);
      expect(await server.redis.get(KEY)).to.equal(reply === 1 ? '1790000099' : text);
      expect((await server.redis.pttl(KEY)) > 300_000).to.equal(reply === 0);
    });
  }

  it('release and extend of a key that is gone → 0, and none is made', async () => {
    expect(await server.run(TIMESTAMP_RELEASE, [KEY], 0, 9e12)).to.equal(0);
    expect(await server.run(TIMESTAMP_EXTEND, [KEY], 0, 9e12, 9e12, 1_000)).to.equal(0);
    expect(await server.redis.exists(KEY)).to.equal(0);
  });

  it('extend never shortens, and leaves the life of the key as it is', async () => {
    await server.redis.set(KEY, String(OWN), 'EX', 1_000);
    expect(await server.run(TIMESTAMP_EXTEND, [KEY], OWN, OWN, OWN - 5, 5_000)).to.equal(1);
    expect(await server.redis.get(KEY)).to.equal(String(OWN));
    expect(await server.redis.pttl(KEY)).to.be.greaterThan(900_000);
  });

  for (let seed = 1; seed <= 20; seed++) {
    it(`seed ${seed}: 80 random commands do the same in memory`, async () => {
      const draw = new Draw(seed * 104_729);
      const fake = new FakeMaster('fake', new FakeTime());
      const cache = new Set<string>();
      const texts = [
        '1790000000',
        '1790000061',
        '1790000062.5',
        '1790000000000',
        'text',
        '',
        '0',
        '5.',
        '-1',
      ];
      const numbers = ['0', '1789999999', '1790000000', '1790000061', '1790000062', '1790000099'];
      for (let step = 0; step < 80; step++) {
        if (draw.below(10) === 0) await server.redis.del(KEY);
        if (draw.below(10) === 0) await putData(server.redis, KEY, 'list').catch(() => undefined);
        if (draw.below(10) < 3) await server.redis.set(KEY, draw.pick(texts));
        const isList = (await server.redis.type(KEY)) === 'list';
        fake.forget();
        if (isList) fake.setForeign(KEY);
        const before = isList ? null : await server.redis.get(KEY);
        const ms = await server.redis.pttl(KEY);
        if (before !== null) fake.set(KEY, before, ms === -1 ? 'none' : ms);
        const script = draw.below(10) < 7 ? draw.pick(TIMESTAMP_SCRIPTS) : undefined;
        const args =
          script === undefined
            ? [KEY, draw.pick(texts)]
            : [script.source, '1', KEY, ...argsOf(script, draw, numbers)];
        const name = script === undefined ? draw.pick(PLAIN) : 'eval';
        const given = name === 'get' || name === 'del' ? [KEY] : args;
        const real = await server.redis.call(name, ...given).catch((error: Error) => error.message);
        let found: unknown;
        try {
          found = execute(fake, cache, { name, args: given });
        } catch (error) {
          found = (error as Error).message;
        }
        expect(found, `${name} ${given.slice(1).join(' ')} on ${before}`).to.deep.equal(real);
        const after =
          (await server.redis.type(KEY)) === 'list' ? '(something else)' : await server.redis.get(KEY);
        expect(fake.value(KEY) ?? null).to.equal(after);
        expect(fake.ttlMs(KEY) === Infinity).to.equal((await server.redis.pttl(KEY)) === -1);
      }
    });
  }

  it('masters in memory know them by source', () => {
    for (const script of TIMESTAMP_SCRIPTS) {
      expect(scriptOf({ name: 'eval', args: [script.source, '0'] })).to.equal(script);
    }
  });
});

function argsOf(script: Script, draw: Draw, numbers: readonly string[]): string[] {
  if (script === TIMESTAMP_CLAIM) {
    return [draw.pick(numbers), draw.pick(numbers), '5000000', draw.pick(['s', 'ms'])];
  }
  const range = [draw.pick(numbers), draw.pick(numbers)];
  return script === TIMESTAMP_EXTEND ? [...range, draw.pick(numbers), '5000000'] : range;
}
