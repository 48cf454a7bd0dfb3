/** What comes in on connections of our own, before ioredis reads it; over real clients of both versions, and a server that lies. */
import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { openIoredis } from '../../../lib/redis/ioredis/connect.js';
import { screen, type ScreenedClient, type Use } from '../../../lib/redis/ioredis/screen.js';
import { Seeded } from '../../simulation/world/seeded.js';
import { IoredisTransport } from '../../../lib/redis/ioredis/transport.js';
import { garbage } from '../../support/garbage.js';
import { eventually } from '../../support/real.js';
import { bulk, RespServer } from '../../support/resp-server.js';

const CHANNEL = 'quorate:push:x';
const push = (sign: string): string => `${sign}3\r\n${bulk('message')}${bulk(CHANNEL)}${bulk('w x r')}`;

class FakeStream extends EventEmitter {
  readonly faults: string[] = [];
  readonly read: string[] = [];

  constructor() {
    super();
    this.on('data', (chunk: Buffer) => this.read.push(chunk.toString()));
  }

  destroy(error: Error): void {
    this.faults.push(error.message);
  }
}

/** A connection with these commands unanswered. */
function connection(use: Use, ...asked: readonly string[]): FakeStream {
  const queue = asked.map((name) => ({ command: { name } }));
  const stream = new FakeStream();
  const client = Object.assign(new EventEmitter(), {
    stream,
    commandQueue: { peekAt: (i: number) => queue[i] },
  });
  screen(client, use);
  client.emit('connect');
  return stream;
}

const say = (stream: FakeStream, text: string): boolean => stream.emit('data', Buffer.from(text));

type Case = readonly [use: Use, asked: readonly string[], said: string];

const SUBSCRIBED = `3\r\n${bulk('subscribe')}${bulk(CHANNEL)}:1\r\n`;

const FINE: readonly Case[] = [
  ['commands', ['evalsha', 'set', 'get'], '*3\r\n:1\r\n:0\r\n:0\r\n+OK\r\n$-1\r\n'],
  ['commands', ['evalsha'], '-NOSCRIPT No matching script\r\n'],
  ['commands', ['hello', 'client', 'info'], `%1\r\n${bulk('proto')}:3\r\n+OK\r\n=8\r\ntxt:a:b\n\r\n`],
  ['commands', [], `>2\r\n${bulk('invalidate')}*0\r\n`],
  ['pushes', ['auth', 'client', 'info'], `+OK\r\n-ERR unknown\r\n${bulk('role:master')}`],
  ['pushes', ['subscribe'], `*${SUBSCRIBED}`],
  ['pushes', ['subscribe'], `>${SUBSCRIBED}`],
  ['pushes', ['subscribe'], '-NOPERM no rights\r\n'],
  ['pushes', [], push('*') + push('>') + push('*')],
  ['pushes', ['client', 'subscribe', 'client'], `+OK\r\n*${SUBSCRIBED}${push('*')}+OK\r\n`],
];

const FAULTS: readonly (readonly [...Case, RegExp])[] = [
  ['commands', [], '$-1\r\n', /nobody asked for/],
  ['commands', ['evalsha'], `>${SUBSCRIBED}`, /something else/],
  ['commands', ['evalsha'], `*${SUBSCRIBED}`, /something else/],
  ['commands', [], push('>'), /push that nobody asked for/],
  ['commands', [], '>1\r\n$-1\r\n', /push that nobody asked for/],
  ['commands', [], '>0\r\n', /push that nobody asked for/],
  ['commands', ['info'], '$-1\r\n', /something else/],
  ['commands', ['info'], '*0\r\n', /something else/],
  ['commands', ['evalsha'], '$&\r\n', /garbled: an invalid number/],
  ['pushes', [], '*0\r\n', /nobody asked for/],
  ['pushes', [], '+OK\r\n', /nobody asked for/],
  ['pushes', [], `*3\r\n${bulk('message')}$-1\r\n${bulk('w x r')}`, /push without its text/],
  ['pushes', [], `>3\r\n${bulk('message')}${bulk(CHANNEL)}$-1\r\n`, /push without its text/],
  ['pushes', [], `*2\r\n${bulk('message')}${bulk(CHANNEL)}`, /push without its text/],
  ['pushes', [], `*3\r\n${bulk('unsubscribe')}${bulk(CHANNEL)}:0\r\n`, /nobody asked for/],
  ['pushes', [], `>3\r\n${bulk('unsubscribe')}$-1\r\n:0\r\n`, /push that nobody asked for/],
  ['pushes', ['subscribe'], ':1\r\n', /something else/],
  ['pushes', ['subscribe'], `*1\r\n${bulk('subscribe')}`, /something else/],
  ['pushes', ['client'], '*1\r\n$-1\r\n', /something else/],
  ['pushes', ['client'], `*${SUBSCRIBED}`, /something else/],
];

