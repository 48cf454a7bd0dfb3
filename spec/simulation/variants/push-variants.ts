/** Known mistakes of push connections that fall silent: both ends believe in them, and nothing passes. */
import type { Variant } from './variants.js';

export const PUSH_VARIANTS: readonly Variant[] = [
  {
    name: "pushes: each look restarts the echo's timer",
    why: 'with many locks waited for, one look follows another before any echo is missed',
    breaks: ['progress'],
    options: { silence: true, nodes: 3 },
    patches: [
      {
        file: 'lib/line/subscriptions.ts',
        find: `    if (line?.isOpen !== true || line.echo !== undefined) return;
    if (this.#clock.earliest() - line.greetedAtMs >= ECHO_MS) this.#sayHello(line);`,
        replace: '    if (line?.isOpen === true) this.#sayHello(line);',
      },
    ],
  },
  {
    name: 'pushes: places with votes are not verified',
    why: 'who has a minority of the votes never hears that it is to yield them: both wait for ever',
    breaks: ['progress', 'settling'],
    options: { silence: true, nodes: 2 },
    patches: [
      {
        file: 'lib/line/queue-wait.ts',
        find: "if (place.state === 'queued' || place.state === 'mine') subscriptions.verify(node);",
        replace: "if (place.state === 'queued') subscriptions.verify(node);",
      },
    ],
  },
];
