/**
 * What a master tells a client about its waiting, as texts on the client's channel; `lua-queue.ts` and `lua-members.ts`
 * have their form.
 *
 * A push may be lost, late or come twice, and is never a vote by itself: what it says is true at the master at the time
 * when it was sent.
 */
import { toInteger } from './replies.js';

export type Push =
  /** The vote is reserved for this token. `serial` names the grant, for the one who gives it up again. */
  | { readonly kind: 'reserved'; readonly serial: number; readonly token: string; readonly key: string }
  /** This token is the first of the queue now, and whoever was before it has been told of a vote. */
  | { readonly kind: 'first'; readonly token: string; readonly key: string }
  /** Its claim, which was refused before, could succeed now. */
  | { readonly kind: 'free'; readonly token: string; readonly key: string }
  /** One with an earlier ticket waits for the vote that this grant was: to be given up where there is no quorum. */
  | { readonly kind: 'inquiry'; readonly serial: number; readonly token: string; readonly key: string };

/** Tokens hold no space; a key, which comes last, may hold anything. */
const FORM = /^(?:([gi]) (\d+)|([wf])) (\S+) (.+)$/s;

/** What the text says; undefined for a text that no script of ours sends. */
export function readPush(text: string): Push | undefined {
  const [, letter, digits, other, token, key] = FORM.exec(text) ?? [];
  if (token === undefined || key === undefined) return undefined;
  if (letter === undefined) return { kind: other === 'f' ? 'free' : 'first', token, key };
  const serial = toInteger(digits);
  if (serial === undefined) return undefined;
  return { kind: letter === 'g' ? 'reserved' : 'inquiry', serial, token, key };
}
