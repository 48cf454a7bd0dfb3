/** A read-write lock of this library, taken to read. */
import { quorateWith } from './quorate-session.js';

export const contender = quorateWith({}, (redlock, name) => redlock.readWriteLock(name).read);
