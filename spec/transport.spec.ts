import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { checkClient, clientName, fingerprint, type RedisClient, RedisTransport } from '../lib/transport.js';
import { thrown } from './support/rejection.js';

/** What quorate uses of an ioredis client. */
class FakeClient extends EventEmitter implements RedisClient {
  status = 'ready';
  connects = 0;
  readonly calls: unknown[][] = [];
  isCluster = false;
  stream = { writable: true };
  startupNodes: unknown[] = [];
  options: Record<string, unknown> = {};
  connectFailure: Error | undefined;

  connect(): Promise<unknown> {
    this.connects++;
    this.status = 'connecting';
    return this.connectFailure === undefined ? Promise.resolve() : Promise.reject(this.connectFailure);
  }

  createBuiltinCommand(name: string): { string: unknown } {
    const calls = this.calls;
    return {
      string(this: unknown, ...args: unknown[]): Promise<unknown> {
        calls.push([name, this instanceof FakeClient, ...args]);
        return Promise.resolve('reply');
      },
    };
  }

  become(status: string, event?: string): void {
    this.status = status;
    if (event !== undefined) this.emit(event);
  }
}

function ground(status = 'ready') {
  const client = new FakeClient();
  client.status = status;
  return { client, transport: new RedisTransport(client) };
}

describe('transport: the state of a client (rule 10)', () => {
  const states: [string, string][] = [
    ['ready', 'ready'],
    ['connecting', 'opening'],
    ['connect', 'opening'],
    ['wait', 'opening'],
    ['reconnecting', 'lost'],
    ['close', 'lost'],
    ['end', 'lost'],
    ['disconnecting', 'lost'],
    ['a status of a later version', 'lost'],
  ];
  for (const [status, state] of states) {
    it(`${status}: ${state}`, () => {
      expect(ground(status).transport.state).to.equal(state);
    });
  }

  for (const before of ['ready', 'reconnecting', 'close']) {
    for (const now of ['connecting', 'connect']) {
      it(`${now} after ${before}: lost, since it was connected or refused before`, () => {
        const { client, transport } = ground(before);
        expect(transport.state).to.not.equal('opening');
        client.become(now);
        expect(transport.state).to.equal('lost');
      });
    }
  }

  it('a loss between two looks is noted by who watches', () => {
    const { client, transport } = ground('connecting');
    expect(transport.state).to.equal('opening');
    const unwatch = transport.watch(() => undefined);
    client.become('close', 'close');
    client.become('connecting');
    expect(transport.state).to.equal('lost');
    unwatch();
  });

  it('wait (lazyConnect): connects it, once, and a failure is no unhandled rejection', async () => {
    const { client, transport } = ground('wait');
    client.connectFailure = new Error('refused');
    expect([transport.state, transport.state]).to.deep.equal(['opening', 'opening']);
    expect(client.connects).to.equal(1);
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('ready, but its socket has ended: lost, or the command would go into the offline queue', () => {
    const { client, transport } = ground();
    client.stream.writable = false;
    expect(transport.state).to.equal('lost');
  });

  it('a cluster has no socket of its own to look at', () => {
    const { client, transport } = ground();
    expect(transport.isCluster).to.equal(false);
    client.isCluster = true;
    client.stream.writable = false;
    expect(new RedisTransport(client).state).to.equal('ready');
  });
});

describe('transport: commands and listeners', () => {
  it('sends by built-in commands, which go past autopipelining and past what a caller put on the client', async () => {
    const { client, transport } = ground();
    expect(await transport.call({ name: 'set', args: ['k', 'v'] })).to.equal('reply');
    await transport.call({ name: 'evalsha', args: ['sha', '1', 'k'] });
    expect(client.calls).to.deep.equal([
      ['set', true, 'k', 'v'],
      ['evalsha', true, 'sha', '1', 'k'],
    ]);
  });

  it('takes its listeners off again', () => {
    const { client, transport } = ground();
    let calls = 0;
    const unwatch = [1, 2, 3].map(() => transport.watch(() => calls++));
    for (const event of ['ready', 'close', 'end']) client.emit(event);
    expect(calls).to.equal(9);
    for (const stop of unwatch) stop();
    expect(client.eventNames()).to.deep.equal([]);
  });

  it("reads the client's own key prefix", () => {
    const client = new FakeClient();
    client.options = { keyPrefix: 'app:' };
    expect(new RedisTransport(client).keyPrefix).to.equal('app:');
    expect(ground().transport.keyPrefix).to.equal('');
  });
});

describe('transport: how a master is called', () => {
  const named: [object, string][] = [
    [{ options: { host: 'a', port: 1 } }, 'a:1'],
    [{ options: {} }, 'localhost:6379'],
    [{}, 'localhost:6379'],
    [{ options: { host: '::1', port: 6379 } }, '[::1]:6379'],
    [{ options: { path: '/run/redis.sock' } }, '/run/redis.sock'],
    [{ options: { name: 'mine', sentinels: [{ host: 's', port: 26_380 }] } }, 'mine@s:26380'],
    [{ options: { sentinels: [{}] } }, 'mymaster@localhost:26379'],
    [{ options: { host: 'a', port: 1, sentinels: null } }, 'a:1'],
    [{ options: { host: 'a', port: 1, path: null } }, 'a:1'],
    [
      { isCluster: true, startupNodes: [{ host: 'a', port: 7_000 }, { port: 7_001 }, 7_002, 'd:7003'] },
      'cluster(a:7000,localhost:7001,localhost:7002)',
    ],
    [{ isCluster: true, startupNodes: ['redis://user:secret@a:7000'] }, 'cluster(a:7000)'],
  ];
  for (const [client, name] of named) {
    it(`${JSON.stringify(client)}: ${name}`, () => {
      expect(clientName(Object.assign(new FakeClient(), { options: undefined }, client))).to.equal(name);
    });
  }

  it('never by its password', () => {
    const options = { host: 'a', port: 1, password: 'secret', username: 'user' };
    expect(clientName(Object.assign(new FakeClient(), { options }))).to.equal('a:1');
  });
});

describe('transport: what is no client', () => {
  for (const given of [
    null,
    undefined,
    'redis://a',
    7,
    {},
    { status: 'ready' },
    [],
    { createBuiltinCommand: 1, status: 'ready' },
  ]) {
    it(`${JSON.stringify(given)} is refused by name of its place`, () => {
      const error = thrown(() => checkClient(given, 'clients[1]'));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(/^clients\[1\] must be an ioredis Redis or Cluster instance; got /);
    });
  }
});

describe('transport: fingerprints', () => {
  it('tell tokens apart and do not show them', () => {
    expect(fingerprint('client:secret'))
      .to.match(/^[0-9a-f]{10}$/)
      .and.not.equal(fingerprint('client:other'));
  });
});
