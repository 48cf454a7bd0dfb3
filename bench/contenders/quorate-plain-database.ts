/** Plain quorate in another database than 0: what is one command elsewhere is a script. */
import { DATABASE } from './contender.js';
import { contender as plain } from './quorate-plain.js';
import { inDatabase } from './quorate-session.js';

export const contender = inDatabase(plain, DATABASE);
