/** Mutants of direct hand-over: mistakes that seeds of the simulation find too rarely. */
import type { Mutant } from './mutants.js';

const file = 'lib/protocol/lua/queue.ts';
const specs = ['spec/testing/hand-over.spec.ts'];
const VOTE = 'lib/line/direct-vote.ts';
const WAIT = 'lib/line/queue-wait.ts';
const WAITS = ['spec/line/queue-wait-votes.spec.ts'];
const FLOOR = 'counted(life, math.max(least, look - ${AHEAD_US}))';

export const HAND_OFF: readonly Mutant[] = [
  {
    name: 'hand-off: old looks count as fresh ones',
    file,
    find: 'age < 0 or age > ${FRESH_MS * 1_000} then',
    replace: 'age < 0 then',
    specs,
  },
  {
    name: 'hand-off: blind to the run id',
    file,
    find: "if run ~= '' then\n",
    replace: 'if false then\n',
    specs,
  },
  {
    name: 'hand-off: blind to the end of the last quarantine',
    file,
    find: FLOOR,
    replace: 'counted(life, look - ${AHEAD_US})',
    specs,
  },
  {
    name: 'hand-off: a number from before the look',
    file,
    find: FLOOR,
    replace: 'counted(life, tonumber(least))',
    specs,
  },
  {
    name: 'hand-off: a yield ignores the serial',
    file,
    find: 'named ~= token or tonumber(last) ~= tonumber(serial) then',
    replace: 'named ~= token then',
    specs,
  },
  {
    name: 'hand-off: a yield ignores the mark',
    file,
    find: "if redis.pcall('GET', KEYS[k]) ~= ${markedInLua('token')} or not pcall(own.head)",
    replace:
      "local owner = redis.pcall('GET', KEYS[k])\n  if owner ~= token and owner ~= ${markedInLua('token')} or not pcall(own.head)",
    specs,
  },
  {
    name: 'hand-off: an extension keeps the mark',
    file: 'lib/protocol/lua/extend.ts',
    find: "redis.call('SET', KEYS[i], token, 'PX'",
    replace: "redis.call('SET', KEYS[i], redis.call('GET', KEYS[i]) or token, 'PX'",
    specs,
  },
  {
    name: 'hand-off: a look that finds its vote does not lengthen it',
    file,
    find: "redis.call('SET', KEYS[k], marked, 'PX', ttl)",
    replace:
      "if owner then redis.call('SET', KEYS[k], marked, 'KEEPTTL') else redis.call('SET', KEYS[k], marked, 'PX', ttl) end",
    specs,
  },
  {
    name: 'hand-off: a yielded vote counted when a look finds it',
    file: WAIT,
    find: 'if (serial > place.yielded) return this.#take(node, serial, claimed);\n    if',
    replace:
      'if (serial >= place.yielded) { place.yielded = 0; return this.#take(node, serial, claimed); }\n    if',
    specs: WAITS,
  },
  {
    name: 'hand-off: a yielded vote counted when a push tells of it again',
    file: WAIT,
    find: 'if (serial <= place.yielded) return; // a push from before it was given back',
    replace: '',
    specs: WAITS,
  },
  {
    name: 'hand-off: the highest of unequal counts',
    file: VOTE,
    find: 'const agreed = isFenced ? valid.find(isAgreed) : valid[0];',
    replace:
      'const agreed = isFenced && valid.length < quorum ? valid.find(isAgreed) : [...valid].sort((a, b) => b.fence - a.fence)[0];',
    specs: WAITS,
  },
  {
    name: 'hand-off: validity and number of the hand-over before',
    file: 'lib/line/queue-place.ts',
    find: "if (this.state !== 'mine' || serial > this.serial) this.#forgetVote();",
    replace: '',
    specs: WAITS,
  },
  {
    name: 'hand-off: a vote that is about to go is the lease',
    file: VOTE,
    find: 'untilMs - nowMs < ttlMs * LEAST_LEFT',
    replace: 'untilMs - nowMs < 0 * ttlMs * LEAST_LEFT',
    specs: WAITS,
  },
  {
    name: 'hand-off: no looks',
    file: WAIT,
    find: "this.#ask(node);\n      if (place.state === 'queued' ||",
    replace: "if (place.state !== 'queued') this.#ask(node);\n      if (place.state === 'queued' ||",
    specs: ['spec/line/queue-wait-places.spec.ts'],
  },
];
