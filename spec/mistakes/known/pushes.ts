/** Mistakes of push connections: both ends may believe in one on which nothing passes. */
import type { Mistake } from '../mistake.js';

export const PUSHES: readonly Mistake[] = [
  {
    name: "pushes: each look restarts the echo's timer",
    why: 'with many locks waited for, one look follows another before any echo is missed',
    patches: [
      {
        in: 'Subscriptions.verify',
        find: `!connection.isOpen || connection.echo !== undefined) return;
    if (this.#clock.earliest() - connection.greetedAtMs >= ECHO_MS`,
        replace: 'connection.isOpen',
      },
    ],
    noticedBy: { breaks: ['progress'], seeds: { options: { silence: true, nodes: 3 } } },
  },
  {
    name: 'pushes: places with votes are not verified',
    why: 'who has a minority of the votes never hears that it is to yield them: both wait for ever',
    patches: [
      { in: 'QueueWait.#onPlaceDue', find: "'queued' || place.state === 'mine'", replace: "'queued'" },
    ],
    noticedBy: { breaks: ['progress', 'settling'], seeds: { options: { silence: true, nodes: 2 } } },
  },
  {
    name: 'pushes: an echo is missed before sockets are read',
    patches: [{ in: 'Subscriptions.#sayHello', find: '#timers.deadline', replace: '#timers.background' }],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'pushes: an echo for each look',
    patches: [
      {
        in: 'Subscriptions.verify',
        find: 'if (this.#clock.earliest() - connection.greetedAtMs >= ECHO_MS)',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'pushes: a connection that is never confirmed is left alone',
    patches: [
      {
        in: 'Subscriptions.#awaitOpening',
        find: 'if (connection.node.isReady) connection.subscription?.renew();',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/queue/subscriptions.spec.ts'] },
  },
  {
    name: 'pushes: the end of a dead connection is waited for',
    patches: [{ in: 'RedisSubscription.renew', find: 'this.#client.stream?.destroy();', replace: '' }],
    noticedBy: { specs: ['spec/redis/ioredis/subscription.spec.ts'] },
  },
];
