/** Twins of the scripts for notes, as in `lua/note.ts`. */
import { NOTE_DROP, NOTE_READ, NOTE_WRITE } from '../../protocol/lua/note.js';
import { type Script, sha1 } from '../../redis/script.js';
import { guarded } from './counter-twins.js';
import { WRONG_TYPE } from './keyspace.js';
import type { Store, Twin } from './store.js';

interface Note {
  readonly owner: string;
  readonly fence: number;
  readonly seq: number;
  readonly writtenMs: number;
  readonly text: string;
}

const NO_NOTE: Note = { owner: '', fence: 0, seq: 0, writtenMs: 0, text: '' };
const WRONG = [2, 0, 0] as const;

function noteIn(content: string | undefined): Note {
  const form = /^1\|([0-9A-Fa-f]+)\|(\d{1,16})\|(\d{1,16})\|(\d{1,16})\|(.*)$/s;
  const [, owner, fence, seq, ms, text = ''] = form.exec(content ?? '') ?? [];
  if (owner === undefined) return NO_NOTE;
  return { owner, fence: Number(fence), seq: Number(seq), writtenMs: Number(ms), text };
}

function tell(store: Store, channel: string, text: string): void {
  if (channel !== '') store.publish(channel, text);
}

function write(store: Store, [lock = '', note = '']: readonly string[], args: readonly string[]): unknown {
  const [token = '', fence = '', seq = '', lifeMs, text = '', channel = ''] = args;
  const owner = store.get(lock);
  if (owner === WRONG_TYPE) return WRONG;
  const ms = store.pttl(lock);
  if (owner !== token) return [0, ms, 0];
  const content = store.get(note);
  if (content === WRONG_TYPE) return WRONG;
  const found = noteIn(content);
  const [own, ownSeq] = [Number(fence), Number(seq)];
  const isSame = found.fence === own && found.seq === ownSeq && found.text === text;
  if (!isSame && (found.fence > own || (found.fence === own && found.seq >= ownSeq)))
    return [3, found.fence, found.seq];
  const us = store.micros();
  const stamped = ['1', sha1(token), fence, seq, String(Math.floor(us / 1_000)), text].join('|');
  store.set(note, stamped, Math.max(ms, 0) + Number(lifeMs));
  tell(store, channel, `v ${fence} ${seq} ${ms}`);
  return [1, us, 0];
}

function drop(store: Store, [lock = '', note = '']: readonly string[], args: readonly string[]): unknown {
  const [token = '', channel = ''] = args;
  const content = store.get(note);
  const { owner, fence } = noteIn(content === WRONG_TYPE ? undefined : content);
  if (owner === sha1(token)) {
    store.delete(note);
    tell(store, channel, `r ${fence}`);
  }
  return store.get(lock) === token ? 0 : 1;
}

function read(store: Store, keys: readonly string[], args: readonly string[]): unknown {
  const [lock = '', note = '', marker = ''] = keys;
  const [token, period] = args;
  const word = Number(period) > 0 ? guarded(store, marker, Number(period)) : 0;
  if (typeof word !== 'number') return word;
  const holder = store.get(lock);
  const content = store.get(note);
  if (holder === WRONG_TYPE || content === WRONG_TYPE) return WRONG;
  const { owner, fence, seq, writtenMs, text } = noteIn(content);
  const vote = holder === undefined ? 0 : holder === token ? 1 : 2;
  const owns = holder !== undefined && owner === sha1(holder) ? 1 : 0;
  const bornMs = Number(period) > 0 ? Math.floor(word / 1_000) - Number(period) : 0;
  const sinceMs = fence > 0 && writtenMs >= bornMs ? 0 : bornMs;
  return [vote, store.pttl(lock), store.micros(), sinceMs, owns, fence, seq, text];
}

export const NOTE_TWINS: readonly (readonly [Script, Twin])[] = [
  [NOTE_WRITE, write],
  [NOTE_DROP, drop],
  [NOTE_READ, read],
];
