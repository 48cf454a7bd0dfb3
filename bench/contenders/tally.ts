/** Looks into what this library's clients send. Installed on demand: it takes time. */
import { type Entry, entriesOf } from '../../spec/support/entries.js';
import type { Command } from '../../lib/redis/transport.js';
import type { Connection } from './connection.js';
import type { Tally } from './contender.js';

/** Everything but readings of clocks, and the bench's own PING. */
const VOTING: readonly string[] = ['set', 'eval', 'evalsha'];

/** @returns what was sent since the call */
export function tallyOf(connections: readonly Connection[]): () => Tally {
  const tally = { calls: 0, entries: 0, acceptances: 0 };
  for (const connection of connections) {
    connection.watch((name, args) => {
      if (!VOTING.includes(name)) return;
      const command = { name, args: args.map(String) } as Command; // this library sent it
      const entries = entriesOf(command);
      tally.calls++;
      tally.entries += entries.length;
      tally.acceptances += entries.filter(isAcceptance).length;
    });
  }
  return () => ({ ...tally });
}

function isAcceptance({ kind }: Entry): boolean {
  return kind === 'accept' || kind === 'rw-accept';
}
