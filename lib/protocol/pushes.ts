/**
 * Pushes: a master's messages to a waiting client, as texts on the client's channel. `lua/parts/queue/own.lua` defines their
 * form; those about a read-write lock or a semaphore begin with a capital letter.
 *
 * A push may be lost, late or duplicated. A push of a vote answers a look, and counts from the instant at which that look was
 * sent. Any other push is never a vote by itself: it says what was true on the master when it was sent.
 */
import { type ClaimedByLook, readGiven, toInteger } from './replies.js';

export type Push =
  /**
   * The vote is this token's. `serial` names the hand-over, for a yield. If `claimed` is undefined, the vote is only
   * reserved.
   */
  | {
      readonly kind: 'given';
      readonly serial: number;
      readonly claimed: ClaimedByLook | undefined;
      /** Of a read-write lock or a semaphore. */
      readonly isShared: boolean;
      readonly token: string;
      readonly key: string;
    }
  /** This token is the first of the queue now, and the one before it has been sent a push for its vote. */
  | {
      readonly kind: 'first';
      /** There may be room for it. */
      readonly looksNow: boolean;
      readonly token: string;
      readonly key: string;
    }
  /** A waiter with an earlier ticket asks for the vote of this hand-over: yield it unless there is a quorum. */
  | { readonly kind: 'inquiry'; readonly serial: number; readonly token: string; readonly key: string }
  /** The lease of this token was taken away, by another token, of an instance with that label. */
  | {
      readonly kind: 'ousted';
      readonly by: string;
      readonly label: string;
      readonly token: string;
      readonly key: string;
    }
  /** The holder in whose place this token is has stopped. */
  | { readonly kind: 'stopped'; readonly token: string; readonly holder: string }
  /** This token's vote refused the holder of the lock: let the key rest for the holder unless there is a quorum. */
  | { readonly kind: 'asked'; readonly token: string; readonly key: string };

/** Tokens contain no space; a key, which comes last, may contain anything. */
const FORM = /^(?:([giGI]) (\d+)|([wnhkWNH])|s (\S+) :(\S*)|([vV]) (\d+ \d+ \d+) (\d+|p[\d,]+)) (\S+) (.+)$/s;

/** Parses a push; undefined if no script of ours sends such a text. */
export function readPush(text: string): Push | undefined {
  const [, letter, digits, other, by, label = '', granted, vote, given, token, key] = FORM.exec(text) ?? [];
  if (token === undefined || key === undefined) return undefined;
  if (by !== undefined) return readOusted(by, label, token, key);
  if (other === 'k') return { kind: 'stopped', token, holder: key };
  if (other === 'h' || other === 'H') return { kind: 'asked', token, key };
  if (other !== undefined) return { kind: 'first', looksNow: /n/i.test(other), token, key };
  const numbers = (vote ?? digits ?? '').split(' ').map(toInteger);
  const [serial, sentMs, spanMs] = numbers;
  if (serial === undefined || numbers.includes(undefined)) return undefined;
  if (letter === 'i' || letter === 'I') return { kind: 'inquiry', serial, token, key };
  const isShared = letter === 'G' || granted === 'V';
  if (letter !== undefined) return { kind: 'given', serial, claimed: undefined, isShared, token, key };
  const what = readGiven(given);
  if (sentMs === undefined || what === undefined) return undefined;
  return { kind: 'given', serial, claimed: { ...what, sentMs, spanMs }, isShared, token, key };
}

function readOusted(by: string, label: string, token: string, key: string): Push | undefined {
  try {
    return { kind: 'ousted', by, label: decodeURIComponent(label), token, key };
  } catch {
    return undefined;
  }
}
