import { sharedSuite } from './shared-suite.js';
import { lineSuite } from './line-suite.js';
import { chaosSuite } from './suite.js';

chaosSuite('process');
lineSuite('process', process.env['QUORATE_CHAOS'] === 'all' ? [3, 5] : [5]);
sharedSuite('process', process.env['QUORATE_CHAOS'] === 'all' ? [3, 5] : [3]);
