/** Calls of what Lua and Redis bring: which function of the library stands for each, and what it returns. */
import type { Kind } from './names.js';

export interface Builtin {
  readonly code: string;
  readonly returns: Kind;
  /** How its arguments are passed: as they are, or as numbers. */
  readonly takes?: 'numbers';
}

/** By their names in Lua. */
export const BUILTINS: Readonly<Record<string, Builtin>> = {
  tonumber: { code: 'library.tonumber', returns: 'any' },
  tostring: { code: 'library.tostring', returns: 'string' },
  type: { code: 'library.type', returns: 'string' },
  error: { code: 'library.error', returns: 'any' },
  pcall: { code: 'library.pcall', returns: 'many' },
  next: { code: 'library.next', returns: 'many' },
  unpack: { code: 'library.unpack', returns: 'many' },
  'string.sub': { code: 'library.sub', returns: 'string' },
  'string.byte': { code: 'library.byte', returns: 'any' },
  'table.sort': { code: 'library.sort', returns: 'any' },
  'table.concat': { code: 'library.concat', returns: 'string' },
  'math.floor': { code: 'Math.floor', returns: 'number', takes: 'numbers' },
  'math.ceil': { code: 'Math.ceil', returns: 'number', takes: 'numbers' },
  'math.abs': { code: 'Math.abs', returns: 'number', takes: 'numbers' },
  'math.max': { code: 'Math.max', returns: 'number', takes: 'numbers' },
  'math.min': { code: 'Math.min', returns: 'number', takes: 'numbers' },
  'redis.sha1hex': { code: 'calls.sha1hex', returns: 'string' },
  'redis.acl_check_cmd': { code: 'calls.acl_check_cmd', returns: 'boolean' },
};

/** Libraries, which no local variable may hide. */
export const LIBRARIES = new Set(['string', 'table', 'math', 'redis']);

/** Those that take more arguments in Lua than here. */
export const MOST_ARGUMENTS: Readonly<Record<string, number>> = { tonumber: 1, error: 1 };
