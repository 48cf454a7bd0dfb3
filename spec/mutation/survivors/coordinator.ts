import type { Survivors } from './survivors.js';

export const COORDINATOR: Survivors = {
  'lib/coordinator/acquisition.ts': [
    {
      why: 'what is hopeless at a gate ends the wait there before its time, and then an attempt has been asked for',
      mutants: ['#goOn: this.#isUnasked → false'],
    },
    {
      why: 'an attempt that failed has left a history, and a lock has a name',
      mutants: [
        '#goOn: this.#history?.lastFull → this.#history.lastFull',
        "#noteContention: this.#terms.scope.keys[0] ?? '' → this.#terms.scope.keys[0]",
      ],
    },
    {
      why: 'looks at the clock once more, right before the claim is sent',
      mutants: ['#attempt: this.#backoff.attempts === 1 → false'],
    },
    {
      why: 'the wait is over by then, and there is no further attempt for that reason',
      mutants: [
        '#waitForRoom: this.#backoff.isLast = true; → nothing',
        '#depart: this.#backoff.isLast = true; → nothing',
      ],
    },
    {
      why: 'an attempt that is the last, of a call that has not waited for others yet, has no time left',
      mutants: ['#mayWait: this.#isWaiter || this.#backoff.isLast → this.#isWaiter'],
    },
    {
      why: 'what is over is ended once more, which does nothing; the next step notes what it waits for',
      mutants: ['#waitForRoom: this.#finish(); → nothing', '#finish: this.#awaited = undefined; → nothing'],
    },
    {
      why: 'what is not wanted any more is dropped as soon as there is room to send it',
      mutants: ['#claim: agreement?.end(); → nothing'],
    },
    {
      why: 'ended between its quorum and the grant: nobody can tell whether it was a moment later, when granted is granted',
      mutants: [
        "#accept: round.decision !== 'granted' || this.#cancellation.cancelled !== undefined → round.decision !== 'granted'",
      ],
    },
    {
      why: 'nothing has to follow a round that was answered: it takes up memory until the lease ends',
      mutants: ['#accept: !round.isAnswered → true'],
    },
    {
      why: 'what was ended from outside is not awaited any more',
      mutants: ['#giveUp: isInTime && this.#cancellation.cancelled === undefined → isInTime'],
    },
    {
      why: 'an undo for which a silent master has no room waits there instead of among the repairs; it is sent in any case',
      mutants: ['#giveUp: withdrawal.end(); → nothing', '#depart: withdrawal.end(); → nothing'],
    },
  ],
  'lib/coordinator/coordinator.ts': [
    {
      why: 'no two masters have one name',
      mutants: ['constructor: a.name < b.name → a.name <= b.name'],
    },
    {
      why: 'no pushes were held back for a lease that was only asked for',
      mutants: ["#forget: grant.origin !== 'asked' → true"],
    },
    {
      why: 'a timer that is over is cancelled once more; it takes up memory until the instance ends',
      mutants: ['handOver: this.#handedOver.delete(timer); → nothing'],
    },
    {
      why: 'a wait that was ended before it begins ends at once',
      mutants: ['ready: isReady() || cancellation.cancelled !== undefined → isReady()'],
    },
  ],
  'lib/coordinator/extensions.ts': [
    {
      why: 'a batch of one is not sent: what is due by itself goes alone from there as well',
      mutants: ['renew: due.length === 1 → false'],
    },
  ],
  'lib/coordinator/restart-guard.ts': [
    {
      why: 'a survey has a look for every master',
      mutants: [
        'noteQuarantine: outcome?.kind → outcome.kind',
        'noteQuarantine: outcome?.kind → outcome.kind (2)',
        'readBootstrap: look?.kind → look.kind',
        'readBootstrap: look?.cause ?? oddReply() → look?.cause',
        'readBootstrap: look?.cause → look.cause',
      ],
    },
  ],
  'lib/coordinator/undoing.ts': [
    {
      why: 'the claim was sent behind the requests of the wait, and the undo follows the claim',
      mutants: ['undoingOf: line === undefined → true'],
    },
    {
      why: 'only who waits for an exclusive lock has a place on every master',
      mutants: ["undoingOf: isInLine && scope.kind.name === 'mutex' → isInLine"],
    },
  ],
  'lib/coordinator/attempt-history.ts': [
    {
      why: 'a lock has a name',
      mutants: [
        "constructor: keys[0] ?? '' → keys[0]",
        "shallQueue: terms.scope.keys[0] ?? '' → terms.scope.keys[0]",
        "home: this.#terms.scope.keys[0] ?? '' → this.#terms.scope.keys[0]",
      ],
    },
    {
      why: 'what creates a history notes this before anybody asks, or the call ends with it',
      mutants: ['isContended: false → true', 'isForeignClient: false → true'],
    },
    {
      why: 'a wait in line that has no time left ends before it begins, and the masters are asked for the lock then',
      mutants: [
        'shallQueue: !terms.isFair || history?.isForeignClient === true || backoff.isLast → !terms.isFair || history?.isForeignClient === true',
      ],
    },
    {
      why: 'an acquisition that has met nobody yet queues a little earlier, and is served in its turn either way',
      mutants: [
        "shallQueue: backoff.attempts > 1 || !contention.isLikely(terms.scope.keys[0] ?? '') → !contention.isLikely(terms.scope.keys[0] ?? '')",
      ],
    },
    {
      why: 'every attempt that fails notes why: nobody comes by here',
      mutants: [
        'error: this.lastFull === undefined → false',
        "error: throw new Error('an acquisition begins with a full fan-out'); → nothing",
      ],
    },
  ],
  'lib/coordinator/home-master.ts': [
    {
      why: 'those in front come once more at the end, where nobody looks for them',
      mutants: ['homeMasterOf: nodesByName.slice(0, first) → nodesByName'],
    },
    {
      why: 'it has answered, or the round is over, which gives every master an outcome',
      mutants: ['askHomeMasterFirst: round.outcomes[home.index]?.kind → round.outcomes[home.index].kind'],
    },
    {
      why: 'the others have been sent nothing: nothing more comes in this round, nor is any of them taken for silent',
      mutants: [
        'askHomeMasterFirst: round.end(NOT_ASKED, false); → nothing',
        'askHomeMasterFirst: false → true',
      ],
    },
  ],
};
