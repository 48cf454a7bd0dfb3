import { lineSuite } from './line-suite.js';
import { chaosSuite } from './suite.js';

chaosSuite('process');
lineSuite('process');
