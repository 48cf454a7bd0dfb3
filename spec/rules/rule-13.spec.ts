import { inspect } from 'node:util';
import { expect } from 'chai';
import { RedlockError } from '../../lib/runtime/errors.js';
import type { Environment } from '../../lib/redis/environment.js';
import { Redlock } from '../../lib/redlock.js';
import type { RedisClient } from '../../lib/redis/client.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

/** Anything at all, as a caller without types may pass it. */
type Loose = Record<
  'acquire' | 'tryAcquire' | 'using' | 'adopt' | 'inspect',
  (...args: unknown[]) => unknown
>;

const routine = (): string => 'ran';
const HANDLE = { version: 1, resources: ['r'], token: 'client:secret', ttlMs: 30_000 };
const ALWAYS_WRONG: [string, unknown, RegExp][] = [
  ['ttlMs', 0, /^ttlMs .*got 0\.$/],
  ['ttlMs', -5, /^ttlMs .*got -5\.$/],
  ['ttlMs', 2, /^ttlMs .*3 ms .*got 2\.$/],
  ['ttlMs', 10.5, /^ttlMs .*got 10.5\.$/],
  ['ttlMs', NaN, /^ttlMs .*got NaN\.$/],
  ['ttlMs', Infinity, /^ttlMs .*got Infinity\.$/],
  ['ttlMs', '1s', /^ttlMs .*got "1s"\.$/],
  ['nodeTimeoutMs', 0, /^nodeTimeoutMs .*got 0\.$/],
  ['nodeTimeoutMs', -1, /^nodeTimeoutMs .*got -1\.$/],
  ['renew', 'yes', /^renew .*got "yes"\.$/],
  ['maxHoldMs', 0, /^maxHoldMs .*got 0\.$/],
  ['signal', {}, /^signal .*got an object/],
  ['retries', 5, /^retries \(5\) is not an option here/],
];
const WRONG_WAITS: [string, unknown, RegExp][] = [
  ['waitMs', -1, /^waitMs .*got -1\.$/],
  ['waitMs', NaN, /^waitMs .*got NaN\.$/],
  ['waitMs', 'long', /^waitMs .*got "long"\.$/],
  ['retry', { minDelayMs: 0 }, /^retry\.minDelayMs .*got 0\.$/],
  ['retry', { minDelayMs: 9, maxDelayMs: 3 }, /^retry\.maxDelayMs .*got 3\.$/],
  ['retry', { delay: 3 }, /^delay \(3\) is not an option here/],
  ['retry', 5, /^retry .*got 5\.$/],
];
const WRONG_RESOURCES: [unknown, RegExp][] = [
  ['', /^resources .*got ""\.$/],
  [[], /^resources .*got an empty array\.$/],
  [['a', ''], /^resources .*got ""\.$/],
  [['a', 'a'], /^resources .*got "a"\.$/],
  [['a', 1], /^resources .*got 1\.$/],
  [undefined, /^resources .*got undefined\.$/],
  [null, /^resources .*got null\.$/],
  [7, /^resources .*got 7\.$/],
  // one key on the masters for both, and two names here
  ['\ud800', /^resources .*well-formed.*got "\\ud800"\.$/],
  ['x'.repeat(100) + '\udc00\ud800', /^resources .*well-formed/],
];
/** How a lock is made of one name. */
const LOCKS_BY_NAME = [
  (redlock: Redlock, name: string): object => redlock.mutex(name),
  (redlock: Redlock, name: string): object => redlock.mutex(name, { reentrant: true }),
  (redlock: Redlock, name: string): object => redlock.readWriteLock(name),
  (redlock: Redlock, name: string): object => redlock.semaphore(name, 2),
];

/** What no lease gave: beside a handle that is well otherwise. */
const WRONG_HANDLES: [object, RegExp][] = [
  ...[-1, 1.5, NaN, '7', null, 2 ** 52 + 1, 2 ** 53 - 1, Infinity].map((fence): [object, RegExp] => [
    { fence },
    /^handle\.fence must be a whole number from 0 to 4503599627370496; got /,
  ]),
  ...[5, 'reads', null, []].map((lock): [object, RegExp] => [{ lock }, /^handle\.lock/]),
  ...[0, -1, 1.5, 1_025, '3', undefined].map((permits): [object, RegExp] => [
    { lock: { permits, slots: '0' } },
    /^handle\.lock\.permits must be a whole number from 1 to 1024; got /,
  ]),
  ...['', '3', '0,3', '0,0', '1,0', '0,1,1', '00', '0,', '-1', '1.5', '1e0', ' 1', 'x', 1, undefined].map(
    (slots): [object, RegExp] => [
      { lock: { permits: 3, slots } },
      /^handle\.lock\.slots must be rising .*2 /,
    ],
  ),
  ...['read', 'write', { permits: 3, slots: '0' }].map((lock): [object, RegExp] => [
    { lock, resources: ['a', 'b'] },
    /^handle\.resources must be one name /,
  ]),
  [{ resources: ['a', '\ud800'] }, /^resources .*well-formed.*got "\\ud800"/],
  [{ token: 'client:secret\ud800' }, /^handle\.token must be .*well-formed.*got "a string"/],
];

