/** A read-write lock of this library, taken to write: with a fencing token. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({}, (redlock, name) => redlock.readWriteLock(name).write);
