import * as quorate from 'quorate';
import { smoke } from './smoke.mjs';

await smoke(quorate, process.argv[2], process.argv.slice(3));
