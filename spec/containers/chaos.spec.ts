import { lineSuite } from '../chaos/line-suite.js';
import { chaosSuite } from '../chaos/suite.js';

chaosSuite('container');
lineSuite('container');
