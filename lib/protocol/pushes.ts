/**
 * Pushes: what a master tells a waiting client, as texts on the client's channel. `lua/queue.ts` and `lua/shared.ts`
 * define their form.
 *
 * A push may be lost, late or duplicated, and is never a vote by itself: it says what was true on the master when it was
 * sent.
 */
import { toInteger } from './replies.js';

export type Push =
  /** The vote is reserved for this token. `serial` names the reservation, for a yield. */
  | { readonly kind: 'reserved'; readonly serial: number; readonly token: string; readonly key: string }
  /** This token is the first of the queue now, and the one before it has been sent a push for its vote. */
  | { readonly kind: 'first'; readonly token: string; readonly key: string }
  /** Its claim, which was refused before, could succeed now. */
  | { readonly kind: 'free'; readonly token: string; readonly key: string }
  /**
   * A waiter with an earlier ticket asks for the vote of this reservation: it is to be yielded unless there is a quorum.
   */
  | { readonly kind: 'inquiry'; readonly serial: number; readonly token: string; readonly key: string };

/** Tokens contain no space; a key, which comes last, may contain anything. */
const FORM = /^(?:([gi]) (\d+)|([wf])) (\S+) (.+)$/s;

/** Parses a push; undefined if no script of ours sends such a text. */
export function readPush(text: string): Push | undefined {
  const [, letter, digits, other, token, key] = FORM.exec(text) ?? [];
  if (token === undefined || key === undefined) return undefined;
  if (letter === undefined) return { kind: other === 'f' ? 'free' : 'first', token, key };
  const serial = toInteger(digits);
  if (serial === undefined) return undefined;
  return { kind: letter === 'g' ? 'reserved' : 'inquiry', serial, token, key };
}
