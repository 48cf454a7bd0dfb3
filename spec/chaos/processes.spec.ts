import { chaosSuite } from './suite.js';

chaosSuite('process');
