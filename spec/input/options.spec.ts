import { expect } from 'chai';
import fc from 'fast-check';
import {
  CALL_NAMES,
  DEFAULTS,
  type LossOptions,
  optionsInForce,
  type RedlockOptions,
  resolveCall,
  resolveOnLoss,
  resolveOptions,
  resolveResources,
  resolveTtl,
} from '../../lib/input/options.js';
import { resolveClose } from '../../lib/input/lifecycle-options.js';
import { thrown } from '../support/rejection.js';

/** What no number option takes; the text that the error shows for each. */
const NO_NUMBERS: [unknown, string][] = [
  [NaN, 'NaN'],
  [-Infinity, '-Infinity'],
  [-1, '-1'],
  ['1000', '"1000"'],
  ['', '""'],
  [null, 'null'],
  [true, 'true'],
  [{}, 'an object ()'],
  [[], 'an empty array'],
  [[1000], 'an array of 1'],
  [1000n, '1000'],
  [() => 1000, 'a function'],
];
const NO_COUNTS: [unknown, string][] = [...NO_NUMBERS, [1.5, '1.5'], [2 ** 53, '9007199254740992']];

const REFUSED: Record<string, [unknown, string][]> = {
  ttlMs: [...NO_COUNTS, [Infinity, 'Infinity'], [0, '0'], [1, '1'], [3, '3']],
  waitMs: NO_COUNTS,
  nodeTimeoutMs: [...NO_COUNTS, [Infinity, 'Infinity'], [0, '0']],
  maxHoldMs: [...NO_COUNTS, [0, '0']],
  maxWaiters: NO_COUNTS,
  localTurns: [...NO_COUNTS, [Infinity, 'Infinity'], [64, '64']],
  driftFactor: [...NO_NUMBERS, [Infinity, 'Infinity'], [1, '1'], [1.5, '1.5']],
  keyPrefix: [
    ['app\ud83d', '"app\\ud83d"'],
    [5, '5'],
    [null, 'null'],
    [['a'], 'an array of 1'],
    [{}, 'an object ()'],
    [true, 'true'],
  ],
  renew: [
    [1, '1'],
    [0, '0'],
    ['yes', '"yes"'],
    [null, 'null'],
    [{}, 'an object ()'],
  ],
  retry: [
    [null, 'null'],
    [[], 'an empty array'],
    [5, '5'],
    ['fast', '"fast"'],
    [true, 'true'],
  ],
};
const ONLY_OF_INSTANCES = ['driftFactor', 'keyPrefix', 'maxWaiters'];

const REFUSED_RETRY: [object, string, string][] = [
  ...NO_COUNTS.map(([value, text]): [object, string, string] => [
    { minDelayMs: value },
    'retry.minDelayMs',
    text,
  ]),
  [{ minDelayMs: 0 }, 'retry.minDelayMs', '0'],
  [{ minDelayMs: Infinity }, 'retry.minDelayMs', 'Infinity'],
  ...NO_COUNTS.map(([value, text]): [object, string, string] => [
    { maxDelayMs: value },
    'retry.maxDelayMs',
    text,
  ]),
  [{ maxDelayMs: Infinity }, 'retry.maxDelayMs', 'Infinity'],
  [{ minDelayMs: 50, maxDelayMs: 49 }, 'retry.maxDelayMs', '49'],
  [{ delayMs: 50 }, 'delayMs', '50'],
];

describe('options of an instance: refused, by name and value', () => {
  for (const [name, values] of Object.entries(REFUSED)) {
    for (const [value, text] of values) {
      it(`${name}: ${text}`, () => {
        const error = thrown(() => resolveOptions({ [name]: value }));
        expect(error.code).to.equal('INVALID_ARGUMENT');
        expect(error.message)
          .to.match(new RegExp(`^${name} must be `))
          .and.contain(`got ${text}`);
      });
    }
  }
  for (const [retry, name, text] of REFUSED_RETRY) {
    it(`${name}: ${text}`, () => {
      const error = thrown(() => resolveOptions({ retry }));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message.startsWith(name)).to.equal(true);
      expect(error.message).to.contain(text);
    });
  }
  for (const given of [null, 5, 'fast', [], true, () => undefined]) {
    it(`${String(given)} instead of options`, () => {
      expect(thrown(() => resolveOptions(given as RedlockOptions)).message).to.match(
        /^options must be an object; got /,
      );
    });
  }
});

