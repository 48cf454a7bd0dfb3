/** This library as it comes: default options. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({});
