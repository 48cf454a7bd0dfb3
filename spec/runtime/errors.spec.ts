import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  invalidArgument,
  type NodeOutcome,
  RedlockError,
  show,
  withoutFrames,
} from '../../lib/runtime/errors.js';
import type * as errors from '../../lib/runtime/errors.js';

/** The same module once more, as a second copy in node_modules or in another format is. */
async function copy(): Promise<typeof errors> {
  const path = '../../lib/runtime/errors.js?copy'; // not a literal: the compiler would look for such a file
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
    expect(error.message).to.equal('no quorum.');
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

  it('each text ends with one full stop, whatever its source', () => {
    const texts = ['closed', 'closed.', 'm1 unknown (WRONGPASS wrong.)', 'got "?"', 'really?', 'no!'];
    expect(texts.map((text) => new RedlockError('CLOSED', text).message)).to.deep.equal([
      ...['closed.', 'closed.', 'm1 unknown (WRONGPASS wrong.).', 'got "?".', 'really?', 'no!'],
    ]);
    expect(new RedlockError('CLOSED', 'closed').stack).to.match(/^(?:RedlockError|Error): closed\.\n/);
  });

  it('in JSON: its message and all of its fields, the messages of causes, and nothing that a client hung on them', async () => {
    const { RedlockError: Other } = await copy();
    const command = { name: 'evalsha', args: ['client:secret'] };
    const denied = Object.assign(new Error('NOPERM no', { cause: new TypeError('inner') }), {
      name: 'ReplyError',
      command,
    });
    const cause = new Other('NO_QUORUM', 'of the other copy', { cause: denied });
    for (const one of [RedlockError, Other]) {
      const error = new one('LOCK_LOST', 'lost', {
        resources: ['a'],
        attempts: 1,
        elapsedMs: 7,
        tally: [
          { node: 'm1', outcome: 'granted' },
          { node: 'm2', outcome: 'refused', remainingMs: 5 },
          { node: 'm3', outcome: 'unknown', cause: denied },
        ],
        cause,
      });
      const told = {
        name: 'ReplyError',
        message: 'NOPERM no',
        cause: { name: 'TypeError', message: 'inner' },
      };
      expect(JSON.parse(JSON.stringify({ error }))).to.deep.equal({
        error: {
          name: 'RedlockError',
          code: 'LOCK_LOST',
          message: 'lost.',
          resources: ['a'],
          attempts: 1,
          elapsedMs: 7,
          tally: [
            { node: 'm1', outcome: 'granted' },
            { node: 'm2', outcome: 'refused', remainingMs: 5 },
            { node: 'm3', outcome: 'unknown', cause: told },
          ],
          cause: { name: 'RedlockError', code: 'NO_QUORUM', message: 'of the other copy.', cause: told },
        },
      });
    }
    const quarantined = new RedlockError('QUARANTINED', 'wait', { remainingMs: 5 });
    expect(quarantined.toJSON()).to.include({ message: 'wait.', remainingMs: 5 });
    expect(new RedlockError('CLOSED', 'closed').toJSON()).to.not.have.any.keys('cause', 'remainingMs');
  });

  it('in JSON, any reason of a caller: texts as they are, others in short, and none that JSON cannot take', () => {
    const circle = new Error('circle');
    circle.cause = circle;
    const odd: object = { self: 1n };
    const shown: [unknown, unknown][] = [
      ['enough', 'enough'],
      [5n, '5'],
      [null, 'null'],
      [odd, 'an object (self)'],
      [Object.assign(new Error('gone'), { code: 'ECONNRESET', errno: -104 }), { code: 'ECONNRESET' }],
      [
        runInNewContext('new TypeError("of another realm")'),
        { name: 'TypeError', message: 'of another realm' },
      ],
      [
        { message: 'no name', name: 5, code: 7 },
        { name: 'Error', message: 'no name' },
      ],
      [AbortSignal.abort().reason, { name: 'AbortError' }],
      [circle, { message: 'circle' }],
    ];
    for (const [cause, wanted] of shown) {
      const { cause: told } = JSON.parse(JSON.stringify(new RedlockError('ABORTED', 'x', { cause }))) as {
        cause: unknown;
      };
      if (typeof wanted === 'string') expect(told).to.equal(wanted);
      else expect(told).to.include(wanted);
    }
  });

  it('without frames: made by a timer or a signal; errors that are made later have theirs', () => {
    const bare = withoutFrames(() => new RedlockError('ABORTED', 'aborted'));
    expect(bare.stack).to.equal('RedlockError: aborted.');
    expect(new RedlockError('ABORTED', 'aborted').stack).to.contain('errors.spec');
    const failing = (): RedlockError => {
      throw new TypeError('no error');
    };
    expect(() => withoutFrames(failing)).to.throw('no error');
    expect(new Error('x').stack).to.contain('errors.spec');
  });

  it('the brand shows neither in JSON nor in logs', () => {
    const error = new RedlockError('CLOSED', 'closed');
    expect(Object.keys(error)).to.not.include('Symbol(quorate.RedlockError)');
    expect(Object.getOwnPropertySymbols(error)).to.deep.equal([]);
    expect(inspect(error)).to.not.contain('Symbol(');
  });
});

describe('invalidArgument', () => {
  it('names the option, what it must be, and what was given', () => {
    const error = invalidArgument('ttlMs', -1, 'a whole number');
    expect([error.code, error.message]).to.deep.equal([
      'INVALID_ARGUMENT',
      'ttlMs must be a whole number; got -1.',
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
