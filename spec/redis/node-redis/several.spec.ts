import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { isClient, transportOver } from '../../../lib/redis/client.js';
import { SeveralConnections } from '../../../lib/redis/node-redis/several.js';
import { OrderedTransport } from '../../../lib/redis/ordered/transport.js';

class FakeMember {
  readonly calls: unknown[][] = [];
  readonly options = { socket: { host: 'b', port: 2 }, database: 3 };
  answer: Promise<unknown> = Promise.resolve('reply');

  sendCommand(...given: unknown[]): Promise<unknown> {
    this.calls.push(given);
    return this.answer;
  }

  duplicate(): undefined {
    return undefined;
  }
}

/** What quorate uses of a pool or a Sentinel client. */
class FakeClient extends EventEmitter {
  isOpen = true;
  readonly member = new FakeMember();
  readonly identity: { readonly id: string };

  constructor(id: string) {
    super();
    this.identity = { id };
    this.on('error', () => undefined);
  }

  sendCommand(): Promise<unknown> {
    return Promise.reject(new Error('a connection is lent'));
  }
}

class FakePool extends FakeClient {
  readonly totalClients = 1;
  _keyPrefix?: string;

  execute(use: (member: FakeMember) => Promise<unknown>): Promise<unknown> {
    return use(this.member);
  }
}

class FakeSentinel extends FakeClient {
  getSentinelNode(): undefined {
    return undefined;
  }

  _execute(isReadonly: boolean, use: (member: FakeMember) => Promise<unknown>): Promise<unknown> {
    expect(isReadonly).to.equal(false);
    return use(this.member);
  }
}

const PING = { name: 'ping', args: [] } as const;

for (const [kind, open, names] of [
  ['a pool', () => new FakePool('a:1/0-0f'), ['a:1', 'b:2']],
  ['a pool by a URL', () => new FakePool('unknown:unknown/0-0f'), ['pool(unknown:unknown/0-0f)', 'b:2']],
  [
    'a Sentinel client',
    () => new FakeSentinel('s:3/unknown-0f'),
    ['sentinel(s:3/unknown-0f)', 'sentinel(s:3/unknown-0f)'],
  ],
] as const) {
  describe(`node-redis: ${kind}`, () => {
    it('is told by its shape', () => {
      expect(isClient(open())).to.equal(true);
      expect(transportOver(open())).to.be.an.instanceof(OrderedTransport);
    });

    it('its name and its database, before and after it has lent a connection', async () => {
      const connections = new SeveralConnections(open());
      expect([connections.name, connections.database]).to.deep.equal([names[0], 0]);
      await connections.send(PING);
      expect([connections.name, connections.database]).to.deep.equal([names[1], 3]);
    });

    it('what is not written as a connection is lost is taken back, and failed by the loss', async () => {
      const client = open();
      client.member.answer = Promise.reject(new Error('The command was aborted'));
      const connections = new SeveralConnections(client);
      const lost: string[] = [];
      const leave = connections.listen(
        ({ message }) => lost.push(message),
        () => undefined,
      );
      const answer = connections.send(PING).catch((error: Error) => error.message);
      const [, options] = client.member.calls[0] as [unknown, { readonly abortSignal: AbortSignal }];
      client.emit('client-error', { type: 'REPLICA', error: new Error('not this one') });
      expect(options.abortSignal.aborted).to.equal(false);
      client.emit('client-error', { type: 'MASTER', error: new Error('reset') });
      expect([lost, options.abortSignal.aborted]).to.deep.equal([['reset'], true]);
      expect(await answer).to.equal('reset');
      leave();
      client.emit('error', new Error('later'));
      expect(lost).to.deep.equal(['reset']);
    });

    it('lost: by any error but those of servers, and of a pool whose connections are all in use', () => {
      const connections = new SeveralConnections(open());
      const texts = [
        'Socket closed unexpectedly',
        'OOM command',
        'Timeout waiting for a client after 3000ms',
      ];
      expect(texts.map((text) => connections.isLoss(new Error(text)))).to.deep.equal([true, false, false]);
    });
  });
}

it("node-redis: a pool's prefix goes before the keys, also those of scripts", async () => {
  const client = Object.assign(new FakePool('a:1/0-0f'), { _keyPrefix: 'p:' });
  const connections = new SeveralConnections(client);
  await connections.send({ name: 'eval', args: ['source', '1', 'r', 'r'] });
  expect(connections.keyPrefix).to.equal('p:');
  expect(client.member.calls[0]?.[0]).to.deep.equal(['eval', 'source', '1', 'p:r', 'r']);
});