describe('screen: what passes, and what costs the connection', () => {
  for (const [use, asked, said] of FINE) {
    it(`${use}, asked for ${asked.join() || 'nothing'}: ${JSON.stringify(said)} passes`, () => {
      const stream = connection(use, ...asked);
      expect(say(stream, said)).to.equal(true);
      expect([stream.read, stream.faults]).to.deep.equal([[said], []]);
    });
  }

  for (const [use, asked, said, fault] of FAULTS) {
    it(`${use}, asked for ${asked.join() || 'nothing'}: ${JSON.stringify(said)} does not`, () => {
      const stream = connection(use, ...asked);
      say(stream, said);
      say(stream, '+OK\r\n'); // what was in the socket by then
      expect(stream.read).to.deep.equal([]);
      expect(stream.faults).to.have.length(1);
      expect(stream.faults[0]).to.match(fault);
    });
  }

  it('what came in before a fault passes', () => {
    const stream = connection('commands', 'set', 'get');
    say(stream, '+OK\r\n$5\r\nhel');
    say(stream, 'lo\r\n*1\r\n$&\r\n');
    expect(stream.read).to.deep.equal(['+OK\r\n', '$5\r\nhel', 'lo\r\n']);
    expect(stream.faults).to.deep.equal(['garbled: an invalid number']);
    const other = connection('commands', 'set');
    say(other, '+OK\r\n$-1\r\n');
    expect([other.read, other.faults]).to.deep.equal([
      ['+OK\r\n'],
      ['garbled: an answer that nobody asked for'],
    ]);
  });

  it('half a message waits for the rest of it, and goes on in its pieces', () => {
    const stream = connection('commands', 'set', 'get');
    for (const piece of ['+O', 'K', '\r', '\n$5\r\nhe', 'll', 'o\r\n']) say(stream, piece);
    expect(stream.read).to.deep.equal(['+O', 'K', '\r', '\n', '$5\r\nhe', 'll', 'o\r\n']);
    expect(stream.faults).to.deep.equal([]);
  });

  it('ioredis sees nothing of a message whose end is garbled, though it would take half of it for all', () => {
    const stream = connection('commands', 'set');
    for (const piece of ['>1\r\n$', '-', '1\r\n']) say(stream, piece);
    expect([stream.read, stream.faults.length]).to.deep.equal([[], 1]);
  });

  it('what is no data goes through', () => {
    const stream = connection('pushes');
    const seen: unknown[] = [];
    for (const event of ['end', 'close', 'data'] as const) stream.on(event, (one) => seen.push(event, one));
    stream.emit('end', 1);
    stream.emit('close', false);
    stream.emit('data', 'a text, where somebody has set an encoding');
    expect(seen).to.deep.equal([
      'end',
      1,
      'close',
      false,
      'data',
      'a text, where somebody has set an encoding',
    ]);
  });

  it('a client without a queue that can be seen, or without a stream', () => {
    const client: ScreenedClient & EventEmitter = Object.assign(new EventEmitter(), {
      stream: new FakeStream(),
    });
    screen(client, 'commands');
    client.emit('connect');
    client.stream?.emit('data', Buffer.from('+OK\r\n'));
    expect((client.stream as FakeStream).read).to.deep.equal(['+OK\r\n']); // as it was made
    const bare = new EventEmitter();
    screen(bare, 'pushes');
    expect(bare.emit('connect')).to.equal(true);
  });
});

interface Kind {
  readonly name: string;
  readonly protocol: 2 | 3;
  open(port: number): Redis;
}

const SETTINGS = {
  host: '127.0.0.1',
  lazyConnect: true,
  retryStrategy: () => 1,
  enableOfflineQueue: false,
  autoResubscribe: false,
  maxRetriesPerRequest: null,
  connectionName: 'x',
} as const;

