/** Looks into what this library's clients send. Installed on demand: it takes time. */
import type { Redis } from 'ioredis';
import { type Entry, entriesOf } from '../../spec/support/entries.js';
import type { Command } from '../../lib/redis/transport.js';
import type { Tally } from './contender.js';

/** Everything but readings of clocks, and the bench's own PING. */
const VOTING: readonly string[] = ['set', 'eval', 'evalsha'];

/** @returns what was sent since the call */
export function tallyOf(clients: readonly Redis[]): () => Tally {
  const tally = { calls: 0, entries: 0, acceptances: 0 };
  for (const client of clients) {
    const send = client.sendCommand.bind(client);
    client.sendCommand = (sent, ...rest) => {
      if (VOTING.includes(sent.name)) {
        const command = { name: sent.name, args: sent.args.map(String) } as Command; // this library sent it
        const entries = entriesOf(command);
        tally.calls++;
        tally.entries += entries.length;
        tally.acceptances += entries.filter(isAcceptance).length;
      }
      return send(sent, ...rest);
    };
  }
  return () => ({ ...tally });
}

function isAcceptance({ kind }: Entry): boolean {
  return kind === 'accept' || kind === 'rw-accept';
}
