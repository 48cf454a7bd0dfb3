import type { Survivors } from './survivors.js';

export const LINE: Survivors = {
  'lib/line/mutex-line.ts': [
    {
      why: 'its acquisition waits before it claims or departs',
      mutants: [
        '#theVisit: this.#visit === undefined → false',
        "#theVisit: throw new Error('it waits before it claims or departs'); → nothing",
      ],
    },
  ],
  'lib/line/shared-line.ts': [
    {
      why: 'its acquisition waits before it ends the wait or departs',
      mutants: [
        '#theTurnstile: this.#turnstile === undefined → false',
        "#theTurnstile: throw new Error('it waits before it ends or departs'); → nothing",
      ],
    },
    {
      why: 'what could not be sent to a silent master is sent when that one answers, by the repairs or from where it waits',
      mutants: ['leave: withdrawal.end(); → nothing'],
    },
    {
      why: 'the undo of a watch that is sent late finds one that has expired',
      mutants: ['#unwatch: withdrawal.end(); → nothing'],
    },
    { why: 'it is sent to nobody', mutants: ['#unwatch: targets.length === 0 → false'] },
    {
      why: 'only who wants permits wants more than one',
      mutants: ["isGreedy: kind.name === 'semaphore' && kind.wanted > 1 → kind.wanted > 1"],
    },
  ],
  'lib/line/queue-wait.ts': [
    {
      why: 'that instant is read only once something was asked',
      mutants: [
        '#askedAtMs: -Infinity → Infinity',
        '#askAt: this.#asked !== undefined && nowMs - this.#askedAtMs < LIFE_MARGIN_MS / 2 → nowMs - this.#askedAtMs < LIFE_MARGIN_MS / 2',
      ],
    },
    { why: 'who has left is sent no push', mutants: ['onPush: !this.isWanted → false'] },
    {
      why: 'there is no answer before something was asked',
      mutants: ['onReply: this.#asked?.request.read(reply) → this.#asked.request.read(reply)'],
    },
    {
      why: 'a reply that grants says which reservation, too',
      mutants: ["onReply: outcome.kind === 'granted' && told !== undefined → outcome.kind === 'granted'"],
    },
    {
      why: 'without a reservation there is no serial: it is 0',
      mutants: [
        "onReply: place.state === 'mine' && told !== undefined → told !== undefined",
        "#yieldIfInquired: place.state !== 'mine' || place.inquired !== serial → place.inquired !== serial",
      ],
    },
    {
      why: 'without a vote, the serial of a place is 0, and no push and no answer names a lower one',
      mutants: ["#take: place.state === 'mine' && serial < place.serial → serial < place.serial"],
    },
    {
      why: 'a wait is for one key',
      mutants: ["onPush: this.#terms.scope.keys[0] ?? '' → this.#terms.scope.keys[0]"],
    },
    {
      why: 'a refusal of a place says how long the lock is held, and be it for ever',
      mutants: ['onReply: outcome.remainingMs ?? 0 → outcome.remainingMs'],
    },
    {
      why: 'only masters of the instance answer',
      mutants: [
        '#placeAt: place === undefined → false',
        '#placeAt: throw new Error(`no master of this instance: ${node.name}`); → nothing',
      ],
    },
    {
      why: 'the place is given back already; it only looks again a little sooner',
      mutants: ['#onGranted: place.giveBack(this.#soonAfter(RESERVE_MS)); → nothing'],
    },
    {
      why: 'once it has ended, there is nothing that could end it again, and no timer is set',
      mutants: ['#proceed: !this.isWanted → false'],
    },
    {
      why: 'answers come after the wait has begun to be awaited',
      mutants: ["#proceed: this.#settle?.('reserved') → this.#settle('reserved')"],
    },
    {
      why: 'a timer that is over is cancelled once more',
      mutants: ['#arm: this.#timer = undefined; → nothing'],
    },
    {
      why: 'while it is wanted, some master of a quorum is due at some time',
      mutants: ['#arm: dueAtMs === Infinity → false'],
    },
    {
      why: 'once it has ended, it asks nobody, and masters that are due are silent all the same',
      mutants: ['#onDue: !this.isWanted → false'],
    },
  ],
  'lib/line/queue-visit.ts': [
    {
      why: 'a timer that is over is cancelled once more',
      mutants: ['#stop: this.#keeper = undefined; → nothing'],
    },
    {
      why: 'rounds that all have answered are kept, and asked for nothing',
      mutants: ['#round: this.#rounds.filter(({ isAnswered }) => !isAnswered) → this.#rounds'],
    },
  ],
  'lib/line/subscriptions.ts': [
    {
      why: 'only masters of the instance are asked about',
      mutants: [
        'isOpen: this.#lines[node.index]?.isOpen → this.#lines[node.index].isOpen',
        'cause: this.#lines[node.index]?.cause ?? NOT_YET → this.#lines[node.index]?.cause',
        'cause: this.#lines[node.index]?.cause → this.#lines[node.index].cause',
        'verify: line?.isOpen → line.isOpen',
      ],
    },
    {
      why: 'whoever comes next clears it first, and only then somebody leaves',
      mutants: ['#closeLines: this.#idle = undefined; → nothing'],
    },
    {
      why: 'it stops listening once more',
      mutants: ['#shut: line.unwatch = undefined; → nothing'],
    },
    {
      why: 'the timer of an echo is cancelled when its push connection is closed',
      mutants: ['#sayHello: line.subscription?.renew() → line.subscription.renew() (2)'],
    },
  ],
  'lib/line/turnstile.ts': [
    {
      why: 'requests for a place, and undos of them, are about no counter',
      mutants: ['constructor: false → true'],
    },
    {
      why: 'a timer that is over is cancelled once more, or a promise resolved once more',
      mutants: [
        '#proceed: this.#timer = undefined; → nothing',
        '#proceed: this.#goOn = undefined; → nothing',
      ],
    },
  ],
  'lib/line/recent-contention.ts': [
    {
      why: 'an empty map has no such lock; it is only slower',
      mutants: ['note: this.#estimates.size === 0 → false', '#shareOf: this.#estimates.size === 0 → false'],
    },
    {
      why: 'at exactly that share either is right; it is met by chance at most',
      mutants: [
        'isLikely: this.#shareOf(key) >= LIKELY → this.#shareOf(key) > LIKELY',
        'isOccasional: share >= LEAST → share > LEAST',
        'isOccasional: share < LIKELY → share <= LIKELY',
        'note: next < LEAST → next <= LEAST',
      ],
    },
    { why: 'a map that is not empty has an oldest entry', mutants: ['note: oldest !== undefined → true'] },
  ],
};
