/** Known mistakes of lines in which many die at an instant, which the simulation of crashes must notice. */
import type { Variant } from './variants.js';

const QUEUE = 'lib/protocol/lua/queue.ts';
const PLACE = 'lib/line/queue-place.ts';

export const CRASH_VARIANTS: readonly Variant[] = [
  {
    name: 'crashes: rank counts the dead, and only the first looks when a vote expires',
    why: 'the next one that lives looks when its poll is due: up to 15 s later',
    of: 'crashes',
    breaks: ['service'],
    patches: [
      {
        file: PLACE,
        find: 'return dueInMs <= pollInMs + pauseMs ? dueInMs : pollInMs;',
        replace: 'return rank === 0 && dueInMs <= pollInMs ? dueInMs : pollInMs;',
      },
    ],
  },
  {
    name: 'crashes: dead places are never dropped',
    why: 'a look that finds the lock free hands it to the first that died, and so on: each costs a reservation',
    of: 'crashes',
    breaks: ['service', 'progress', 'settling'],
    options: { kind: 'mutex', deaf: 0 },
    patches: [
      {
        file: QUEUE,
        find: 'if receivers ~= 0 or #dropped == spare then break end',
        replace: 'if receivers ~= 0 or #dropped == 0 then break end',
      },
    ],
  },
  {
    name: 'crashes: whoever looks pauses, whatever became of the vote',
    from: 10,
    why: 'one that looks just before the end of a dead vote is late for it',
    of: 'crashes',
    breaks: ['service'],
    patches: [
      { file: PLACE, find: 'isRenewed ? pauseMs : 0', replace: 'isRenewed || pauseMs > 0 ? 2 * pauseMs : 0' },
    ],
  },
  {
    name: 'crashes: nobody is told of a reservation that ends before the vote that they know of',
    why: 'it is for one that only seems to live, as does the next: nobody looks as it ends',
    of: 'crashes',
    breaks: ['service'],
    options: { kind: 'mutex', deaf: 4 },
    patches: [
      {
        file: QUEUE,
        find: 'if isReserved and not self then tellMore() end',
        replace: '',
      },
    ],
  },
];
