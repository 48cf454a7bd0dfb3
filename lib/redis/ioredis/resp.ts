/**
 * Reads a master's messages as strictly as the protocol is specified (RESP2, and the part of RESP3 that occurs in answers
 * to a lock): where a message begins and ends, its kind, and its first parts. Nothing else is kept.
 *
 * Source: "Redis serialization protocol specification" (redis.io).
 */

export type PartKind = 'text' | 'number' | 'null' | 'list' | 'error';

export interface Part {
  readonly kind: PartKind;
  /** Kept only if it is short. */
  readonly text: string | undefined;
}

export interface Message {
  readonly kind: PartKind | 'push';
  /** The number of parts of a list or a push. */
  readonly count: number;
  /** The first few parts. */
  readonly parts: readonly Part[];
}

/** Input that violates the protocol. */
export class Garbled extends Error {
  override readonly name = 'Garbled';

  constructor(what: string) {
    super(`garbled: ${what}`);
  }
}

/** Perhaps it is not a Redis server at all; the text is the one that ioredis uses. */
class NoMessage extends Garbled {
  constructor(letter: number) {
    super('');
    this.message = `Unknown RESP type ${letter} ${JSON.stringify(String.fromCharCode(letter))}`;
  }
}

const CR = 0x0d;
const LF = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;

/** The longest text that Redis accepts by default. */
const LONGEST_TEXT = 512 * 1024 * 1024;
/** Above what any answer to a lock has: parts in a list, and lists within lists. */
const MOST_PARTS = 1024 * 1024;
const DEEPEST = 16;
const MOST_DIGITS = 19;
const LENGTH_DIGITS = 9;
/** How many parts of a list are kept, and how long their texts may be. */
const PARTS_TOLD = 3;
const LONGEST_TOLD = 16;

interface Form {
  readonly kind: Message['kind'];
  /**
   * What follows the letter: a line, nothing, a number, a length and as many bytes, or a count and as many parts or
   * pairs.
   */
  readonly has: 'a line' | 'nothing' | 'a number' | 'bytes' | 'parts' | 'pairs';
  /** A length or count of −1 means null, as in RESP2. */
  readonly mayMiss?: true;
}

const FORMS: Readonly<Record<string, Form>> = {
  '+': { kind: 'text', has: 'a line' },
  '-': { kind: 'error', has: 'a line' },
  ':': { kind: 'number', has: 'a number' },
  $: { kind: 'text', has: 'bytes', mayMiss: true },
  '*': { kind: 'list', has: 'parts', mayMiss: true },
  '=': { kind: 'text', has: 'bytes' },
  '~': { kind: 'list', has: 'parts' },
  '>': { kind: 'push', has: 'parts' },
  '%': { kind: 'list', has: 'pairs' },
  _: { kind: 'null', has: 'nothing' },
};
/** A text that begins with its format: three letters and a colon. */
const VERBATIM = FORMS['='];
const FORMAT_LENGTH = 4;
const FORM_OF: readonly (Form | undefined)[] = Array.from(
  { length: 256 },
  (_, byte) => FORMS[String.fromCharCode(byte)],
);

/** What the next byte belongs to. */
type At = 'letter' | 'line' | 'end of line' | 'bytes' | 'end of bytes' | 'last byte';

/** Reads one connection; the input may be cut anywhere. */
export class RespReader {
  /** How many bytes of the last chunk belong to messages that have ended. */
  ended = 0;
  readonly #onMessage: (message: Message) => void;
  #at: At = 'letter';
  #form: Form = { kind: 'null', has: 'nothing' };
  /** The length or count that is being read. */
  #value = 0;
  #digits = 0;
  #isNegative = false;
  /** How many bytes of a text are still missing. */
  #left = 0;
  #text: string | undefined;
  /** How many parts are still missing in each open list, the outermost first. */
  readonly #open: number[] = [];
  #outermost: { readonly kind: Message['kind']; readonly count: number; readonly parts: Part[] } | undefined;

  constructor(onMessage: (message: Message) => void) {
    this.#onMessage = onMessage;
  }

  /** @throws Garbled */
  read(chunk: Uint8Array): void {
    this.ended = 0;
    let i = 0;
    while (i < chunk.length) {
      i = this.#take(chunk, i);
      if (this.#at === 'letter' && this.#open.length === 0) this.ended = i;
    }
  }

  /** @returns the index of the next byte */
  #take(chunk: Uint8Array, i: number): number {
    const byte = chunk[i] ?? 0;
    switch (this.#at) {
      case 'letter':
        this.#begin(byte);
        return i + 1;
      case 'line':
        return this.#form.has === 'a line' ? this.#skipLine(chunk, i) : this.#takeNumber(chunk, i);
      case 'end of line':
        if (byte !== LF) throw new Garbled('a line without its end');
        this.#endLine();
        return i + 1;
      case 'bytes':
        return this.#skipBytes(chunk, i);
      case 'end of bytes':
        if (byte !== CR) throw new Garbled('a text of another length');
        this.#at = 'last byte';
        return i + 1;
      case 'last byte':
        if (byte !== LF) throw new Garbled('a text of another length');
        this.#end(this.#form.kind, this.#text);
        return i + 1;
    }
  }

