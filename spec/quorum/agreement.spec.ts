import { expect } from 'chai';
import type { Scope } from '../../lib/protocol/scope.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import { Agreement } from '../../lib/quorum/agreement.js';
import { Round } from '../../lib/quorum/round.js';
import { plainScope } from '../support/commands.js';

const SEMAPHORE: Scope = {
  ...plainScope('r'),
  kind: { name: 'semaphore', wanted: 1, permits: 3, slots: '' },
};

function isNeededFor(scope: Scope): boolean {
  const round = new Round([], scriptedClaim(scope, 'token', 1_000, 0), 0, { onLateVote: () => undefined });
  return Agreement.for(round, []) !== undefined;
}

describe('what masters have to agree on', () => {
  it('a fencing token, or permits; otherwise nothing', () => {
    expect(isNeededFor({ ...plainScope('r'), isFenced: true })).to.equal(true);
    expect(isNeededFor(SEMAPHORE)).to.equal(true);
    expect(isNeededFor(plainScope('r'))).to.equal(false);
  });
});
