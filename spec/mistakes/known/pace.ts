/** Mistakes of pacing and batches. Pacing breaks no promise that the simulation could see: nobody waits for more than 2 ms. */
import type { Mistake } from '../mistake.js';

export const PACE: readonly Mistake[] = [
  {
    name: 'pace: undos wait for the call before',
    patches: [{ in: 'Node.send', find: 'ask.request.isWhole || !', replace: '!' }],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: a silent minority holds others up',
    patches: [{ in: 'Pace.answered', find: 'this.#quorum', replace: 'call.sent' }],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: a call to a minority holds others up',
    patches: [{ in: 'Pace.sent', find: 'this.#quorum', replace: '1' }],
    noticedBy: { specs: ['spec/node/pace.spec.ts', 'spec/rules/rule-12.spec.ts'] },
  },
  {
    name: 'pace: a quorum that never answers holds others up',
    patches: [{ in: 'Pace.#arm', find: 'MOST_HELD_MS', replace: '200' }],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: each master by itself',
    patches: [{ in: 'Pace.admits', find: 'if (this.#isPassing) return true;', replace: '' }],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: a renewal behind claims',
    patches: [
      {
        in: 'SendQueue.add',
        find: '(entry.request.isRenewal ? this.#renewals : this.#entries)',
        replace: 'this.#entries',
      },
    ],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: an extension waits though its lease ends soon',
    patches: [
      { in: 'Extensions.#extendNow', find: 'round.isUrgent = leftMs < request.ttlMs / 2;', replace: '' },
    ],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'pace: a release waits though somebody waits for it',
    patches: [
      {
        in: 'Coordinator.#release',
        find: 'isUrgent: isAwaited || grant.keys.some((key) => this.#parts.contention.isLikely(key)),',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/node/pace.spec.ts'] },
  },
  {
    name: 'renewals: masters have the node timeout of the last one',
    patches: [
      { in: 'RenewalBatch.send', find: 'Math.min(timeoutMs, nodeTimeoutMs)', replace: 'nodeTimeoutMs' },
    ],
    noticedBy: { specs: ['spec/quorum/renewal-batch.spec.ts'] },
  },
  {
    name: 'batch: a request passes one for the same resource that another script carries',
    patches: [
      {
        in: 'Batch.take',
        find: 'if (passed.length > 0 && request.scope.keys.some((key) => resources.has(key))) break;',
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/node/batch.spec.ts'] },
  },
];