  #begin(letter: number): void {
    const form = FORM_OF[letter];
    if (form === undefined) throw new NoMessage(letter);
    if (form.kind === 'push' && this.#open.length > 0) throw new Garbled('a push in a message');
    this.#form = form;
    this.#value = 0;
    this.#digits = 0;
    this.#isNegative = false;
    this.#text = undefined;
    this.#at = 'line';
  }

  #skipLine(chunk: Uint8Array, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      if (chunk[i] === LF) throw new Garbled('a line without its end');
      if (chunk[i] !== CR) continue;
      this.#at = 'end of line';
      return i + 1;
    }
    return chunk.length;
  }

  /** Reads a number. Its value is kept only if it is a length. */
  #takeNumber(chunk: Uint8Array, from: number): number {
    const { has } = this.#form;
    const isLength = has !== 'a number';
    const most = has === 'nothing' ? 0 : isLength ? LENGTH_DIGITS : MOST_DIGITS;
    let i = from;
    if (this.#digits === 0 && !this.#isNegative && chunk[i] === MINUS && most > 0) {
      this.#isNegative = true;
      i++;
    }
    for (; i < chunk.length; i++) {
      const digit = (chunk[i] ?? 0) - ZERO;
      if (digit < 0 || digit > 9 || this.#digits === most) break;
      this.#digits++;
      if (isLength) this.#value = this.#value * 10 + digit;
    }
    if (i === chunk.length) return i;
    if (chunk[i] !== CR) throw new Garbled('an invalid number');
    this.#at = 'end of line';
    return i + 1;
  }

  #endLine(): void {
    const { has, kind, mayMiss } = this.#form;
    if (has === 'a line' || has === 'nothing') return this.#end(kind, undefined);
    if (this.#digits === 0) throw new Garbled('an invalid number');
    if (has === 'a number') return this.#end(kind, undefined);
    if (this.#isNegative) {
      if (mayMiss !== true || this.#digits > 1 || this.#value !== 1) throw new Garbled('a length below zero');
      return this.#end('null', undefined);
    }
    if (has === 'bytes') return this.#beginText();
    this.#beginList(has === 'pairs' ? 2 * this.#value : this.#value);
  }

  #beginText(): void {
    if (this.#value > LONGEST_TEXT) throw new Garbled('a text that is too long');
    if (this.#form === VERBATIM && this.#value < FORMAT_LENGTH)
      throw new Garbled('a text without its format');
    this.#left = this.#value;
    this.#text = this.#left <= LONGEST_TOLD ? '' : undefined;
    this.#at = this.#left === 0 ? 'end of bytes' : 'bytes';
  }

  #skipBytes(chunk: Uint8Array, from: number): number {
    const end = Math.min(from + this.#left, chunk.length);
    if (this.#text !== undefined) {
      for (let i = from; i < end; i++) this.#text += String.fromCharCode(chunk[i] ?? 0);
    }
    this.#left -= end - from;
    if (this.#left === 0) this.#at = 'end of bytes';
    return end;
  }

  #beginList(count: number): void {
    if (count > MOST_PARTS) throw new Garbled('a list that is too long');
    if (this.#open.length === DEEPEST) throw new Garbled('lists in lists that are too deep');
    if (this.#open.length === 0) this.#outermost = { kind: this.#form.kind, count, parts: [] };
    this.#open.push(count);
    this.#at = 'letter';
    if (count === 0) this.#endList();
  }

  #endList(): void {
    this.#open.pop();
    if (this.#open.length > 0) return this.#end('list', undefined);
    const list = this.#outermost;
    this.#outermost = undefined;
    if (list !== undefined) this.#onMessage(list);
  }

  #end(kind: Message['kind'], text: string | undefined): void {
    this.#at = 'letter';
    const depth = this.#open.length;
    if (depth === 0) return this.#onMessage({ kind, count: 0, parts: NO_PARTS });
    const parts = this.#outermost?.parts;
    if (depth === 1 && parts !== undefined && parts.length < PARTS_TOLD && kind !== 'push')
      parts.push({ kind, text });
    const left = (this.#open[depth - 1] ?? 1) - 1;
    this.#open[depth - 1] = left;
    if (left === 0) this.#endList();
  }
}

const NO_PARTS: readonly Part[] = [];
