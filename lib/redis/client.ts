/** Which client is which, by its shape: no client library is imported for that. */
import { invalidArgument, withoutPassword } from '../runtime/errors.js';
import { type IoredisClient, isIoredis, IoredisTransport } from './ioredis/transport.js';
import {
  isNodeRedis,
  isUnordered,
  type NodeRedisClient,
  NodeRedisTransport,
} from './node-redis/transport.js';
import type { Transport } from './transport.js';

/** A client of ioredis 5 or 6 (`Redis`, `Cluster`), or of node-redis 5 or 6 (client, cluster). */
export type RedisClient = IoredisClient | NodeRedisClient;

/** A transport that has to stop listening to its client. */
export interface ClientTransport extends Transport {
  close(): void;
}

export function isClient(given: unknown): given is RedisClient {
  return isIoredis(given) || isNodeRedis(given);
}

/** Refuses anything but a client, naming its place. @param forAddress  what to do with an address instead */
export function checkClient(given: unknown, place: string, forAddress: string): asserts given is RedisClient {
  const wanted = 'a client of ioredis or node-redis';
  const unordered = unorderedKind(given);
  if (unordered !== undefined) {
    const why = `${unordered} sends commands in any order, so an undo may run before its claim`;
    throw invalidArgument(place, given, `${wanted} with one connection`, why);
  }
  if (isClient(given)) return;
  if (typeof given !== 'string') throw invalidArgument(place, given, wanted);
  throw invalidArgument(place, withoutPassword(given), wanted, forAddress);
}

/** Clients whose commands overtake each other. Valkey GLIDE writes those of one turn to one connection in any order. */
function unorderedKind(given: unknown): string | undefined {
  if (isNodeRedis(given)) return isUnordered(given) ? 'a pool or a Sentinel client' : undefined;
  const isGlide = typeof given === 'object' && given !== null && 'customCommand' in given;
  return isGlide ? 'Valkey GLIDE' : undefined;
}

export function transportOver(client: RedisClient): ClientTransport {
  return isIoredis(client) ? new IoredisTransport(client) : new NodeRedisTransport(client);
}
