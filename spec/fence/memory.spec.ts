import { expect } from 'chai';
import { MemoryFence } from '../../lib/fence/index.js';
import { thrown } from '../support/rejection.js';
import { CLOSE_PAIRS, NOW, WRONG_INPUT } from './input.js';

describe('MemoryFence', () => {
  it('accepts the first fence, the same once more, and any higher one', () => {
    const guard = new MemoryFence();
    for (const fence of [NOW, NOW, NOW + 1, NOW + 1, NOW + 1_000])
      expect(guard.accepts('r', fence)).to.equal(true);
  });

  for (const [low, high] of CLOSE_PAIRS) {
    it(`after ${high}: refuses ${low} every time, and forgets nothing by it`, () => {
      const guard = new MemoryFence();
      expect([low, high, low, low, high].map((fence) => guard.accepts('r', fence))).to.deep.equal([
        true,
        true,
        false,
        false,
        true,
      ]);
    });
  }

  it('resources are apart, names of Object.prototype included', () => {
    const guard = new MemoryFence();
    expect(guard.accepts('a', 10)).to.equal(true);
    for (const other of ['b', 'A', 'a ', '__proto__', 'constructor'])
      expect(guard.accepts(other, 5)).to.equal(true);
    expect(guard.accepts('__proto__', 4)).to.equal(false);
  });

  it('check: nothing, or STALE_FENCE with the resource, the fence given and the highest', () => {
    const guard = new MemoryFence();
    expect(guard.check('r', 19)).to.equal(undefined);
    const error = thrown(() => guard.check('r', 17));
    expect([error.code, error.message, error.resources]).to.deep.equal([
      'STALE_FENCE',
      'fencing token 17 for "r" is stale: 19 was accepted.',
      ['r'],
    ]);
  });

  it('highest: what was accepted, untouched by what was refused; undefined for the unknown', () => {
    const guard = new MemoryFence();
    guard.accepts('r', 19);
    guard.accepts('r', 17);
    expect([guard.highest('r'), guard.highest('s')]).to.deep.equal([19, undefined]);
  });

  for (const { title, resource, fence, text } of WRONG_INPUT) {
    it(`${title}: INVALID_ARGUMENT from accepts and check, and nothing is remembered: ${text}`, () => {
      const guard = new MemoryFence();
      for (const call of [() => guard.accepts(resource, fence), () => guard.check(resource, fence)]) {
        const error = thrown(call);
        expect([error.code, error.message]).to.deep.equal(['INVALID_ARGUMENT', text]);
      }
      expect(guard.highest('r')).to.equal(undefined);
    });
  }
});
