/** Mistakes of waiting for a lock that several may hold: in its queue, and with a mute place beside it. */
import type { Mistake } from '../mistake.js';

const WAITS = { specs: ['spec/queue/shared-waits.spec.ts'] };
const PLACES = { specs: ['spec/queue/mute-place.spec.ts'] };

export const SHARED_LINES: readonly Mistake[] = [
  {
    name: 'shared queue: at the end of its wait nobody is asked who is in the way',
    why: 'the undo of a shared lock does not see that: a semaphore with another number of permits passes for one that is taken',
    patches: [{ in: 'Queue.depart', find: "this.#call.scope.kind.name === 'mutex' &&", replace: '' }],
    noticedBy: WAITS,
  },
  {
    name: 'shared queue: a claim from the queue counts as one of a newcomer',
    why: 'its place stays where the claim is refused, or those in front of it keep it out',
    patches: [{ in: 'claimQueued', find: 'terms, LEAVING_QUEUE', replace: 'terms' }],
    noticedBy: WAITS,
  },
  {
    name: 'shared queue: a late vote is declined as one of an exclusive lock',
    patches: [{ in: 'declining', find: 'isShared ? READ : MUTEX', replace: 'isShared ? MUTEX : MUTEX' }],
    noticedBy: WAITS,
  },
  {
    name: 'shared queue: a downgrade lets nobody in',
    patches: [
      {
        in: 'extendingOf',
        find: "return kind.name === 'read' && kind.wasWriter === true ? DOWNGRADING : RW_EXTENDING",
        replace: 'return kind.wasWriter === true ? RW_EXTENDING : RW_EXTENDING',
      },
    ],
    noticedBy: WAITS,
  },
  {
    name: 'shared queue: who wants to write asks to read',
    patches: [{ in: 'wantOf', find: 'roleOf(asked)', replace: "(roleOf(asked), 'r')" }],
    noticedBy: WAITS,
  },
  {
    name: 'shared queue: who wants several permits asks for one',
    patches: [{ in: 'wantOf', find: '`${kind.wanted}/${kind.permits}`', replace: '`1/${kind.permits}`' }],
    noticedBy: WAITS,
  },
  {
    name: 'lean: a release asks nobody to look',
    why: 'the holder may end before it sends it in full',
    patches: [
      {
        in: 'lua:callFirst',
        find: "if first and not isMute(first) then push({l = i}, first, 'N') end",
        replace: '',
      },
    ],
    noticedBy: WAITS,
  },
  {
    name: 'lean: a release sent again draws a fencing token for each master',
    patches: [
      { in: 'Request.again', find: 'this.token, this.amount)', replace: 'this.token, this.#amount)' },
    ],
    noticedBy: WAITS,
  },
  {
    name: 'mute place: it has no mark',
    why: 'a place to which no push arrives is dropped',
    patches: [{ in: 'MutePlace.constructor', find: '+ MUTE_MARK', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: it is the first of all',
    patches: [{ in: 'MutePlace.constructor', find: 'parts.clocks.propose()', replace: '1' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: it is not left',
    patches: [{ in: 'MutePlace.leave', find: 'void withdrawal.send();', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: where it was taken is forgotten',
    patches: [{ in: 'Acquisition.#giveUp', find: 'this.#mutePlace?.refused(round);', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: the end of a call does not leave it',
    patches: [{ in: 'Acquisition.#goOn', find: 'this.#mutePlace?.leave();', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: taken by those who can wait in the queue',
    patches: [
      {
        in: 'Acquisition.#place',
        find: "if (canQueue(this.#parts, this.#terms)) return this.#backoff.attempts === 1 ? LEAN : '';",
        replace: '',
      },
    ],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: taken by one that tries once',
    patches: [{ in: 'Acquisition.#place', find: '|| this.#backoff.isLast', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: kept at the home master alone',
    why: 'on a single master, it keeps nobody out',
    patches: [{ in: 'Acquisition.#attemptNow', find: '|| this.#mutePlace !== undefined', replace: '' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: taken by nobody',
    patches: [
      {
        in: 'isGreedy',
        find: "kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: 'kind === undefined',
      },
    ],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: taken by all that wait outside the queue',
    patches: [
      {
        in: 'isGreedy',
        find: "kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: "kind.name !== 'mutex'",
      },
    ],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: taken by one that wants one permit',
    patches: [{ in: 'isGreedy', find: '1', replace: '0' }],
    noticedBy: PLACES,
  },
  {
    name: 'mute place: not taken by one that wants several permits',
    patches: [
      {
        in: 'isGreedy',
        find: "'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: "'write'",
      },
    ],
    noticedBy: PLACES,
  },
];
