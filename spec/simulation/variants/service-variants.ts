/** Known mistakes of votes at rest (protocol C3a), as changes to the production code that a day of service must notice. */
import type { Variant } from './variants.js';

const WAIT = 'lib/line/queue-wait.ts';

export const SERVICE_VARIANTS: readonly Variant[] = [
  {
    name: 'rest: nobody asks',
    why: 'a waiter keeps the vote of a master that came back, for as long as it waits',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: 'lib/protocol/lua/extend.ts',
        find: "if create ~= '0' and ask(i, owner) then asked = 2 end",
        replace: '',
      },
    ],
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
    name: 'regain: a master that does not know the script is left out',
    from: 12,
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
    from: 73,
    why: 'a lease that lacks a vote from the start lives on a bare quorum for a third of its ttl',
    of: 'service',
    breaks: ['erosion'],
    patches: [
      {
        file: 'lib/lease/lease-care.ts',
        find: 'isWhole ? firstAtMs : Math.min(firstAtMs, nowMs + RENEW_PARTIAL_MS)',
        replace: 'firstAtMs + 0 * nowMs',
      },
    ],
  },
];
