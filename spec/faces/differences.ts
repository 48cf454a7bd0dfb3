/** What is not as it was with the faces, decided in favour of safety. The table in docs/MIGRATION.md is made from this list. */
import type { Version } from './subject.js';

interface Difference {
  readonly versions: readonly Version[];
  readonly what: string;
  readonly there: string;
  readonly here: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    versions: ['5'],
    what: '`acquire` resolves',
    there: 'when a quorum has voted',
    here: 'the same; no promise that the other masters have the key by then',
  },
  {
    versions: ['4'],
    what: '`lock` resolves',
    there: 'when all masters have answered',
    here: 'when a quorum has voted',
  },
  {
    versions: ['4', '5'],
    what: 'attempts',
    there: 'each asks all masters, one `retryDelay` after the other',
    here: 'they make up the time for which the call waits in a queue. Their number is as asked for, up to 100; the last answers count for those that were not needed',
  },
  {
    versions: ['4', '5'],
    what: 'the order of waiters',
    there: 'chance',
    here: 'first come, first served, among all that use quorate',
  },
  {
    versions: ['4', '5'],
    what: 'the value of a lock',
    there: '32 hex digits',
    here: 'a token of quorate, by which waiters queue',
  },
  {
    versions: ['4', '5'],
    what: 'custom scripts, and `redlock.scripts`',
    there: 'replace the built-in ones',
    here: 'refused: an error says why',
  },
  {
    versions: ['4', '5'],
    what: '`extend` to less than what is left',
    there: 'shortens the lock',
    here: 'the lock keeps what it has',
  },
  {
    versions: ['4', '5'],
    what: 'a release that no quorum confirms',
    there: 'rejects; version 5 after all retries',
    here: 'rejects after one attempt, and goes on in the background until the lock has expired',
  },
  {
    versions: ['5'],
    what: '`using` extends the lock',
    there: 'when `automaticExtensionThreshold` is left',
    here: 'after a third of its duration, or before less than the threshold is left',
  },
  {
    versions: ['4', '5'],
    what: 'a master that has lost the lock, while it is held',
    there: 'does not have it again',
    here: '`using` sets it again; `extend` does not, since another process may have released it by its value',
  },
  {
    versions: ['5'],
    what: 'the statistics of an attempt',
    there: 'fulfil when all masters have answered',
    here: 'have the answers that decided it: a master that was not waited for is in neither list',
  },
  {
    versions: ['5'],
    what: '`settings.db` of `@sesamecare-oss/redlock`, and its default of 0',
    there: 'the database of the locks, whatever the database of the client',
    here: 'refused: the locks are in the database of the client. Give it clients of the old database while both run',
  },
  {
    versions: ['5'],
    what: '`driftFactor` of a call',
    there: 'in place of that of the instance',
    here: 'the larger one of both',
  },
  {
    versions: ['4', '5'],
    what: 'wrong input',
    there: 'see above',
    here: 'a `RedlockError` with the code `INVALID_ARGUMENT`, if the package has no text of its own',
  },
  {
    versions: ['5'],
    what: 'event `error`',
    there: 'for each master and attempt that did not vote for it',
    here: 'the same for the attempts that were made, and at the end of a wait',
  },
  {
    versions: ['4'],
    what: 'promises',
    there: "bluebird's",
    here: 'native; `disposer` needs bluebird to be installed',
  },
  {
    versions: ['4'],
    what: '`retryCount: 0` or `retryDelay: 0` in the options of a call',
    there: 'ignored',
    here: 'as it says',
  },
  {
    versions: ['4', '5'],
    what: 'two clients of one server',
    there: 'count twice',
    here: 'refused',
  },
  {
    versions: ['4', '5'],
    what: 'connections and keys',
    there: "the client's own; the lock's key",
    here: 'while calls wait, one more connection to each master, and keys `quorate:…` ([rights](OPERATION.md#set-ups))',
  },
];
