import { expect } from 'chai';
import { TIMESTAMP_DEFAULTS, TimestampLock } from '../../lib/timestamp/index.js';
import { rejection, thrown } from '../support/rejection.js';
import { TimestampBench } from '../support/timestamp-bench.js';

describe('timestamp lock: options', () => {
  it('without options: the ttl of a minute, ten seconds of waiting and the poll of the known algorithm', () => {
    const { options } = new TimestampBench().lock();
    expect(options).to.deep.equal({ ...TIMESTAMP_DEFAULTS });
    expect(options.ttlMs).to.equal(60_000);
    expect(options.waitMs).to.equal(10_000);
    expect(options.pollMs).to.equal(100);
    expect(Object.isFrozen(options)).to.equal(true);
  });

  it('margin and node timeout follow a short ttl', () => {
    const { options } = new TimestampBench().lock({ unit: 'ms', ttlMs: 500 });
    expect([options.clockMarginMs, options.nodeTimeoutMs]).to.deep.equal([50, 50]);
  });

  for (const name of Object.keys(TIMESTAMP_DEFAULTS)) {
    it(`${name}: undefined is the default`, () => {
      expect(new TimestampBench().lock({ [name]: undefined }).options).to.deep.equal(TIMESTAMP_DEFAULTS);
    });
  }

  it('undefined in a call is the lock’s own, and using renews', async () => {
    const bench = new TimestampBench();
    const lock = bench.lock({ ttlMs: 3_000, waitMs: 0 });
    const nothing = { waitMs: undefined, renew: undefined, signal: undefined };
    const long = lock.using('r', nothing, async ({ signal }) => {
      await new Promise<void>((resolve) => void bench.time.wait(10_000, resolve));
      return signal.aborted;
    });
    await bench.time.advance(9_999);
    expect((await rejection(lock.acquire('r', nothing))).attempts).to.equal(1);
    await bench.time.advance(1);
    expect(await long).to.equal(false);
  });

  const REFUSED: readonly (readonly [object, RegExp])[] = [
    [{ unit: 'minutes' }, /^unit .*"minutes"/],
    [{ unit: null }, /^unit .*null/],
    [{ method: 'lua' }, /^method .*"lua"/],
    [{ ttlMs: 0 }, /^ttlMs .*got 0/],
    [{ ttlMs: 1.5, unit: 'ms' }, /^ttlMs .*got 1.5/],
    [{ ttlMs: 1_500 }, /^ttlMs .*whole seconds.*got 1500/],
    [{ waitMs: -1 }, /^waitMs .*got -1/],
    [{ pollMs: 0 }, /^pollMs .*got 0/],
    [{ clockMarginMs: -1 }, /^clockMarginMs .*got -1/],
    [{ clockMarginMs: 60_000 }, /^clockMarginMs .*below ttlMs \(60000\); got 60000/],
    [{ nodeTimeoutMs: 0 }, /^nodeTimeoutMs .*got 0/],
    [{ renew: 1 }, /^renew .*got 1/],
    [{ ttl: 5 }, /^ttl \(5\) is not an option here; did you mean ttlMs\?/],
    [{ fencing: true }, /^fencing \(true\) is not an option here/],
    [[], /^options must be an object/],
  ];
  for (const [options, text] of REFUSED) {
    it(`refuses ${JSON.stringify(options)}, by name and value`, () => {
      const error = thrown(() => new TimestampBench().lock(options));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text);
    });
  }

  const CALLS: readonly (readonly [unknown, object, RegExp])[] = [
    ['', {}, /^resource .*""/],
    [['a', 'b'], {}, /^resource .*an array of 2/],
    ['quorate:x', {}, /^resource .*quorate:/],
    ['r', { ttlMs: 5 }, /^ttlMs \(5\) is not an option here/],
    ['r', { waitMs: NaN }, /^waitMs .*NaN/],
    ['r', { signal: 5 }, /^signal .*5/],
  ];
  for (const [resource, options, text] of CALLS) {
    it(`acquire(${JSON.stringify(resource)}, ${JSON.stringify(options)}) is refused, and nothing is sent`, async () => {
      const bench = new TimestampBench();
      const lock = bench.lock();
      const error = await rejection(lock.acquire(resource as string, options));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text);
      expect(bench.server.calls).to.equal(0);
    });
  }

  it('waitMs belongs to acquire, not to tryAcquire; using wants a routine; inspect a name', async () => {
    const bench = new TimestampBench();
    const lock = bench.lock();
    const wrong = { waitMs: 5 } as object;
    expect((await rejection(lock.tryAcquire('r', wrong))).message).to.match(
      /^waitMs \(5\) is not an option here/,
    );
    expect((await rejection(lock.using('r', {}, 5 as never))).message).to.match(/^routine .*5/);
    expect((await rejection(lock.inspect(''))).message).to.match(/^resource/);
    expect(bench.server.calls).to.equal(0);
  });

  it('a client that is none is refused', () => {
    expect(thrown(() => new TimestampLock('redis://:hunter2@a' as never)).message).to.equal(
      'client must be a client of ioredis, node-redis or Valkey GLIDE; got "redis://…@a": make a client of it, new Redis(url).',
    );
    const error = thrown(() => new TimestampLock({ host: 'x' } as never));
    expect(error.message).to.match(/^client must be a client of ioredis, node-redis or Valkey GLIDE/);
  });
});
