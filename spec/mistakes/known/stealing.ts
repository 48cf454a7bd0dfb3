/** Mistakes about locks that are taken away from their holders. */
import type { Mistake } from '../mistake.js';

const SPEC = 'spec/coordinator/ousting.spec.ts';

export const STEALING: readonly Mistake[] = [
  {
    name: 'steal: the own token ends before the vote in whose place it is',
    why: 'the holder counts that vote, and another gets it',
    patches: [{ in: 'lua:oust.lua', find: 'local life = left + stay', replace: 'local life = 1' }],
    noticedBy: { breaks: ['exclusion'], seeds: { options: { steals: true } }, specs: [SPEC] },
  },
  {
    name: 'steal: the lock is claimed before its holder has had its time',
    patches: [
      {
        in: 'Ousting.run',
        find: 'leftMs * (1 + driftFactor) + ROUNDING_MS',
        replace: '0 * leftMs * driftFactor',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { options: { steals: true } }, specs: [SPEC] },
  },
  {
    name: 'steal: what was taken on some masters is given back when it fails',
    why: 'the holder counts these votes',
    patches: [
      {
        in: 'Ousting.#takeAll',
        find: 'else if (!isPassing || !(await this.#backoff.next())) throw',
        replace: `else if (!isPassing || !(await this.#backoff.next())) {
          for (const node of nodes) node.send({ request: release(this.#terms.scope, this.#token), sink: IGNORED_ANSWER });
          throw`,
      },
      { in: 'Ousting.#takeAll', find: 'nodes, this.#context);', replace: 'nodes, this.#context); }' },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'steal: a holder whose lease another process may go on with says that it has stopped',
    patches: [{ in: 'Coordinator.ousted', find: 'if (isOver)', replace: 'void isOver;' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'steal: the holder goes on when it is told',
    patches: [
      {
        in: 'Lease.oust',
        find: 'this.lose(stolenError(push.label, this.resources));',
        replace: 'void stolenError;',
      },
    ],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'steal: the holder gives its votes back when it is told',
    why: 'they go to a waiter before the other one has a quorum of them',
    patches: [{ in: 'Coordinator.ousted', find: 'grant.lend();', replace: '' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'steal: a holder of two masters’ votes is not looked for while the third is silent',
    why: 'it may have a quorum with that one, and is neither told nor waited for',
    patches: [{ in: 'holdersIn', find: 'Math.max(1, needed - silent)', replace: 'needed + 0 * silent' }],
    noticedBy: { specs: [SPEC] },
  },
  {
    name: 'steal: votes of a read-write lock are taken from those that were looked for, beside others',
    patches: [{ in: 'lua:rw-oust.lua', find: 'if others > 0 then return {0, others, 0} end', replace: '' }],
    noticedBy: { breaks: ['exclusion'], seeds: { from: 185, options: { steals: true, sharedLocks: true } } },
  },
];
