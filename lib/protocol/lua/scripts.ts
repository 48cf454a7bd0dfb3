/**
 * The Lua scripts. Each is a file below `scripts/`, whose header says its keys, its arguments and its replies, and is put
 * together from the files below `parts/` (`scripts/lua`, at build time).
 *
 * Replies are integers (`inspect` also returns strings, and a batch one reply for each entry).
 *
 * Keys are the n resources; behind them, if votes are given back or waited for, their n queues and n turns; then, if a lock
 * may be handed over directly, their n looks; then, if a fencing token is asked for or may be counted, their n counters; and
 * last, with a guard, the master's marker. Of turns, looks and queues, a lean claim or release of a shared lock names the queue
 * alone. All keys are declared and used in place as `KEYS[i]`, as hosted Redis demands (an MGET for many takes a part of `KEYS`). On a cluster, all keys of
 * a call are in one slot. A key of another type never makes a script fail half-way: types are checked before the first
 * write, or the write is taken back. Deletions come first: a later step may fail without keeping the lock.
 *
 * Codes, the same in every reply that begins with one:
 *   1 yes · 0 no, another holds it
 *   2 no, a key holds something else, or (2, 4) a counter cannot be raised to another fencing token
 *   3 no, that fencing token is not accepted here: a counter has reached it, or it is too far from the master's clock
 *   4 no, a foreign client holds it: by its token it is not a client of this library, and does not hand over
 *   5 no, there are holders of a semaphore with another number of permits
 *   −1 quarantined: the master may have forgotten votes · −2 the deployment has another guard period
 *   −3 no, the key is gone, and its token may not set it again (`taken.lua`)
 * The number after code 2 is what the key holds: 0 something that is not a lock, 1 an exclusive lock, 2 a read-write lock, 3
 * a semaphore; or 4 for a counter that cannot be raised to another fencing token.
 */
import type { Script } from '../../redis/script.js';
import * as linked from './linked.js';

export * from './linked.js';
export type { Script } from '../../redis/script.js';

export const TIMESTAMP_SCRIPTS: readonly Script[] = [
  linked.TIMESTAMP_CLAIM,
  linked.TIMESTAMP_RELEASE,
  linked.TIMESTAMP_EXTEND,
];

/** All scripts of quorum locks, for specs and for those who have to allow scripts by hand. */
export const SCRIPTS: readonly Script[] = [
  linked.CLAIM,
  linked.UNDO,
  linked.RELEASE,
  linked.BATCH,
  linked.VOUCH,
  linked.BOOTSTRAP,
  linked.HELLO,
  linked.INSPECT,
  linked.OUST,
  linked.TAKE,
  linked.NOTE_WRITE,
  linked.NOTE_DROP,
  linked.NOTE_READ,
  linked.RW_CLAIM,
  linked.RW_OUST,
  linked.PERMIT_CLAIM,
  linked.LEAVE,
  linked.SHARED_BATCH,
  linked.SURVEY_SHARED,
];
