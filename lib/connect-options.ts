/** Options of `Redlock.connect`: those of an instance, and by which library it connects. */
import type { ClientName } from './redis/loading.js';
import { invalidArgument } from './runtime/errors.js';
import { checkNames } from './input/option-names.js';
import { INSTANCE_NAMES, type RedlockOptions, resolveOptions } from './input/options.js';

/** Options of `Redlock.connect`. */
export interface ConnectOptions extends RedlockOptions {
  /** The library that opens the connections, loaded on first use. @default ioredis if it is installed, else redis */
  readonly client?: ClientName | undefined;
}

/** Checks everything before a connection is opened. @returns `own`: what is for the instance */
export function resolveConnect(given: ConnectOptions = {}): {
  readonly client: ClientName | undefined;
  readonly own: RedlockOptions;
} {
  checkNames('options', given, [...INSTANCE_NAMES, 'client']);
  const { client, ...own } = given;
  if (client !== undefined && client !== 'ioredis' && client !== 'redis') {
    throw invalidArgument('client', client, "'ioredis' or 'redis'");
  }
  resolveOptions(own);
  return { client, own };
}
