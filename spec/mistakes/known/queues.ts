/** Mistakes of waiting in the queue for an exclusive lock. */
import type { Mistake } from '../mistake.js';

export const LINES: readonly Mistake[] = [
  {
    name: 'in the queue: no inquiry, no yield',
    why: 'each of three waiters has the vote of one master of three, until the reservations run out',
    patches: [
      {
        in: 'QueueWait.onPush',
        find: "'inquiry':",
        replace: `'inquiry':
        return;`,
      },
    ],
    noticedBy: { breaks: ['progress', 'fairness'], seeds: { from: 12, options: { turns: true } } },
  },
  {
    name: 'in the queue: a push taken for a vote, without a claim',
    why: 'it says nothing of when the reservation began, and that is shorter than the ttl',
    patches: [
      {
        in: 'Acquisition.#claim',
        find: 'const conclude',
        replace: `if (this.#queue?.isSpread === true) {
      for (const node of nodes) round.onReply(node, request.isFenced ? [1, 1, 0] : [1, 0, 0]);
      round.fence = 0;
    }
    const conclude`,
      },
    ],
    noticedBy: { breaks: ['exclusion', 'token order'], seeds: { from: 16 } },
  },
  {
    name: 'in the queue: nobody asks again when pushes come in again',
    why: 'the push that was lost with the connection was the one that mattered',
    patches: [
      {
        in: 'QueueWait.onOpen',
        find: `(this.#hasBegun) this.#ask(node);
    else`,
        replace: '(!this.#hasBegun)',
      },
      {
        in: 'QueueWait.onClosed',
        find: `): void {
    this.#fail`,
        replace: `): void {
    if (!this.#hasBegun) this.#fail`,
      },
    ],
    noticedBy: { breaks: ['progress', 'fairness'], seeds: { options: { turns: true } } },
  },
  {
    name: 'in the queue: a reply of before a push counted',
    why: 'a refusal that the push overtook takes the reservation back, and nobody claims what is kept for a second',
    patches: [
      {
        in: 'QueueWait.onReply',
        find: "if (place.state === 'mine' && told !== undefined && place.serial >= told.clockUs) return;",
        replace: '',
      },
    ],
    noticedBy: {
      breaks: ['progress', 'fairness'],
      seeds: { from: 34, options: { crowd: true, turns: true, nodes: 3, clients: 4 } },
    },
  },
  {
    name: 'in the queue: a reply of an older claim counted',
    why: 'what is held while the next resource is waited for was claimed long before the last claim is sent',
    patches: [
      {
        in: 'QueueVisit.sentTo',
        find: 'get',
        replace: `get claims(): readonly Round[] {
    return this.#rounds;
  }

  get`,
      },
      {
        in: 'QueueVisit.#round',
        find: 'this.#rounds.filter(({ isAnswered }) => !isAnswered)',
        replace: 'this.#rounds',
      },
      {
        in: 'Queue.sent',
        find: 'get',
        replace: `get claims(): readonly Round[] {
    return this.#visit?.claims ?? [];
  }

  get`,
      },
      {
        in: 'Acquisition.#claim',
        find: 'const conclude',
        replace: `for (const claim of this.#queue?.claims ?? []) {
      for (const node of nodes) {
        if (claim.outcomes[node.index]?.kind === 'granted') round.onReply(node, request.isFenced ? [1, 1, 0] : [1, 0, 0]);
      }
      round.fence = 0;
    }
    const conclude`,
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'token order', 'continuity'],
      seeds: {
        from: 45,
        options: {
          nodes: 3,
          clients: 4,
          guarded: false,
          favoured: ['partition', 'connection cut', 'slow link'],
        },
      },
    },
  },
  {
    name: 'in the queue: a yield takes a vote that was claimed',
    why: 'it was sent before the claim and comes after it, by a connection that broke or as a script sent again',
    patches: [
      {
        in: 'lua:yield',
        find: "if redis.pcall('GET', KEYS[k]) ~= withMark(token) or not pcall(headOf, own)",
        replace:
          "local owner = redis.pcall('GET', KEYS[k])\n  if owner ~= token and owner ~= withMark(token) or not pcall(headOf, own)",
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] }, // about one seed in a thousand shows it
  },
  {
    name: 'in the queue: an early inquiry forgotten',
    why: 'it overtakes the reply that tells of the reservation, and both wait until that runs out',
    patches: [
      { in: 'QueueWait.onPush', find: 'place.yielded', replace: "place.yielded || place.state !== 'mine'" },
    ],
    noticedBy: {
      breaks: ['progress', 'fairness'],
      seeds: { from: 15, options: { crowd: true, turns: true, calls: 2, nodes: 2, clients: 4 } },
    },
  },
  {
    name: 'in the queue: a yield that was lost is not sent again',
    why: 'each look lengthens what was given back, and whoever has the earlier ticket waits to the end',
    patches: [
      {
        in: 'QueueWait.#onGranted',
        find: `(place.yielding === undefined) this.#yield(node, place, serial);
    else`,
        replace: '(place.yielding !== undefined)',
      },
    ],
    noticedBy: {
      breaks: ['fairness'],
      seeds: { from: 17, options: { crowd: true, nodes: 3, clients: 4, breaksAt: 'yield' } },
    },
  },
  {
    name: 'in the queue: tickets by raw clocks of clients',
    why: 'whose clock is behind is always served first',
    patches: [{ in: 'MasterClocks.ticket', find: '+ (this.#medianAheadUs() ?? 0)', replace: '' }],
    noticedBy: {
      breaks: ['fairness'],
      seeds: { from: 3_003, options: { turns: true, calls: 1, nodes: 3, clients: 4 } },
    },
  },
  {
    name: 'in the queue: what is kept for one that has gone is not given back',
    why: 'a master that was away hands over to it, and again, for as long as its place lives',
    patches: [
      {
        in: 'Subscriptions.#onPush',
        find: "if (push.kind === 'given') this.#onGivenLate(connection, push);",
        replace: 'void this.#onGivenLate;',
      },
      {
        in: 'Acquisition.#longestLifeMs',
        find: '#terms.ttlMs + (this.#queue?.isSpread === true ? LONGEST_LIFE_MS : 0)',
        replace: '#terms.ttlMs',
      },
      { in: 'Queue.#owe', find: 'LONGEST_LIFE_MS + ttlMs', replace: 'ttlMs' },
    ],
    noticedBy: {
      breaks: ['orphan', 'progress'],
      seeds: { from: 445, options: { crowd: true, nodes: 3, clients: 4, favoured: ['server crash'] } },
    },
  },
  {
    name: 'in the queue: the turn lives no longer than the vote, though others wait',
    why: 'the queue has no turn then, and a release hands over to nobody',
    patches: [{ in: 'lua:handOver', find: 'own.isLast = not second', replace: 'own.isLast = true' }],
    noticedBy: { specs: ['spec/protocol/lua/direct-scripts.spec.ts'] },
  },
  {
    name: 'in the queue: who joins is the only one, though others wait',
    patches: [{ in: 'lua:queue', find: 'left = size == 0 and 0 or nil', replace: 'left = 0' }],
    noticedBy: { specs: ['spec/protocol/lua/queue-scripts.spec.ts'] },
  },
  {
    name: 'in the queue: a claim leaves its place behind',
    why: 'where the lock was not handed to it, the master does so when the lease is over, and nobody else gets it',
    patches: [{ in: 'claimQueued', find: 'QUEUED_CLAIM', replace: 'SCRIPTED_CLAIM' }],
    noticedBy: { breaks: ['votes'], seeds: { from: 118 } },
  },
  {
    name: 'in the queue: a claim leaves its place behind where an extension has set the key',
    why: 'a renewal reached the master before the claim: after the lease, the master hands the lock to who has left',
    patches: [
      {
        in: 'lua:claim',
        find: 'if isQueued and owner ~= withMark(token) then',
        replace: 'if isQueued and owner ~= token and owner ~= withMark(token) then',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/queue-scripts.spec.ts'] }, // about one seed in a thousand shows it
  },
  {
    name: 'acquisition: who stood in the queue gives back only what its claim was sent to',
    patches: [
      {
        in: 'Acquisition.#accept',
        find: 'sentTo = this.#queue?.isSpread === true ? nodes : round.sentTo',
        replace: '{ sentTo } = round',
      },
    ],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'acquisition: what takes the lease back does not follow requests for a place',
    patches: [
      { in: 'QueueVisit.granted', find: 'for (const sent of this.sent) grant.opened(sent);', replace: '' },
    ],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'acquisition: a wait does not know what came of it',
    patches: [{ in: 'QueueVisit.granted', find: 'this.#grant = grant;', replace: '' }],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'acquisition: a wait does not know that its claim was withdrawn',
    patches: [{ in: 'Acquisition.#giveUp', find: 'this.#queue?.failed();', replace: '' }],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'acquisition: what is left of a lease that stood in the queue is undone for a ttl only',
    patches: [{ in: 'Acquisition.#keep', find: 'this.#longestLifeMs', replace: 'this.#terms.ttlMs' }],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'mutex line: what is left of a wait is undone for a ttl only',
    patches: [{ in: 'Queue.#owe', find: 'LONGEST_LIFE_MS + ttlMs', replace: 'ttlMs' }],
    noticedBy: { specs: ['spec/coordinator/acquisition-queue.spec.ts'] },
  },
  {
    name: 'fair wait: what is held in the queue is given back only where a place was asked for',
    patches: [
      {
        in: 'QueueVisit.sentTo',
        find: 'this.#hasHeld ? this.#parts.nodes : (this.#waits[0]?.sentTo ?? [])',
        replace: 'this.#waits[0]?.sentTo ?? []',
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-visit.spec.ts'] },
  },
];
