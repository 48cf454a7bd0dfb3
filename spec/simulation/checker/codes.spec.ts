import { expect } from 'chai';
import { type NodeOutcome, RedlockError, type RedlockErrorCode } from '../../../lib/runtime/errors.js';
import { faultOf } from './codes.js';

/** The answers of a master: without its name. */
const OF: Readonly<Record<string, object>> = {
  g: { outcome: 'granted' },
  h: { outcome: 'refused' },
  w: { outcome: 'refused', wrongKind: true },
  n: { outcome: 'unknown', cause: new Error('NOPERM no rights') },
  o: { outcome: 'unknown', cause: new Error('OOM no memory') },
  u: { outcome: 'unknown', cause: new Error('no reply within 50 ms') },
  q: { outcome: 'quarantined', remainingMs: 5 },
};

/** @param letters  one for each master */
function failed(code: RedlockErrorCode, letters: string): RedlockError {
  const tally = letters.split('').map((letter, i) => ({ node: `m${i}`, ...OF[letter] }) as NodeOutcome);
  return new RedlockError(code, 'it failed', { resources: ['r'], tally });
}

describe('simulation: P12', () => {
  for (const [code, letters, waitedMs, fault] of [
    ['MISCONFIGURED', 'ghn', 20, 'it did not wait'],
    ['WRONG_KIND', 'ghw', 20, 'it did not wait'],
    ['LOCK_TAKEN', 'hhn', 20, 'it did not wait'],
    ['NO_QUORUM', 'gnu', 20, 'it did not wait'],
    ['MISCONFIGURED', 'goo', 20, 'it did not wait'],
    ['MISCONFIGURED', 'gnn', 20, undefined],
    ['MISCONFIGURED', 'hwn', 20, undefined],
    ['WRONG_KIND', 'gww', 20, undefined],
    ['ABORTED', 'ghn', 20, undefined],
    ['MISCONFIGURED', 'ghn', 100, 'no quorum says so'],
    ['WRONG_KIND', 'hhw', 100, 'no quorum says so'],
    ['LOCK_TAKEN', 'gnn', 100, 'no quorum says so'],
    ['NO_QUORUM', 'ghn', 100, 'no quorum says so'],
    ['LOCK_TAKEN', 'ghn', 100, undefined],
    ['MISCONFIGURED', 'goo', 100, undefined],
    ['QUARANTINED', 'ghq', 100, undefined],
  ] as const) {
    it(`${code} of ${letters} after ${waitedMs} of 100 ms: ${fault ?? 'nothing is wrong'}`, () => {
      expect(faultOf(failed(code, letters), 100, waitedMs)?.split(':')[0]).to.equal(fault);
    });
  }
});
