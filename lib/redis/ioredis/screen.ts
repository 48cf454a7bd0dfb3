/**
 * Checks the input of connections that quorate opened itself, before ioredis reads it. In ioredis, a garbled or
 * unexpected message may throw past every handler, which ends the process, or be read for ever. Here it costs its
 * connection, and nothing else.
 *
 * ioredis gives access neither to its parser nor to the data before it is parsed. So the check is attached to the
 * connection's socket, not to ioredis: see docs/upstream/ioredis-garbled-replies.md.
 */
import { Garbled, type Message, type Part, RespReader } from './resp.js';

/** The parts of one of our own ioredis clients that are needed. */
export interface ScreenedClient {
  on(event: 'connect', listener: () => void): unknown;
  readonly stream?: ScreenedStream;
  /** Commands without an answer, the oldest first. */
  readonly commandQueue?: {
    peekAt(index: number): { readonly command: { readonly name: string } } | undefined;
  };
}

interface ScreenedStream {
  emit(event: string | symbol, ...given: unknown[]): boolean;
  destroy(error: Error): unknown;
}

/** The purpose of a connection: sending commands, or receiving pushes. */
export type Use = 'commands' | 'pushes';

/** Checks each connection that the client makes, from its first byte on. */
export function screen(client: ScreenedClient, use: Use): void {
  client.on('connect', () => {
    const { stream } = client;
    if (stream !== undefined) screenStream(stream, new Screen(client, use));
  });
}

/** Passes data on in whole messages only: ioredis may take half of one for all of it. */
function screenStream(stream: ScreenedStream, screened: Screen): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event, ...given) => {
    const [chunk] = given;
    if (event !== 'data' || !(chunk instanceof Uint8Array)) return emit(event, ...given);
    if (screened.fault !== undefined) return true; // the connection is over; this chunk was already in the socket
    for (const piece of screened.passing(chunk)) emit('data', piece);
    if (screened.fault !== undefined) stream.destroy(screened.fault);
    return true;
  };
}

const NOTHING: readonly Uint8Array[] = [];

/** Messages on and about channels; other pushes are not checked further. */
const OF_CHANNELS = /^[ps]?(?:message|(?:un)?subscribe)$/;

class Screen {
  /** Why the connection is over; what came before the fault has been passed on. */
  fault: Error | undefined;
  readonly #client: ScreenedClient;
  readonly #use: Use;
  readonly #reader = new RespReader((message) => this.#check(message));
  /** The beginning of a message that has not ended yet. */
  #held: Uint8Array[] = [];
  /** Answers so far in the current chunk: their commands stay in the queue until ioredis has read it. */
  #answers = 0;

  constructor(client: ScreenedClient, use: Use) {
    this.#client = client;
    this.#use = use;
  }

  /** The chunks that can be passed on now. */
  passing(chunk: Uint8Array): readonly Uint8Array[] {
    this.#answers = 0;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      this.fault = error instanceof Error ? error : new Error(String(error));
    }
    const { ended } = this.#reader;
    const pieces = this.#held;
    const isWhole = ended === chunk.length;
    if (ended > 0) this.#held = isWhole ? [] : [chunk.subarray(ended)];
    pieces.push(ended === 0 || isWhole ? chunk : chunk.subarray(0, ended));
    return ended === 0 ? NOTHING : pieces;
  }

  #check(message: Message): void {
    const [first] = message.parts;
    const isList = message.kind === 'list' || message.kind === 'push';
    if (this.#use === 'pushes' && isList && first?.text === 'message') return checkPush(message);
    if (message.kind !== 'push' || isSubscribed(message)) return this.#checkAnswer(message);
    const isOfChannels = OF_CHANNELS.test(first?.text ?? '');
    if (first?.kind !== 'text' || isOfChannels) throw new Garbled('a push that nobody asked for');
  }

  /** Checks that there is a command for the answer, and that the answer is of the kind that ioredis assumes. */
  #checkAnswer(message: Message): void {
    const { commandQueue } = this.#client;
    if (commandQueue === undefined) return; // an unknown version of ioredis
    const asked = commandQueue.peekAt(this.#answers++)?.command.name;
    if (asked === undefined) throw new Garbled('an answer that nobody asked for');
    if (message.kind === 'error') return;
    const isWrong =
      asked === 'info' ? message.kind !== 'text' : (asked === 'subscribe') !== isSubscribed(message);
    const isBare = message.kind === 'list' && message.parts[0]?.kind !== 'text';
    if (isWrong || (isBare && this.#use === 'pushes')) throw new Garbled('an answer to something else');
  }
}

function checkPush({ count, parts }: Message): void {
  if (count !== 3 || !parts.every(({ kind }) => kind === 'text'))
    throw new Garbled('a push without its text');
}

function isSubscribed({ kind, count, parts }: Message): boolean {
  const [word, channel, number] = parts as readonly (Part | undefined)[];
  const isList = (kind === 'list' || kind === 'push') && count === 3;
  return isList && word?.text === 'subscribe' && channel?.kind === 'text' && number?.kind === 'number';
}
