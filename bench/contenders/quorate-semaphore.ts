/** A semaphore of this library: one of 16 permits. */
import { quorateWith } from './quorate-session.js';

const PERMITS = 16;

export const contender = quorateWith({}, (redlock, name) => redlock.semaphore(name, PERMITS));