const KINDS: readonly Kind[] = [
  { name: 'ioredis 6, RESP3', protocol: 3, open: (port) => new Redis({ ...SETTINGS, port, protocol: 3 }) },
  { name: 'ioredis 6, RESP2', protocol: 2, open: (port) => new Redis({ ...SETTINGS, port, protocol: 2 }) },
  {
    name: 'ioredis 5',
    protocol: 2,
    open: (port) => new Redis5({ ...SETTINGS, port }) as unknown as Redis, // the same methods, of other types
  },
];
/** So many garbled messages of each seed. */
const ROUNDS = 150;

for (const { name, protocol, open } of KINDS) {
  for (const use of ['pushes', 'commands'] as const) {
    describe(`screen: ${name}, a connection for ${use}`, () => {
      let server: RespServer;
      let client: Redis;
      beforeEach(async () => {
        server = await RespServer.start();
        client = open(server.port).on('error', () => undefined);
        if (use === 'pushes') client.on('message', () => undefined);
        screen(client, use);
        client.connect().catch(() => undefined);
      });
      afterEach(async () => {
        client.disconnect();
        await server.stop();
      });

      /** Connected, and subscribed where it is for pushes. */
      async function ready(): Promise<void> {
        await eventually(() => client.status === 'ready');
        if (use === 'pushes') await client.subscribe(CHANNEL).catch(() => undefined); // cut off meanwhile
      }

      for (const seed of [1, 2]) {
        it(`${ROUNDS} garbled messages, seed ${seed}: nothing is thrown, and it connects again each time`, async () => {
          const seeded = new Seeded(`${name} ${use} ${seed}`);
          for (let round = 1; round <= ROUNDS; round++) {
            await ready();
            const before = server.connections;
            if (use === 'commands' && seeded.chance(0.5)) client.ping().catch(() => undefined);
            const bytes = garbage(seeded, protocol, push);
            const middle = seeded.chance(0.3) ? seeded.whole(0, bytes.length) : bytes.length;
            server.sayLast(bytes.subarray(0, middle), bytes.subarray(middle));
            await eventually(() => server.connections > before);
          }
        });

        it(`${ROUNDS} garbled answers while it connects, seed ${seed}: nothing is thrown`, async () => {
          const seeded = new Seeded(`${name} ${use} early ${seed}`);
          for (let round = 1; round <= ROUNDS; round++) {
            const before = server.connections;
            const command = seeded.pick(['hello', 'client', 'info', 'subscribe']);
            server.answers.set(command, garbage(seeded, protocol, push));
            server.sayLast();
            await eventually(() => server.connections > before + 1 || client.status === 'ready');
            server.answers.clear();
            if (client.status === 'ready' && use === 'pushes')
              client.subscribe(CHANNEL).catch(() => undefined);
          }
          server.sayLast();
          await ready();
        });
      }
    });
  }
}

describe('screen: what is opened by quorate', () => {
  let server: RespServer;
  beforeEach(async () => (server = await RespServer.start()));
  afterEach(() => server.stop());

  it('the clients of Redlock.connect', async () => {
    const [client] = openIoredis([`redis://127.0.0.1:${server.port}`]);
    await eventually(() => client?.status === 'ready');
    const before = server.connections;
    server.say('$-1\r\n');
    await eventually(() => server.connections > before && client?.status === 'ready');
    client?.disconnect();
  });

  for (const { name, open, protocol } of KINDS) {
    it(`the push connections beside a client of ${name}: lost, and open again`, async () => {
      const client = open(server.port).on('error', () => undefined);
      await client.connect();
      const events: string[] = [];
      const subscription = new IoredisTransport(client).subscribe?.(CHANNEL, {
        onOpen: () => events.push('open'),
        onPush: (text) => events.push(text),
        onLost: ({ message }) => events.push(message),
      });
      await eventually(() => events.includes('open'));
      client.disconnect(); // what is said is said to the other one
      await eventually(() => server.open === 1);
      server.say(`${push(protocol === 3 ? '>' : '*')}*0\r\n`);
      await eventually(() => events.filter((event) => event === 'open').length === 2);
      subscription?.close();
      expect(events).to.deep.equal(['open', 'w x r', 'garbled: an answer that nobody asked for', 'open']);
    });
  }
});
