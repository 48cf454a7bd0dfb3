import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import type { DialledSocket } from '../../../lib/redis/ioredis/transport.js';
import { clientName, type IoredisClient, IoredisTransport } from '../../../lib/redis/ioredis/transport.js';

/** What quorate uses of an ioredis client. */
class FakeClient extends EventEmitter implements IoredisClient {
  status = 'ready';
  connects = 0;
  readonly calls: unknown[][] = [];
  isCluster = false;
  stream: DialledSocket & { writable: boolean } = { writable: true };
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

function environment(status = 'ready') {
  const client = new FakeClient();
  client.status = status;
  return { client, transport: new IoredisTransport(client) };
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
      expect(environment(status).transport.state).to.equal(state);
    });
  }

  for (const before of ['ready', 'reconnecting', 'close']) {
    for (const now of ['connecting', 'connect']) {
      it(`${now} after ${before}: lost, since it was connected or refused before`, () => {
        const { client, transport } = environment(before);
        expect(transport.state).to.not.equal('opening');
        client.become(now);
        expect(transport.state).to.equal('lost');
      });
    }
  }

  it('a loss between two looks is noticed while somebody watches', () => {
    const { client, transport } = environment('connecting');
    expect(transport.state).to.equal('opening');
    const unwatch = transport.watch(() => undefined);
    client.become('close', 'close');
    client.become('connecting');
    expect(transport.state).to.equal('lost');
    unwatch();
  });

  it('wait (lazyConnect): connects it, once, and a failure is no unhandled rejection', async () => {
    const { client, transport } = environment('wait');
    client.connectFailure = new Error('refused');
    expect([transport.state, transport.state]).to.deep.equal(['opening', 'opening']);
    expect(client.connects).to.equal(1);
    await new Promise((resolve) => setImmediate(resolve));
  });

  for (const [status] of states) {
    it(`${status}: ${status === 'ready' ? 'it is ready' : 'it is not ready'}, and a look at that connects nothing`, () => {
      const { client, transport } = environment(status);
      expect([transport.isReady, client.connects]).to.deep.equal([status === 'ready', 0]);
      if (status !== 'ready') return;
      client.stream.writable = false; // its socket has ended
      expect(transport.isReady).to.equal(false);
    });
  }

  it('ready, but its socket has ended: lost, or the command would go into the offline queue', () => {
    const { client, transport } = environment();
    client.stream.writable = false;
    expect(transport.state).to.equal('lost');
  });

  it('a cluster has no socket of its own to look at', () => {
    const { client, transport } = environment();
    expect(transport.isCluster).to.equal(false);
    client.isCluster = true;
    client.stream.writable = false;
    expect(new IoredisTransport(client).state).to.equal('ready');
  });
});

