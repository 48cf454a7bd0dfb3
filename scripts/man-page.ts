/** Writes the man page of the command from its catalogue: `npm run check -- --write`. A spec compares. */
import { writeFileSync } from 'node:fs';
import { manPage } from '../lib/command/man-page.js';

writeFileSync(new URL('../man/quorate.1', import.meta.url), manPage());
