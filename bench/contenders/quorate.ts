/** This library at its defaults. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({});
