/** What spec/scripts/parts.spec.ts runs under mocha: specs of which some need what may be missing. */
import { needs } from '../support/parts.js';

describe('a suite', () => {
  it('needs nothing', () => undefined);
  it('needs one thing', function () {
    needs(this, 'python3');
  });
  it('needs another thing', function () {
    needs(this, '/proc', 'python3');
  });
  describe('that needs something as a whole', () => {
    before(function () {
      needs(this, 'PostgreSQL');
    });
    it('at its top', () => undefined);
    describe('and within', () => {
      it('as well', () => undefined);
      it('and more', () => undefined);
    });
  });
});