describe('options of a call: refused, by name and value', () => {
  const instance = resolveOptions();
  for (const [name, values] of Object.entries(REFUSED)) {
    if (ONLY_OF_INSTANCES.includes(name)) continue;
    for (const [value, text] of values) {
      it(`${name}: ${text}`, () => {
        const error = thrown(() => resolveCall({ [name]: value }, CALL_NAMES.acquire, instance));
        expect(error.message)
          .to.match(new RegExp(`^${name} must be `))
          .and.contain(`got ${text}`);
      });
    }
  }
  for (const signal of [null, 5, {}, 'abort', new AbortController(), { aborted: false }]) {
    it(`signal: ${String(signal)}`, () => {
      const error = thrown(() =>
        resolveCall({ signal: signal as AbortSignal }, CALL_NAMES.acquire, instance),
      );
      expect(error.message).to.match(/^signal must be an AbortSignal; got /);
    });
  }
  it('a ttl that leaves no room for the drift of the instance', () => {
    const wide = resolveOptions({ driftFactor: 0.5, ttlMs: 1_000 });
    expect(thrown(() => resolveCall({ ttlMs: 5 }, CALL_NAMES.acquire, wide)).message).to.contain(
      '5 ms that are taken off',
    );
    expect(resolveCall({ ttlMs: 6 }, CALL_NAMES.acquire, wide).ttlMs).to.equal(6);
  });
});

describe('options: onLoss', () => {
  for (const onLoss of [null, true, '', 'Throw', 'abort'] as unknown[]) {
    it(`${JSON.stringify(onLoss)} is refused, by name and value`, () => {
      const error = thrown(() => resolveOnLoss({ onLoss } as LossOptions)); // what untyped callers may give
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.contain('onLoss').and.contain(String(onLoss));
    });
  }
});

describe('options: names that are none', () => {
  const instance = resolveOptions();
  const unknown: [keyof typeof CALL_NAMES, string][] = [
    ['acquire', 'ttl'],
    ['acquire', 'driftFactor'],
    ['acquire', 'keyPrefix'],
    ['acquire', 'retryCount'],
    ['acquire', 'fencing'],
    ['acquire', 'onLoss'],
    ['using', 'ttl'],
    ['tryAcquire', 'waitMs'],
    ['tryAcquire', 'retry'],
    ['adopt', 'ttlMs'],
  ];
  for (const [call, name] of unknown) {
    it(`${name} in ${call}: refused, by name and value`, () => {
      const error = thrown(() => resolveCall({ [name]: 12_345 }, CALL_NAMES[call], instance));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.contain(name).and.contain('12345');
    });
  }
  for (const name of [
    'signal',
    'driftFactors',
    'TTLMS',
    'retryDelay',
    '__proto__x',
    'fair',
    'restartGuardMs',
  ]) {
    it(`${name} in an instance's options`, () => {
      expect(thrown(() => resolveOptions({ [name]: 1 })).message).to.contain(name);
    });
  }
  it('what may have been meant is said', () => {
    expect(thrown(() => resolveOptions({ ttl: 5 } as RedlockOptions)).message).to.contain(
      'did you mean ttlMs?',
    );
    expect(thrown(() => resolveOptions({ wait: 5 } as RedlockOptions)).message).to.contain(
      'did you mean waitMs?',
    );
  });
});

describe('options: what is taken', () => {
  it('nothing, and undefined: the defaults', () => {
    const { by: _, minDelayMs, maxDelayMs, ...rest } = resolveOptions();
    const { drainMs, onLoss, ...ofInstances } = DEFAULTS;
    const undefaulted = { nodeTimeoutMs: 0, label: true, note: '' };
    expect({ ...rest, minDelayMs, maxDelayMs }).to.deep.equal({ ...ofInstances, ...undefaulted });
    expect(resolveClose({})).to.deep.equal({ drainMs, releaseHeld: false });
    expect([resolveOnLoss({}), resolveOnLoss({ onLoss: undefined })]).to.deep.equal([onLoss, onLoss]);
    const nothing: Record<string, undefined> = {};
    for (const name of Object.keys(REFUSED)) nothing[name] = undefined;
    expect(resolveOptions(nothing)).to.deep.equal(resolveOptions());
  });

  for (const name of [...CALL_NAMES.acquire]) {
    it(`${name}: undefined in a call: the instance's`, () => {
      const terms = { ttlMs: 5_000, waitMs: 7, nodeTimeoutMs: 70, renew: true, maxHoldMs: 9, fencing: false };
      const instance = resolveOptions({
        ...terms,
        fair: false,
        localTurns: 5,
        retry: { minDelayMs: 3, maxDelayMs: 4 },
      });
      const call = resolveCall({ [name]: undefined }, CALL_NAMES.acquire, instance);
      expect(instance).to.include(call);
    });
  }

  it('undefined within retry: the default as well', () => {
    const retry = { minDelayMs: undefined, maxDelayMs: 500 };
    expect(resolveOptions({ retry })).to.include({ minDelayMs: DEFAULTS.minDelayMs, maxDelayMs: 500 });
  });

  const taken: RedlockOptions[] = [
    { ttlMs: 4 },
    { ttlMs: Number.MAX_SAFE_INTEGER },
    { waitMs: 0 },
    { waitMs: Infinity },
    { nodeTimeoutMs: 1 },
    { maxHoldMs: 1 },
    { maxHoldMs: Infinity },
    { driftFactor: 0, ttlMs: 3 },
    { driftFactor: 0.99 },
    { keyPrefix: '' },
    { keyPrefix: '{app}:' },
    { renew: true },
    { localTurns: 0 },
    { localTurns: 63 },
  ];
  for (const options of taken) {
    it(JSON.stringify(options).replace('null', 'Infinity'), () => {
      expect(resolveOptions(options)).to.include(options);
    });
  }

  it('the result is frozen', () => {
    expect(Object.isFrozen(resolveOptions({ ttlMs: 5_000 }))).to.equal(true);
  });

  it("a call's options go before the instance's, these before the defaults", () => {
    const instance = resolveOptions({ ttlMs: 5_000, waitMs: 7, retry: { minDelayMs: 20 } });
    const call = resolveCall({ waitMs: 0, retry: { maxDelayMs: 60 } }, CALL_NAMES.acquire, instance);
    expect(call).to.include({ ttlMs: 5_000, waitMs: 0, minDelayMs: 20, maxDelayMs: 60, renew: false });
  });

  it('an AbortSignal of another realm, by its shape', () => {
    const signal = { aborted: false, addEventListener: () => undefined } as unknown as AbortSignal;
    expect(() => resolveCall({ signal }, CALL_NAMES.acquire, resolveOptions())).to.not.throw();
  });
});

