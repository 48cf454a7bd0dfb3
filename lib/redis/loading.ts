/** The client libraries, loaded on first use: a program has one of them, or both, or brings clients of its own. */
import { createRequire as requireFrom } from 'node:module'; // the bundles of specs declare createRequire themselves
import type * as Ioredis from 'ioredis';
import type * as NodeRedis from 'redis';
import { RedlockError } from '../runtime/errors.js';

/** The build makes `require` of it, which bundlers follow; within `try`, they let it be missing. */
const load = requireFrom(import.meta.url);

/** The libraries whose clients `Redlock.connect` can open, as they are installed. */
export type ClientName = 'ioredis' | 'redis';

/** @throws RedlockError `INVALID_ARGUMENT`: it is not installed */
export function ioredis(): typeof Ioredis {
  return required(ioredisIfInstalled(), 'ioredis');
}

/** @throws RedlockError `INVALID_ARGUMENT`: it is not installed */
export function nodeRedis(): typeof NodeRedis {
  return required(nodeRedisIfInstalled(), 'redis');
}

/** The first that is installed. @throws RedlockError `INVALID_ARGUMENT`: none is */
export function installedClient(): ClientName {
  if (ioredisIfInstalled() !== undefined) return 'ioredis';
  if (nodeRedisIfInstalled() !== undefined) return 'redis';
  const text =
    'Redlock.connect needs a Redis client: npm install ioredis, or npm install redis (in a bundle without require, pass clients to new Redlock)';
  throw new RedlockError('INVALID_ARGUMENT', text);
}

function ioredisIfInstalled(): typeof Ioredis | undefined {
  try {
    return load('ioredis') as typeof Ioredis;
  } catch (error) {
    return unlessMissing(error, 'ioredis');
  }
}

function nodeRedisIfInstalled(): typeof NodeRedis | undefined {
  try {
    return load('redis') as typeof NodeRedis;
  } catch (error) {
    return unlessMissing(error, 'redis');
  }
}

/** An installed one that is broken says so itself. A bundle may have no `require`, and Yarn has its own wording. */
function unlessMissing(error: unknown, name: ClientName): undefined {
  const [line = ''] = (error instanceof Error ? error.message : '').split('\n');
  const isMissing = new RegExp(`['"]${name}['"]|\\baccess ${name}\\b|\\brequire is not defined`).test(line);
  if (!isMissing) throw error;
}

function required<Library>(library: Library | undefined, name: ClientName): Library {
  if (library !== undefined) return library;
  throw new RedlockError('INVALID_ARGUMENT', `${name} is not installed: npm install ${name}`);
}
