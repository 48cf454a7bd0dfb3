import { sharedSuite } from './shared-suite.js';
import { queueSuite } from './queue-suite.js';
import { chaosSuite } from './suite.js';
import { wide } from '../support/breadth.js';

chaosSuite('process');
queueSuite('process', wide(process.env['QUORATE_CHAOS'] === 'all' ? [3, 5] : [5], []));
sharedSuite('process', wide(process.env['QUORATE_CHAOS'] === 'all' ? [3, 5] : [3], []));
