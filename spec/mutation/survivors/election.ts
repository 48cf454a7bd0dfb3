import type { Survivors } from './survivors.js';

export const ELECTION: Survivors = {
  'lib/election/observation.ts': [
    {
      why: 'the first look sets it',
      mutants: ['#isToLookAgain: false → true'],
    },
    {
      why: 'for the types: what is cancelled was begun, and has a reason',
      mutants: [
        '#onCancelled: this.#cancellation?.cancelled?.code → this.#cancellation?.cancelled.code',
        '#onCancelled: this.#cancellation?.cancelled?.code → this.#cancellation.cancelled?.code',
      ],
    },
    {
      why: 'once it is over, no timer is set for a look',
      mutants: ["#onLost: this.#state === 'watching' && this.#open.delete(index) → this.#open.delete(index)"],
    },
    {
      why: 'whoever comes here has seen that it is not over',
      mutants: ["#arm: this.#state !== 'watching' || this.#isLooking → this.#isLooking"],
    },
    {
      why: 'read only while a leader is known, and set with it',
      mutants: ['#note: this.#overAtMs = []; → nothing'],
    },
    {
      why: 'before the first look nothing was told, and one undefined is the same as the other',
      mutants: [
        '#deliver: this.#latest === undefined || isSame(this.#latest, this.#told) → isSame(this.#latest, this.#told)',
      ],
    },
    {
      why: 'a wait is ended once more, which does nothing',
      mutants: ['#finish: this.#cancellation = undefined; → nothing'],
    },
  ],
  'lib/election/leadership.ts': [
    {
      why: 'elections are fenced',
      mutants: ['constructor: lease.fence ?? 0 → lease.fence'],
    },
    {
      why: 'what has resigned has given its lease back, which is not held from then on',
      mutants: [
        "#rewriteIn: this.#isOver || this.status !== 'held' → this.status !== 'held'",
        "#rewriteIn: !this.#isOver && this.status === 'held' → this.status === 'held'",
      ],
    },
  ],
  'lib/election/lead.ts': [
    {
      why: 'a wait that was ended is over at once, and the campaign is asked for again only if it is wanted',
      mutants: ['#repeat: isWanted() → true'],
    },
  ],
  'lib/election/leader-look.ts': [
    {
      why: 'for the types: a quorum names it',
      mutants: ['lookAt: times[quorum - 1] ?? 0 → times[quorum - 1]'],
    },
  ],
};
