/**
 * Which masters, and with which options: by flags, by the environment, or by a file. The first that names masters counts:
 * `--node`, `--config`, `QUORATE_NODES`, `QUORATE_CONFIG`, then `quorate.json` in the folder of the user's settings.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { RedlockOptions } from '../input/options.js';
import type { Master } from '../redis/masters.js';
import { RedlockError, show } from '../runtime/errors.js';
import type { Arguments } from './arguments.js';
import { EXIT, Failure, misuse } from './failure.js';
import type { Random } from '../runtime/random.js';
import type { RedisClient } from '../redis/client.js';
import type { Transport } from '../redis/transport.js';
import { environmentOver, installedClient, openClients, Redlock } from './library.js';

/** Where the locks are. */
export interface Settings {
  readonly masters: readonly Master[];
  readonly options: RedlockOptions;
  readonly origin: Origin;
}

/** Where they were found, for whoever got them wrong: a flag, a variable, or the path of a file. */
interface Origin {
  readonly masters: '--node' | 'QUORATE_NODES' | { readonly path: string };
  /** Undefined if no options were found. */
  readonly options: { readonly path: string } | undefined;
}

/** Connections to all masters, and the instance over them. */
export interface Connection {
  readonly clients: readonly RedisClient[];
  /** What is sent to the masters beside the locks' requests. */
  readonly transports: readonly Transport[];
  readonly redlock: Redlock;
  readonly keyPrefix: string;
  /** Releases what is held, and ends the connections. */
  close(): Promise<void>;
}

/** @throws Failure */
export function settingsOf(args: Arguments, env: NodeJS.ProcessEnv = process.env): Settings {
  const nodes = args.all('node');
  const file = args.text('config');
  const settings = nodes.length > 0 ? fromFlags(nodes, file) : fromElsewhere(file, env);
  const keyPrefix = args.text('key-prefix');
  return keyPrefix === undefined ? settings : { ...settings, options: { ...settings.options, keyPrefix } };
}

/** @throws Failure, naming the flag, the variable or the file · RedlockError */
export function connect(settings: Settings, random?: Random): Connection {
  installedClient(); // if none is, no setting is to blame
  try {
    return open(settings, random);
  } catch (error) {
    throw blamed(error, settings.origin);
  }
}

/** @throws RedlockError `INVALID_ARGUMENT` */
function open({ masters, options }: Settings, random: Random | undefined): Connection {
  const { clients, disconnect } = openClients(masters);
  try {
    const environment = environmentOver(clients, () => undefined);
    const redlock = new Redlock(random === undefined ? environment : { ...environment, random }, options);
    const close = async (): Promise<void> => {
      await redlock.close({ drainMs: 0, releaseHeld: true });
      disconnect();
    };
    const { transports } = environment;
    return { clients, transports, redlock, keyPrefix: redlock.options.keyPrefix, close };
  } catch (error) {
    disconnect();
    throw error;
  }
}

/** What the library says of a value, in the words of whoever wrote it. */
function blamed(error: unknown, { masters, options }: Origin): unknown {
  if (!RedlockError.is(error) || error.code !== 'INVALID_ARGUMENT') return error;
  const text = error.message.replace(/\.$/, '').replace(/^clients\b/, 'the masters');
  const isOfMasters = /^(?:masters|the masters)\b/.test(text);
  const place = isOfMasters ? masters : options;
  if (place === undefined || (!isOfMasters && text.startsWith('keyPrefix '))) return error;
  if (typeof place === 'object') return wrongFile(place.path, text.replace(/^masters\[/, 'nodes['));
  return misuse(text.replace(/^masters\[\d+\]/, place === '--node' ? place : `each URL in ${place}`));
}

function fromFlags(masters: readonly string[], file: string | undefined): Settings {
  const { options, origin } = file === undefined ? NO_FILE : readFile(file);
  return { masters, options, origin: { masters: '--node', options: origin.options } };
}

const NO_FILE = { options: {}, origin: { options: undefined } };

function fromElsewhere(file: string | undefined, env: NodeJS.ProcessEnv): Settings {
  if (file !== undefined) return readFile(file);
  const nodes = (env['QUORATE_NODES'] ?? '').split(',').filter((url) => url.trim() !== '');
  const origin: Origin = { masters: 'QUORATE_NODES', options: undefined };
  if (nodes.length > 0) return { masters: nodes.map((url) => url.trim()), options: {}, origin };
  const named = env['QUORATE_CONFIG'];
  if (named !== undefined && named !== '') return readFile(named);
  const own = join(env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'quorate.json');
  if (existsSync(own)) return readFile(own);
  const text = `no masters are named: set QUORATE_NODES=redis://a:6379,redis://b:6379,redis://c:6379, write ${own}, or start some with quorate up`;
  throw new Failure(text, EXIT.usage);
}

const NAMES = ['nodes', 'options'];

function readFile(path: string): Settings {
  let given: unknown;
  try {
    given = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // a message of JSON.parse shows a part of the text, which may be a password
    const isText = error instanceof SyntaxError;
    throw wrongFile(path, isText ? 'it is not JSON' : `it cannot be read (${codeOf(error)})`);
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrongFile(path, 'it is not an object');
  const unknown = Object.keys(given).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw wrongFile(path, `${show(unknown)} is not a setting: use ${NAMES.join(' and ')}`);
  const { nodes, options = {} } = given as { readonly nodes?: unknown; readonly options?: unknown }; // checked here
  if (!Array.isArray(nodes) || nodes.length === 0)
    throw wrongFile(path, 'nodes must be a list of URLs or options of a client');
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw wrongFile(path, 'options must be an object');
  const origin: Origin = { masters: { path }, options: { path } };
  return { masters: nodes as readonly Master[], options, origin }; // the library checks what they are
}

function wrongFile(path: string, why: string): Failure {
  return new Failure(`the settings in ${path} cannot be used: ${why}`, EXIT.config);
}

function codeOf(error: unknown): string {
  return (error as { readonly code?: string }).code ?? 'unknown';
}
