/** Calls that wait for each other in a circle, as they are shown. */
import type { InstanceInfo } from './instance-info.js';

/** One call of a deadlock, and its instance. */
export interface DeadlockStep extends InstanceInfo {
  /** What the routines hold that the call was made in, as far as it is known: up to 16 names. */
  readonly holds: readonly string[];
  /** The lock that the call waits for, and that the next step holds; the first step holds that of the last one. */
  readonly waitsFor: string;
}

/** A sentence for the first of these calls. */
export function describeDeadlock(steps: readonly DeadlockStep[]): string | undefined {
  const [own, ...others] = steps;
  const last = steps.at(-1);
  if (own === undefined || last === undefined) return undefined;
  const facts = others.map((step, i) => {
    const held = JSON.stringify(steps[i]?.waitsFor); // it follows that step
    return `${nameOf(step, own)} holds ${held} and waits for ${JSON.stringify(step.waitsFor)}`;
  });
  const end = `you hold ${JSON.stringify(last.waitsFor)}`;
  return `Deadlock: ${[...facts, facts.length === 0 ? `${end} yourself` : end].join('; ')}`;
}

function nameOf({ id, label }: InstanceInfo, own: InstanceInfo): string {
  return id === own.id ? 'another call of this instance' : (label ?? `instance ${id}`);
}