describe('options: node timeout and ttl of an extension', () => {
  const timeouts: [number, number, number][] = [
    [30_000, 0, 980],
    [3_920, 0, 980],
    [3_919, 0, 979],
    [500, 0, 125],
    [4, 0, 1],
    [3, 0, 1],
    [500, 3_000, 3_000],
    [30_000, 1, 1],
  ];
  for (const [ttlMs, asked, timeoutMs] of timeouts) {
    it(`ttl ${ttlMs}, asked for ${asked || 'none'}: ${timeoutMs} ms at most`, () => {
      const terms = resolveOptions({ ttlMs, driftFactor: 0, ...(asked > 0 ? { nodeTimeoutMs: asked } : {}) });
      expect(optionsInForce(terms, false).nodeTimeoutMs).to.equal(timeoutMs);
    });
  }
  it("the lease's own ttl unless another is given; a wrong one is refused", () => {
    expect(resolveTtl(undefined, 5_000, { driftFactor: 0.01, restartGuardMs: 0 })).to.equal(5_000);
    expect(resolveTtl(70, 5_000, { driftFactor: 0.01, restartGuardMs: 0 })).to.equal(70);
    for (const [value] of REFUSED['ttlMs'] ?? []) {
      expect(
        thrown(() => resolveTtl(value as number, 5_000, { driftFactor: 0.01, restartGuardMs: 0 })).message,
      ).to.match(/^ttlMs must be /);
    }
  });
});

describe('options: resources', () => {
  const refused: [unknown, string][] = [
    ['', '""'],
    [[], 'an empty array'],
    [['a', ''], '""'],
    [['a', 'b', 'a'], '"a"'],
    [['a', 5], '5'],
    [['a', null], 'null'],
    [[['a']], 'an array of 1'],
    [5, '5'],
    [null, 'null'],
    [undefined, 'undefined'],
    [{ 0: 'a', length: 1 }, 'an object (0, length)'],
    [new Set(['a']), 'an object ()'],
    ['\ud800', '"\\ud800"'],
    ['\udc00\ud800', '"\\udc00\\ud800"'],
    [['a', '\udfff'], '"\\udfff"'],
  ];
  for (const [given, text] of refused) {
    it(`${text} is refused`, () => {
      const error = thrown(() => resolveResources(given as string));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message)
        .to.match(/^resources must be /)
        .and.contain(`got ${text}`);
    });
  }
  it('are sorted by code unit, without touching what was given', () => {
    const given = Object.freeze(['b', 'a', 'B', 'ä', '10', '9']);
    expect(resolveResources(given)).to.deep.equal(['10', '9', 'B', 'a', 'b', 'ä']);
  });
  it('what is taken are different keys on the masters, too', () => {
    const names = fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(names, (given) => {
        fc.pre(!given.includes(''));
        const taken = resolveResources(given);
        expect(new Set(taken.map((name) => Buffer.from(name).toString('hex'))).size).to.equal(given.length);
      }),
    );
    for (const name of ['😀', 'ä', '\u0000', '\ufffd']) expect(resolveResources(name)).to.deep.equal([name]);
  });
  it('a long name is cut in the text', () => {
    const name = 'x'.repeat(10_000);
    expect(thrown(() => resolveResources([name, name])).message.length).to.be.below(200);
  });
});
