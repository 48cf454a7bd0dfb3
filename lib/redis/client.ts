/** Which client is which, by its shape: no client library is imported for that. */
import { invalidArgument, withoutPassword } from '../runtime/errors.js';
import { checkGlide, type GlideClient, GlideConnection, isGlide } from './glide/client.js';
import { type IoredisClient, isIoredis, IoredisTransport } from './ioredis/transport.js';
import { hasSeveral, SeveralConnections } from './node-redis/several.js';
import { isNodeRedis, type NodeRedisClient, NodeRedisTransport } from './node-redis/transport.js';
import { OrderedTransport } from './ordered/transport.js';
import type { Transport } from './transport.js';

/**
 * A client of ioredis 5 or 6 (`Redis`, `Cluster`), of node-redis 5 or 6 (client, cluster, pool, Sentinel client), or of
 * Valkey GLIDE 2 (`GlideClient`, `GlideClusterClient`).
 */
export type RedisClient = IoredisClient | NodeRedisClient | GlideClient;

/** A transport that has to stop listening to its client. */
export interface ClientTransport extends Transport {
  close(): void;
}

export function isClient(given: unknown): given is RedisClient {
  return isIoredis(given) || isNodeRedis(given) || isGlide(given);
}

/** Refuses anything but a client, naming its place. @param forAddress  what to do with an address instead */
export function checkClient(given: unknown, place: string, forAddress: string): asserts given is RedisClient {
  const wanted = 'a client of ioredis, node-redis or Valkey GLIDE';
  if (isGlide(given)) return checkGlide(given, place);
  if (isClient(given)) return;
  if (typeof given !== 'string') throw invalidArgument(place, given, wanted);
  throw invalidArgument(place, withoutPassword(given), wanted, forAddress);
}

export function transportOver(client: RedisClient): ClientTransport {
  if (isIoredis(client)) return new IoredisTransport(client);
  if (isGlide(client)) return new OrderedTransport(new GlideConnection(client));
  return hasSeveral(client)
    ? new OrderedTransport(new SeveralConnections(client))
    : new NodeRedisTransport(client);
}
