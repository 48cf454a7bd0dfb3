/** The timestamp lock, by plain commands. */
import { timestampBy } from './timestamp.js';

export const contender = timestampBy('commands');
