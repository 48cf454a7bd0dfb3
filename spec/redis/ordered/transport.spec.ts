import { expect } from 'chai';
import { OrderedTransport, type UnorderedClient } from '../../../lib/redis/ordered/transport.js';
import type { Command } from '../../../lib/redis/transport.js';
import { FakeTime, settle } from '../../support/fake-time.js';

const CLAIM: Command = { name: 'set', args: ['r', 'token', 'NX'] };
const UNDO: Command = { name: 'del', args: ['r'] };

/** A client whose calls a spec answers. */
class FakeClient implements UnorderedClient {
  readonly name = 'a:1';
  readonly isCluster = false;
  readonly keyPrefix = '';
  readonly subscribe = undefined;
  readonly database = 3;
  readonly isBehindSentinel = true;
  readonly wasConnected: boolean;
  readonly closedReason = new Error('closed');
  isOpen = true;
  readonly calls: {
    readonly name: string;
    answer(reply: unknown): Promise<void>;
    fail(text: string): Promise<void>;
  }[] = [];
  lose: (error: Error) => void = () => undefined;

  constructor(wasConnected: boolean) {
    this.wasConnected = wasConnected;
  }

  send({ name }: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.calls.push({
        name,
        answer: (reply) => {
          resolve(reply);
          return settle();
        },
        fail: (text) => {
          reject(new Error(text));
          return settle();
        },
      });
    });
  }

  isLoss({ message }: Error): boolean {
    return message.startsWith('lost');
  }

  listen(onLoss: (error: Error) => void): () => void {
    this.lose = onLoss;
    return () => (this.lose = () => undefined);
  }

  get names(): readonly string[] {
    return this.calls.map(({ name }) => name);
  }
}

function over({ wasConnected = true, isOpen = true } = {}) {
  const client = Object.assign(new FakeClient(wasConnected), { isOpen });
  const time = new FakeTime();
  const transport = new OrderedTransport(client, time);
  const events: string[] = [];
  transport.watch(() => events.push(transport.state));
  const call = (command: Command): Promise<unknown> =>
    transport.call(command).catch((error: Error) => error.message);
  return { client, time, transport, events, call };
}

describe('a client that sends in any order: its state (rule 10)', () => {
  it('was connected: ready; its details are passed on', () => {
    const { transport } = over();
    const { state, isReady, name, database, isBehindSentinel } = transport;
    expect({ state, isReady, name, database, isBehindSentinel }).to.deep.equal({
      ...{ state: 'ready', isReady: true, name: 'a:1' },
      ...{ database: 3, isBehindSentinel: true },
    });
  });

  it('not known to be connected: opening until it has answered a PING', async () => {
    const { client, transport, events } = over({ wasConnected: false });
    expect([transport.state, client.names]).to.deep.equal(['opening', ['ping']]);
    await client.calls[0]?.answer('PONG');
    expect([transport.state, events]).to.deep.equal(['ready', ['ready']]);
  });

  it('not open: lost, with the reason; once it is open: opening', () => {
    const { client, transport } = over({ wasConnected: false, isOpen: false });
    expect([transport.state, transport.lossReason]).to.deep.equal(['lost', client.closedReason]);
    client.isOpen = true;
    expect([transport.state, client.names]).to.deep.equal(['opening', ['ping']]);
  });

  for (const [how, lose] of [
    ['reported', (client: FakeClient) => client.lose(new Error('lost: reset'))],
    ['seen by a call', (client: FakeClient) => client.calls[0]?.fail('lost: reset')],
  ] as const) {
    it(`a loss that is ${how}: lost until a PING is answered, or refused by the server`, async () => {
      const { client, transport, events, time, call } = over();
      void call(CLAIM);
      await lose(client);
      await settle();
      expect([transport.state, transport.lossReason?.message]).to.deep.equal(['lost', 'lost: reset']);
      await client.calls[1]?.fail('ECONNREFUSED');
      expect(transport.state).to.equal('lost');
      await time.advance(50);
      expect(client.names).to.deep.equal(['set', 'ping', 'ping']);
      await client.calls[2]?.fail('NOPERM this user has no permissions');
      expect([transport.state, transport.lossReason]).to.deep.equal(['ready', undefined]);
      expect(events.at(-1)).to.equal('ready');
    });
  }

  it('an answer to a PING from before the last loss shows nothing', async () => {
    const { client, transport } = over();
    client.lose(new Error('lost once'));
    client.lose(new Error('lost twice'));
    await client.calls[0]?.answer('PONG');
    expect([transport.state, client.names]).to.deep.equal(['lost', ['ping', 'ping']]);
    await client.calls[1]?.answer('PONG');
    expect(transport.state).to.equal('ready');
  });

  it('other errors are no loss', async () => {
    const { client, transport, call } = over();
    const answer = call(CLAIM);
    await client.calls[0]?.fail('OOM command not allowed');
    expect([await answer, transport.state]).to.deep.equal(['OOM command not allowed', 'ready']);
  });

  it('closed: it listens no more, and does not ask again', async () => {
    const { client, transport, time } = over();
    client.lose(new Error('lost'));
    await client.calls[0]?.fail('ECONNREFUSED');
    transport.close();
    await time.advance(10_000);
    client.lose(new Error('lost'));
    expect(client.names).to.deep.equal(['ping']);
  });
});

describe('a client that sends in any order: what is sent', () => {
  it('an undo is sent once its claim is answered', async () => {
    const { client, call } = over();
    void call(CLAIM);
    const undo = call(UNDO);
    expect(client.names).to.deep.equal(['set']);
    await client.calls[0]?.answer('OK');
    await client.calls[1]?.answer(1);
    expect([client.names, await undo]).to.deep.equal([['set', 'del'], 1]);
  });

  it('what was held back as the connection was lost fails unsent', async () => {
    const { client, call } = over();
    void call(CLAIM);
    const undo = call(UNDO);
    await client.calls[0]?.fail('lost: reset');
    expect([await undo, client.names]).to.deep.equal(['not connected: lost: reset', ['set', 'ping']]);
  });

  it('it is written once it was answered', async () => {
    const { client, transport, call } = over();
    let isWritten = false;
    transport.whenWritten(() => (isWritten = true)); // calls of the same turn count
    void call(CLAIM);
    await settle();
    expect(isWritten).to.equal(false);
    await client.calls[0]?.answer('OK');
    expect(isWritten).to.equal(true);
  });
});
