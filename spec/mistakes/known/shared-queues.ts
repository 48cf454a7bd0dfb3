/** Mistakes of waiting for a lock that several may hold: at its gate and at its door. */
import type { Mistake } from '../mistake.js';

export const SHARED_LINES: readonly Mistake[] = [
  {
    name: 'turnstile: who is not the head of the gate claims all the same',
    patches: [
      {
        in: 'Turnstile.turn',
        find: `const end = await (this.#hasBegun ? this.#queueWait.head() : this.#begin());
    if (end !== 'reserved') return end`,
        replace: `if (!this.#hasBegun) void this.#begin();
    const end: QueueWaitEnd = 'reserved'`,
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile-gate.spec.ts'] },
  },
  {
    name: 'turnstile: all have the same ticket',
    patches: [
      {
        in: 'Turnstile.constructor',
        find: `0,
        ticket,`,
        replace: `0,
        ticket: () => 1,`,
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile-gate.spec.ts'] },
  },
  {
    name: 'turnstile: who is told that it may come in waits for its time',
    patches: [
      {
        in: 'Turnstile.#onFree',
        find: "if (this.#admitting.size >= quorumOf(this.#parts.nodes.length)) this.#proceed('reserved');",
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'turnstile: who is at the door looks again when its watch is over',
    patches: [{ in: 'Turnstile.refused', find: 'WATCH_MS / 2', replace: 'WATCH_MS' }],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'turnstile: the end of what is in the way is not looked for',
    patches: [
      {
        in: 'Turnstile.refused',
        find: 'freeInMs = Math.min(freeInMs, outcome.remainingMs ?? Infinity);',
        replace: '{}',
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'turnstile: what a master could not be told as one left the gate is forgotten',
    patches: [{ in: 'Turnstile.leaving', find: '(node) => this.#owe(node)', replace: '() => undefined' }],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'shared line: the head of the line is watched for by nobody',
    patches: [
      {
        in: 'SharedQueue.claim',
        find: '{ watcher: this.#theTurnstile.watcher, rank: 0 }',
        replace: 'undefined',
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'shared line: who leaves goes on being watched for',
    patches: [{ in: 'SharedQueue.leave', find: 'this.#unwatch();', replace: '' }],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
  {
    name: 'shared line: who leaves at the end of its wait is watched for while the next one claims',
    patches: [{ in: 'SharedQueue.depart', find: 'this.#unwatch();', replace: '// or' }],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'shared line: who leaves keeps its place in the queue',
    patches: [{ in: 'SharedQueue.leave', find: 'if (this.#turnstile === undefined)', replace: '' }],
    noticedBy: { specs: ['spec/queue/turnstile-door.spec.ts'] },
  },
  {
    name: 'turnstile: a quorum that said yes too late counts as one that would admit',
    patches: [{ in: 'Turnstile.refused', find: "'granted' && granted < enough", replace: "'granted'" }],
    noticedBy: { specs: ['spec/queue/turnstile.spec.ts'] },
  },
  {
    name: 'turnstile: a quorum that said yes too late is looked at as one that refused',
    patches: [
      {
        in: 'Turnstile.refused',
        find: 'if (granted >= enough) freeInMs = random.fraction() * SOON_MS;',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/queue/turnstile.spec.ts'] },
  },
  {
    name: 'turnstile: what masters told before a claim counts after it',
    patches: [{ in: 'Turnstile.turn', find: 'this.#admitting.clear();', replace: '' }],
    noticedBy: { specs: ['spec/queue/turnstile.spec.ts'] },
  },
  {
    name: 'turnstile: who leaves the gate does not follow its request for a place',
    patches: [{ in: 'Turnstile.leaving', find: '[this.#queueWait]', replace: '[]' }],
    noticedBy: { specs: ['spec/queue/turnstile.spec.ts'] },
  },
  {
    name: 'entrance: a slow master goes on watching for one that came in',
    patches: [
      {
        in: 'SharedQueue.#unwatch',
        find: 'said === undefined ? this.#wasRefused : said',
        replace: 'said !== undefined && said',
      },
    ],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
  {
    name: 'entrance: a slow master is told to watch no more for one that was never refused',
    patches: [
      { in: 'SharedQueue.#unwatch', find: 'said === undefined ? this.#wasRefused : said', replace: 'said' },
    ],
    noticedBy: { specs: ['spec/locks/lockable.spec.ts'] },
  },
  {
    name: 'entrance: masters watch for none that wait outside the queue',
    patches: [
      {
        in: 'isGreedy',
        find: "kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: 'kind === undefined',
      },
    ],
    noticedBy: { specs: ['spec/locks/lockable.spec.ts'] },
  },
  {
    name: 'entrance: masters watch for all that wait outside the queue',
    patches: [
      {
        in: 'isGreedy',
        find: "kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: "kind.name !== 'mutex'",
      },
    ],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
  {
    name: 'entrance: masters watch for one that waits for one permit',
    patches: [{ in: 'isGreedy', find: '1', replace: '0' }],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
  {
    name: 'entrance: masters do not watch for one that waits for several permits',
    patches: [
      {
        in: 'isGreedy',
        find: "'write' || (kind.name === 'semaphore' && kind.wanted > 1)",
        replace: "'write'",
      },
    ],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
  {
    name: 'entrance: masters watch for one that tries once',
    patches: [
      {
        in: 'SharedQueue.watch',
        find: '(!isGreedy(this.#terms.scope.kind) || isOnce()) return undefined;',
        replace: '(!isGreedy(this.#terms.scope.kind)) return undefined;',
      },
    ],
    noticedBy: { specs: ['spec/queue/shared-queue.spec.ts'] },
  },
];
