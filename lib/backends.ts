/** What locks, elections and jobs need of an instance, made of its insides. */
import type { Coordinator } from './coordinator/coordinator.js';
import type { Environment } from './environment.js';
import { readInspection } from './lease/inspection.js';
import type { Coordination } from './lease/coordination.js';
import type { LeaseSource } from './lease-source.js';
import { Notes } from './lease/notes.js';
import { readShared } from './lease/shared-inspection.js';
import type { LockBackend } from './locks/lockable.js';
import type { InstanceTerms } from './input/options.js';
import { sharedInspection } from './protocol/request.js';
import { MUTEX } from './protocol/scope.js';
import type { ResourceKeys } from './resource-keys.js';

/** The parts of an instance that its backends are made of. */
export interface Insides {
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  readonly keys: ResourceKeys;
  readonly source: LeaseSource;
  readonly environment: Environment;
}

export function lockBackendOf({ coordinator, keys, source, terms }: Insides): LockBackend {
  return {
    terms,
    run: (lease, routine, onLoss) => source.held.run(lease, lease, routine, onLoss),
    acquire: (name, kind, call, signal) => source.acquire([name], kind, call, signal),
    acquireToWrite: (name, call, signal) => source.acquireToWrite(name, call, signal),
    inspect: async (name) => {
      source.assertOpen();
      const looks = await coordinator.inspect(keys.keyOf(name), coordinator.nodeTimeoutFor(terms));
      return readInspection(name, looks, coordinator.nodes);
    },
    inspectShared: async (name) => {
      source.assertOpen();
      const request = sharedInspection(keys.keyOf(name));
      const looks = await coordinator.survey(request, coordinator.nodeTimeoutFor(terms));
      return readShared(name, looks, coordinator.nodes);
    },
  };
}

export function coordinationOf({ coordinator, environment, keys, source, terms }: Insides): Coordination {
  const { clock, leaseTimers, random, timers } = environment;
  return {
    ...{ terms, coordinator, clock, timers: leaseTimers ?? timers, random },
    nodeTimeoutFor: (call) => coordinator.nodeTimeoutFor(call),
    notesOf: (name, kind) => new Notes(coordinator, name, keys.noteOf(name, kind)),
    acquire: (name, call, signal, observer) => source.acquire([name], MUTEX, call, signal, { observer }),
    run: (lease, given, routine) => source.held.during(lease, given, () => routine(given)),
    begin: (signal) => source.begin(signal),
    end: (cancellation) => source.end(cancellation),
  };
}
