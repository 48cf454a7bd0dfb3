/** The push connection by node-redis, over clients that do what a spec says. */
import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { NodeRedisSubscription, subscriberSettings } from '../../../lib/redis/node-redis/subscription.js';
import { FakeTime, settle } from '../../support/fake-time.js';

class FakeSubscriber extends EventEmitter {
  isOpen = false;
  isUnref = false;
  #push: (text: string) => void = () => undefined;
  readonly #fails: { connect?: Error; subscribe?: Error };

  constructor(fails: { connect?: Error; subscribe?: Error }) {
    super();
    this.#fails = fails;
  }

  connect(): Promise<unknown> {
    this.isOpen = true;
    if (this.#fails.connect === undefined) this.emit('connect');
    return this.#fails.connect === undefined ? Promise.resolve() : Promise.reject(this.#fails.connect);
  }

  subscribe(_channel: string, listener: (text: string) => void): Promise<unknown> {
    this.#push = listener;
    return this.#fails.subscribe === undefined ? Promise.resolve() : Promise.reject(this.#fails.subscribe);
  }

  sendCommand(): Promise<unknown> {
    return Promise.reject(new Error('NOPERM client|setname'));
  }

  unref(): void {
    this.isUnref = true;
  }

  /** Version 5 throws if it is closed. */
  destroy(): void {
    if (!this.isOpen) throw new Error('The client is closed');
    this.isOpen = false;
  }

  push(text: string): void {
    this.#push(text);
  }
}

function environment(fails: { connect?: Error; subscribe?: Error }[] = []) {
  const time = new FakeTime();
  const made: FakeSubscriber[] = [];
  const events: string[] = [];
  const subscription = new NodeRedisSubscription(
    () => {
      const client = new FakeSubscriber(fails.shift() ?? {});
      made.push(client);
      return client;
    },
    () => ({}),
    'c',
    {
      onOpen: () => events.push('open'),
      onPush: (text) => events.push(`push ${text}`),
      onLost: ({ message }, isRefused) => events.push(`${isRefused ? 'refused' : 'lost'}: ${message}`),
    },
    time,
  );
  return { time, made, events, subscription };
}

describe('node-redis: pushes', () => {
  it('connects by itself, tells of pushes, and does not keep the process alive', async () => {
    const { made, events } = environment();
    await settle();
    made[0]?.push('a');
    expect(events).to.deep.equal(['open', 'push a']);
    expect(made[0]?.isUnref).to.equal(true);
  });

  it('a connection that breaks is replaced by another, and is not listened to any more', async () => {
    const { time, made, events } = environment();
    await settle();
    Object.assign(made[0] ?? {}, { isOpen: false }); // it does not reconnect
    made[0]?.emit('error', new Error('reset'));
    made[0]?.push('late');
    made[0]?.emit('end');
    expect(events).to.deep.equal(['open', 'lost: reset']);
    await time.advance(50);
    expect(events).to.deep.equal(['open', 'lost: reset', 'open']);
    expect(made.map(({ isOpen }) => isOpen)).to.deep.equal([false, true]);
  });

  it('as long as there is nothing to duplicate, it tries again', async () => {
    const time = new FakeTime();
    const clients: FakeSubscriber[] = [];
    const events: string[] = [];
    const subscription = new NodeRedisSubscription(
      () => clients[0],
      () => ({}),
      'c',
      { onOpen: () => events.push('open'), onPush() {}, onLost: () => events.push('lost') },
      time,
    );
    await time.advance(50);
    clients.push(new FakeSubscriber({}));
    await time.advance(100);
    expect(events).to.deep.equal(['open']);
    subscription.close();
  });

  it('waits longer after each failure, up to a second', async () => {
    const refused = { connect: new Error('ECONNREFUSED') };
    const { time, made } = environment(Array.from({ length: 9 }, () => refused));
    await settle();
    const waits: number[] = [];
    for (let waited = 0; made.length < 8; waited++) {
      const before = made.length;
      await time.advance(1);
      if (made.length === before) continue;
      waits.push(waited + 1 - waits.reduce((sum, one) => sum + one, 0));
    }
    expect(waits).to.deep.equal([50, 100, 200, 400, 800, 1_000, 1_000]);
  });

  it('a master that refuses is not asked again', async () => {
    const { time, made, events } = environment([{ subscribe: new Error('NOPERM no channel') }]);
    await settle();
    await time.advance(10_000);
    expect(events).to.deep.equal(['refused: NOPERM no channel']);
    expect(made).to.have.length(1);
  });

  it('a master that has too many clients as it connects is asked again', async () => {
    const { time, events } = environment([{ connect: new Error('ERR max number of clients reached') }]);
    await settle();
    await time.advance(50);
    expect(events).to.deep.equal(['lost: ERR max number of clients reached', 'open']);
  });

  it('renew: connects anew; close: ends it, and whatever comes after', async () => {
    const { time, made, events, subscription } = environment();
    await settle();
    subscription.renew();
    await time.advance(50);
    expect(events).to.deep.equal(['open', 'lost: the push connection is renewed', 'open']);
    subscription.close();
    made[1]?.emit('end');
    await time.advance(5_000);
    expect(made.map(({ isOpen }) => isOpen)).to.deep.equal([false, false]);
    expect(events).to.have.length(3);
  });

  it('closed while it dials: the connection that comes is ended', async () => {
    const { made, subscription, events } = environment([{ connect: new Error('not yet') }]);
    const [client] = made;
    subscription.close();
    expect(client?.isOpen).to.equal(true);
    client?.emit('connect');
    await settle();
    expect([client?.isOpen, events]).to.deep.equal([false, []]);
  });

  it('a duplicate keeps the address and the encryption, and has a name of its own', () => {
    expect(subscriberSettings({ host: 'a', port: 1, tls: true, socketTimeout: 5 })).to.deep.include({
      name: undefined,
      database: 0,
      disableOfflineQueue: true,
      socket: {
        host: 'a',
        port: 1,
        tls: true,
        connectTimeout: 2_000,
        socketTimeout: undefined,
        reconnectStrategy: false,
      },
    });
  });
});
