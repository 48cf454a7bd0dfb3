/** Known mistakes of votes at rest (protocol C3a), as changes to the production code that a day of service must notice. */
import type { Variant } from './variants.js';

const WAIT = 'lib/line/queue-wait.ts';
const TWINS = 'lib/testing/master/twins.ts';
const QUEUE_TWINS = 'lib/testing/master/queue-twins.ts';

export const SERVICE_VARIANTS: readonly Variant[] = [
  {
    name: 'rest: nobody asks',
    why: 'a waiter keeps the vote of a master that came back, for as long as it waits',
    of: 'service',
    breaks: ['erosion'],
    patches: [{ file: TWINS, find: "if (mayCreate === '1' && askToRest", replace: 'if (false && askToRest' }],
  },
  {
    name: 'rest: yielded to the next waiter',
    why: 'the vote is handed over as by any yield, and the holder does not get it',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      { file: WAIT, find: 'const rests = serial === place.rested;', replace: 'const rests = false;' },
    ],
  },
  {
    name: 'rest: given although a quorum is its own',
    why: 'what counts as a lease is given away',
    of: 'service',
    breaks: ['votes', 'exclusion', 'erosion'],
    patches: [
      {
        file: WAIT,
        find: "if (!isAsked || place.state !== 'mine' || this.#count('mine') >= this.#quorum) return;",
        replace: "if (!isAsked || place.state !== 'mine') return;",
      },
      {
        file: 'lib/line/subscriptions.ts',
        find: '    this.leave(token);\n  }\n\n  /** Its votes',
        replace: '  }\n\n  /** Its votes',
      },
    ],
  },
  {
    name: 'rest: looks take the key',
    why: 'the first waiter whose look comes has the vote again',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: QUEUE_TWINS,
        find: 'const owner = store.get(lock);\n  const text',
        replace:
          'if (store.get(lock) === AT_REST) store.delete(lock);\n  const owner = store.get(lock);\n  const text',
      },
    ],
  },
  {
    name: 'rest: without end',
    why: 'where the holder is gone, nobody has that master any more',
    of: 'service',
    breaks: ['erosion', 'progress'],
    patches: [
      {
        file: QUEUE_TWINS,
        find: 'store.set(lock, AT_REST, REST_MS)',
        replace: "store.set(lock, AT_REST, 'none')",
      },
    ],
  },
  {
    name: 'rest: extensions take votes that were handed over',
    why: 'a late extension of an ended lease takes what the next holder counts',
    of: 'service',
    breaks: ['votes', 'exclusion', 'erosion'],
    patches: [
      {
        file: TWINS,
        find: 'if (owner === undefined || isOf(token, owner)) continue;',
        replace:
          "if (owner === undefined || isOf(token, owner) || (mayCreate === '1' && owner.endsWith('+'))) continue;",
      },
    ],
  },
  {
    name: 'regain: not before the next renewal',
    why: 'the key rests for a second, and nobody comes',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: 'lib/coordinator/regaining.ts',
        find: 'const PAUSES_MS: readonly number[] = [50, 200, 550];',
        replace: 'const PAUSES_MS: readonly number[] = [];',
      },
    ],
  },
  {
    name: 'regain: a master that does not know the script is left out',
    why: 'renewals that share a call pass by a master that was started again',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: 'lib/quorum/renewal-batch.ts',
        find: 'if (isUnknownScript(cause))',
        replace: 'if (isUnknownScript(cause) && false)',
      },
    ],
  },
  {
    name: 'regain: a new lease waits for its first renewal',
    why: 'a lease that lacks a vote from the start lives on a bare quorum for a third of its ttl',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: 'lib/lease/lease.ts',
        find: 'const atMs = grant.isWhole ? firstAtMs : Math.min(firstAtMs, nowMs + RENEW_PARTIAL_MS);',
        replace: 'const atMs = firstAtMs;',
      },
    ],
  },
];
