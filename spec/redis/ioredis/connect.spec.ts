import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { openIoredis } from '../../../lib/redis/ioredis/connect.js';
import { Redlock } from '../../../lib/redlock.js';
import { thrown } from '../../support/rejection.js';

describe('connect: what is refused, before a connection is opened', () => {
  const wrong: [unknown, RegExp][] = [
    [[], /^masters .*got an empty array\.$/],
    [undefined, /^masters .*got undefined\.$/],
    ['redis://a', /^masters .*got "redis:\/\/a": wrap it in an array\.$/],
    ['redis://user:secret@a', /^masters .*got "redis:\/\/…@a": wrap it in an array\.$/],
    [
      { host: 'a', password: 'secret' },
      /^masters .*got an object \(host, password\): wrap it in an array\.$/,
    ],
    [['a:6379'], /^masters\[0\] .*got "a:6379"\.$/],
    [['redis://a', 'http://b'], /^masters\[1\] .*got "http:\/\/b"\.$/],
    [['redis://a', ''], /^masters\[1\] .*got ""\.$/],
    [[5], /^masters\[0\] .*got 5\.$/],
    [[null], /^masters\[0\] .*got null\.$/],
    [[[]], /^masters\[0\] .*got an empty array\.$/],
    [['http://user:secret@b'], /^masters\[0\] .*"http:\/\/…@b"\.$/],
    [['http://user:sec/secret@b'], /^masters\[0\] .*"http:\/\/…@b"\.$/],
    [['user:s@secret@b:6379'], /^masters\[0\] .*"…@b:6379"\.$/],
    [['http://b?password=secret'], /^masters\[0\] .*"http:\/\/b\?…"\.$/],
    [
      [{ status: 'ready', createBuiltinCommand: () => 1 }],
      /^masters\[0\] .*got an object \(.*\): new Redlock takes clients\.$/,
    ],
    [['redis://user:secret@127.0.0.1:1/three'], /^masters\[0\] .*database is a whole number.*\/three"\.$/],
    [
      ['redis://127.0.0.1:1', 'redis://127.0.0.1:2?db=x&password=secret'],
      /^masters\[1\] .*database .*:2\?…"\.$/,
    ],
    [['redis://127.0.0.1:1/-1'], /^masters\[0\] .*database .*\/-1"\.$/],
    [[{ port: 1, db: 1.5 }], /^masters\[0\] .*database .*got 1.5\.$/],
    [['redis://127.0.0.1:1', 'redis://127.0.0.1:1/3'], /^clients .*distinct .*given twice/],
    [
      [
        { port: 1, db: 1 },
        { port: 1, db: 2 },
      ],
      /^clients .*distinct .*given twice/,
    ],
  ];
  for (const [masters, text] of wrong) {
    it(JSON.stringify(masters) ?? 'undefined', () => {
      const error = thrown(() => Redlock.connect(masters as string[]));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text).and.not.contain('secret');
    });
  }
});

describe('connect: a server that counts its connections', () => {
  let server: Server;
  let connections = 0;
  let port = 0;
  beforeEach(async () => {
    connections = 0;
    server = createServer((socket) => {
      connections++;
      socket.resume();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => server.close());

  it('wrong options, or the same master twice: none is left open', async () => {
    const url = `redis://127.0.0.1:${port}`;
    expect(thrown(() => Redlock.connect([url], { ttlMs: 0 })).message).to.match(/^ttlMs /);
    expect(thrown(() => Redlock.connect([url, url])).message).to.match(/^clients .*given twice/);
    expect(thrown(() => Redlock.connect([url, { host: '127.0.0.1', port }])).message).to.match(
      /^clients .*given twice/,
    );
    server.close();
    await once(server, 'close'); // only when every connection is closed
    expect(connections).to.equal(0);
  });
});

describe('connect: how its own clients are set up', () => {
  const settings = (master: Parameters<typeof openIoredis>[0][number]) => {
    const [client] = openIoredis([master]);
    client?.disconnect();
    return client?.options;
  };

  it('nothing waits offline, nothing is sent again behind our back, and a dead one is found', () => {
    expect(settings('redis://127.0.0.1:1')).to.include({
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectionName: 'quorate',
      socketTimeout: 10_000,
      disconnectTimeout: 100, // a client that could not connect keeps its process alive for that long, once it is closed
    });
  });

  it("a master's own options stay, but for those that a lock relies on", () => {
    const own = {
      host: '127.0.0.1',
      port: 1,
      db: 3,
      connectionName: 'mine',
      enableOfflineQueue: true,
      autoResendUnfulfilledCommands: true,
    };
    expect(settings(own)).to.include({
      db: 3,
      connectionName: 'mine',
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
    });
  });

  it('the waits between two connections grow, up to two seconds, and never end', () => {
    const retry = settings('redis://127.0.0.1:1')?.retryStrategy;
    expect([1, 2, 3, 6, 7, 1_000_000].map((times) => retry?.(times))).to.deep.equal([
      50, 100, 200, 1_600, 2_000, 2_000,
    ]);
  });
});
