/** Known mistakes of timestamp locks, as changes to the production code that their simulation must notice. */
import type { Variant } from './variants.js';

const METHODS = 'lib/timestamp/methods.ts';
const LEASE = 'lib/timestamp/lease.ts';

export const TIMESTAMP_VARIANTS: readonly Variant[] = [
  {
    name: 'timestamp: an expired lock deleted and set again',
    from: 30,
    why: 'the second of two that saw it expired deletes what the first one has set',
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      {
        file: METHODS,
        find: "const text = await server.send('getset', key, String(second));\n    const held",
        replace:
          "await server.send('del', key);\n" +
          "    const text = (await server.send('setnx', key, String(second))) === 1 ? null : String(second);\n    const held",
      },
    ],
  },
  {
    name: 'timestamp: what GETSET replaced is not looked at',
    from: 10,
    why: 'all who saw it expired believe that they hold it',
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [{ file: METHODS, find: 'before < expiredBelow ? held', replace: 'before < Infinity ? held' }],
  },
  {
    name: 'timestamp: release without owner check',
    why: "a late release deletes another's lock",
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      {
        file: METHODS,
        find: '|| !isWithin(seen, ownRange(own, agreement))) return;\n    if (isLive()) await',
        replace: ') return;\n    await',
      },
      {
        file: LEASE,
        find: "this.#check();\n    if (this.#state === HELD) this.#end({ kind: 'released'",
        replace: "if (this.#state.kind !== 'released') this.#end({ kind: 'released'",
      },
    ],
  },
  {
    name: 'timestamp: no margin for clocks that are apart',
    why: 'one whose clock is ahead takes over what is still held',
    of: 'timestamps',
    breaks: ['exclusion'],
    patches: [
      {
        file: 'lib/timestamp/instant.ts',
        find: 'Math.floor((wallMs - marginMs) / UNIT_MS[unit])',
        replace: 'Math.floor(wallMs / UNIT_MS[unit])',
      },
      {
        file: LEASE,
        find: 'this.#untilMs = sentAtMs + ttlMs - environment.clockMarginMs;',
        replace: 'this.#untilMs = sentAtMs + ttlMs;',
      },
      {
        file: 'lib/timestamp/instant.ts',
        find: 'return instant * UNIT_MS[unit] - marginMs - wallMs;',
        replace: 'return instant * UNIT_MS[unit] - wallMs;',
      },
    ],
  },
  {
    name: "timestamp: all up to an unanswered extension is one's own",
    from: 225,
    why: "another's lock that was taken in between is deleted by a late release",
    of: 'timestamps',
    breaks: ['exclusion'],
    options: { heldBack: true },
    patches: [
      {
        file: 'lib/timestamp/instant.ts',
        find: 'Math.min(own.to + off, last)',
        replace: 'own.to + off',
      },
    ],
  },
];
