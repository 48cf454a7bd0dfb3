/**
 * The smallest rights for the features in use, as in docs/OPERATION.md. Specs compare the two, and run the library with
 * exactly these rights.
 */
import { PUSH_CHANNELS, RESERVED } from '../protocol/keys.js';

/** What an instance does, as far as rights go. */
export type Feature =
  /** Exclusive locks. */
  | 'exclusive'
  /** Exclusive locks without fencing, queues and guard. */
  | 'plain'
  /** Read-write locks and semaphores. */
  | 'shared'
  /** The restart guard. */
  | 'guard'
  /** A database other than 0. */
  | 'select';

const BASICS = ['eval', 'evalsha', 'set', 'get', 'mget', 'del', 'exists', 'pttl', 'pexpire'];
const QUEUES = ['zadd', 'zrem', 'zrange', 'zrank', 'zcard', 'publish', 'subscribe'];

const COMMANDS: Readonly<Record<Feature, readonly string[]>> = {
  exclusive: [...BASICS, 'time', 'hset', 'hget', 'hdel', 'hlen', ...QUEUES],
  plain: [...BASICS, 'time', 'zrange'],
  shared: [...BASICS, 'pexpireat', 'time', 'hset', 'hget', 'hdel', 'hgetall', 'hlen', ...QUEUES],
  guard: ['info'],
  select: ['select'],
};

/** The commands that these need, each once. */
export function commandsFor(features: readonly Feature[]): readonly string[] {
  return [...new Set(features.flatMap((feature) => COMMANDS[feature]))];
}

/** Whether pushes notify waiters. */
export function hasPushes(features: readonly Feature[]): boolean {
  return features.includes('exclusive') || features.includes('shared');
}

/** The rules of an ACL user, without its name and password. */
export function rulesFor(features: readonly Feature[], keyPrefix: string): readonly string[] {
  const keys = keyPrefix === '' ? ['~*'] : [`~${escaped(keyPrefix)}*`, `~${RESERVED}*`];
  const channels = hasPushes(features) ? [`&${PUSH_CHANNELS}*`] : [];
  return [...keys, 'resetchannels', ...channels, ...commandsFor(features).map((name) => `+${name}`)];
}

/** The rights for the doctor's other questions. It works without them, and then says what it does not know. */
export const DOCTORS_RULES: readonly string[] = ['+ping', '+time', '+info', '+config|get', '+pubsub|numsub'];

/** Escapes a prefix, so that a pattern matches it literally. */
function escaped(prefix: string): string {
  return prefix.replace(/[\\*?[\]]/g, '\\$&');
}
