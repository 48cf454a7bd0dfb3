/** The requests in a command, many or one: what each is, and its keys and arguments by name, however it was sent. */
import type { Request } from '../../lib/protocol/request.js';
import { eachReply } from '../../lib/protocol/batch-call.js';
import { ENTRY, LEAN, SHARED_ENTRY } from '../../lib/protocol/lua/entries.js';
import { BATCH, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import type { Letter } from '../../lib/protocol/operation.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command } from '../../lib/redis/transport.js';
import { isPlain } from '../../lib/testing/master/plain-commands.js';
import { scriptOf } from '../../lib/testing/master/execution.js';

/** What may be in a batch. */
type BatchedKind =
  | 'claim'
  | 'accept'
  | 'undo'
  | 'release'
  | 'extend'
  | 'queue'
  | 'yield'
  | 'rw-claim'
  | 'rw-accept'
  | 'rw-extend'
  | 'permit-claim'
  | 'permit-align'
  | 'permit-extend'
  | 'leave';

/** What always goes alone: a script's name is its kind, and a `lesson` is a script that shall only be known from then on. */
type LoneKind =
  | 'vouch'
  | 'bootstrap'
  | 'hello'
  | 'inspect'
  | 'oust'
  | 'rw-oust'
  | 'survey-shared'
  | 'take'
  | 'note-write'
  | 'note-drop'
  | 'note-read'
  | 'timestamp-claim'
  | 'timestamp-release'
  | 'timestamp-extend'
  | 'rights'
  | 'lesson'
  | 'time'
  | 'other';

export type EntryKind = BatchedKind | LoneKind;

export type Argument =
  | 'ttl'
  | 'life'
  | 'proposal'
  | 'fence'
  | 'create'
  | 'place'
  | 'role'
  | 'want'
  | 'wanted'
  | 'permits'
  | 'slots'
  | 'guard';

type Arguments = Readonly<Partial<Record<Argument, string>>>;

/** One request, as it was sent. */
export interface Entry {
  readonly kind: EntryKind;
  /** Those of this request, in the order of the scripts; the list of taken tokens and the marker are last. */
  readonly keys: readonly string[];
  /** Undefined if it is not about a lock. */
  readonly token: string | undefined;
  readonly args: Arguments;
  /** What it came in. */
  readonly command: Command;
}

/** How to read the entries of one letter. */
interface Form {
  readonly kind: BatchedKind;
  /** How many keys it has for each resource; one more with fencing, if it `mayCount`. */
  readonly keys: number;
  readonly mayCount?: true;
  /** What its group shares, and what follows each token. */
  readonly head?: readonly Argument[];
  readonly rest?: Argument;
}

const CLAIMED: readonly Argument[] = ['ttl', 'life', 'proposal'];

/** Of a lean claim or release: the lock and its queue. */
const LEAN_KEYS = 2;

/** By its letter. */
export const FORMS: Readonly<Record<Letter, Form>> = {
  [ENTRY.claim]: { kind: 'claim', keys: 1, mayCount: true, head: CLAIMED },
  [ENTRY.claimQueued]: { kind: 'claim', keys: 3, mayCount: true, head: CLAIMED },
  [ENTRY.accept]: { kind: 'accept', keys: 2, head: ['life'], rest: 'fence' },
  [ENTRY.extend]: { kind: 'extend', keys: 1, head: ['ttl', 'create'] },
  [ENTRY.undo]: { kind: 'undo', keys: 3 },
  [ENTRY.release]: { kind: 'release', keys: 3 },
  [ENTRY.undoQueued]: { kind: 'undo', keys: 5, head: ['proposal'] },
  [ENTRY.releaseQueued]: { kind: 'release', keys: 5, head: ['proposal'] },
  [ENTRY.queue]: { kind: 'queue', keys: 5, head: CLAIMED, rest: 'place' },
  [ENTRY.yield]: { kind: 'yield', keys: 5, head: ['proposal'], rest: 'place' },
  [SHARED_ENTRY.claim]: {
    kind: 'rw-claim',
    keys: 4,
    mayCount: true,
    head: ['role', ...CLAIMED],
    rest: 'place',
  },
  [SHARED_ENTRY.accept]: { kind: 'rw-accept', keys: 2, head: ['life'], rest: 'fence' },
  [SHARED_ENTRY.extend]: { kind: 'rw-extend', keys: 1, head: ['role', 'ttl', 'create'] },
  [SHARED_ENTRY.downgrade]: { kind: 'rw-extend', keys: 5, head: ['role', 'ttl', 'create', 'proposal'] },
  [SHARED_ENTRY.claimPermits]: {
    kind: 'permit-claim',
    keys: 4,
    head: ['ttl', 'wanted', 'permits'],
    rest: 'place',
  },
  [SHARED_ENTRY.align]: { kind: 'permit-align', keys: 5, head: ['permits', 'proposal'], rest: 'slots' },
  [SHARED_ENTRY.extendPermits]: {
    kind: 'permit-extend',
    keys: 1,
    head: ['ttl', 'permits', 'create'],
    rest: 'slots',
  },
  [SHARED_ENTRY.leave]: { kind: 'leave', keys: 5, head: ['proposal'] },
  [SHARED_ENTRY.queue]: { kind: 'queue', keys: 5, head: ['want', ...CLAIMED], rest: 'place' },
  [SHARED_ENTRY.yield]: { kind: 'yield', keys: 5, head: ['want', 'proposal'], rest: 'place' },
};

const UNGUARDED: ReadonlySet<EntryKind> = new Set(['undo', 'release', 'yield', 'leave']);

/** They have no keys, and are no lessons. */
const KEYLESS: ReadonlySet<EntryKind> = new Set(['hello', 'rights', 'other']);

/** The scripts of short ways, and their arguments after the token. */
const SHORT: Readonly<Record<string, readonly Argument[]>> = {
  claim: [...CLAIMED, 'guard'],
  undo: ['proposal'],
  release: ['proposal'],
  'rw-claim': ['role', 'ttl', 'place', 'life', 'proposal', 'guard'],
  'permit-claim': ['ttl', 'wanted', 'permits', 'place', 'guard'],
  leave: ['proposal'],
};

const BATCHES = new Set([BATCH, SHARED_BATCH].flatMap(({ source }) => [source, scriptDigest(source)]));

/** Whether its reply is that of a batch, of many entries or of one. */
export function isBatch(command: Command): boolean {
  return !isPlain(command) && BATCHES.has(command.args[0] ?? '') && command.args[1] !== '0';
}

/** Several ask for those of one command. */
const entriesByCommand = new WeakMap<Command, readonly Entry[]>();

/** What a command asks for, in order. */
export function entriesOf(command: Command): readonly Entry[] {
  const found =
    entriesByCommand.get(command) ?? (isBatch(command) ? [...unpacked(command)] : [sole(command)]);
  entriesByCommand.set(command, found);
  return found;
}

function sole(command: Command): Entry {
  const { name, args } = command;
  if (isPlain(command)) {
    const isClaim = name === 'set' && args.at(-1)?.toUpperCase() === 'NX';
    const kind = isClaim ? 'claim' : name === 'time' ? 'time' : 'other';
    const [, token, , ttl] = args;
    return { kind, keys: args.slice(0, 1), token, args: isClaim ? named(['ttl'], [ttl]) : {}, command };
  }
  const split = 2 + Number(args[1]);
  const [keys, [token, ...more]] = [args.slice(2, split), args.slice(split)];
  const script = (scriptOf(command)?.name ?? 'other') as EntryKind; // names of scripts are kinds
  const kind = args[1] === '0' && !KEYLESS.has(script) ? 'lesson' : script;
  const isOfLock = locksOf({ keys }).length > 0;
  return { kind, keys, token: isOfLock ? token : undefined, args: named(SHORT[kind] ?? [], more), command };
}

/** A claim without a place has none. */
function named(names: readonly Argument[], texts: readonly (string | undefined)[]): Arguments {
  const { place, ...others }: Partial<Record<Argument, string>> = Object.fromEntries(
    names.flatMap((name, i) => (texts[i] === undefined ? [] : [[name, texts[i]]])),
  );
  return place ? { ...others, place } : others;
}

function* unpacked(command: Command): Generator<Entry> {
  const split = 2 + Number(command.args[1]);
  const keys = command.args.slice(2, split);
  const [guard = '', ...groups] = command.args.slice(split);
  const marker = Number(guard) >= 0 ? keys.splice(-1) : [];
  const last = keys.slice(-1); // the list of taken tokens, where an entry looks at it
  while (groups.length > 0) {
    const [letter = '', entries, resources] = groups.splice(0, 3);
    const form = FORMS[letter as Letter] as Form | undefined; // the casts: it may be anything
    if (form === undefined) throw new Error(`a batch has no entries of kind ${letter}`);
    const { head = [], kind, mayCount, rest } = form;
    const shared = groups.splice(0, head.length);
    const valueOf = (name: Argument): string | undefined => shared[head.indexOf(name)];
    const hasRest = rest !== undefined;
    const counters = mayCount === true && valueOf('life') !== '0' ? 1 : 0;
    const isGuarded = !UNGUARDED.has(kind);
    const beside = [...(valueOf('create') === '2' ? last : []), ...(isGuarded ? marker : [])];
    const names = [...head, ...(hasRest ? [rest] : []), ...(isGuarded ? (['guard'] as const) : [])];
    for (let i = 0; i < Number(entries); i++) {
      const [token, ...more] = groups.splice(0, hasRest ? 2 : 1);
      const args = named(names, [...shared, ...more, guard]);
      const isLean = args.place === LEAN || args.proposal === LEAN;
      const ofEach = Number(resources) * ((isLean ? LEAN_KEYS : form.keys) + counters);
      yield { kind, keys: [...keys.splice(0, ofEach), ...beside], token, args, command };
    }
  }
}

/** The locks that an entry is about. */
export function locksOf({ keys }: Pick<Entry, 'keys'>): readonly string[] {
  return keys.filter((key) => !key.startsWith('quorate:'));
}

/** The lock that a key of this kind belongs to; undefined for another key. */
export function lockBeside(kind: 'queue', key: string): string | undefined {
  const [plain, tagged] = [`quorate:${kind}:{`, `quorate:tagged:${kind}:`];
  if (key.startsWith(plain)) return key.slice(plain.length, -1);
  return key.startsWith(tagged) ? key.slice(tagged.length) : undefined;
}

/** The reply to each entry of a call, or its error. */
export function entryReplies(requests: readonly Request[], reply: unknown): readonly unknown[] {
  const found: unknown[] = [];
  eachReply(
    requests.map((request) => ({ request })),
    reply,
    (_entry, own) => found.push(own),
  );
  return found;
}
