/** Mistakes of direct hand-over (protocol C3). */
import type { Mistake } from '../mistake.js';

export const HAND_OFF: readonly Mistake[] = [
  {
    name: 'hand-over: validity from the arrival of the push',
    why: 'the master counts from the hand-over, and the push may take as long as it likes',
    patches: [{ in: 'directVote', find: 'validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),', replace: '' }],
    noticedBy: {
      breaks: ['votes', 'exclusion'],
      seeds: { from: 40, options: { latePushes: true, favoured: ['client paused', 'slow link'] } },
    },
  },
  {
    name: 'hand-over: validity from the arrival of the reply to the look',
    why: 'the look was carried out before its reply arrived',
    patches: [
      {
        in: 'QueueWait.onReply',
        find: '#deliveries.owes(node);',
        replace: `#deliveries.owes(node);
    place.answeredAtMs = this.#parts.clock.earliest();`,
      },
      {
        in: 'QueueWait.#take',
        find: 'place.has(serial, claimed && directVote(claimed, nowMs, { ttlMs, driftFactor }))',
        replace:
          'place.has(serial, claimed && directVote({ ...claimed, sentMs: place.answeredAtMs }, nowMs, { ttlMs, driftFactor }))',
      },
    ],
    noticedBy: {
      breaks: ['votes', 'exclusion'],
      seeds: { from: 305, options: { favoured: ['client paused', 'slow link'] } },
    },
  },
  {
    name: 'hand-over: no drift',
    why: 'a master whose clock is fast lets go before the holder does',
    patches: [
      {
        in: 'directVote',
        find: `validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),
    validUntilMs(receivedAtMs, ttlMs, driftFactor)`,
        replace: `sentMs + (spanMs ?? ttlMs) + 0 * driftFactor,
    receivedAtMs + ttlMs`,
      },
    ],
    noticedBy: {
      breaks: ['votes', 'exclusion'],
      seeds: { from: 46, options: { nodes: 1, clients: 4, guarded: false } },
    },
  },
  {
    name: 'hand-over: a reservation counted',
    why: 'it lives for less than the ttl',
    patches: [
      {
        in: 'QueueWait.#take',
        find: 'place.has(serial, claimed && directVote(claimed, nowMs, { ttlMs, driftFactor }))',
        replace:
          'place.has(serial, directVote(claimed ?? { fence: 0, slots: "", sentMs: place.sentAtMs, spanMs: undefined }, nowMs, { ttlMs, driftFactor }))',
      },
    ],
    noticedBy: {
      breaks: ['votes', 'exclusion'],
      seeds: { from: 6, options: { clients: 4 } },
      specs: ['spec/queue/queue-wait-direct.spec.ts'],
    },
  },
  {
    name: 'hand-over: told before the vote is set',
    why: 'where it cannot be set, the waiter counts a vote that was never there',
    patches: [
      {
        in: 'lua:give',
        find: "redis.call('SET', KEYS[own.l], withMark(token), 'PXAT', int(ending))\nturnTo(own, token, ticket, serial, ttl)",
        replace: '',
      },
      {
        in: 'lua:give',
        find: "if not receivers or receivers == 0 then redis.call('DEL', KEYS[own.l]) end",
        replace:
          "if receivers and receivers > 0 then\n    redis.call('SET', KEYS[own.l], withMark(token), 'PXAT', int(ending))\n    turnTo(own, token, ticket, serial, ttl)\n    end",
      },
    ],
    noticedBy: {
      breaks: ['votes', 'exclusion'],
      seeds: { from: 6, options: { nodes: 2, clients: 4, fullServers: true } },
    },
  },
  {
    name: 'hand-over: the late push of a held token is declined',
    why: 'it tells of the vote that the lease counts',
    patches: [{ in: 'Subscriptions.#onGivenLate', find: '!this.#held.has(token)', replace: 'true' }],
    noticedBy: { breaks: ['votes', 'exclusion'], seeds: { options: { clients: 4, latePushes: true } } },
  },
  {
    name: 'hand-over: no count at the hand-over',
    why: 'what is told was never accepted, and may be accepted for another',
    patches: [
      {
        in: 'lua:freshLook',
        find: 'local fence = countVote(own, life, math.max(least, at - AHEAD_US))',
        replace:
          "local fence = life == '0' and 0 or (tonumber(own.proposal) > 0 and tonumber(own.proposal) or nil)",
      },
    ],
    noticedBy: { breaks: ['counter order', 'token uniqueness', 'token order'], seeds: {} },
  },
  {
    name: 'direct: its validity counts from the arrival of the push',
    patches: [
      {
        in: 'directVote',
        find: 'validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor)',
        replace: 'validUntilMs(receivedAtMs, spanMs ?? ttlMs, driftFactor)',
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts'] },
  },
  {
    name: 'direct: its validity is whatever the master says',
    patches: [{ in: 'directVote', find: 'validUntilMs(receivedAtMs, ttlMs, driftFactor),', replace: '' }],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts'] },
  },
  {
    name: 'direct: the lease has the latest validity of its votes',
    patches: [{ in: 'leaseOf', find: '[quorum - 1]', replace: '[agreeing.length < quorum ? quorum : 0]' }],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts'] },
  },
  {
    name: 'direct: votes of a quorum with different fencing tokens are a lease',
    patches: [{ in: 'leaseOf', find: 'other.fence === fence && ', replace: '' }],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts'] },
  },
  {
    name: 'direct: votes of a quorum for different permits are a lease',
    why: 'another may have a quorum for the same permit',
    patches: [{ in: 'leaseOf', find: ' && other.slots === slots', replace: '' }],
    noticedBy: { breaks: ['votes'], seeds: { options: { sharedLocks: true } } },
  },
  {
    name: 'direct: a late vote for other permits stays',
    patches: [
      {
        in: 'Subscriptions.#onGivenLate',
        find: 'won !== undefined && claimed?.slots !== won.slots',
        replace: 'false',
      },
    ],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'direct: a vote about another resource counts',
    patches: [
      {
        in: 'QueueWait.onPush',
        find: `push.key !== this.#keyAt(node)) return;
        if (push.serial`,
        replace: 'push.serial',
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts'] },
  },
  {
    name: 'direct: a vote that was yielded counts again',
    patches: [{ in: 'QueueWait.#take', find: 'serial <= place.yielded || ', replace: '' }],
    noticedBy: { specs: ['spec/queue/queue-wait-direct.spec.ts', 'spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'direct: a vote that has won is declined',
    patches: [{ in: 'Subscriptions.#onGivenLate', find: '!this.#held.has(token)', replace: 'true' }],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'direct: a vote counts though its push connection is not proven',
    patches: [{ in: 'Subscriptions.#onPush', find: 'if (connection.isOpen)', replace: '' }],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'hand-over: old looks count as fresh ones',
    patches: [
      {
        in: 'lua:freshLook',
        find: 'age < 0 or age > FRESH_US or',
        replace: 'age < 0 or',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: blind to the run id',
    patches: [
      {
        in: 'lua:freshLook',
        find: "if run ~= '' then",
        replace: 'if false then',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: blind to the end of the last quarantine',
    patches: [
      {
        in: 'lua:freshLook',
        find: 'countVote(own, life, math.max(least, at - AHEAD_US))',
        replace: 'countVote(own, life, at - AHEAD_US)',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: a number from before the look',
    patches: [
      {
        in: 'lua:freshLook',
        find: 'countVote(own, life, math.max(least, at - AHEAD_US))',
        replace: 'countVote(own, life, tonumber(least))',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: a yield ignores the serial',
    patches: [
      {
        in: 'lua:yield',
        find: 'named ~= token or tonumber(last) ~= tonumber(serial) then',
        replace: 'named ~= token then',
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: an extension keeps the mark',
    patches: [
      {
        in: 'lua:extend',
        find: "redis.call('SET', KEYS[i], token, 'PX'",
        replace: "redis.call('SET', KEYS[i], redis.call('GET', KEYS[i]) or token, 'PX'",
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: a look that finds its vote does not lengthen it',
    patches: [
      {
        in: 'lua:takeLock',
        find: "redis.call('SET', KEYS[own.l], withMark(own.token), 'PX', own.ttl)",
        replace:
          "if owner then redis.call('SET', KEYS[own.l], withMark(own.token), 'KEEPTTL') else redis.call('SET', KEYS[own.l], withMark(own.token), 'PX', own.ttl) end",
      },
    ],
    noticedBy: { specs: ['spec/testing/hand-over.spec.ts'] },
  },
  {
    name: 'hand-over: a yielded vote counted when a look finds it',
    patches: [
      {
        in: 'QueueWait.#onGranted',
        find: `(serial > place.yielded) return this.#take(node, serial, claimed);
    if`,
        replace: `(serial >= place.yielded) { place.yielded = 0; return this.#take(node, serial, claimed); }
    if`,
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'hand-over: the highest of unequal counts',
    patches: [
      {
        in: 'leaseOf',
        find: 'other.fence === fence && ',
        replace: 'fence === Math.max(...votes.map((vote) => vote.fence)) && ',
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'hand-over: validity and number of the hand-over before',
    patches: [{ in: 'QueuePlace.has', find: 'serial <= this.serial', replace: 'serial > 0' }],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'hand-over: a vote that is about to go is the lease',
    patches: [{ in: 'leaseOf', find: '>= ttlMs * LEAST_LEFT', replace: '> 0' }],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'hand-over: no looks',
    patches: [
      { in: 'QueueWait.#onPlaceDue', find: 'this.#ask', replace: "if (place.state !== 'queued') this.#ask" },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-places.spec.ts'] },
  },
];
