import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { Database } from '../../../lib/redis/ioredis/database.js';
import { selecting } from '../../../lib/redis/script.js';
import type { Command } from '../../../lib/redis/transport.js';
import { RELEASE } from '../../../lib/protocol/lua/scripts.js';
import { scriptDigest } from '../../../lib/redis/script.js';
import { IoredisTransport } from '../../../lib/redis/ioredis/transport.js';

interface Sent {
  readonly name: string;
  readonly args: readonly unknown[];
  toWritable(socket: unknown): string | Buffer;
}

interface Options {
  readonly db: number;
  readonly keyPrefix?: string;
}

const KINDS = {
  'ioredis 6': (options: Options) => new Redis({ ...options, lazyConnect: true }),
  'ioredis 5': (options: Options) => new Redis5({ ...options, lazyConnect: true }),
};

/** A transport over a client that is never connected, and what the client was told to send. */
function environment(open: (options: Options) => Redis | Redis5, options: Options) {
  const sent: Sent[] = [];
  const client = Object.assign(open(options), {
    sendCommand(command: Sent): Promise<unknown> {
      sent.push(command);
      return Promise.resolve('reply');
    },
  });
  return { client, sent, transport: new IoredisTransport(client) };
}

const PLAIN: Command = { name: 'set', args: ['k', 'v', 'PX', '1000', 'NX'] };
const WHOLE: Command = { name: 'eval', args: [RELEASE.source, '1', 'k', 'v'] };
const byDigest = (): Command => ({ name: 'evalsha', args: [scriptDigest(RELEASE.source), '1', 'k', 'v'] });

for (const [name, open] of Object.entries(KINDS)) {
  for (const keyPrefix of ['', 'theirs:']) {
    describe(`database: what is sent, ${name}${keyPrefix === '' ? '' : ', with a prefix'}`, () => {
      const of = (command: Command, db: number): readonly unknown[] => {
        const { sent, transport } = environment(open, { db, keyPrefix });
        void transport.call({ ...command });
        return [sent[0]?.name, ...(sent[0]?.args ?? [])];
      };
      const key = `${keyPrefix}k`;

      it('0: every command as it is', () => {
        expect(of(PLAIN, 0)).to.deep.equal(['set', key, 'v', 'PX', '1000', 'NX']);
        expect(of(WHOLE, 0)).to.deep.equal(['eval', RELEASE.source, '1', key, 'v']);
        expect(of(byDigest(), 0)).to.deep.equal(['evalsha', scriptDigest(RELEASE.source), '1', key, 'v']);
      });

      it('another: scripts that select it, under digests of their own', () => {
        const source = selecting(RELEASE.source, 3);
        expect(of(WHOLE, 3)).to.deep.equal(['eval', source, '1', key, 'v']);
        expect(of(byDigest(), 3)).to.deep.equal(['evalsha', scriptDigest(source), '1', key, 'v']);
        expect(of(byDigest(), 4)).to.deep.equal([
          'evalsha',
          scriptDigest(selecting(RELEASE.source, 4)),
          '1',
          key,
          'v',
        ]);
      });

      it('another: a plain command as a script that does the same, sent whole', () => {
        const source = selecting("return redis.pcall('set', KEYS[1], unpack(ARGV))", 3);
        expect(of(PLAIN, 3)).to.deep.equal(['eval', source, '1', key, 'v', 'PX', '1000', 'NX']);
        expect(of({ name: 'get', args: ['k'] }, 3).slice(2)).to.deep.equal(['1', key]);
      });

      it('TIME, which is the same in all: as it is, without a key', () => {
        for (const db of [0, 3]) expect(of({ name: 'time', args: [] }, db)).to.deep.equal(['time']);
      });
    });
  }

  describe(`database: ${name}`, () => {
    it('a command for several masters is made and written out once, for those in the same database', () => {
      const command = byDigest();
      const grounds = [3, 3, 4, 0].map((db) => environment(open, { db }));
      for (const { transport } of grounds) void transport.call(command);
      const [first, second, other, bare] = grounds.map(({ sent }) => sent[0]);
      expect(first?.args).to.equal(second?.args);
      expect(first?.toWritable(undefined)).to.equal(second?.toWritable(undefined));
      expect(other?.toWritable(undefined)).to.not.equal(first?.toWritable(undefined));
      expect(bare?.args).to.equal(command.args);
    });

    it("that of the client's options before it is connected, and what it took from select() after that", () => {
      const { client } = environment(open, { db: 3 });
      const database = new Database(client);
      expect(database.number).to.equal(3);
      Object.assign(client, { condition: { select: 5 } });
      expect(database.number).to.equal(5);
      Object.assign(client, { condition: { select: 0 } });
      expect(database.number).to.equal(0); // it left 0 once: whether it came back, nobody knows
    });
  });
}

describe('database: which one a client is meant to be in', () => {
  const meant: [object, number | undefined][] = [
    [{}, undefined],
    [{ options: {} }, undefined],
    [{ options: { db: 0 }, condition: null }, undefined],
    [{ options: { db: 0 }, condition: { select: 0 } }, undefined],
    [{ options: { db: 0 }, condition: { select: 2 } }, 2],
    [{ options: { db: '7' } }, 7],
    [{ options: { db: NaN } }, NaN],
    [{ isCluster: true, options: { db: 3 } }, undefined],
    [{ isCluster: true, options: { redisOptions: { db: 3 } } }, 3],
  ];
  for (const [client, number] of meant) {
    it(`${JSON.stringify(client)}: ${number}`, () => {
      expect(new Database(client).number).to.deep.equal(number);
    });
  }
});
