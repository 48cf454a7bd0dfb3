/**
 * Which of the library's requests a command contains, by the text or hash of its script; a batch contains several. A push
 * is recognised by its text.
 */
import { createHash } from 'node:crypto';
import { SCRIPTS } from '../../../lib/protocol/lua/scripts.js';
import { entriesOf, isBatch } from '../../support/entries.js';
import { readPush } from '../../../lib/protocol/pushes.js';
import type { Command } from '../../../lib/redis/transport.js';

export type Kind =
  | 'claim'
  | 'accept'
  | 'undo'
  | 'release'
  | 'extend'
  | 'batch'
  | 'vouch'
  | 'bootstrap'
  | 'hello'
  | 'queue'
  | 'yield'
  | 'inspect'
  | 'subscribe'
  | PushKind
  | 'other';
/** `echo` is the message to ourselves that proves a subscription. */
export type PushKind = 'given' | 'first' | 'free' | 'inquiry' | 'asked' | 'echo';

const KINDS = new Map<string, Kind>(
  SCRIPTS.flatMap(({ name, source }) => [
    [source, name as Kind], // a script's name is its kind; spec/chaos/kit.spec.ts looks at each
    [createHash('sha1').update(source).digest('hex'), name as Kind],
  ]),
);

/** The kinds of a command's entries, preceded by `batch` if it is one. */
export function kindsOf(words: readonly string[]): Kind[] {
  const [name = '', ...args] = words;
  if (name === 'message') return [pushKind(args[1] ?? '')];
  const command = { name: name.toLowerCase(), args } as Command; // other names are unknown
  return isBatch(command) && args[1] !== '0'
    ? ['batch', ...entriesOf(command).map(kindOf)]
    : [kindOf(command)];
}

function pushKind(text: string): Kind {
  return /^e \d+$/.test(text) ? 'echo' : (readPush(text)?.kind ?? 'other');
}

function kindOf({ name, args }: Command): Kind {
  const [script = '', keys = '0'] = args;
  if ((name as string) === 'subscribe') return 'subscribe'; // the cast: it is not the lock's own connection
  switch (name) {
    case 'eval':
    case 'evalsha':
      return keys === '0' ? lonely(script) : (KINDS.get(script) ?? 'other');
    case 'set': // a plain claim is SET key token NX PX ttl
      return args.slice(2).some((word) => word.toLowerCase() === 'nx') ? 'claim' : 'other';
    default:
      return 'other';
  }
}

/** Without keys, a script is only loaded; except for the one that needs no keys. */
function lonely(script: string): Kind {
  const kind = KINDS.get(script);
  return kind === 'hello' ? kind : 'other';
}
