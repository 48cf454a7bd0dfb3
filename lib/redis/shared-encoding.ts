/**
 * One encoding for N masters. A client looks through a command's arguments and writes it out for its own socket, and that
 * is most of what it costs; where the client lets us (ioredis 5 and 6 do, by their commands' `toWritable` and by
 * `sendCommand`), it is written out once and given to all of them. Anywhere else, each client writes for itself.
 */

/** What is sent without a script: a plain claim, and what a timestamp lock is made of. */
export type PlainCommand = 'set' | 'setnx' | 'get' | 'getset' | 'del';

/** A command as it goes out, one object for all masters. */
export interface Command {
  readonly name: PlainCommand | 'evalsha' | 'eval';
  readonly args: readonly string[];
  /** As it goes over the wire, once it was written out for one of them. */
  written?: Buffer | string;
  /** The same for a database other than 0, once it was made for one. */
  selecting?: { readonly database: number; readonly command: Command };
}

/** What is needed of an ioredis command. */
interface WritableCommand {
  args: readonly unknown[];
  toWritable(socket: unknown): string | Buffer;
}

type CommandClass = new (
  name: string,
  args: readonly string[],
  options: { readonly replyEncoding: 'utf8' },
) => WritableCommand;

export interface CommandSender {
  readonly createBuiltinCommand?: ((name: string) => { string: unknown }) | undefined;
  readonly sendCommand?: ((command: WritableCommand) => Promise<unknown>) | undefined;
}

const NONE: readonly string[] = Object.freeze([]);

const classes = new WeakMap<CommandClass, new (command: Command) => WritableCommand>();

/** What stands before an argument of that length; what is longer is rare. */
const HEADS = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`);

/** A socket takes a short text without a buffer around it; what is longer is copied once, and not for each master. */
const LONG = 2_048;

/**
 * The command in RESP, as the client would write it, in one piece: many small ones are most of what it would cost.
 * Undefined where a character takes more than a byte: then lengths are others.
 */
function inAscii({ name, args }: Command): string | undefined {
  const parts = [`*${args.length + 1}`, HEADS[name.length] ?? '', name];
  for (const arg of args) parts.push(HEADS[arg.length] ?? `\r\n$${arg.length}\r\n`, arg);
  parts.push('\r\n');
  const text = parts.join('');
  return Buffer.byteLength(text) === text.length ? text : undefined;
}

/** The same command class, written out once. */
function sharing(Base: CommandClass): new (command: Command) => WritableCommand {
  let Shared = classes.get(Base);
  if (Shared === undefined) {
    Shared = class extends Base {
      readonly #command: Command;

      constructor(command: Command) {
        super(command.name, NONE, { replyEncoding: 'utf8' });
        this.args = command.args; // one list for all: it copies and looks through those that it is made with
        this.#command = command;
      }

      override toWritable(socket: unknown): string | Buffer {
        const command = this.#command;
        if (command.written === undefined) {
          const text = inAscii(command) ?? super.toWritable(socket);
          command.written = typeof text === 'string' && text.length > LONG ? Buffer.from(text) : text;
        }
        return command.written;
      }
    };
    classes.set(Base, Shared);
  }
  return Shared;
}

/**
 * The class of commands of that very copy of the client library. Clients do not name it (their `constructor` is that of a
 * mixin), so one command is made for a stand-in, which looks at it and sends nothing.
 */
function commandClassOf(client: CommandSender): CommandClass | undefined {
  let Base: unknown;
  const standIn = {
    options: {},
    sendCommand(command: object): Promise<unknown> {
      Base = command.constructor;
      return Promise.resolve();
    },
  };
  try {
    const builtin = client.createBuiltinCommand?.('evalsha').string as (
      this: object,
      ...args: string[]
    ) => unknown;
    builtin.call(standIn, 'digest', '0');
  } catch {
    return undefined; // another client than those that are known: it writes for itself
  }
  const isOne =
    typeof Base === 'function' && typeof (Base.prototype as WritableCommand).toWritable === 'function';
  return isOne ? (Base as CommandClass) : undefined;
}

/**
 * Sends commands with shared bytes. Undefined for a client that cannot, and for one that puts a prefix before keys:
 * its bytes are others.
 */
export function sharedSender(
  client: CommandSender,
  keyPrefix: string,
): ((command: Command) => Promise<unknown> | undefined) | undefined {
  if (keyPrefix !== '' || typeof client.sendCommand !== 'function') return undefined;
  const Base = commandClassOf(client);
  if (Base === undefined) return undefined;
  const Shared = sharing(Base);
  return (command) => client.sendCommand?.(new Shared(command));
}
