/** What locks, elections and jobs need of an instance, made of its insides. */
import type { AcquisitionTerms } from './coordinator/acquisition-terms.js';
import type { Coordinator } from './coordinator/coordinator.js';
import { readInspection } from './lease/inspection.js';
import type { Coordination } from './lease/coordination.js';
import type { HeldLeases } from './lease/held-leases.js';
import type { Lease as OwnLease, LeaseEnvironment } from './lease/lease.js';
import { Notes } from './lease/notes.js';
import { readShared } from './lease/shared-inspection.js';
import { WriteLease } from './lease/write-lease.js';
import type { LockBackend } from './locks/lockable.js';
import type { InstanceTerms, ResolvedCall } from './input/options.js';
import type { Grant } from './quorum/grant.js';
import { sharedInspection } from './protocol/request.js';
import { type Kind, MUTEX, type Scope, WRITE } from './protocol/scope.js';
import type { ResourceKeys } from './resource-keys.js';
import type { Cancellation } from './runtime/cancellation.js';
import type { Random } from './runtime/random.js';

/** The parts of an instance that its backends are made of. */
export interface Insides {
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  readonly keys: ResourceKeys;
  readonly held: HeldLeases;
  readonly leases: LeaseEnvironment;
  readonly random: Random;
  /** A wait that `close` and the signal end. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation;
  end(cancellation: Cancellation): void;
  termsOf(names: readonly string[], call: ResolvedCall, kind: Kind): AcquisitionTerms;
  toLease(grant: Grant, names: readonly string[], call: ResolvedCall): OwnLease;
  hold<Held extends OwnLease>(lease: Held): Held;
}

export function lockBackendOf(insides: Insides): LockBackend {
  const { coordinator, held, keys, terms } = insides;
  /** @throws RedlockError `CLOSED` */
  const checkOpen = (): void => insides.end(insides.begin(undefined));
  return {
    terms,
    run: (lease, routine) => held.run(lease, lease, routine),
    acquire: async (name, kind, call, signal) =>
      insides.toLease(await grantOf(insides, name, kind, call, signal), [name], call),
    acquireToWrite: async (name, call, signal) => {
      const granted = await grantOf(insides, name, WRITE, call, signal);
      return insides.hold(new WriteLease(insides.leases, granted, [name], call));
    },
    inspect: async (name) => {
      checkOpen();
      const looks = await coordinator.inspect(keys.keyOf(name), coordinator.nodeTimeoutFor(terms));
      return readInspection(name, looks, coordinator.nodes);
    },
    inspectMembers: async (name) => {
      checkOpen();
      const request = sharedInspection(keys.keyOf(name));
      const looks = await coordinator.survey(request, coordinator.nodeTimeoutFor(terms));
      return readShared(name, looks, coordinator.nodes);
    },
  };
}

export function coordinationOf(insides: Insides): Coordination {
  const { coordinator, held, keys, terms, random } = insides;
  const { clock, timers } = insides.leases;
  return {
    ...{ terms, coordinator, clock, timers, random },
    nodeTimeoutFor: (call) => coordinator.nodeTimeoutFor(call),
    notesOf: (name, kind) => new Notes(coordinator, name, keys.noteOf(name, kind)),
    acquire: async (name, call, signal) =>
      insides.toLease(await grantOf(insides, name, MUTEX, call, signal), [name], call),
    run: (lease, given, routine) => held.run(lease, given, routine),
    begin: (signal) => insides.begin(signal),
    end: (cancellation) => insides.end(cancellation),
  };
}

async function grantOf(
  insides: Insides,
  name: string,
  kind: Kind,
  call: ResolvedCall,
  signal: AbortSignal | undefined,
): Promise<Grant> {
  const cancellation = insides.begin(signal);
  try {
    return await insides.coordinator.acquire(insides.termsOf([name], call, kind), cancellation);
  } finally {
    insides.end(cancellation);
  }
}

/** What an acquisition goes by. @param mayQueue  whether the masters can keep a queue: a cluster cannot */
export function acquisitionTermsOf(
  call: ResolvedCall,
  scope: Scope,
  { resources, mayQueue }: { readonly resources: readonly string[]; readonly mayQueue: boolean },
): AcquisitionTerms {
  const { ttlMs, waitMs, nodeTimeoutMs, minDelayMs, maxDelayMs } = call;
  const isFair = call.fair && waitMs > 0 && mayQueue;
  return { resources, scope, ttlMs, waitMs, nodeTimeoutMs, minDelayMs, maxDelayMs, isFair };
}
