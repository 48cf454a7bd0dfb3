/** Where votes are on a server in memory, which scripts count them, and how long it takes to take them back. */
import { RW_ACCEPT, RW_CLAIM } from '../member-scripts.js';
import type { Script } from '../script.js';
import { ACCEPT, CLAIM } from '../scripts.js';
import { FOREIGN } from './keyspace.js';
import type { MemoryServer } from './server.js';

/** Undone within this, once nothing disturbs it: two attempts of the repairs and their node timeouts. */
export const SETTLE_MS = 3_500;

/** Longer than any message takes on a link that is not slow. */
export const ARRIVAL_MS = 100;

/** They accept a number for a grant. */
export const COUNTING: ReadonlySet<Script> = new Set([CLAIM, ACCEPT, RW_CLAIM, RW_ACCEPT]);

/** The tokens on a server, by the keys that hold them: a text is one, and a hash of ours has those that have not run out. */
export function* votesOn(server: MemoryServer): Generator<readonly [key: string, token: string]> {
  const nowMs = Math.floor(server.micros() / 1_000);
  for (const key of server.names()) {
    const text = server.get(key);
    if (typeof text === 'string') yield [key, text];
    const fields = server.fields(key);
    if (fields === FOREIGN) continue;
    for (const [name, content] of fields) if (Number(content.split('|')[1]) > nowMs) yield [key, name];
  }
}
