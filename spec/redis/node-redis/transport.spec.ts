import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import sinon from 'sinon';
import { isClient, transportOver } from '../../../lib/redis/client.js';
import { type NodeRedisClient, NodeRedisTransport } from '../../../lib/redis/node-redis/transport.js';

/** What quorate uses of a client of node-redis. */
class FakeClient extends EventEmitter implements NodeRedisClient {
  isOpen = true;
  isReady?: boolean = true;
  options: Record<string, unknown> = {};
  readonly calls: unknown[][] = [];

  sendCommand(...given: unknown[]): Promise<unknown> {
    this.calls.push(given);
    return Promise.resolve('reply');
  }

  become(is: { isOpen?: boolean; isReady?: boolean }, event: string, error?: Error): void {
    Object.assign(this, is);
    this.emit(event, error);
  }
}

function over(details: object = {}): { client: FakeClient; transport: NodeRedisTransport } {
  const client = Object.assign(new FakeClient(), details);
  return { client, transport: new NodeRedisTransport(client) };
}

const CLUSTER = { getSlotRandomNode: () => undefined, isReady: undefined };

describe('node-redis: the state of a client (rule 10)', () => {
  it('connected: ready', () => {
    const { transport } = over();
    expect([transport.state, transport.isReady, transport.lossReason]).to.deep.equal([
      'ready',
      true,
      undefined,
    ]);
  });

  it('told to connect, and not there yet: opening; once it was connected, or failed to: lost', () => {
    const { client, transport } = over({ isReady: false });
    expect(transport.state).to.equal('opening');
    client.become({ isReady: true }, 'ready');
    expect(transport.state).to.equal('ready');
    client.become({ isReady: false }, 'reconnecting');
    expect(transport.state).to.equal('lost');
    const failed = over({ isReady: false });
    failed.client.on('error', () => undefined);
    failed.client.become({}, 'error', new Error('refused'));
    expect(failed.transport.state).to.equal('lost');
    expect(failed.transport.lossReason?.message).to.equal('refused');
  });

  it('a server that hangs up: before any answer, as one with TLS does; after an error, because of it; later, by itself', () => {
    const { client, transport } = over({ isReady: false });
    client.on('error', () => undefined);
    const reason = (): string | undefined => transport.lossReason?.message;
    const closed = new Error('Socket closed unexpectedly');
    client.become({}, 'connect');
    client.become({}, 'error', closed);
    expect(reason()).to.equal('the server hung up before any answer, as a TLS port does (rediss://)');
    expect(transport.lossReason?.cause).to.equal(closed);
    client.become({}, 'connect');
    client.become({}, 'error', new Error('WRONGPASS'));
    client.become({}, 'error', closed);
    expect(reason()).to.equal('WRONGPASS');
    client.become({}, 'error', new Error('connect ECONNREFUSED'));
    expect(reason()).to.equal('connect ECONNREFUSED');
    client.become({}, 'connect');
    client.become({ isReady: true }, 'ready');
    client.become({ isReady: false }, 'error', closed);
    expect(reason()).to.equal(closed.message);
  });

  it('with TLS, a connection that takes too long may have met a port without it', () => {
    for (const [options, text] of [
      [
        { socket: { tls: true } },
        'not reached in time, or no answer to the TLS handshake, as from a port without TLS (redis://)',
      ],
      [{ socket: {} }, 'Connection timeout'],
    ] as const) {
      const { client, transport } = over({ isReady: false, options });
      client.on('error', () => undefined);
      client.become({}, 'error', new Error('Connection timeout'));
      expect(transport.lossReason?.message).to.equal(text);
    }
    const { client, transport } = over({ isReady: false, options: { socket: { tls: true } } });
    client.on('error', () => undefined);
    client.become({}, 'connect');
    client.become({}, 'error', new Error('Socket closed unexpectedly'));
    expect(transport.lossReason?.message).to.equal('Socket closed unexpectedly');
  });

  it('nobody has told it to connect: lost, and it says so', () => {
    const { transport } = over({ isOpen: false, isReady: false });
    expect(transport.state).to.equal('lost');
    expect(transport.lossReason?.message).to.equal('this client is not open: call its connect()');
  });

  it('a cluster of version 5 is connected as soon as it knows masters', () => {
    expect(over({ ...CLUSTER, masters: [] }).transport.state).to.equal('opening');
    expect(over({ ...CLUSTER, masters: [{}] }).transport.state).to.equal('ready');
    expect(over({ ...CLUSTER, masters: [{}], isReady: false }).transport.state).to.equal('opening'); // version 6 knows
  });

  it('those who watch hear of each change, until they stop', () => {
    const { client, transport } = over();
    let heard = 0;
    const stop = transport.watch(() => heard++);
    for (const event of ['ready', 'end', 'reconnecting']) client.emit(event);
    expect(heard).to.equal(3);
    stop();
    client.emit('ready');
    expect(heard).to.equal(3);
  });

  it('a cluster says "connect" and "disconnect"', () => {
    const { client, transport } = over({ ...CLUSTER, masters: [] });
    let heard = 0;
    transport.watch(() => heard++);
    for (const event of ['connect', 'disconnect']) client.emit(event);
    expect(heard).to.equal(2);
  });

  it('an error that nobody listens to is printed, and does not end the process', () => {
    const { client, transport } = over();
    const printed = sinon.stub(console, 'error');
    try {
      client.emit('error', new Error('gone'));
      client.on('error', () => undefined);
      client.emit('error', new Error('heard'));
    } finally {
      printed.restore();
    }
    expect(printed.args.map(([, error]) => (error as Error).message)).to.deep.equal(['gone']);
    transport.close();
    client.emit('error', new Error('later'));
    expect(transport.lossReason?.message).to.equal(undefined);
  });
});

