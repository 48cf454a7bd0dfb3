/** Entries that specs send by hand, each as the only one of a batch. */
import { ENTRY, SHARED_ENTRY } from '../../lib/protocol/lua/entries.js';
import { BATCH, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import type { Letter } from '../../lib/protocol/operation.js';
import type { Script } from '../../lib/redis/script.js';
import { type Argument, FORMS } from './entries.js';

/** By name; without a guard, the marker is not looked at. */
type LoneArguments = Readonly<Partial<Record<Argument, string | number>>>;

export interface LoneEntry {
  readonly script: Script;
  /** Those behind the keys. */
  readonly args: readonly (string | number)[];
  /** Its reply in full form. @param reply  the script's @throws its error */
  readonly replyIn: (reply: unknown) => unknown;
}

/** @param resources  how many it is about */
export function loneEntry(letter: Letter, token: string, args: LoneArguments, resources = 1): LoneEntry {
  const { head = [], rest } = FORMS[letter];
  const own = [...head, ...(rest === undefined ? [] : [rest])].map((name) => args[name] ?? '');
  const behind = rest === undefined ? [] : own.splice(-1);
  const isShared = Object.values<Letter>(SHARED_ENTRY).includes(letter);
  return {
    script: isShared ? SHARED_BATCH : BATCH,
    args: [args.guard ?? -1, letter, 1, resources, ...own, token, ...behind],
    replyIn: (reply) => inFull(letter, args, Array.isArray(reply) ? (reply as unknown[])[0] : reply),
  };
}

function inFull(letter: Letter, { fence }: LoneArguments, reply: unknown): unknown {
  if (typeof reply === 'string') throw new Error(reply.replace(/^!/, ''));
  if (typeof reply !== 'number') return reply;
  switch (letter) {
    case ENTRY.accept:
      return [1, reply, 0];
    case SHARED_ENTRY.accept:
      return [1, reply === 1 ? Number(fence) : reply, 0]; // the one that was put to it is not repeated
    case SHARED_ENTRY.align:
      return [1, 0, 0, reply - 1];
    case ENTRY.extend:
    case SHARED_ENTRY.extend:
    case SHARED_ENTRY.extendPermits:
      return [reply, 0, 0];
    default:
      return reply;
  }
}
