import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { openClients } from '../lib/connect.js';
import { Redlock } from '../lib/redlock.js';
import { thrown } from './support/rejection.js';

describe('connect: what is refused, before a connection is opened', () => {
  const wrong: [unknown, RegExp][] = [
    [[], /^masters .*got an empty array$/],
    [undefined, /^masters .*got undefined$/],
    ['redis://a', /^masters .*got "redis:\/\/a"$/],
    [['a:6379'], /^masters\[0\] .*got "a:6379"$/],
    [['redis://a', 'http://b'], /^masters\[1\] .*got "http:\/\/b"$/],
    [['redis://a', ''], /^masters\[1\] .*got ""$/],
    [[5], /^masters\[0\] .*got 5$/],
    [[null], /^masters\[0\] .*got null$/],
    [[[]], /^masters\[0\] .*got an empty array$/],
    [['http://user:secret@b'], /^masters\[0\] .*b"$/],
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
  const settings = (master: Parameters<typeof openClients>[0][number]) => {
    const [client] = openClients([master]);
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
