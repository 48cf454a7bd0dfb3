import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { Command } from '../../../lib/redis/transport.js';
import { sharedSender } from '../../../lib/redis/ioredis/shared-encoding.js';

interface Sent {
  toWritable(socket: unknown): string | Buffer;
}

/** A client that is never connected, and what it was told to send. */
function clientOf(client: Redis | Redis5) {
  const sent: Sent[] = [];
  const stub = Object.assign(client, {
    sendCommand(command: Sent): Promise<unknown> {
      sent.push(command);
      return Promise.resolve('reply');
    },
  });
  return { client: stub, sent };
}

/** Made anew for each spec: a command keeps what was written. */
const inCyrillic = (): Command => ({
  name: 'evalsha',
  args: ['digest', '15', ...Array.from({ length: 15 }, (_, i) => `ключ-${i}`)],
});

const inAscii = (): Command => ({ name: 'set', args: ['key', 'token', 'PX', '1000', 'NX'] });

describe('encoding: one for N masters', () => {
  const KINDS = {
    'ioredis 6': () => new Redis({ lazyConnect: true }),
    'ioredis 5': () => new Redis5({ lazyConnect: true }),
  };
  const COMMANDS = { 'ioredis 6': Redis.Command, 'ioredis 5': Redis5.Command };
  for (const name of ['ioredis 6', 'ioredis 5'] as const) {
    const open = KINDS[name];
    it(`${name}: the bytes that the client would have written`, async () => {
      const { client, sent } = clientOf(open());
      const command = inCyrillic();
      expect(await sharedSender(client, '')?.(command)).to.equal('reply');
      const own = new COMMANDS[name](command.name, [...command.args], { replyEncoding: 'utf8' }).toWritable(
        undefined as never,
      );
      expect(String(sent[0]?.toWritable(undefined))).to.equal(String(own));
      expect(own).to.contain('$10\r\nключ-3\r\n'); // bytes, not characters
    });

    for (const [what, commandOf] of Object.entries({ 'beyond ASCII': inCyrillic, 'in ASCII': inAscii })) {
      it(`${name}: a short command ${what} is written out once for all`, () => {
        const clients = [clientOf(open()), clientOf(open())];
        const command = commandOf();
        for (const { client } of clients) void sharedSender(client, '')?.(command);
        const first = clients[0]?.sent[0]?.toWritable(undefined);
        expect(command.written).to.equal(first);
        command.written = 'what was kept';
        expect(clients[1]?.sent[0]?.toWritable(undefined)).to.equal('what was kept');
      });
    }

    it(`${name}: the same in ASCII, arguments that are long or empty included`, () => {
      const { client, sent } = clientOf(open());
      const args = ['digest', '14', ...Array.from({ length: 14 }, (_, i) => 'x'.repeat(i * 40)), ''];
      void sharedSender(client, '')?.({ name: 'evalsha', args });
      const own = new COMMANDS[name]('evalsha', [...args], {}).toWritable(undefined as never);
      expect(String(sent[0]?.toWritable(undefined))).to.equal(String(own));
    });

    it(`${name}: what is long is one buffer for all masters`, () => {
      const clients = [clientOf(open()), clientOf(open())];
      const long: Command = { name: 'evalsha', args: ['digest', '1', 'x'.repeat(5_000)] };
      for (const { client } of clients) void sharedSender(client, '')?.(long);
      const written = clients.map(({ sent }) => sent[0]?.toWritable(undefined));
      expect(written[0]).to.be.instanceOf(Buffer);
      expect(written[0] === written[1]).to.equal(true);
      expect(String(written[0])).to.equal(
        `*4\r\n$7\r\nevalsha\r\n$6\r\ndigest\r\n$1\r\n1\r\n$5000\r\n${'x'.repeat(5_000)}\r\n`,
      );
    });

    it(`${name}: a plain claim too`, () => {
      const { client, sent } = clientOf(open());
      void sharedSender(client, '')?.(inAscii());
      const own = new COMMANDS[name]('set', [...inAscii().args], {}).toWritable(undefined as never);
      expect(String(sent[0]?.toWritable(undefined))).to.equal(String(own));
    });

    it(`${name}: a client with a prefix of its own writes other bytes`, () => {
      expect(sharedSender(clientOf(open()).client, 'app:')).to.equal(undefined);
    });
  }

  it('anything that has no commands to share is left alone', () => {
    expect(sharedSender({}, '')).to.equal(undefined);
    const sendCommand = (): Promise<void> => Promise.resolve();
    expect(sharedSender({ sendCommand }, '')).to.equal(undefined);
    const createBuiltinCommand = () => ({ string: () => 'nothing' });
    expect(sharedSender({ sendCommand, createBuiltinCommand }, '')).to.equal(undefined);
  });
});
