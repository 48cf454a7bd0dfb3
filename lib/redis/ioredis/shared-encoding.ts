/**
 * One encoding for N masters. A client checks a command's arguments and encodes it for its own socket, which is most of a
 * command's cost. ioredis 5 and 6 allow encoding it once for all masters, through their commands' `toWritable` and
 * `sendCommand`. With any other client, each encodes for itself.
 */
import type { Command } from '../transport.js';

/** The parts of an ioredis command that this needs. */
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

/** What precedes an argument, by the argument's length; longer arguments are rare. */
const HEADS = Array.from({ length: 256 }, (_, length) => `\r\n$${length}\r\n`);

/**
 * A short text is written to a socket without a buffer. A longer one is copied into a buffer once, instead of once per
 * master.
 */
const LONG = 2_048;

/**
 * The command in RESP, as the client would encode it, but as a single string: many small ones are most of the cost.
 * Undefined if a character takes more than one byte, since lengths are in bytes.
 */
function inAscii({ name, args }: Command): string | undefined {
  const parts = [`*${args.length + 1}`, HEADS[name.length] ?? '', name];
  for (const arg of args) parts.push(HEADS[arg.length] ?? `\r\n$${arg.length}\r\n`, arg);
  parts.push('\r\n');
  const text = parts.join('');
  return Buffer.byteLength(text) === text.length ? text : undefined;
}

/** The client's command class, with an encoding that is shared. */
function sharing(Base: CommandClass): new (command: Command) => WritableCommand {
  let Shared = classes.get(Base);
  if (Shared === undefined) {
    Shared = class extends Base {
      readonly #command: Command;

      constructor(command: Command) {
        super(command.name, NONE, { replyEncoding: 'utf8' });
        this.args = command.args; // one list for all masters; the constructor would copy and check its arguments
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
 * The command class of this very copy of the client library. Clients do not expose it (their `constructor` is a mixin's), so
 * one command is created on a substitute client, which takes the class from the command and sends nothing.
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
    return undefined; // an unknown client encodes for itself
  }
  const isOne =
    typeof Base === 'function' && typeof (Base.prototype as WritableCommand).toWritable === 'function';
  return isOne ? (Base as CommandClass) : undefined;
}

/**
 * Sends commands with a shared encoding. Undefined for a client that does not allow it, and for one that prefixes keys:
 * its encoding differs.
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