type Call = (redlock: Loose) => unknown;
const calls: [string, Call, RegExp][] = [
  ...[...ALWAYS_WRONG, ...WRONG_WAITS].flatMap(([name, value, text]): [string, Call, RegExp][] => [
    [`acquire, ${name}: ${String(value)}`, (redlock) => redlock.acquire('r', { [name]: value }), text],
    [`using, ${name}: ${String(value)}`, (redlock) => redlock.using('r', { [name]: value }, routine), text],
  ]),
  ...ALWAYS_WRONG.map(([name, value, text]): [string, Call, RegExp] => [
    `tryAcquire, ${name}: ${String(value)}`,
    (redlock) => redlock.tryAcquire('r', { [name]: value }),
    text,
  ]),
  ...[...ALWAYS_WRONG.filter(([name]) => name !== 'ttlMs'), ...WRONG_WAITS].map(
    ([name, value, text]): [string, Call, RegExp] => [
      `adopt, ${name}: ${String(value)}`,
      (redlock) => redlock.adopt(HANDLE, { [name]: value }),
      text,
    ],
  ),
  ...WRONG_RESOURCES.flatMap(([given, text]): [string, Call, RegExp][] => [
    [`acquire(${JSON.stringify(given)})`, (redlock) => redlock.acquire(given), text],
    [`tryAcquire(${JSON.stringify(given)})`, (redlock) => redlock.tryAcquire(given), text],
    [`using(${JSON.stringify(given)})`, (redlock) => redlock.using(given, routine), text],
    [`inspect(${JSON.stringify(given)})`, (redlock) => redlock.inspect(given), text],
  ]),
  [
    'acquire of two, one of them with half a character',
    (redlock) => redlock.acquire(['a', 'b\udfff']),
    /^resources .*well-formed.*got "b\\udfff"/,
  ],
  ['inspect of two', (redlock) => redlock.inspect(['a', 'b']), /^resource .*got an array of 2\.$/],
  ['using without a routine', (redlock) => redlock.using('r', {}), /^routine .*got undefined\.$/],
  ['using with a routine that is none', (redlock) => redlock.using('r', {}, 5), /^routine .*got 5\.$/],
  ['using with nothing but a name', (redlock) => redlock.using('r'), /^routine .*got undefined\.$/],
  [
    'acquire with a number for options',
    (redlock) => redlock.acquire('r', 5),
    /^options .*got 5: use \{ ttlMs: 5 \}\.$/,
  ],
  ['acquire with null for options', (redlock) => redlock.acquire('r', null), /^options .*got null\.$/],
  [
    'tryAcquire with waitMs',
    (redlock) => redlock.tryAcquire('r', { waitMs: 5 }),
    /^waitMs \(5\) is not an option here/,
  ],
  ['adopt of nothing', (redlock) => redlock.adopt(undefined), /^handle .*got undefined\.$/],
  ['adopt of a text', (redlock) => redlock.adopt(JSON.stringify(HANDLE)), /^handle /],
  [
    'adopt of a later version',
    (redlock) => redlock.adopt({ ...HANDLE, version: 3 }),
    /^handle\.version .*got 3\.$/,
  ],
  ...WRONG_HANDLES.map(([wrong, text]): [string, Call, RegExp] => [
    `adopt with ${inspect(wrong)}`,
    (redlock) => redlock.adopt({ ...HANDLE, ...wrong }),
    text,
  ]),
  ['adopt without a token', (redlock) => redlock.adopt({ ...HANDLE, token: '' }), /^handle\.token /],
  ['adopt of a wrong ttl', (redlock) => redlock.adopt({ ...HANDLE, ttlMs: 0 }), /ttlMs .*got 0\.$/],
  [
    'adopt of a ttl without room for drift',
    (redlock) => redlock.adopt({ ...HANDLE, ttlMs: 2 }),
    /ttlMs .*got 2\.$/,
  ],
  [
    'adopt of no resources',
    (redlock) => redlock.adopt({ ...HANDLE, resources: [] }),
    /resources .*got an empty array\.$/,
  ],
  [
    'adopt of a text for resources',
    (redlock) => redlock.adopt({ ...HANDLE, resources: 'r' }),
    /resources .*got "r"\.$/,
  ],
  [
    'adopt of duplicates',
    (redlock) => redlock.adopt({ ...HANDLE, resources: ['r', 'r'] }),
    /resources .*got "r"\.$/,
  ],
];

