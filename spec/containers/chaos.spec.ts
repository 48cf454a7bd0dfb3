import { sharedSuite } from '../chaos/shared-suite.js';
import { queueSuite } from '../chaos/queue-suite.js';
import { chaosSuite } from '../chaos/suite.js';
import { needs } from '../support/parts.js';

describe('containers', () => {
  before(function () {
    needs(this, 'Docker');
  });
  chaosSuite('container');
  queueSuite('container', process.env['QUORATE_CHAOS'] === 'all' ? [3, 5] : [3]);
  if (process.env['QUORATE_CHAOS'] === 'all') sharedSuite('container', [3]);
});
