import { expect } from 'chai';
import { setImmediate } from 'node:timers/promises';
import sinon from 'sinon';
import { isOurs, publicPart, SystemRandom } from '../../lib/runtime/random.js';

describe('SystemRandom', () => {
  it('a token is {client}:{secret}, 48 and 144 bits in letters that need no escape', () => {
    const random = new SystemRandom();
    for (let i = 0; i < 300; i++) expect(random.token()).to.match(/^[\w-]{8}:[\w-]{24}$/);
  });

  it('no token twice, over many refills of the pool', () => {
    const random = new SystemRandom();
    const tokens = Array.from({ length: 10_000 }, () => random.token());
    expect(new Set(tokens).size).to.equal(tokens.length);
  });

  it('no token twice, over turns of the event loop in which few or many are drawn', async () => {
    const random = new SystemRandom();
    const tokens: string[] = [];
    for (let turn = 0; turn < 500; turn++) {
      for (let i = turn % 50; i >= 0; i--) tokens.push(random.token());
      await setImmediate();
    }
    expect(new Set(tokens).size).to.equal(tokens.length);
    for (const token of tokens) expect(token).to.match(/^[\w-]{8}:[\w-]{24}$/);
  });

  it('a few draws in each turn of the event loop never wait for a refill, and many at once leave no more than one refill', async () => {
    const random = new SystemRandom();
    random.token();
    const refills = sinon.spy(Buffer, 'alloc');
    try {
      for (let turn = 0; turn < 200; turn++) {
        await setImmediate();
        const before = refills.callCount;
        for (let i = 0; i < 10; i++) random.token();
        expect(refills.callCount, `turn ${turn}`).to.equal(before);
      }
      for (let i = 0; i < 10_000; i++) random.token();
      const before = refills.callCount;
      await setImmediate();
      expect(refills.callCount - before).to.be.at.most(1);
    } finally {
      refills.restore();
    }
  });

  it('a token that was given out does not change with the next', () => {
    const random = new SystemRandom();
    const first = random.token();
    const copy = Buffer.from(first).toString();
    for (let i = 0; i < 500; i++) random.token();
    expect(first).to.equal(copy);
  });

  it('every position of a secret takes many values: none of its bytes is constant', () => {
    const random = new SystemRandom();
    const secrets = Array.from({ length: 1_000 }, () => random.token().split(':')[1] ?? '');
    for (let at = 0; at < 24; at++) expect(new Set(secrets.map((one) => one[at])).size).to.be.greaterThan(32);
  });

  it('the client part is the same for one instance and differs between two', () => {
    const [one, two] = [new SystemRandom(), new SystemRandom()];
    expect(publicPart(one.token())).to.equal(publicPart(one.token()));
    expect(publicPart(one.token())).to.not.equal(publicPart(two.token()));
  });

  it('two instances never draw the same secret', () => {
    const secrets = [new SystemRandom(), new SystemRandom()].flatMap((random) =>
      Array.from({ length: 500 }, () => random.token().split(':')[1]),
    );
    expect(new Set(secrets).size).to.equal(1_000);
  });

  it('fractions lie in [0, 1) and differ', () => {
    const random = new SystemRandom();
    const fractions = Array.from({ length: 1_000 }, () => random.fraction());
    expect(fractions.every((one) => one >= 0 && one < 1)).to.equal(true);
    expect(new Set(fractions).size).to.be.greaterThan(900);
  });
});

describe('publicPart', () => {
  it('is the text before the first colon; the whole text if there is none', () => {
    expect(publicPart('client:secret')).to.equal('client');
    expect(publicPart('client:secret:more')).to.equal('client');
    expect(publicPart('another library')).to.equal('another library');
    expect(publicPart('')).to.equal('');
  });
});

describe('isOurs', () => {
  it('knows the tokens of this library by their shape', () => {
    const random = new SystemRandom();
    for (let i = 0; i < 300; i++) expect(isOurs(random.token())).to.equal(true);
  });

  for (const text of [
    ...['', 'mine', '6f1c0e5e-5c60-4d9c-9b0e-1c6e3c1e5a11', 'abcdefgh:', 'a'.repeat(33)],
    ...[`abcdefgh:${'x'.repeat(23)}`, `abcdefgh:${'x'.repeat(25)}`, `abcdefg:${'x'.repeat(25)}`],
    ...[`abcdefgh:${'x'.repeat(23)}+`, `abcdefgh:${'x'.repeat(24)}\n`, `abcdefgh:${'x'.repeat(23)}:`],
  ]) {
    it(`${JSON.stringify(text)} is none of them`, () => {
      expect(isOurs(text)).to.equal(false);
    });
  }
});
