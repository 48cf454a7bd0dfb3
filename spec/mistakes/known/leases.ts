/** Mistakes in how leases are kept and how they end. */
import type { Mistake } from '../mistake.js';

export const LEASES: readonly Mistake[] = [
  {
    name: 'close frees the locks of routines that still run',
    why: 'another process comes in beside a routine that goes on: what a plain handler of SIGTERM did',
    patches: [{ in: 'HeldLeases.drain', find: 'lease.tellClosing', replace: 'void lease.release' }],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { options: { closing: true } },
      world: { world: 'close-2', schedule: 'usual' },
    },
  },
  {
    name: 'close frees what has not stopped in time',
    why: 'a routine that does not listen goes on beside the next holder',
    patches: [{ in: 'HeldLeases.drain', find: 'lease.letRunOut', replace: 'void lease.release' }],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 11, options: { closing: true } },
      world: { world: 'drain-2', schedule: 'usual' },
    },
  },
  {
    name: 'close ends renewal at once',
    why: 'a routine that stops in order loses its lock while it does',
    patches: [
      {
        in: 'HeldLeases.drain',
        find: 'lease.tellClosing();',
        replace: '{ lease.tellClosing(); lease.letRunOut(); }',
      },
    ],
    noticedBy: { breaks: ['progress'], seeds: {}, world: { world: 'close-2', schedule: 'usual' } },
  },
  {
    name: 'timers left after close',
    why: 'the process is kept busy by what nobody needs',
    patches: [{ in: 'LeaseMachine.end', find: 'this.disarm();', replace: '' }],
    noticedBy: { breaks: ['leftovers'], seeds: {}, world: { world: 'undo-2', schedule: 'usual' } },
  },
  {
    name: 'a release that is not awaited resolves when it was put on a list',
    why: 'who ends the process next leaves the lock behind',
    patches: [
      { in: 'Withdrawal.sendThen', find: 'this.#targets.filter(({ isHealthy }) => isHealthy)', replace: '' },
    ],
    noticedBy: { specs: ['spec/lease/unawaited-release.spec.ts'] },
  },
  {
    name: 'the first release does not carry the source of its script',
    why: 'its process may have ended when a master asks for it',
    patches: [{ in: 'Request.mayBeLast', find: ' || WITHDRAWALS.has(this.operation.letter)', replace: '' }],
    noticedBy: { specs: ['spec/node/node.spec.ts'] },
  },
  {
    name: 'lease: the end of validity is not watched while a renewal is under way',
    patches: [{ in: 'ATTEMPTS_WATCHED', find: '3', replace: '0' }],
    noticedBy: { specs: ['spec/quorum/renewal-batch.spec.ts'] },
  },
];
