/** The timestamp lock, each step in one script. */
import { timestampBy } from './timestamp.js';

export const contender = timestampBy('script');
