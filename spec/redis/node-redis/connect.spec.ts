import { expect } from 'chai';
import type { ConnectOptions } from '../../../lib/connect-options.js';
import { type AnyClient, eventually, isReady } from '../../support/real.js';
import { RespServer } from '../../support/resp-server.js';
import { reconnectMs } from '../../../lib/redis/waits.js';
import { openClients } from '../../../lib/redis/connect.js';
import { Redlock } from '../../../lib/redlock.js';
import { thrown } from '../../support/rejection.js';

const CLIENT = { client: 'redis' } as const;

describe('connect by node-redis: what is refused, before a connection is opened', () => {
  const wrong: [unknown, RegExp][] = [
    [[], /^masters .*got an empty array\.$/],
    [['redis://a', 'http://user:secret@b'], /^masters\[1\] .*got "http:\/\/…@b"\.$/],
    [['redis://user:secret@127.0.0.1:1/three'], /^masters\[0\] .*database is a whole number.*\/three"\.$/],
    [[{ url: 'redis://:secret@127.0.0.1:1/-1' }], /^masters\[0\] .*database .*\/-1"\.$/],
    [
      [{ url: 'redis://:secret@127.0.0.1:1', socket: { tls: true } }],
      /^masters\[0\] .*options that node-redis takes; got "redis:\/\/…@127.0.0.1:1"\.$/,
    ],
    [['redis://127.0.0.1:1', 'redis://127.0.0.1:1/3'], /^clients .*distinct .*given twice/],
  ];
  for (const [masters, text] of wrong) {
    it(JSON.stringify(masters), () => {
      const error = thrown(() => Redlock.connect(masters as string[], CLIENT));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text).and.not.contain('secret');
    });
  }

  const options: [unknown, RegExp][] = [
    [{ client: 'glide' }, /^client must be 'ioredis' or 'redis'; got "glide"\.$/],
    [{ clients: 'redis' }, /^clients .* did you mean client\?/],
    [7, /^options must be an object; got 7: use \{ ttlMs: 7 \}\.$/],
    [{ ...CLIENT, ttlMs: 0 }, /^ttlMs /],
  ];
  for (const [given, text] of options) {
    it(`options: ${JSON.stringify(given)}`, () => {
      const error = thrown(() => Redlock.connect(['redis://127.0.0.1:1'], given as ConnectOptions));
      expect(error.message).to.match(text);
    });
  }
});

describe('connect by node-redis: how its own clients are set up', () => {
  const settings = (master: string | object): Record<string, unknown> => {
    const { clients, disconnect } = openClients([master], 'redis');
    disconnect();
    return (clients[0] as unknown as { options: Record<string, unknown> }).options;
  };

  it('nothing waits offline, and the next connection comes within two seconds', () => {
    const { disableOfflineQueue, socket } = settings('redis://127.0.0.1:1/3');
    expect(disableOfflineQueue).to.equal(true);
    expect(socket).to.include({ connectTimeout: 2_000, port: 1 });
  });

  it('the waits between two connections grow, up to two seconds, and never end', () => {
    expect([0, 1, 2, 5, 6, 1_000_000].map(reconnectMs)).to.deep.equal([50, 100, 200, 1_600, 2_000, 2_000]);
  });

  it("a master's own options stay, but for those that a lock relies on", () => {
    const own = {
      socket: { host: '127.0.0.1', port: 1, connectTimeout: 5 },
      name: 'mine',
      disableOfflineQueue: false,
    };
    const { disableOfflineQueue, name, socket } = settings(own);
    expect({ disableOfflineQueue, name }).to.deep.equal({ disableOfflineQueue: true, name: 'mine' });
    expect(socket).to.include({ port: 1, connectTimeout: 5 });
  });

  it('the path of a socket', () => {
    expect(settings('/run/redis.sock')['socket']).to.include({ path: '/run/redis.sock' });
  });
});

describe('connect by node-redis: a message that it cannot read', () => {
  for (const garbage of ['$-1\r\n', '*4294967296\r\n', 'hello\r\n', '>1\r\n$-1\r\n']) {
    it(`${JSON.stringify(garbage)}: the connection is replaced`, async () => {
      const server = await RespServer.start();
      const { clients, disconnect } = openClients([`redis://127.0.0.1:${server.port}`], 'redis');
      const [client] = clients as readonly AnyClient[];
      if (client === undefined) throw new Error('there is one');
      await eventually(() => isReady(client));
      const before = server.connections;
      server.say(garbage);
      await eventually(() => server.connections > before && isReady(client));
      expect(server.open).to.equal(1);
      disconnect();
      await server.stop();
    });
  }
});
