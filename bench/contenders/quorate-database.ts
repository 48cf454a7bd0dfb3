/** This library at its defaults, in another database than 0: each script selects it. */
import { DATABASE } from './contender.js';
import { inDatabase } from './quorate-session.js';
import { contender as quorate } from './quorate.js';

export const contender = inDatabase(quorate, DATABASE);
