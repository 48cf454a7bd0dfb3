import { expect } from 'chai';
import { checkNames } from '../../lib/input/option-names.js';
import { CALL_NAMES, resolveOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import { TimestampBench } from '../support/timestamp-bench.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

const INSTANCE =
  'ttlMs, waitMs, nodeTimeoutMs, renew, maxHoldMs, fencing, fair, handOver, retry, localTurns, driftFactor, keyPrefix, restartGuardMs, maxWaiters, awaitRelease, label';

/** What an instance says to an option of that name. */
function said(name: string, value: unknown = 1): string {
  return thrown(() => resolveOptions({ [name]: value })).message;
}

describe('an unknown option names the nearest one', () => {
  const meant: [string, string][] = [
    ['ttl', 'ttlMs'],
    ['TTLMS', 'ttlMs'],
    ['ttl_ms', 'ttlMs'],
    ['ttlMS', 'ttlMs'],
    ['ttmMs', 'ttlMs'],
    ['wait', 'waitMs'],
    ['waitMsec', 'waitMs'],
    ['timeout', 'nodeTimeoutMs'],
    ['nodeTimeout', 'nodeTimeoutMs'],
    ['renewal', 'renew'],
    ['maxHold', 'maxHoldMs'],
    ['fence', 'fencing'],
    ['fencng', 'fencing'],
    ['fairness', 'fair'],
    ['retries', 'retry'],
    ['retryStrategy', 'retry'],
    ['prefix', 'keyPrefix'],
    ['driftFactors', 'driftFactor'],
    ['guardMs', 'restartGuardMs'],
    ['turns', 'localTurns'],
  ];
  for (const [name, option] of meant) {
    it(`${name}: ${option}`, () => {
      expect(said(name)).to.equal(
        `${name} (1) is not an option here; did you mean ${option}? Known: ${INSTANCE}.`,
      );
    });
  }

  for (const name of ['onLoss', 'colour', 'x', '', 'ms', '__proto__x', 'constructor', 'toString', '😀']) {
    it(`${JSON.stringify(name)}: none is near`, () => {
      expect(said(name)).to.equal(`${name} (1) is not an option here. Known: ${INSTANCE}.`);
    });
  }

  it('a name of any length is refused in no time', () => {
    expect(said('waitMs'.repeat(1e5))).to.contain('is not an option here');
  });

  for (const name of ['password', 'clientSecret', 'authToken', 'pass']) {
    it(`${name}: its value is not shown`, () => {
      expect(said(name, 'hunter2')).to.match(new RegExp(`^${name} \\(a string\\) is not`));
    });
  }
});

describe("redlock's options are refused, with their counterparts here", () => {
  const moved: [string, string][] = [
    ['retryCount', 'waitMs, how long to go on trying'],
    ['retryDelay', 'retry: { minDelayMs, maxDelayMs }, between which each wait is drawn'],
    ['retryJitter', 'retry: { minDelayMs, maxDelayMs }, between which each wait is drawn'],
    ['automaticExtensionThreshold', 'renew, which extends from a third of the ttl on'],
    ['duration', 'ttlMs'],
  ];
  for (const [name, now] of moved) {
    it(`${name}: ${now}`, async () => {
      const text = `${name} (1) is not an option here: use ${now}. Known: `;
      expect(said(name)).to.equal(`${text}${INSTANCE}.`);
      const { redlock } = fakeCluster(3);
      expect((await rejection(redlock.acquire('r', { [name]: 1 }))).message.startsWith(text)).to.equal(true);
    });
  }

  for (const name of ['acquireScript', 'extendScript', 'releaseScript', 'lockScript', 'unlockScript', 'db']) {
    it(`${name}: nothing`, () => {
      expect(said(name)).to.contain(
        ` is not an option here: quorate has no option for redlock's ${name}. Known: `,
      );
    });
  }

  it('driftFactor is set for an instance, also where redlock takes it in a call', async () => {
    const { redlock } = fakeCluster(3);
    expect((await rejection(redlock.acquire('r', { driftFactor: 0.02 } as object))).message).to.match(
      /^driftFactor \(0\.02\) is not an option here: set it for the whole instance\. Known: /,
    );
  });

  it('an option without a counterpart in one attempt is refused without a hint', () => {
    const names = CALL_NAMES.tryAcquire;
    expect(thrown(() => checkNames('options', { retryCount: 3 }, names)).message).to.equal(
      `retryCount (3) is not an option here. Known: ${names.join(', ')}.`,
    );
  });
});

describe("a number in place of options, as redlock's duration: use { ttlMs }", () => {
  const run = (): void => undefined;
  type Loose = Record<'acquire' | 'tryAcquire' | 'using', (...args: unknown[]) => Promise<unknown>>;
  const locks: [string, (redlock: Redlock) => unknown][] = [
    ['mutex', (redlock) => redlock.mutex('r')],
    ['re-entrant mutex', (redlock) => redlock.mutex('r', { reentrant: true })],
    ['read lock', (redlock) => redlock.readWriteLock('r').read],
    ['write lock', (redlock) => redlock.readWriteLock('r').write],
    ['semaphore', (redlock) => redlock.semaphore('r', 2)],
  ];
  const text = 'options must be an object; got 1000: use { ttlMs: 1000 }.';

  it('redlock itself', async () => {
    const redlock = fakeCluster(3).redlock as unknown as Loose;
    for (const call of [
      redlock.acquire(['a'], 1_000),
      redlock.tryAcquire(['a'], 1_000),
      redlock.using(['a'], 1_000, run),
    ])
      expect((await rejection(call)).message).to.equal(text);
  });

  for (const [title, make] of locks) {
    it(`a ${title}`, async () => {
      const { redlock, masters } = fakeCluster(3);
      const lock = make(redlock) as Loose;
      for (const call of [lock.acquire(1_000), lock.tryAcquire(1_000), lock.using(1_000, run)])
        expect((await rejection(call)).message).to.equal(text);
      expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    });
  }

  it('where there is no ttlMs, nothing is said of it; nor where there is no number', async () => {
    const lock = new TimestampBench().lock() as unknown as Loose;
    expect((await rejection(lock.acquire('r', 1_000))).message).to.equal(
      'options must be an object; got 1000.',
    );
    expect(thrown(() => resolveOptions('1s' as unknown as object)).message).to.equal(
      'options must be an object; got "1s".',
    );
  });

  it('a mutex takes no number, and reenter no unknown name: they were ignored', () => {
    const { redlock } = fakeCluster(3);
    expect(thrown(() => redlock.mutex('r', 1_000 as unknown as object)).message).to.match(
      /^options must be an object; got/,
    );
    expect(thrown(() => redlock.mutex('r', null as unknown as object)).message).to.match(
      /^options must be an/,
    );
    const lock = redlock.mutex('r', { reentrant: true });
    expect(thrown(() => lock.reenter({ ownr: 'me' } as object)).message).to.equal(
      'ownr ("me") is not an option here; did you mean owner? Known: owner.',
    );
  });
});
