/** Mistakes about votes that must not be set again. */
import type { Mistake } from '../mistake.js';

export const TAKEN: readonly Mistake[] = [
  {
    name: 'an extension that was in flight at giveAway() sets votes again',
    why: 'it arrives when the lease was taken over and given back, and nobody undoes what nobody has',
    patches: [
      { in: 'Coordinator.#end', find: 'if (this.#inFlight.has(grant)) this.#forbid(grant);', replace: '' },
    ],
    noticedBy: {
      breaks: ['orphan'],
      world: { world: 'hand-over-2', schedule: '5:late' },
      specs: ['spec/lease/handle-in-flight.spec.ts'],
    },
  },
  {
    name: 'taken: an exclusive lock is set again all the same',
    patches: [
      {
        in: 'lua:extend',
        find: "if not owner and create == '2' and isTaken(token) then return TAKEN_AWAY, 0, 0 end",
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/taken-scripts.spec.ts'] },
  },
  {
    name: 'taken: a read-write lock is set again all the same',
    patches: [
      {
        in: 'lua:extendRole',
        find: "if not own and create == '2' and isTaken(token) then return {TAKEN_AWAY, 0, 0} end",
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/taken-scripts.spec.ts'] },
  },
  {
    name: 'taken: permits are set again all the same',
    patches: [
      {
        in: 'lua:extendPermits',
        find: "if not own and create == '2' and isTaken(token) then return {TAKEN_AWAY, 0, 0} end",
        replace: '',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/taken-scripts.spec.ts'] },
  },
  {
    name: 'taken: a token is found in another',
    patches: [
      {
        in: 'lua:isTaken',
        find: "string.find(taken, '\\n' .. token .. '\\n', 1, true)",
        replace: 'string.find(taken, token, 1, true)',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/taken-scripts.spec.ts'] },
  },
  {
    name: 'taken: an extension does not name the list',
    patches: [
      { in: 'lib/settingsFor', find: 'hasCluster ? undefined : takenKey(keyPrefix)', replace: 'undefined' },
    ],
    noticedBy: { specs: ['spec/command/commands.spec.ts'] },
  },
  {
    name: 'taken: a handle does not say what is in flight',
    patches: [
      {
        in: 'Coordinator.giveAway',
        find: 'grant.open.length > 0 || this.#inFlight.has(grant)',
        replace: 'false',
      },
    ],
    noticedBy: { specs: ['spec/lease/handle-in-flight.spec.ts'] },
  },
  {
    name: 'taken: what was in flight is forgotten at the second hand',
    patches: [{ in: 'Coordinator.giveAway', find: '0 || this.#inFlight.has(grant)', replace: '0' }],
    noticedBy: { specs: ['spec/lease/handle-in-flight.spec.ts'] },
  },
  {
    name: 'taken: a claim that was in flight at giveAway() keeps its vote',
    why: 'it arrives when the lease was taken over and given back, and nobody undoes what nobody has',
    patches: [{ in: 'Coordinator.giveAway', find: 'this.#recallLate(grant);', replace: '' }],
    noticedBy: {
      breaks: ['orphan'],
      world: { world: 'hand-on-3', schedule: '0:late' },
      specs: ['spec/lease/handle-in-flight.spec.ts'],
    },
  },
  {
    name: 'taken: the release of an adopted lease comes in front of the list',
    why: 'what arrives between the two at a slow master sets a vote again',
    patches: [{ in: 'Coordinator.#forbid', find: ', isFirst: true', replace: '' }],
    noticedBy: { specs: ['spec/lease/handle-in-flight.spec.ts'] },
  },
  {
    name: 'taken: a lease that was given away is taken for over',
    why: 'then the vote of another process, which counts it, is undone',
    patches: [
      { in: 'showsItsEnd', find: "answer?.kind === 'refused' && answer.isTaken === true", replace: 'true' },
    ],
    noticedBy: { specs: ['spec/lease/handle-in-flight.spec.ts'] },
  },
  {
    name: 'taken: unlock lists nothing',
    patches: [{ in: 'takeFrom', find: 'await forbid(taking);', replace: '' }],
    noticedBy: { specs: ['spec/command/commands.spec.ts'] },
  },
  {
    name: 'taken: unlock keeps nothing',
    patches: [{ in: 'free', find: 'keepMs > 0 ?', replace: 'keepMs > Infinity ?' }],
    noticedBy: { specs: ['spec/command/commands.spec.ts'] },
  },
];