describe('node-redis: what is sent', () => {
  const OPTIONS = { typeMapping: { 37: Array }, timeout: undefined, abortSignal: undefined, asap: false };
  const claim = { name: 'set', args: ['k', 'v', 'PX', '5', 'NX'] } as const;
  const script = { name: 'evalsha', args: ['digest', '2', 'k1', 'k2', 'a'] } as const;

  it('a client takes the command; its timeout and its type mapping do not count', async () => {
    const { client, transport } = over();
    expect(await transport.call(claim)).to.equal('reply');
    const [[command, options] = []] = client.calls;
    expect(command).to.deep.equal(['set', ...claim.args]);
    const { abortSignal, ...others } = options as typeof OPTIONS;
    expect({ ...others, abortSignal: undefined }).to.deep.equal(OPTIONS);
    expect(abortSignal).to.be.an.instanceof(AbortSignal);
  });

  it('what is not written as the connection breaks is taken back, and says why; the next one is not', async () => {
    const signals: AbortSignal[] = [];
    const { client, transport } = over({
      sendCommand: (_command: unknown, { abortSignal }: { readonly abortSignal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          signals.push(abortSignal);
          abortSignal.addEventListener('abort', () => reject(new Error('The command was aborted')));
        }),
    });
    client.on('error', () => undefined);
    const lost = transport.call(claim).catch(({ message }: Error) => message);
    client.become({ isReady: false }, 'error', new Error('Socket closed unexpectedly'));
    expect(await lost).to.equal('Socket closed unexpectedly');
    void transport.call(claim);
    expect(signals.map(({ aborted }) => aborted)).to.deep.equal([true, false]);
  });

  it('a cluster takes the first key as well', async () => {
    const { client, transport } = over(CLUSTER);
    await transport.call(claim);
    await transport.call(script);
    expect(client.calls.map(([key, isReadOnly]) => [key, isReadOnly])).to.deep.equal([
      ['k', false],
      ['k1', false],
    ]);
  });

  it("keys have the client's prefix, and nothing else has", async () => {
    const { client, transport } = over({ options: { keyPrefix: 'p:' } });
    for (const command of [
      claim,
      script,
      { name: 'del', args: ['a', 'b'] },
      { name: 'time', args: [] },
    ] as const)
      await transport.call(command);
    expect(client.calls.map(([command]) => command)).to.deep.equal([
      ['set', 'p:k', 'v', 'PX', '5', 'NX'],
      ['evalsha', 'digest', '2', 'p:k1', 'p:k2', 'a'],
      ['del', 'p:a', 'p:b'],
      ['time'],
    ]);
    expect(transport.keyPrefix).to.equal('p:');
  });
});

describe('node-redis: its name, its database, and what is refused', () => {
  const socket = (given: object) => ({ options: { socket: given } });
  const names: [object, string][] = [
    [socket({ host: 'a', port: 7000 }), 'a:7000'],
    [socket({ host: '::1', port: 7000 }), '[::1]:7000'],
    [socket({ path: '/run/redis' }), '/run/redis'],
    [{}, 'localhost:6379'],
    [
      {
        ...CLUSTER,
        _options: { rootNodes: [{ url: 'redis://user:secret@a:1' }, { socket: { host: 'b', port: 2 } }] },
      },
      'cluster(a:1,b:2)',
    ],
  ];
  for (const [details, name] of names) {
    it(name, () => {
      expect(over(details).transport.name).to.equal(name);
    });
  }

  it('the database is the one of its options', () => {
    expect(over({ options: { database: 3 } }).transport.database).to.equal(3);
    expect(over().transport.database).to.equal(0);
  });

  it('it is told by its shape', () => {
    const client = new FakeClient();
    expect(isClient(client)).to.equal(true);
    expect(transportOver(client)).to.be.an.instanceof(NodeRedisTransport);
  });

  it('no listener is taken from a client: its own object would hear of nothing any more', () => {
    const { client, transport } = over();
    const stop = transport.watch(() => undefined);
    const count = (): number => client.listenerCount('error') + client.listenerCount('ready');
    const before = count();
    stop();
    transport.close();
    expect(count()).to.equal(before);
    new NodeRedisTransport(client).watch(() => undefined);
    expect(count()).to.equal(before);
  });

  it('an error while it stays connected is one message: nothing is taken back, and it counts as connected', () => {
    const { client, transport } = over();
    client.on('error', () => undefined);
    void transport.call({ name: 'time', args: [] });
    client.emit('error', new Error('NOPERM ping'));
    const [, options] = client.calls[0] ?? [];
    expect((options as { readonly abortSignal: AbortSignal }).abortSignal.aborted).to.equal(false);
    expect([transport.state, transport.lossReason]).to.deep.equal(['ready', undefined]);
  });

  it('pushes come by a duplicate; not on a cluster', () => {
    const duplicate = () => undefined;
    expect(over({ duplicate }).transport.subscribe).to.be.a('function');
    expect(over({ ...CLUSTER, duplicate }).transport.subscribe).to.equal(undefined);
  });
});
