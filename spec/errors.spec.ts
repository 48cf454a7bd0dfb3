import { inspect } from 'node:util';
import { expect } from 'chai';
import { invalidArgument, type NodeOutcome, RedlockError, show } from '../lib/errors.js';
import type * as errors from '../lib/errors.js';

/** The same module once more, as a second copy in node_modules or in another format is. */
async function copy(): Promise<typeof errors> {
  const path = '../lib/errors.js?copy'; // not a literal: the compiler would look for such a file
  return (await import(path)) as typeof errors;
}

describe('RedlockError', () => {
  it('has a code, a text, and what the call was about', () => {
    const cause = new Error('mine');
    const tally: NodeOutcome[] = [{ node: 'm1', outcome: 'granted' }];
    const error = new RedlockError('NO_QUORUM', 'no quorum', {
      resources: ['a', 'b'],
      attempts: 3,
      elapsedMs: 120,
      tally,
      cause,
    });
    expect(error.name).to.equal('RedlockError');
    expect(error.message).to.equal('no quorum');
    expect(error.cause).to.equal(cause);
    const { code, resources, attempts, elapsedMs } = error;
    expect({ code, resources, attempts, elapsedMs, tally: error.tally }).to.deep.equal({
      code: 'NO_QUORUM',
      resources: ['a', 'b'],
      attempts: 3,
      elapsedMs: 120,
      tally,
    });
    expect(error.stack).to.contain('errors.spec');
  });

  it('without details: nothing asked, nothing answered, no cause', () => {
    const error = new RedlockError('CLOSED', 'closed');
    const { resources, attempts, elapsedMs, tally } = error;
    expect({ resources, attempts, elapsedMs, tally }).to.deep.equal({
      resources: [],
      attempts: 0,
      elapsedMs: 0,
      tally: [],
    });
    expect('cause' in error).to.equal(false);
  });

  it('keeps an undefined cause that was given: a signal may be aborted with any reason', () => {
    expect('cause' in new RedlockError('ABORTED', 'aborted', { cause: undefined })).to.equal(true);
  });

  it('is recognised, by `is` and by instanceof, in both directions between two copies of the module', async () => {
    const other = await copy();
    expect(other.RedlockError).to.not.equal(RedlockError);
    const [mine, theirs] = [new RedlockError('CLOSED', 'mine'), new other.RedlockError('CLOSED', 'theirs')];
    for (const one of [RedlockError, other.RedlockError]) {
      for (const error of [mine, theirs]) {
        expect(one.is(error)).to.equal(true);
        expect(error instanceof one).to.equal(true);
        expect(error instanceof Error).to.equal(true);
      }
    }
  });

  it('nothing else is taken for one', () => {
    const lookalike = Object.assign(new Error('x'), { name: 'RedlockError', code: 'CLOSED' });
    for (const value of [
      lookalike,
      new Error('x'),
      new TypeError('x'),
      {},
      [],
      null,
      undefined,
      'CLOSED',
      1,
    ]) {
      expect(RedlockError.is(value)).to.equal(false);
      expect(value instanceof RedlockError).to.equal(false);
    }
  });

  it('the brand shows neither in JSON nor in logs', () => {
    const error = new RedlockError('CLOSED', 'closed');
    expect(Object.keys(error)).to.not.include('Symbol(quorate.RedlockError)');
    expect(Object.getOwnPropertyDescriptor(error, Symbol.for('quorate.RedlockError'))?.enumerable).to.equal(
      false,
    );
    expect(inspect(error)).to.not.contain('Symbol(');
  });
});

describe('invalidArgument', () => {
  it('names the option, what it must be, and what was given', () => {
    const error = invalidArgument('ttlMs', -1, 'a whole number');
    expect([error.code, error.message]).to.deep.equal([
      'INVALID_ARGUMENT',
      'ttlMs must be a whole number; got -1',
    ]);
  });
});

describe('show', () => {
  const shown: [unknown, string][] = [
    ['', '""'],
    ['a "b"', '"a \\"b\\""'],
    ['x'.repeat(200), `"${'x'.repeat(80)}…"`],
    [NaN, 'NaN'],
    [-1, '-1'],
    [10n, '10'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [Symbol('s'), 'Symbol(s)'],
    [[], 'an empty array'],
    [[1, 2], 'an array of 2'],
    [{ a: 1, b: 2 }, 'an object (a, b)'],
    [{ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }, 'an object (a, b, c, d, e)'],
    [Object.create(null), 'an object ()'],
    [(): void => undefined, 'a function'],
    [function named(): void {}, 'a function named'],
  ];
  for (const [value, text] of shown) {
    it(text, () => {
      expect(show(value)).to.equal(text);
    });
  }

  it('runs nothing of the value: no toString, no toJSON, no getter', () => {
    const trap = (): never => {
      throw new Error('was run');
    };
    expect(
      show({
        toString: trap,
        toJSON: trap,
        get secret(): never {
          return trap();
        },
      }),
    ).to.contain('an object');
  });
});
