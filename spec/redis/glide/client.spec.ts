import { expect } from 'chai';
import { checkClient, isClient, transportOver } from '../../../lib/redis/client.js';
import { GlideConnection } from '../../../lib/redis/glide/client.js';
import { OrderedTransport } from '../../../lib/redis/ordered/transport.js';
import { settle } from '../../support/fake-time.js';
import { thrown } from '../../support/rejection.js';

/** What quorate uses of a client of GLIDE. */
class FakeGlide {
  static made: object[] = [];
  static createClient(configuration: object): Promise<never> {
    FakeGlide.made.push(configuration);
    return new Promise(() => undefined);
  }
  readonly config: object;
  isClosed = false;
  reply: unknown = 'reply';
  readonly calls: unknown[][] = [];

  constructor(config: object = {}) {
    this.config = { addresses: [{ host: 'a', port: 1 }], ...config };
  }

  customCommand(...given: unknown[]): Promise<unknown> {
    this.calls.push(given);
    const { reply } = this;
    return settle().then(() => {
      if (reply instanceof Error) throw reply;
      return reply;
    });
  }

  close(): void {}

  getStatistics(): object {
    return {};
  }
}

class FakeCluster extends FakeGlide {
  ssubscribe(): void {}
}

describe('Valkey GLIDE: a client', () => {
  it('is told by its shape; its name, its database', () => {
    const client = new FakeGlide({ databaseId: 3 });
    expect(isClient(client)).to.equal(true);
    expect(transportOver(client)).to.be.an.instanceof(OrderedTransport);
    const { name, database, isCluster, isOpen } = new GlideConnection(client);
    expect({ name, database, isCluster, isOpen }).to.deep.equal({
      ...{ name: 'a:1', database: 3 },
      ...{ isCluster: false, isOpen: true },
    });
    const cluster = new GlideConnection(
      new FakeCluster({ addresses: [{ host: 'a' }, { host: 'b', port: 2 }] }),
    );
    expect([cluster.name, cluster.isCluster, cluster.subscribe]).to.deep.equal([
      ...['cluster(a:6379,b:2)', true, undefined],
    ]);
  });

  for (const config of [{ readFrom: 'preferReplica' }, { readFrom: 'AZAffinity' }, { clientSideCache: {} }]) {
    it(`${JSON.stringify(config)} is refused: it would read what was true some time ago`, () => {
      const { code, message } = thrown(() => checkClient(new FakeGlide(config), 'clients[1]', ''));
      expect(code).to.equal('INVALID_ARGUMENT');
      expect(message).to.match(
        /^clients\[1\] must be a client with readFrom: 'primary' and no clientSideCache/,
      );
    });
  }

  it('sends commands with replies as texts; to a cluster, what names no key by any node', async () => {
    const client = new FakeGlide();
    await new GlideConnection(client).send({ name: 'set', args: ['k', 'v'] });
    expect(client.calls).to.deep.equal([[['set', 'k', 'v'], { decoder: 1 }]]);
    const nodes = new FakeCluster();
    const cluster = new GlideConnection(nodes);
    await cluster.send({ name: 'eval', args: ['source', '0', 'x'] });
    await cluster.send({ name: 'time', args: [] });
    await cluster.send({ name: 'eval', args: ['source', '1', 'x'] });
    expect(nodes.calls.map(([, options]) => (options as { readonly route?: string }).route)).to.deep.equal([
      ...['randomNode', 'randomNode', undefined],
    ]);
  });

  it('pairs in replies are as other clients have them', async () => {
    const client = new FakeGlide();
    client.reply = [{ key: 'maxmemory', value: '0' }];
    const connection = new GlideConnection(client);
    expect(await connection.send({ name: 'config', args: ['get', 'maxmemory'] })).to.deep.equal([
      ...['maxmemory', '0'],
    ]);
    client.reply = ['x'];
    expect(await connection.send({ name: 'pubsub', args: ['channels'] })).to.deep.equal(['x']);
  });

  it("a command that met GLIDE's time limit is over once a later PING is answered", async () => {
    const client = new FakeGlide();
    const limit = Object.assign(new Error('timed out'), { name: 'TimeoutError' });
    client.reply = limit;
    const connection = new GlideConnection(client);
    const ends: string[] = [];
    for (const key of ['a', 'b']) {
      connection
        .send({ name: 'get', args: [key] })
        .catch(({ message }: Error) => ends.push(`${key} ${message}`));
    }
    for (let turns = 0; turns < 4; turns++) await settle();
    expect(ends).to.deep.equal([]);
    client.reply = 'PONG';
    for (let turns = 0; turns < 4; turns++) await settle();
    expect(ends).to.deep.equal(['a timed out', 'b timed out']);
    expect(client.calls.filter(([command]) => (command as string[])[0] === 'PING').length).to.be.at.least(1);
  });

  it('lost: by an error of the connection or the client; not by its time limit', () => {
    const connection = new GlideConnection(new FakeGlide());
    const named = (name: string): Error => Object.assign(new Error('x'), { name });
    expect(connection.isLoss(named('ConnectionError'))).to.equal(true);
    expect(connection.isLoss(named('ClosingError'))).to.equal(true);
    expect(connection.isLoss(named('TimeoutError'))).to.equal(false);
    expect(connection.isLoss(named('RequestError'))).to.equal(false);
  });

  it('pushes come by a second client, made with its configuration', () => {
    FakeGlide.made = [];
    const listener = { onOpen() {}, onPush() {}, onLost() {} };
    new GlideConnection(new FakeGlide({ useTLS: true, databaseId: 3 }))
      .subscribe?.('channel', listener)
      .close();
    expect(FakeGlide.made).to.have.length(1);
    expect(FakeGlide.made[0]).to.deep.include({
      ...{ addresses: [{ host: 'a', port: 1 }], useTLS: true },
      ...{ databaseId: 0, clientName: 'quorate-pushes' },
    });
  });
});
