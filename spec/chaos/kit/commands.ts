/**
 * Which of the library's requests a command contains; a batch contains several. A push is recognised by its text.
 */
import { type EntryKind, entriesOf } from '../../support/entries.js';
import { readPush } from '../../../lib/protocol/pushes.js';
import type { Command } from '../../../lib/redis/transport.js';

export type Kind = EntryKind | 'batch' | 'subscribe' | PushKind;
/** `echo` is the message to ourselves that proves a subscription. */
export type PushKind = 'given' | 'first' | 'free' | 'inquiry' | 'asked' | 'ousted' | 'stopped' | 'echo';

/** The kinds of a command's entries, preceded by `batch` if there are several. */
export function kindsOf(words: readonly string[]): Kind[] {
  const [name = '', ...args] = words;
  if (name === 'message') return [pushKind(args[1] ?? '')];
  if (name.toLowerCase() === 'subscribe') return ['subscribe'];
  const command = { name: name.toLowerCase(), args } as Command; // other names are unknown
  const kinds = entriesOf(command).map(({ kind }) => kind);
  return kinds.length > 1 ? ['batch', ...kinds] : kinds;
}

function pushKind(text: string): Kind {
  return /^e \d+$/.test(text) ? 'echo' : (readPush(text)?.kind ?? 'other');
}
