/** Mistakes about direct hand-off, on the client's side. */
import type { Mutant } from './mutants.js';

const WAIT = 'lib/line/queue-wait.ts';
const VOTE = 'lib/line/direct-vote.ts';
const SPECS = ['spec/line/queue-wait-direct.spec.ts'];

export const DIRECT: readonly Mutant[] = [
  {
    name: 'direct: its validity counts from the arrival of the push',
    file: VOTE,
    find: 'validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),',
    replace: 'validUntilMs(receivedAtMs, spanMs ?? ttlMs, driftFactor),',
    specs: SPECS,
  },
  {
    name: 'direct: its validity is whatever the master says',
    file: VOTE,
    find: 'validUntilMs(receivedAtMs, ttlMs, driftFactor),',
    replace: '',
    specs: SPECS,
  },
  {
    name: 'direct: a reservation counts as a vote',
    file: WAIT,
    find: 'place.has(serial, claimed && directVote(claimed, nowMs, { ttlMs, driftFactor }));',
    replace:
      'place.has(serial, directVote(claimed ?? { fence: 0, sentMs: place.sentAtMs, spanMs: undefined }, nowMs, { ttlMs, driftFactor }));',
    specs: SPECS,
  },
  {
    name: 'direct: the lease has the latest validity of its votes',
    file: VOTE,
    find: 'ends[quorum - 1]',
    replace: 'ends[0]',
    specs: SPECS,
  },
  {
    name: 'direct: votes of a quorum with different fencing tokens are a lease',
    file: VOTE,
    find: 'const agreed = isFenced ? valid.find(isAgreed) : valid[0];',
    replace: 'const agreed = valid[0];',
    specs: SPECS,
  },
  {
    name: 'direct: a vote about another resource counts',
    file: WAIT,
    find: 'if (push.key !== this.#keyAt(node)) return;\n        if (push.serial',
    replace: 'if (push.serial',
    specs: SPECS,
  },
  {
    name: 'direct: a vote that was yielded counts again',
    file: WAIT,
    find: 'if (serial <= place.yielded) return; // a push from before it was given back',
    replace: '',
    specs: SPECS,
  },
  {
    name: 'direct: a vote that has won is declined',
    file: 'lib/line/subscriptions.ts',
    find: "if (push.kind === 'given' && !this.#held.has(push.token)) this.#decline(line, push);",
    replace: "if (push.kind === 'given') this.#decline(line, push);",
    specs: ['spec/line/subscriptions.spec.ts'],
  },
  {
    name: 'direct: a vote counts though its push connection is not proven',
    file: 'lib/line/subscriptions.ts',
    find: '} else if (line.isOpen) recipient.onPush(',
    replace: '} else recipient.onPush(',
    specs: ['spec/line/subscriptions.spec.ts'],
  },
];