describe('rule 13: bad input is refused before anything is sent, as a rejection', () => {
  for (const [title, call, text] of calls) {
    it(title, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const result = call(redlock as unknown as Loose);
      expect(result).to.be.instanceOf(Promise);
      const error = await rejection(result as Promise<unknown>);
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text).and.not.contain('secret');
      await settle();
      expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
      expect([time.pending, ...masters.map(({ listeners }) => listeners)]).to.deep.equal([0, 0, 0, 0]);
    });
  }

  for (const [ttlMs, text] of [
    [0, '0'],
    [-1, '-1'],
    [1.5, '1.5'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [3, '3'],
    ['5', '"5"'],
    [null, 'null'],
  ] as const) {
    it(`extend(${text}): refused, and the lease stays as it is`, async () => {
      const { redlock, masters } = fakeCluster(3);
      const lease = await redlock.acquire('r');
      const error = await rejection(lease.extend(ttlMs as number));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message)
        .to.match(/^ttlMs /)
        .and.contain(`got ${text}`);
      expect([lease.status, ...masters.map(({ sent }) => sent.length)]).to.deep.equal(['held', 1, 1, 1]);
    });
  }

  for (const make of LOCKS_BY_NAME) {
    it(`a lock of a name that is no well-formed Unicode: ${String(make)}`, () => {
      const { redlock } = fakeCluster(3);
      const { code, message } = thrown(() => make(redlock, 'a\udead'));
      expect([code, message]).to.deep.equal(['INVALID_ARGUMENT', message]);
      expect(message).to.match(/^resources .*well-formed.*got "a\\udead"/);
      expect(make(redlock, '😀 ok, ä, \u0000')).to.be.an('object');
    });
  }

  it('a refused routine never ran, and a refused using leaves no lock', async () => {
    const { redlock, masters } = fakeCluster(3);
    let runs = 0;
    await rejection(redlock.using('r', { ttlMs: 0 }, () => runs++));
    expect([runs, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });
});

describe('rule 13: what a constructor refuses, it throws', () => {
  const client = (host: string, port: number): RedisClient => ({
    status: 'ready',
    connect: () => Promise.reject(new Error('nothing is sent')),
    createBuiltinCommand: () => ({ string: () => Promise.reject(new Error('nothing is sent')) }),
    on: () => undefined,
    removeListener: () => undefined,
    listenerCount: () => 0,
    ...{ options: { host, port } },
  });
  const one = client('a', 1);
  const wrong: [string, unknown, unknown, RegExp][] = [
    ['no clients', [], {}, /^clients .*got an empty array\.$/],
    ['undefined', undefined, {}, /^clients .*got undefined\.$/],
    [
      'one client, not in an array',
      one,
      {},
      /^clients .*got an object \(.*\): wrap it in an array, new Redlock\(\[client\]\)\.$/,
    ],
    ['a URL', 'redis://a:1', {}, /^clients .*got "redis:\/\/a:1": Redlock\.connect takes URLs\.$/],
    [
      'URLs',
      ['redis://:hunter2@a:1'],
      {},
      /^clients\[0\] .*got "redis:\/\/…@a:1": Redlock\.connect takes URLs\.$/,
    ],
    ['a set of clients', new Set([one]), {}, /^clients .*got an object/],
    ['something that is no client', [one, {}], {}, /^clients\[1\] .*got an object/],
    ['the same client twice', [one, client('b', 1), one], {}, /^clients .*same client/],
    ['the same address twice', [one, client('b', 1), client('a', 1)], {}, /^clients .*got "a:1"\.$/],
    ['a wrong ttl', [one], { ttlMs: 0 }, /^ttlMs .*got 0\.$/],
    ['an unknown option', [one], { retryCount: 3 }, /^retryCount \(3\) is not an option here/],
    ['null for options', [one], null, /^options .*got null\.$/],
    [
      'half a character as prefix',
      [one],
      { keyPrefix: 'app\ud83d' },
      /^keyPrefix .*well-formed.*"app\\ud83d"/,
    ],
  ];
  for (const [title, clients, options, text] of wrong) {
    it(title, () => {
      const error = thrown(() => new Redlock(clients as RedisClient[], options as object));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text);
    });
  }

  it('an instance over no transports, or over two of one name', () => {
    const time = new FakeTime();
    const over = (transports: FakeMaster[]): Environment => {
      const random = { token: () => 'token', fraction: () => 0 };
      return { transports, clock: time, timers: time, random, disconnect: () => undefined };
    };
    expect(thrown(() => new Redlock(over([]))).message).to.match(/^clients .*got an empty array\.$/);
    const twice = [new FakeMaster('m', time), new FakeMaster('m', time)];
    expect(thrown(() => new Redlock(over(twice))).message).to.match(/^clients .*got "m"\.$/);
  });

  it('is recognised as an error of quorate, by instanceof and by brand', () => {
    const error = thrown(() => new Redlock([]));
    expect(error).to.be.instanceOf(RedlockError).and.instanceOf(Error);
    expect(error.name).to.equal('RedlockError');
  });
});
