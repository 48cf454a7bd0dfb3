/**
 * Plain commands for texts that nothing is decided by: who an instance is, and what a lease is for. They need no script, and
 * none of the rights that locks do not need.
 */
import type { Operation } from './operation.js';
import type { Outcome } from './quorum.js';
import { Request } from './request.js';
import { NO_MARKER, MUTEX, type Scope } from './scope.js';
import type { Command } from '../redis/transport.js';

/** Writes a text that lives for `ttlMs`. */
export function textWriting(key: string, text: string, ttlMs: number): Request {
  return plain({ name: 'set', args: [key, text, 'PX', String(ttlMs)] });
}

export function textReading(key: string): Request {
  return plain({ name: 'get', args: [key] });
}

export function textDropping(key: string): Request {
  return plain({ name: 'del', args: [key] });
}

/**
 * Whether a token may never have votes again, since its lease is over (`isTaken`). It names the lease's resource as well, to follow
 * earlier requests about that.
 */
export function takenReading({ keys, taken }: Pick<Scope, 'keys' | 'taken'>, token: string): Request {
  return plain({ name: 'mget', args: [keys[0] ?? '', taken ?? ''] }, (reply) => {
    if (!Array.isArray(reply)) return undefined;
    const isTaken = String(reply[1]).includes(`\n${token}\n`);
    return { kind: 'refused', remainingMs: undefined, isWrongType: false, isForeignClient: false, isTaken };
  });
}

const NO_TERMS = { ttlMs: 0, withCounters: false, amount: 0 } as const;

function plain(command: Command, read: (reply: unknown) => Outcome | undefined = () => undefined): Request {
  const [key = ''] = command.args;
  const scope: Scope = { keys: [key], isFenced: false, marker: undefined, guardMs: NO_MARKER, kind: MUTEX };
  const operation: Operation = {
    ...{ isClaim: false, isUndo: false, batch: undefined, letter: undefined },
    ...{ leavesVote: false, withQueues: false },
    read,
    alone: () => command,
    head: () => [],
    rest: () => undefined,
  };
  return new Request(operation, scope, '', NO_TERMS);
}
