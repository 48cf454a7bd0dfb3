/**
 * Known mistakes of direct hand-off (protocol C3). Those that seeds find too rarely are mutants by hand
 * (`spec/mutation/by-hand/hand-off.ts`).
 */
import type { Variant } from './variants.js';

const QUEUE = 'lib/protocol/lua/queue.ts';
const WAIT = 'lib/line/queue-wait.ts';
const VOTE = 'lib/line/direct-vote.ts';

const TAKES = 'place.has(serial, claimed && directVote(claimed, nowMs, { ttlMs, driftFactor }));';
const SETS =
  "redis.call('SET', KEYS[l], ${markedInLua('token')}, 'PXAT', int(ending))\n    turnTo(token, ticket, serial, ttl)\n";

export const HAND_OFF_VARIANTS: readonly Variant[] = [
  {
    name: 'hand-off: validity from the arrival of the push',
    from: 30,
    why: 'the master counts from the hand-over, and the push may take as long as it likes',
    breaks: ['votes', 'exclusion'],
    options: { latePushes: true, favoured: ['client paused', 'slow link'] },
    patches: [{ file: VOTE, find: '    validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),\n', replace: '' }],
  },
  {
    name: 'hand-off: validity from the arrival of the reply to the look',
    from: 135,
    why: 'the look was carried out before its reply arrived',
    breaks: ['votes', 'exclusion'],
    options: { favoured: ['client paused', 'slow link'] },
    patches: [
      {
        file: WAIT,
        find: 'const isOwed = this.#deliveries.owes(node);',
        replace:
          'const isOwed = this.#deliveries.owes(node);\n    place.answeredAtMs = this.#environment.clock.earliest();',
      },
      {
        file: WAIT,
        find: TAKES,
        replace:
          'place.has(serial, claimed && directVote({ ...claimed, sentMs: place.answeredAtMs }, nowMs, { ttlMs, driftFactor }));',
      },
    ],
  },
  {
    name: 'hand-off: no drift',
    from: 46,
    why: 'a master whose clock is fast lets go before the holder does',
    breaks: ['votes', 'exclusion'],
    options: { nodes: 1, clients: 4, guarded: false },
    patches: [
      {
        file: VOTE,
        find: 'validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),\n    validUntilMs(receivedAtMs, ttlMs, driftFactor),',
        replace: 'sentMs + (spanMs ?? ttlMs) + 0 * driftFactor,\n    receivedAtMs + ttlMs,',
      },
    ],
  },
  {
    name: 'hand-off: a reservation counted',
    from: 6,
    why: 'it lives for less than the ttl',
    breaks: ['votes', 'exclusion'],
    options: { clients: 4 },
    patches: [
      {
        file: WAIT,
        find: TAKES,
        replace:
          'place.has(serial, directVote(claimed ?? { fence: 0, sentMs: place.sentAtMs, spanMs: undefined }, nowMs, { ttlMs, driftFactor }));',
      },
    ],
  },
  {
    name: 'hand-off: told before the vote is set',
    from: 6,
    why: 'where it cannot be set, the waiter counts a vote that was never there',
    breaks: ['votes', 'exclusion'],
    options: { nodes: 2, clients: 4, fullServers: true },
    patches: [
      { file: QUEUE, find: `    ${SETS}`, replace: '' },
      {
        file: QUEUE,
        find: "if not receivers or receivers == 0 then redis.call('DEL', KEYS[l]) end",
        replace: `if receivers and receivers > 0 then\n    ${SETS}    end`,
      },
    ],
  },
  {
    name: 'hand-off: the late push of a held token is declined',
    why: 'it tells of the vote that the lease counts',
    breaks: ['votes', 'exclusion'],
    options: { clients: 4, latePushes: true },
    patches: [
      {
        file: 'lib/line/subscriptions.ts',
        find: "if (push.kind === 'given' && !this.#held.has(push.token))",
        replace: "if (push.kind === 'given')",
      },
    ],
  },
  {
    name: 'hand-off: no count at the hand-over',
    why: 'what is told was never accepted, and may be accepted for another',
    breaks: ['counter order', 'token uniqueness', 'token order'],
    patches: [
      {
        file: QUEUE,
        find: 'local fence = counted(life, math.max(least, look - ${AHEAD_US}))',
        replace: "local fence = life == '0' and 0 or (tonumber(proposal) > 0 and tonumber(proposal) or nil)",
      },
    ],
  },
];
