/** Known mistakes about votes that must not be set again. */
import type { Mutant } from './mutants.js';

const SCRIPTS = ['spec/protocol/lua/taken-scripts.spec.ts'];
const HANDLES = ['spec/lease/handle-in-flight.spec.ts'];
const COMMANDS = ['spec/command/commands.spec.ts'];

export const TAKEN: readonly Mutant[] = [
  {
    name: 'taken: an exclusive lock is set again all the same',
    file: 'lib/protocol/lua/extend.ts',
    find: "    if not owner and create == '2' and isTaken(token) then return ${TAKEN_AWAY}, 0, 0 end\n",
    replace: '',
    specs: SCRIPTS,
  },
  {
    name: 'taken: a read-write lock is set again all the same',
    file: 'lib/protocol/lua/read-write.ts',
    find: "  if not own and create == '2' and isTaken(token) then return {${TAKEN_AWAY}, 0, 0} end\n",
    replace: '',
    specs: SCRIPTS,
  },
  {
    name: 'taken: permits are set again all the same',
    file: 'lib/protocol/lua/semaphore.ts',
    find: "  if not own and create == '2' and isTaken(token) then return {${TAKEN_AWAY}, 0, 0} end\n",
    replace: '',
    specs: SCRIPTS,
  },
  {
    name: 'taken: a token is found in another',
    file: 'lib/protocol/lua/taken.ts',
    find: "string.find(taken, '\\\\n' .. token .. '\\\\n', 1, true)",
    replace: 'string.find(taken, token, 1, true)',
    specs: SCRIPTS,
  },
  {
    name: 'taken: an extension does not name the list',
    file: 'lib/resource-keys.ts',
    find: 'taken: hasCluster ? undefined : takenKey(keyPrefix)',
    replace: 'taken: undefined',
    specs: COMMANDS,
  },
  {
    name: 'taken: who gives back what was given away lists nothing',
    file: 'lib/coordinator/coordinator.ts',
    find: 'if (this.#inFlight.has(grant)) this.#forbid(grant);',
    replace: '',
    specs: HANDLES,
  },
  {
    name: 'taken: a handle does not say what is in flight',
    file: 'lib/coordinator/coordinator.ts',
    find: 'const isInFlight = grant.open.length > 0 || this.#inFlight.has(grant);',
    replace: 'const isInFlight = false;',
    specs: HANDLES,
  },
  {
    name: 'taken: what was in flight is forgotten at the second hand',
    file: 'lib/coordinator/coordinator.ts',
    find: 'const isInFlight = grant.open.length > 0 || this.#inFlight.has(grant);',
    replace: 'const isInFlight = grant.open.length > 0;',
    specs: HANDLES,
  },
  {
    name: 'taken: unlock lists nothing',
    file: 'lib/command/commands/unlock.ts',
    find: 'await forbid(taking);',
    replace: '',
    specs: COMMANDS,
  },
  {
    name: 'taken: unlock keeps nothing',
    file: 'lib/command/commands/unlock.ts',
    find: 'const kept = await keepAll(taking, forMs);',
    replace: 'const kept = quorum; await releaseAll(taking);',
    specs: COMMANDS,
  },
];
