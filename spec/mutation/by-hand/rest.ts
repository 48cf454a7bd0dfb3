/** Mutants of votes at rest (protocol C3a): mistakes that a day of service does not find, or not soon. */
import type { Mutant } from './mutants.js';

const LUA = 'lib/protocol/lua/extend.ts';
const QUEUE = 'lib/protocol/lua/queue.ts';
const WAIT = 'lib/line/queue-wait.ts';
const EXTENSIONS = 'lib/coordinator/extensions.ts';
const scripts = ['spec/protocol/lua/rest-scripts.spec.ts'];
const waits = ['spec/line/queue-wait-votes.spec.ts'];
const regains = ['spec/coordinator/regaining.spec.ts'];

export const REST: readonly Mutant[] = [
  {
    name: 'rest: extensions take votes that were handed over to others',
    file: LUA,
    find: "if owner == '${AT_REST}' and create ~= '0' then owner = false end",
    replace:
      "if owner and create ~= '0' and (owner == '${AT_REST}' or string.sub(owner, -1) == '+') then owner = false end",
    specs: scripts,
  },
  {
    name: 'rest: an adoption counts a key at rest',
    file: LUA,
    find: "if owner == '${AT_REST}' and create ~= '0' then",
    replace: "if owner == '${AT_REST}' then create, owner = '1', false",
    specs: scripts,
  },
  {
    name: 'rest: one that may not create asks',
    file: LUA,
    find: "if create ~= '0' and ask(i, owner) then asked = 2 end",
    replace: 'if ask(i, owner) then asked = 2 end',
    specs: scripts,
  },
  {
    name: 'rest: claimed votes are asked for',
    file: LUA,
    find: "if not other or not ${oursInLua('owner')} then return false end",
    replace: 'other = other or owner',
    specs: scripts,
  },
  {
    name: 'rest: looks take the key',
    file: QUEUE,
    find: "  local us, marked = own.now(), ${markedInLua('token')}",
    replace:
      "  if owner == '${AT_REST}' then owner = false end\n  local us, marked = own.now(), ${markedInLua('token')}",
    specs: scripts,
  },
  {
    name: 'rest: a foreign client for looks',
    file: QUEUE,
    find: "if owner ~= '${AT_REST}' and not",
    replace: 'if not',
    specs: scripts,
  },
  {
    name: 'rest: without end',
    file: QUEUE,
    find: "'${AT_REST}', 'PX', ${REST_MS}).err",
    replace: "'${AT_REST}').err",
    specs: scripts,
  },
  {
    name: 'rest: the vote goes after the rest',
    file: QUEUE,
    find: "  redis.call('DEL', KEYS[k])\n  local isAtRest",
    replace: '  local isAtRest',
    specs: scripts,
  },
  {
    name: 'rest: given although a quorum is its own',
    file: WAIT,
    find: "if (!isAsked || place.state !== 'mine' || this.#count('mine') >= this.#quorum) return;",
    replace: "if (!isAsked || place.state !== 'mine') return;",
    specs: waits,
  },
  {
    name: 'rest: what was asked too early is forgotten',
    file: WAIT,
    find: '    this.#yieldIfInquired(node);\n    this.#restIfAsked(node);\n  }',
    replace: '    this.#yieldIfInquired(node);\n  }',
    specs: waits,
  },
  {
    name: 'rest: what was asked is remembered for ever',
    file: WAIT,
    find: 'this.#environment.clock.earliest() - place.askedAtMs < REST_MS',
    replace: 'place.askedAtMs > -Infinity',
    specs: waits,
  },
  {
    name: 'rest: a yield that was lost is sent again without its rest',
    file: WAIT,
    find: 'const rests = serial === place.rested;',
    replace: 'const rests = serial === place.rested && place.yielded < serial;',
    specs: waits,
  },
  {
    name: 'regain: not before the next renewal',
    file: 'lib/coordinator/regaining.ts',
    find: 'const PAUSES_MS: readonly number[] = [50, 200, 550];',
    replace: 'const PAUSES_MS: readonly number[] = [];',
    specs: regains,
  },
  {
    name: 'regain: a refusal by a few waiters loses the lease',
    file: 'lib/quorum/failure.ts',
    find: 'return isAsked && round.held < quorumOf(masters);',
    replace: 'return isAsked && round.held < 0;',
    specs: regains,
  },
  {
    name: 'regain: a waiter with a quorum loses the lease late',
    file: 'lib/quorum/failure.ts',
    find: 'return isAsked && round.held < quorumOf(masters);',
    replace: 'return isAsked;',
    specs: regains,
  },
  {
    name: 'regain: a release is followed by an extension',
    file: 'lib/coordinator/regaining.ts',
    find: '  drop(): void {\n    this.timer?.cancel();',
    replace: '  drop(): void {',
    specs: regains,
  },
  {
    name: 'regain: without a quorum, all masters are asked at the next renewal',
    file: EXTENSIONS,
    find: 'else if (isGranted || !this.#extendsAgain(one, round))',
    replace: 'else',
    specs: regains,
  },
];
