/** Mutants of push connections: mistakes that seeds of the simulation do not find. */
import type { Mutant } from './mutants.js';

const file = 'lib/line/subscriptions.ts';
const specs = ['spec/line/subscriptions.spec.ts'];

export const PUSHES: readonly Mutant[] = [
  {
    name: 'pushes: an echo is missed before sockets are read',
    file,
    find: 'this.#timers.deadline(ECHO_MS',
    replace: 'this.#timers.background(ECHO_MS',
    specs,
  },
  {
    name: 'pushes: an echo for each look',
    file,
    find: 'if (this.#clock.earliest() - line.greetedAtMs >= ECHO_MS) this.#sayHello(line);',
    replace: 'this.#sayHello(line);',
    specs,
  },
  {
    name: 'pushes: a connection that is never confirmed is left alone',
    file,
    find: 'if (line.node.isReady) line.subscription?.renew();',
    replace: '',
    specs,
  },
  {
    name: 'pushes: the end of a dead connection is waited for',
    file: 'lib/redis/subscription.ts',
    find: 'this.#client.stream?.destroy();',
    replace: '',
    specs: ['spec/redis/subscription.spec.ts'],
  },
];
