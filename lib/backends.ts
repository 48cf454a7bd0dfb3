/** What locks, elections and jobs need of an instance, made of where its leases come from. */
import { readInspection } from './lease/inspection.js';
import type { Coordination } from './lease/coordination.js';
import type { LeaseSource } from './lease-source.js';
import { Notes } from './lease/notes.js';
import { readShared } from './lease/shared-inspection.js';
import type { LockBackend } from './locks/lockable.js';
import { sharedInspection } from './protocol/request.js';
import { MUTEX } from './protocol/scope.js';

export function lockBackendOf(source: LeaseSource): LockBackend {
  const { coordinator, terms } = source.parts;
  const { keys } = source;
  return {
    terms,
    run: (lease, routine, onLoss) => source.held.run(lease, lease, routine, onLoss),
    acquire: (name, kind, call, signal) => source.acquire([name], kind, call, signal),
    acquireToWrite: (name, call, signal) => source.acquireToWrite(name, call, signal),
    inspect: async (name) => {
      source.assertOpen();
      const answers = await coordinator.inspect(keys.keyOf(name), coordinator.nodeTimeoutFor(terms));
      return readInspection(name, answers, coordinator.nodes);
    },
    inspectShared: async (name) => {
      source.assertOpen();
      const request = sharedInspection(keys.keyOf(name));
      const answers = await coordinator.survey(request, coordinator.nodeTimeoutFor(terms));
      return readShared(name, answers, coordinator.nodes);
    },
  };
}

export function coordinationOf(source: LeaseSource): Coordination {
  const { clock, coordinator, random, terms, timers } = source.parts;
  return {
    ...{ terms, coordinator, clock, timers, random },
    nodeTimeoutFor: (call) => coordinator.nodeTimeoutFor(call),
    notesOf: (name, kind) => new Notes(coordinator, name, source.keys.noteOf(name, kind)),
    acquire: (name, call, signal, observer) => source.acquire([name], MUTEX, call, signal, { observer }),
    run: (lease, given, routine) => source.held.during(lease, given, () => routine(given)),
    begin: (signal) => source.begin(signal),
    end: (cancellation) => source.end(cancellation),
  };
}
