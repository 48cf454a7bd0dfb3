import type { Survivors } from './survivors.js';

export const LEASE: Survivors = {
  'lib/lease/held-leases.ts': [
    {
      why: 'at that very instant it is the same deadline',
      mutants: ['hasten: atMs < this.#deadlineAtMs → atMs <= this.#deadlineAtMs'],
    },
    {
      why: 'a call that comes after the end is not before its deadline, or ends at once',
      mutants: ['#end: this.#onDrained = undefined; → nothing'],
    },
    {
      why: 'for the types: a wait sets its deadline before it can end',
      mutants: ['#end: this.#deadline?.cancel() → this.#deadline.cancel()'],
    },
    {
      why: 'for the types: more than a hundred are there',
      mutants: [
        '#sweep: this.#leases.turn()?.checkValidity(nowMs) → this.#leases.turn().checkValidity(nowMs)',
      ],
    },
  ],
  'lib/lease/notes.ts': [
    {
      why: 'for the types: an outcome has no vote',
      mutants: [
        "readUnder: 'vote' in one && one.vote === 'own' → one.vote === 'own'",
        "readUnder: 'vote' in one && one.vote === 'own' → one.vote === 'own' (2)",
      ],
    },
    {
      why: 'for the types: no error is made of what a quorum has granted',
      mutants: ["#error: decision === 'granted' → false"],
    },
    {
      why: 'no error tells whose client holds the lock',
      mutants: ['asOutcome: false → true (2)'],
    },
  ],
  'lib/lease/lease.ts': [
    {
      why: 'where nobody listens, makes room for what is not needed, or goes a longer way to the same end',
      mutants: [
        'constructor: !environment.observer.awaitsLosses → false',
        'release: observer.hearsReleases → true',
      ],
    },
    {
      why: 'for the types: while an extension is under way, there is the list of who waits for its end',
      mutants: [
        'extend: this.#extending?.push(resolve) → this.#extending.push(resolve)',
        '#order: this.#extending ?? [] → this.#extending',
      ],
    },
    {
      why: 'for the types: only what is renewed, watched, or could not be extended sets a timer, and that has its care',
      mutants: [
        '#arm: this.#state !== HELD || care === undefined → this.#state !== HELD',
        'takeRenewal: care === undefined || this.#state !== HELD → this.#state !== HELD',
      ],
    },
    {
      why: 'for the types: what is renewed has its care',
      mutants: ['#renewal: this.#care?.renewal → this.#care.renewal'],
    },
    {
      why: 'makes room for an error that is not there, which costs memory',
      mutants: ['#conclude: error !== undefined → true'],
    },
    {
      why: 'at that very instant either is right: one renewal more, or the end of validity is waited for',
      mutants: [
        '#arm: renewal.dueAtMs + this.ttlMs * RENEW_MARGIN < endAtMs → renewal.dueAtMs + this.ttlMs * RENEW_MARGIN <= endAtMs',
      ],
    },
    {
      why: 'a timer that is over is cancelled once more',
      mutants: [
        '#disarm: care.timer = undefined; → nothing',
        'takeRenewal: care.timer = undefined; → nothing',
      ],
    },
    {
      why: 'no timer is set for what has ended',
      mutants: ['#renewLater: this.#state !== HELD → false'],
    },
    {
      why: 'what has ended is not lost as well, and its requests are set aside once more',
      mutants: [
        'checkValidity: this.#state === HELD && nowMs >= this.#grant.validUntilMs → nowMs >= this.#grant.validUntilMs',
      ],
    },
    {
      why: 'what has ended is not extended: its grant says so where the request would be sent, and it is not lost once more',
      mutants: [
        'takeRenewal: care === undefined || this.#state !== HELD → care === undefined',
        '#renewal: this.#state !== HELD || this.#care?.renewal !== renewal → this.#care?.renewal !== renewal',
      ],
    },
  ],
};
