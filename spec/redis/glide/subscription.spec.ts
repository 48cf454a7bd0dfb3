/** The push connection by Valkey GLIDE, over clients that do what a spec says. */
import { expect } from 'chai';
import { GlideSubscription, type PushClient } from '../../../lib/redis/glide/subscription.js';
import { FakeTime, settle } from '../../support/fake-time.js';

class FakePushClient implements PushClient {
  id: number | Error;
  isClosed = false;
  isUnref = false;
  readonly push: (text: string) => void;
  readonly socket = { unref: () => (this.isUnref = true) };

  constructor(id: number, push: (text: string) => void) {
    this.id = id;
    this.push = push;
  }

  customCommand(): Promise<unknown> {
    return this.id instanceof Error ? Promise.reject(this.id) : Promise.resolve(this.id);
  }

  close(): void {
    this.isClosed = true;
  }
}

/** @param failures  of the first attempts to make a client */
function environment(...failures: Error[]) {
  const time = new FakeTime();
  const made: FakePushClient[] = [];
  const events: string[] = [];
  const subscription = new GlideSubscription(
    ({ pubsubSubscriptions: { callback, channelsAndPatterns } }) => {
      const failure = failures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      expect(channelsAndPatterns[0]?.has('c')).to.equal(true);
      const client = new FakePushClient(made.length, (message) => callback({ message }));
      made.push(client);
      return Promise.resolve(client);
    },
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

describe('Valkey GLIDE: pushes', () => {
  it('connects by itself, passes pushes on, and does not keep the process alive', async () => {
    const { made, events } = environment();
    await settle();
    made[0]?.push('a');
    expect(events).to.deep.equal(['open', 'push a']);
    expect(made[0]?.isUnref).to.equal(true);
  });

  for (const [how, id, text] of [
    ['with another id: GLIDE has connected anew', 7, 'the push connection was lost'],
    ['that does not answer', new Error('timed out'), 'timed out'],
  ] as const) {
    it(`a connection ${how}: it is replaced within a second, and not listened to any more`, async () => {
      const { time, made, events } = environment();
      await time.advance(5_000);
      Object.assign(made[0] ?? {}, { id });
      await time.advance(1_000);
      made[0]?.push('late');
      expect(events).to.deep.equal(['open', `lost: ${text}`]);
      await time.advance(50);
      expect(events.at(-1)).to.equal('open');
      expect(made.map(({ isClosed }) => isClosed)).to.deep.equal([true, false]);
    });
  }

  it('a user who may not ask for the id: any answer will do', async () => {
    const { time, made, events } = environment();
    Object.assign(made[0] ?? {}, {
      id: new Error('An error was signalled by the server: - PermissionDenied: no'),
    });
    await time.advance(5_000);
    expect(events).to.deep.equal(['open']);
  });

  it('waits longer after each failure; a master that does not confirm the subscription is not asked again', async () => {
    const refused = new Error('Connection error: Timeout');
    const { time, events } = environment(new Error('no server'), new Error('no server'), refused);
    await time.advance(49);
    expect(events).to.have.length(1);
    await time.advance(101);
    expect(events).to.deep.equal([
      'lost: no server',
      'lost: no server',
      'refused: Connection error: Timeout',
    ]);
    await time.advance(10_000);
    expect(events).to.have.length(3);
  });

  it('renew: connects anew; close: ends it, and whatever comes after', async () => {
    const { time, made, events, subscription } = environment();
    await settle();
    subscription.renew();
    await time.advance(50);
    expect(events).to.deep.equal(['open', 'lost: the push connection is renewed', 'open']);
    subscription.close();
    await time.advance(5_000);
    expect(made.map(({ isClosed }) => isClosed)).to.deep.equal([true, true]);
    expect(events).to.have.length(3);
  });

  it('closed while it connects: the client that comes is closed', async () => {
    const { made, events, subscription } = environment();
    subscription.close();
    await settle();
    expect([made[0]?.isClosed, events]).to.deep.equal([true, []]);
  });
});
