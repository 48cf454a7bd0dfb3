/** Known mistakes of pacing. They break no promise that the simulation could see: nobody waits for more than 2 ms. */
import type { Mutant } from './mutants.js';

const SPECS = ['spec/node/pace.spec.ts'];

export const PACE: readonly Mutant[] = [
  {
    name: 'pace: undos wait for the call before',
    file: 'lib/node/node.ts',
    find: 'ask.isUrgent === true || ask.request.isWhole || !ask.request.sharesCalls',
    replace: 'ask.isUrgent === true || !ask.request.sharesCalls',
    specs: SPECS,
  },
  {
    name: 'pace: a silent minority holds others up',
    file: 'lib/node/pace.ts',
    find: 'call.answers < this.#quorum',
    replace: 'call.answers < call.sent',
    specs: SPECS,
  },
  {
    name: 'pace: a call to a minority holds others up',
    file: 'lib/node/pace.ts',
    find: 'if (call.sent === this.#quorum) {',
    replace: 'if (call.sent === 1) {',
    specs: [...SPECS, 'spec/rules/rule-12.spec.ts'],
  },
  {
    name: 'pace: a quorum that never answers holds others up',
    file: 'lib/node/pace.ts',
    find: 'oldest.sentAtMs + MOST_HELD_MS - this.#clock.earliest();',
    replace: 'oldest.sentAtMs + 200 - this.#clock.earliest();',
    specs: SPECS,
  },
  {
    name: 'pace: each master by itself',
    file: 'lib/node/pace.ts',
    find: 'if (this.#isPassing) return true;',
    replace: '',
    specs: SPECS,
  },
  {
    name: 'pace: a renewal behind claims',
    file: 'lib/node/send-queue.ts',
    find: '(entry.request.isRenewal ? this.#renewals : this.#entries).push(entry);',
    replace: 'this.#entries.push(entry);',
    specs: SPECS,
  },
  {
    name: 'pace: an extension waits though its lease ends soon',
    file: 'lib/coordinator/extensions.ts',
    find: 'round.isUrgent = leftMs < request.ttlMs / 2;',
    replace: '',
    specs: SPECS,
  },
  {
    name: 'pace: a release waits though somebody waits for it',
    file: 'lib/coordinator/coordinator.ts',
    find: 'isUrgent: grant.keys.some((key) => this.#environment.contention.isLikely(key)),',
    replace: '',
    specs: SPECS,
  },
];
