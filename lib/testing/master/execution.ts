/**
 * Carries out a command on an in-memory master. Scripts run as they are: the build has made JavaScript of their Lua
 * (`scripts/lua`), which runs on the values of `lua.ts` and the commands of `redis-calls.ts`. `spec/protocol/lua/` compares
 * that with real servers, by random sequences.
 *
 * Why no embedded Lua: such ones implement other versions of the language than Redis does (which differ in integers and
 * floats), would need a `redis.call` all the same, and would be a dependency.
 */
import { type Script, scriptDigest } from '../../redis/script.js';
import type { Command } from '../../redis/transport.js';
import { LuaError, Table, type Value, fromBytes, one, toBytes } from './lua.js';
import { PLAIN_COMMANDS } from './plain-commands.js';
import { run } from './programs.js';
import { runOn } from './redis-calls.js';
import type { Store } from './store.js';
import { RIGHTS, SCRIPTS, TIMESTAMP_SCRIPTS } from '../../protocol/lua/scripts.js';

const ALL_SCRIPTS: readonly Script[] = [...SCRIPTS, RIGHTS, ...TIMESTAMP_SCRIPTS];

const BY_SOURCE = new Map(ALL_SCRIPTS.map((script) => [script.source, script]));
let byDigest: ReadonlyMap<string, Script> | undefined;

/** The script that a command runs, by digest or by source. */
export function scriptOf({ args, name }: Command): Script | undefined {
  const [text = ''] = args;
  if (name === 'eval') return BY_SOURCE.get(text);
  if (name !== 'evalsha') return undefined;
  byDigest ??= new Map(ALL_SCRIPTS.map((script) => [scriptDigest(script.source), script]));
  return byDigest.get(text);
}

/** The scripts that a server knows by digest; empty after a start and after SCRIPT FLUSH. */
export type ScriptCache = Set<string>;

/** An error as sent by a server. */
export function serverError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

/** @returns its reply @throws the error that a server would send */
export function execute(store: Store, cache: ScriptCache, command: Command): unknown {
  const { name, args } = command;
  if (name !== 'eval' && name !== 'evalsha') return PLAIN_COMMANDS[name](store, args);
  const [text = '', keys] = args;
  if (name === 'evalsha' && !cache.has(text))
    throw serverError('NOSCRIPT No matching script. Please use EVAL.');
  const script = scriptOf(command);
  if (script === undefined) throw serverError('ERR the masters in memory know the scripts of quorate only');
  cache.add(scriptDigest(script.source));
  const split = 2 + Number(keys);
  runOn(store);
  try {
    return replyOf(one(run(script.name, tableOf(args.slice(2, split)), tableOf(args.slice(split)))));
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    throw serverError(typeof error.value === 'string' ? `ERR ${error.message}` : error.message);
  }
}

function tableOf(texts: readonly string[]): Table {
  return new Table(texts.map(toBytes));
}

/** As Redis makes a reply of what a script returns: numbers lose their fraction, and a list ends before the first nil. */
function replyOf(value: Value): unknown {
  if (typeof value === 'string') return fromBytes(value);
  if (typeof value === 'number') return Math.trunc(value);
  if (!(value instanceof Table)) return value === true ? 1 : null;
  const [error, status] = [value.get('err'), value.get('ok')];
  if (typeof error === 'string') throw serverError(fromBytes(error));
  if (typeof status === 'string') return fromBytes(status);
  const end = value.list.indexOf(undefined);
  return (end < 0 ? value.list : value.list.slice(0, end)).map(replyOf);
}