describe('transport: why there is no connection', () => {
  const [PLAIN, TLS] = [{}, { secureConnecting: true }] as const;
  const coded = (code: string): Error => Object.assign(new Error(`read ${code}`), { code });

  /** What it says after a connection that the client saw so, and that ended so. */
  function reason(socket: DialledSocket, error: Error | undefined): string | undefined {
    const { client, transport } = environment('connecting');
    client.stream = { writable: true, ...socket };
    void transport.state;
    if (error !== undefined) client.emit('error', error);
    client.become('close', 'close');
    return transport.lossReason?.message;
  }

  const ends: [string, DialledSocket, Error | undefined, RegExp | undefined][] = [
    [
      'plain, reset before any answer',
      { ...PLAIN, bytesWritten: 22, bytesRead: 0 },
      coded('ECONNRESET'),
      /rediss/,
    ],
    ['plain, broken pipe', { ...PLAIN, bytesWritten: 22, bytesRead: 0 }, coded('EPIPE'), /rediss/],
    ['plain, closed without a word', { ...PLAIN, bytesWritten: 22, bytesRead: 0 }, undefined, /rediss/],
    [
      'plain, reset after an answer',
      { ...PLAIN, bytesWritten: 22, bytesRead: 9 },
      coded('ECONNRESET'),
      /^read EC/,
    ],
    [
      'plain, refused',
      { ...PLAIN, bytesWritten: 0, bytesRead: 0 },
      coded('ECONNREFUSED'),
      /^read ECONNREFUSED$/,
    ],
    [
      'plain, an error of another kind',
      { ...PLAIN, bytesWritten: 22, bytesRead: 0 },
      new Error('odd'),
      /^odd$/,
    ],
    [
      'plain, closed before anything was sent',
      { ...PLAIN, bytesWritten: 0, bytesRead: 0 },
      undefined,
      undefined,
    ],
    ['plain, closed after an answer', { ...PLAIN, bytesWritten: 22, bytesRead: 9 }, undefined, undefined],
    ['TLS, unanswered', { ...TLS, connecting: false }, coded('ETIMEDOUT'), /^no answer to the TLS handshake/],
    ['TLS, TCP itself unanswered', { ...TLS, connecting: true }, coded('ETIMEDOUT'), /^read ETIMEDOUT$/],
    ['TLS, an error that says it', { ...TLS, connecting: false }, new Error('self-signed'), /^self-signed$/],
    ['TLS, closed', { ...TLS, connecting: false, bytesWritten: 0, bytesRead: 0 }, undefined, undefined],
  ];
  for (const [title, socket, error, text] of ends) {
    it(`${title}: ${String(text)}`, () => {
      const said = reason(socket, error);
      if (text === undefined) expect(said).to.equal(undefined);
      else expect(said).to.match(text);
    });
  }

  it('while TLS shakes hands it says so, and no more once it is ready; listeners are taken off', () => {
    const { client, transport } = environment('connecting');
    client.stream = { writable: true, connecting: false, secureConnecting: true };
    expect(transport.state).to.equal('opening');
    expect(transport.lossReason?.message).to.match(/TLS handshake/);
    client.become('ready');
    expect(transport.state).to.equal('ready');
    expect([transport.lossReason, client.eventNames()]).to.deep.equal([undefined, []]);
  });

  for (const status of ['connecting', 'close', 'reconnecting']) {
    it(`${status}, then ready, and nobody looks again: listeners are taken off all the same`, () => {
      const { client, transport } = environment(status);
      expect(transport.state).to.not.equal('ready');
      expect(client.eventNames()).to.have.members(['error', 'close', 'ready']);
      client.become('ready', 'ready');
      expect(client.eventNames()).to.deep.equal([]);
      client.become('connecting');
      expect(transport.state, 'it had been ready').to.equal('lost');
    });
  }

  it('a connection that ended without a reason does not get the reason of the one before', () => {
    const { client, transport } = environment('connecting');
    client.stream = { writable: true, bytesWritten: 22, bytesRead: 0 };
    void transport.state;
    client.emit('error', coded('ECONNREFUSED'));
    client.become('close', 'close');
    expect(transport.lossReason?.message).to.equal('read ECONNREFUSED');
    client.become('connecting');
    client.become('close', 'close');
    expect(transport.lossReason?.message).to.match(/rediss/);
  });
});

describe('transport: commands and listeners', () => {
  it('sends by built-in commands, which go past autopipelining and past what a caller put on the client', async () => {
    const { client, transport } = environment();
    expect(await transport.call({ name: 'set', args: ['k', 'v'] })).to.equal('reply');
    await transport.call({ name: 'evalsha', args: ['sha', '1', 'k'] });
    expect(client.calls).to.deep.equal([
      ['set', true, 'k', 'v'],
      ['evalsha', true, 'sha', '1', 'k'],
    ]);
  });

  it('calls that go together: the socket is corked meanwhile, and no longer if one throws', () => {
    const { client, transport } = environment();
    transport.together(() => void transport.call({ name: 'time', args: [] }));
    expect(client.calls, 'a socket that cannot be corked').to.have.length(1);
    const done: string[] = [];
    client.stream = Object.assign(client.stream, {
      cork: () => done.push('cork'),
      uncork: () => done.push('uncork'),
    });
    transport.together(() => done.push('calls'));
    expect(() =>
      transport.together(() => {
        throw new Error('refused');
      }),
    ).to.throw('refused');
    expect(done).to.deep.equal(['cork', 'calls', 'uncork', 'cork', 'uncork']);
  });

  it('takes its listeners off again', () => {
    const { client, transport } = environment();
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
    expect(new IoredisTransport(client).keyPrefix).to.equal('app:');
    expect(environment().transport.keyPrefix).to.equal('');
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
