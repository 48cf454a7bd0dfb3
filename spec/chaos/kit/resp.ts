/**
 * Cuts RESP2 and RESP3 into whole messages, byte for byte: a proxy needs this to act at an exact point of an exchange.
 * Bytes may arrive in any pieces. Streamed strings and aggregates (`$?`, `*?`) are not understood: no server sends them.
 */
const CR = 13;
const LF = 10;

/** A request's words; its bytes are forwarded unchanged. */
export interface Request {
  readonly bytes: Buffer;
  readonly words: readonly string[];
}

export interface Reply {
  readonly bytes: Buffer;
  /**
   * The parts of a message on a subscription: `message`, its channel and its text; or `subscribe`. In RESP2, of any array
   * that begins like this.
   */
  readonly told: readonly string[] | undefined;
  /** Sent by the server unasked: it answers no request. */
  readonly isPush: boolean;
}

/** The end of the line that begins at `start`, CR LF included. */
function lineEnd(buffer: Buffer, start: number): number | undefined {
  const lf = buffer.indexOf(LF, start);
  return lf < 0 ? undefined : lf + 1;
}

function lineText(buffer: Buffer, start: number, end: number): string {
  const last = buffer[end - 2] === CR ? end - 2 : end - 1;
  return buffer.toString('latin1', start, last);
}

function lengthIn(text: string): number {
  const length = Number(text);
  if (!Number.isInteger(length) || length < -1) throw new Error(`not a RESP length: ${text}`);
  return length;
}

const TOLD = ['message', 'subscribe', 'unsubscribe'];

/** The strings of an array or a push from a subscription; undefined for anything else. */
function toldBy(bytes: Buffer): string[] | undefined {
  if (bytes[0] !== '*'.charCodeAt(0) && bytes[0] !== '>'.charCodeAt(0)) return undefined;
  const texts: string[] = [];
  let at = lineEnd(bytes, 0) ?? bytes.length;
  while (at < bytes.length) {
    const end = replyEnd(bytes, at) ?? bytes.length;
    const head = lineEnd(bytes, at) ?? end;
    texts.push(bytes.toString('utf8', head, Math.max(head, end - 2)));
    if (!TOLD.includes(texts[0] ?? '')) return undefined;
    at = end;
  }
  return texts.length === 0 ? undefined : texts;
}

/** The end of the reply that begins at `start`; undefined while it is incomplete. */
function replyEnd(buffer: Buffer, start = 0): number | undefined {
  const end = lineEnd(buffer, start);
  if (end === undefined) return undefined;
  const type = String.fromCharCode(buffer[start] ?? 0);
  const rest = lineText(buffer, start + 1, end);
  switch (type) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '#':
    case '_':
    case '(':
      return end;
    case '$':
    case '=':
    case '!': {
      const length = lengthIn(rest);
      const last = length < 0 ? end : end + length + 2;
      return last <= buffer.length ? last : undefined;
    }
    case '*':
    case '~':
    case '>':
      return valuesEnd(buffer, end, Math.max(0, lengthIn(rest)));
    case '%':
      return valuesEnd(buffer, end, 2 * lengthIn(rest));
    case '|': // attributes precede the reply that they belong to
      return valuesEnd(buffer, end, 2 * lengthIn(rest) + 1);
    default:
      throw new Error(`not a RESP reply: it begins with ${JSON.stringify(type)}`);
  }
}

function valuesEnd(buffer: Buffer, start: number, count: number): number | undefined {
  let at: number | undefined = start;
  for (let i = 0; i < count && at !== undefined; i++) at = replyEnd(buffer, at);
  return at;
}

function requestAt(buffer: Buffer): Request | undefined {
  let at = lineEnd(buffer, 0);
  if (at === undefined) return undefined;
  if (buffer[0] !== '*'.charCodeAt(0)) {
    const words = lineText(buffer, 0, at).split(' ').filter(Boolean);
    return { bytes: buffer.subarray(0, at), words };
  }
  const words: string[] = [];
  const count = lengthIn(lineText(buffer, 1, at));
  for (let i = 0; i < count; i++) {
    const end = lineEnd(buffer, at);
    if (end === undefined) return undefined;
    if (buffer[at] !== '$'.charCodeAt(0)) throw new Error('a request holds something but bulk strings');
    const length = lengthIn(lineText(buffer, at + 1, end));
    if (end + length + 2 > buffer.length) return undefined;
    words.push(buffer.toString('utf8', end, end + length));
    at = end + length + 2;
  }
  return { bytes: buffer.subarray(0, at), words };
}

/** Collects bytes until messages are whole. */
class Collector<T extends { readonly bytes: Buffer }> {
  #rest: Buffer = Buffer.alloc(0);
  readonly #first: (buffer: Buffer) => T | undefined;

  constructor(first: (buffer: Buffer) => T | undefined) {
    this.#first = first;
  }

  /** The messages that are complete now, in order. */
  feed(chunk: Buffer): T[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: T[] = [];
    while (this.#rest.length > 0) {
      const message = this.#first(this.#rest);
      if (message === undefined) break;
      messages.push(message);
      this.#rest = this.#rest.subarray(message.bytes.length);
    }
    return messages;
  }
}

export class Requests extends Collector<Request> {
  constructor() {
    super(requestAt);
  }
}

export class Replies extends Collector<Reply> {
  constructor() {
    super((buffer) => {
      const end = replyEnd(buffer);
      if (end === undefined) return undefined;
      const bytes = buffer.subarray(0, end);
      return { bytes, told: toldBy(bytes), isPush: buffer[0] === '>'.charCodeAt(0) };
    });
  }
}
