/** Outcomes, master by master, in the form that callers see in errors and events. */
import type { NodeOutcome } from '../runtime/errors.js';
import { NOT_AWAITED } from '../redis/server-errors.js';
import type { Outcome } from './quorum.js';

/** What a tally needs of a master. */
export interface NamedNode {
  readonly name: string;
  readonly index: number;
}

/** The masters' outcomes, by their index. */
export interface Answers {
  readonly outcomes: readonly (Outcome | undefined)[];
}

/** Of a lease that another one of this instance had before: no master was asked. */
export const NOBODY_ASKED: Answers = Object.freeze({ outcomes: Object.freeze([]) });

/** The tally for the caller; empty if no master was asked. */
export function tallyOf({ outcomes }: Answers, nodes: readonly NamedNode[]): NodeOutcome[] {
  return outcomes.length === 0 ? [] : nodes.map((node) => forCaller(node.name, outcomes[node.index]));
}

function forCaller(node: string, outcome: Outcome | undefined): NodeOutcome {
  switch (outcome?.kind) {
    case 'granted':
      return { node, outcome: 'granted' };
    case 'refused': {
      const time = outcome.remainingMs === undefined ? {} : { remainingMs: outcome.remainingMs };
      return {
        node,
        outcome: 'refused',
        ...time,
        ...(outcome.isWrongType || outcome.permits !== undefined ? { wrongKind: true as const } : {}),
        ...(outcome.holds === undefined ? {} : { holds: outcome.holds }),
      };
    }
    case 'quarantined':
      return { node, outcome: 'quarantined', remainingMs: outcome.remainingMs };
    case 'unknown':
      if (outcome.cause === NOT_AWAITED) return { node, outcome: 'pending' };
      return { node, outcome: 'unknown', cause: outcome.cause };
    case undefined:
      return { node, outcome: 'pending' }; // the round was decided before it answered
  }
}
