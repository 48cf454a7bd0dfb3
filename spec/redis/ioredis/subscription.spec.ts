/** The push connection, over a client that does what a spec says. */
import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { RedisSubscription, SUBSCRIBER_SETTINGS } from '../../../lib/redis/ioredis/subscription.js';
import { settle } from '../../support/fake-time.js';

class FakeStream extends EventEmitter {
  readonly unref: () => void;
  isDestroyed = false;

  constructor(unref: () => void = () => undefined) {
    super();
    this.unref = unref;
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

class FakeSubscriber extends EventEmitter {
  readonly calls: string[] = [];
  /** Answers to the next subscriptions, instead of yes; an Error rejects. */
  readonly answers: (Error | Promise<unknown>)[] = [];
  stream = new FakeStream();

  connect(): Promise<unknown> {
    this.calls.push('connect');
    return Promise.reject(new Error('it shows as close'));
  }

  disconnect(reconnect = false): void {
    this.calls.push(reconnect ? 'connect anew' : 'disconnect');
  }

  subscribe(channel: string): Promise<unknown> {
    this.calls.push(`subscribe ${channel}`);
    const answer = this.answers.shift() ?? Promise.resolve(1);
    return answer instanceof Error ? Promise.reject(answer) : answer;
  }

  /** Connected, with a socket of its own. */
  ready(): Promise<void> {
    this.stream = new FakeStream(() => this.calls.push('unref'));
    this.emit('ready');
    return settle();
  }
}

function environment(): { client: FakeSubscriber; events: string[]; subscription: RedisSubscription } {
  const client = new FakeSubscriber();
  const events: string[] = [];
  const subscription = new RedisSubscription(client, 'c', {
    onOpen: () => events.push('open'),
    onPush: (text) => events.push(`push ${text}`),
    onLost: ({ message }, isRefused) => events.push(`${isRefused ? 'refused' : 'lost'}: ${message}`),
  });
  return { client, events, subscription };
}

const LOST = 'lost: the push connection was lost';

describe('subscription', () => {
  it('connects by itself, and subscribes each time that it is connected, without keeping the process alive', async () => {
    const { client, events } = environment();
    await settle();
    expect([client.calls, events]).to.deep.equal([['connect'], []]);
    for (const turn of [1, 2]) {
      client.calls.length = 0;
      await client.ready();
      expect(client.calls).to.deep.equal(['unref', 'subscribe c']);
      expect(events).to.deep.equal(turn === 1 ? ['open'] : ['open', LOST, 'open']);
      client.emit('close');
    }
  });

  it('is not open before the master has confirmed it', async () => {
    const { client, events } = environment();
    let confirm: (reply: unknown) => void = () => undefined;
    client.answers.push(new Promise((resolve) => (confirm = resolve)));
    await client.ready();
    expect(events).to.deep.equal([]);
    confirm(1);
    await settle();
    expect(events).to.deep.equal(['open']);
  });

  it('passes messages on', async () => {
    const { client, events } = environment();
    await client.ready();
    client.emit('message', 'c', 'w x r');
    expect(events).to.deep.equal(['open', 'push w x r']);
  });

  it('reports why it was lost, as the client does, and forgets that when it is connected again', async () => {
    const { client, events } = environment();
    client.emit('error', new Error('connect ECONNREFUSED'));
    client.emit('close');
    await client.ready();
    client.emit('close');
    expect(events).to.deep.equal(['lost: connect ECONNREFUSED', 'open', LOST]);
  });

  for (const refusal of ['NOPERM no channels', 'ERR unknown command']) {
    it(`${refusal}: refused, and it does not connect anew`, async () => {
      const { client, events } = environment();
      client.answers.push(new Error(refusal));
      await client.ready();
      expect(events).to.deep.equal([`refused: ${refusal}`]);
      expect(client.calls).to.not.include('connect anew');
    });
  }

  it('another failure to subscribe: lost, and it connects anew', async () => {
    const { client, events } = environment();
    client.answers.push(new Error('LOADING its data'));
    await client.ready();
    expect(events).to.deep.equal(['lost: LOADING its data']);
    expect(client.calls.at(-1)).to.equal('connect anew');
  });

  it('renew: connects anew where it is open, and else leaves it to the client', async () => {
    const { client, subscription } = environment();
    subscription.renew();
    expect(client.calls).to.deep.equal(['connect']);
    await client.ready();
    subscription.renew();
    expect(client.calls.at(-1)).to.equal('connect anew');
    client.calls.length = 0;
    client.emit('close');
    subscription.renew();
    expect(client.calls).to.deep.equal([]);
  });

  it('renew: the socket is closed at once, confirmed or not; a master that cannot be reached would not answer its goodbye', async () => {
    const { client, subscription } = environment();
    await client.ready();
    subscription.renew();
    expect(client.stream.isDestroyed).to.equal(true);
    client.emit('close');
    client.answers.push(new Promise(() => undefined));
    await client.ready();
    expect(client.stream.isDestroyed).to.equal(false);
    subscription.renew();
    expect([client.stream.isDestroyed, client.calls.at(-1)]).to.deep.equal([true, 'subscribe c']);
  });

  it('close: disconnects, and passes nothing on any more', async () => {
    const { client, events, subscription } = environment();
    let confirm: (reply: unknown) => void = () => undefined;
    client.answers.push(new Promise((resolve) => (confirm = resolve)));
    await client.ready();
    subscription.close();
    expect(client.calls.at(-1)).to.equal('disconnect');
    confirm(1);
    await settle();
    client.emit('message', 'c', 'late');
    client.emit('error', new Error('late'));
    client.emit('close');
    expect(events).to.deep.equal([]);
  });

  it('close while it is refused or fails: it does not connect anew', async () => {
    for (const message of ['NOPERM', 'LOADING']) {
      const { client, events, subscription } = environment();
      let refuse: (error: Error) => void = () => undefined;
      client.answers.push(new Promise((_, reject) => (refuse = reject)));
      await client.ready();
      subscription.close();
      refuse(new Error(message));
      await settle();
      expect([events, client.calls.at(-1)]).to.deep.equal([[], 'disconnect']);
    }
  });

  it('the client that it is over neither queues nor times out, and comes back within a second', () => {
    const { retryStrategy, ...settings } = SUBSCRIBER_SETTINGS;
    expect(settings).to.include({ keyPrefix: '', autoResubscribe: false, enableOfflineQueue: false });
    expect(settings).to.include({ commandTimeout: undefined, socketTimeout: undefined });
    expect([1, 2, 3, 5, 6, 100, 10_000].map(retryStrategy)).to.deep.equal([
      50, 100, 200, 800, 1_000, 1_000, 1_000,
    ]);
  });
});
