/** Specs of the kit itself: the proxy understands messages, and points and actions do what their names say. */
import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Batch, lessonFor } from '../../lib/node/batch.js';
import { extension, plainClaim, release, scriptedClaim, undo } from '../../lib/protocol/request.js';
import { BATCH, HELLO, SCRIPTS, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { READ } from '../../lib/protocol/scope.js';
import { scriptDigest } from '../../lib/redis/script.js';
import { plainScope } from '../support/commands.js';
import { CLIENT_KINDS } from '../support/real.js';
import { kindsOf } from './kit/commands.js';
import { type ChaosMasters, startChaosMasters } from './kit/masters.js';
import type { TrapOptions } from './kit/proxy.js';
import { Replies, Requests } from './kit/resp.js';
import { eventually } from './kit/stage.js';

const REQUESTS: readonly (readonly [string, readonly string[]])[] = [
  ['*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nключ'.replace('$4', '$8') + '\r\n', ['SET', 'k', 'ключ']],
  ['PING\r\n', ['PING']],
  ['*2\r\n$3\r\nGET\r\n$0\r\n\r\n', ['GET', '']],
  ['*2\r\n$4\r\nEVAL\r\n$8\r\na\r\nb\r\nc\r\n\r\n'.replace('$8', '$9'), ['EVAL', 'a\r\nb\r\nc\r\n']],
];
const REPLIES: readonly (readonly [string, boolean])[] = [
  ['+OK\r\n', false],
  ['-ERR no\r\n', false],
  [':-42\r\n', false],
  ['$5\r\nab\r\nc\r\n', false],
  ['$-1\r\n', false],
  ['*-1\r\n', false],
  ['*0\r\n', false],
  ['*3\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n+x\r\n', false],
  ['>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n', true],
  ['%1\r\n+a\r\n:1\r\n', false],
  ['~2\r\n#t\r\n_\r\n', false],
  ['|1\r\n+ttl\r\n:3\r\n,1.5\r\n', false],
  ['=7\r\ntxt:a\r\n\r\n', false],
  ['(12345678901234567890\r\n', false],
];

describe('chaos kit: RESP', () => {
  it('requests, whatever pieces their bytes come in', () => {
    const all = Buffer.from(REQUESTS.map(([text]) => text).join(''));
    for (let cut = 0; cut <= all.length; cut++) {
      for (const size of [1, 3, all.length]) {
        const requests = new Requests();
        const pieces = [all.subarray(0, cut)];
        for (let at = cut; at < all.length; at += size) pieces.push(all.subarray(at, at + size));
        const seen = pieces.flatMap((piece) => requests.feed(piece));
        expect(seen.map(({ words }) => words)).to.deep.equal(REQUESTS.map(([, words]) => words));
        expect(Buffer.concat(seen.map(({ bytes }) => bytes)).equals(all)).to.equal(true);
      }
    }
  });

  it('replies of RESP2 and RESP3, whatever pieces their bytes come in', () => {
    const all = Buffer.from(REPLIES.map(([text]) => text).join(''));
    for (let cut = 0; cut <= all.length; cut++) {
      const replies = new Replies();
      const seen = [all.subarray(0, cut), all.subarray(cut)].flatMap((piece) => replies.feed(piece));
      expect(seen.map(({ bytes, isPush }) => [String(bytes), isPush])).to.deep.equal(REPLIES);
    }
    const byByte = new Replies();
    const seen = [...all].flatMap((byte) => byByte.feed(Buffer.from([byte])));
    expect(seen.length).to.equal(REPLIES.length);
  });

  it('what a subscription says, in RESP2 and RESP3', () => {
    const message = (kind: string): string => `${kind}3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$3\r\na\r\n\r\n`;
    const confirmation = '*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n';
    const told = (text: string) => new Replies().feed(Buffer.from(text)).map((reply) => reply.told);
    for (const kind of ['*', '>']) expect(told(message(kind))).to.deep.equal([['message', 'ch', 'a\r\n']]);
    expect(told(confirmation)[0]?.slice(0, 2)).to.deep.equal(['subscribe', 'ch']);
    for (const text of ['*2\r\n$1\r\na\r\n$7\r\nmessage\r\n', '$7\r\nmessage\r\n', '*0\r\n', '*-1\r\n'])
      expect(told(text)).to.deep.equal([undefined]);
  });

  it('what is no RESP is refused', () => {
    expect(() => new Replies().feed(Buffer.from('HTTP/1.1 200 OK\r\n'))).to.throw('not a RESP reply');
    expect(() => new Replies().feed(Buffer.from('$x\r\n'))).to.throw('not a RESP length');
    expect(() => new Requests().feed(Buffer.from('*1\r\n:1\r\n'))).to.throw('bulk strings');
  });
});

const BATCHES = [BATCH, SHARED_BATCH];
const LESSONS = [release(plainScope('a'), 't'), release({ ...plainScope('a'), kind: READ }, 't')].map(
  (one) => {
    const lesson = lessonFor([one, one]);
    return lesson === undefined ? [] : [lesson.name, ...lesson.args];
  },
);

describe('chaos kit: which request a command is', () => {
  for (const { name, source } of SCRIPTS.filter((script) => !BATCHES.includes(script))) {
    it(`${name}, by source and by digest`, () => {
      expect(kindsOf(['EVAL', source, '1', 'k'])).to.deep.equal([name]);
      expect(kindsOf(['evalsha', scriptDigest(source), '1', 'k'])).to.deep.equal([name]);
    });
  }

  it('a plain claim; other commands; a script on no keys, which is only made known', () => {
    expect(kindsOf(['SET', 'k', 'v', 'PX', '1', 'NX'])).to.deep.equal(['claim']);
    for (const words of [
      ['SET', 'k', 'v'],
      ['PING'],
      ['EVAL', 'return 1', '1', 'k'],
      ['EVAL', 'return 1', '0'],
    ])
      expect(kindsOf(words)).to.deep.equal(['other']);
    for (const words of LESSONS) expect(kindsOf(words)).to.deep.equal(['lesson']);
  });

  it('what goes over a connection that subscribes', () => {
    expect(kindsOf(['SUBSCRIBE', 'ch'])).to.deep.equal(['subscribe']);
    expect(kindsOf(['evalsha', scriptDigest(HELLO.source), '0', 'ch', 'e 7'])).to.deep.equal(['hello']);
    const kinds = ['g 7 c:s k', 'w c:s k', 'i 7 c:s k', 'e 7', 'else'].flatMap((text) =>
      kindsOf(['message', 'ch', text]),
    );
    expect(kinds).to.deep.equal(['given', 'first', 'inquiry', 'echo', 'other']);
  });

  it('a batch holds the kinds of its entries', () => {
    const batch = new Batch();
    batch.add(plainClaim(plainScope('a'), 't', 500));
    batch.add(release(plainScope('b'), 't'));
    batch.add(undo(plainScope('c'), 't'));
    const { name, args } = batch.command(false);
    expect(kindsOf([name, ...args])).to.deep.equal(['batch', 'claim', 'release', 'undo']);
  });

  it('so does a batch for shared locks', () => {
    const batch = new Batch();
    const scope = { ...plainScope('a'), kind: READ };
    batch.add(scriptedClaim(scope, 't', 500, 0));
    batch.add(release(scope, 't'));
    const { name, args } = batch.command(false);
    expect(kindsOf([name, ...args])).to.deep.equal(['batch', 'rw-claim', 'leave']);
  });

  it('a batch of one is what its entry is', () => {
    const { name, args } = extension(plainScope('a'), 't', { ttlMs: 500, mayCreate: false }).command;
    expect(kindsOf([name, ...args])).to.deep.equal(['extend']);
  });
});

describe('chaos kit: points and actions on a real server', () => {
  let masters: ChaosMasters;
  let client: Redis;
  let hand: Redis;

  before(async () => {
    masters = await startChaosMasters(1);
  });
  after(() => masters.stop());
  beforeEach(async () => {
    const own = { retryStrategy: () => 20, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
    client = new Redis(masterOf().port, own);
    hand = new Redis(masterOf().directPort, own);
    for (const one of [client, hand]) one.on('error', () => undefined);
    await hand.flushall();
    await client.ping();
  });
  afterEach(async () => {
    client.disconnect();
    hand.disconnect();
    await masterOf().heal();
  });

  const masterOf = () => {
    const [master] = masters.list;
    if (master === undefined) throw new Error('there is one');
    return master;
  };
  const onSet = (options: Pick<TrapOptions, 'point' | 'action' | 'nth'>) =>
    masterOf().proxy.trap({ ...options, match: ([name]) => name?.toLowerCase() === 'set' });
  const failed = (promise: Promise<unknown>): Promise<string> =>
    promise.then(String, (error: Error) => `failed: ${error.message}`);

  it('before-request, delay: it runs when it is let go', async () => {
    const trap = onSet({ point: 'before-request', action: 'delay' });
    const set = client.set('k', '1');
    await trap.sprung;
    expect(await hand.get('k')).to.equal(null);
    trap.release();
    expect([await set, await hand.get('k')]).to.deep.equal(['OK', '1']);
  });

  it('before-request, close: it never runs', async () => {
    const trap = onSet({ point: 'before-request', action: 'close' });
    const set = failed(client.set('k', '1'));
    await trap.sprung;
    expect(await set).to.match(/^failed/);
    expect(await hand.get('k')).to.equal(null);
  });

  for (const action of ['delay', 'close'] as const) {
    it(`after-run, ${action}: it ran, and the client does not know`, async () => {
      const trap = onSet({ point: 'after-run', action });
      const set = failed(client.set('k', '1'));
      await trap.sprung;
      expect(await hand.get('k')).to.equal('1');
      trap.release();
      expect(await set).to.match(action === 'delay' ? /^OK$/ : /^failed/);
    });
  }

  it('mid-reply, close: half a reply is none', async () => {
    const trap = onSet({ point: 'mid-reply', action: 'close' });
    const set = failed(client.set('k', '1'));
    await trap.sprung;
    expect(await set).to.match(/^failed/);
    expect(await hand.get('k')).to.equal('1');
  });

  it('before-request, drop: it vanishes, and the connection stays until it is healed', async () => {
    const trap = onSet({ point: 'before-request', action: 'drop' });
    const set = failed(client.set('k', '1'));
    await trap.sprung;
    expect([client.status, masterOf().proxy.connections]).to.deep.equal(['ready', 1]);
    expect(await hand.get('k')).to.equal(null);
    const closed = once(client, 'close');
    await masterOf().heal();
    await closed;
    await set; // this client may have sent it again
  });

  it('the n-th command', async () => {
    const trap = onSet({ point: 'before-request', action: 'close', nth: 3 });
    expect(await client.set('k', '1')).to.equal('OK');
    expect(await client.set('k', '2')).to.equal('OK');
    expect(trap.hasSprung).to.equal(false);
    expect(await failed(client.set('k', '3'))).to.match(/^failed/);
    expect([trap.hasSprung, await hand.get('k')]).to.deep.equal([true, '2']);
  });

  it('at-connect, close: the next connection comes to nothing, the one after it does', async () => {
    const trap = masterOf().proxy.trap({ point: 'at-connect', action: 'close' });
    masterOf().proxy.closeAll();
    await trap.sprung;
    await eventually(
      'the client to be served again',
      async () => (await failed(client.set('k', '1'))) === 'OK',
    );
    expect(await hand.get('k')).to.equal('1');
  });

  it('kill and restart: with its data', async () => {
    await client.set('k', '1');
    const trap = onSet({ point: 'after-run', action: 'kill' });
    const set = failed(client.set('k', '2'));
    await trap.sprung;
    expect(await set).to.match(/^failed/);
    await masterOf().restart('kept');
    await masterOf().heal();
    if (client.status !== 'ready') await once(client, 'ready');
    expect(await client.get('k')).to.equal('2');
  });

  it('freeze: what had come in runs at the thaw', async () => {
    const trap = onSet({ point: 'before-request', action: 'freeze' });
    const set = client.set('k', '1');
    await trap.sprung;
    await masterOf().thaw();
    trap.release();
    expect([await set, await client.get('k')]).to.deep.equal(['OK', '1']);
  });

  for (const kind of CLIENT_KINDS) {
    describe(`pushes to ${kind.name}`, () => {
      let subscriber: Subscriber;
      let heard: string[];
      beforeEach(async () => {
        heard = [];
        subscriber = kind.open(masterOf().port) as unknown as Subscriber; // of either version
        subscriber.on('message', (_channel, text) => heard.push(text));
        await subscriber.subscribe('ch');
      });
      afterEach(() => subscriber.disconnect());

      const onPush = (options: Pick<TrapOptions, 'point' | 'action'>) =>
        masterOf().proxy.trap({ ...options, match: ([name, , text]) => name === 'message' && text === 'b' });
      const publish = (...texts: readonly string[]) =>
        Promise.all(texts.map((text) => hand.publish('ch', text)));

      it('delay: it and those after it come when they are let go', async () => {
        const trap = onPush({ point: 'after-run', action: 'delay' });
        await publish('a', 'b', 'c');
        await trap.sprung;
        await eventually('what came before it', () => heard.length === 1);
        trap.release();
        await eventually('the others', () => heard.join() === 'a,b,c');
      });

      for (const [point, seen] of [
        ['after-run', 'a'],
        ['mid-reply', 'a'],
        ['after-reply', 'a,b'],
      ] as const) {
        it(`${point}, close: it breaks this connection, and no other`, async () => {
          const trap = onPush({ point, action: 'close' });
          const closed = once(subscriber as unknown as NodeJS.EventEmitter, 'close');
          await publish('a', 'b', 'c');
          await trap.sprung;
          await closed;
          expect(heard.join()).to.equal(seen);
          expect([client.status, await client.ping()]).to.deep.equal(['ready', 'PONG']);
        });
      }

      it('cut pushes: on connections that subscribe nothing comes in, also on later ones, until it is healed', async () => {
        const later = kind.open(masterOf().port) as unknown as Subscriber;
        masterOf().proxy.cutPushes();
        void later.subscribe('ch').catch(() => undefined);
        await eventually('both to subscribe', async () => {
          const [, count] = (await hand.call('PUBSUB', 'NUMSUB', 'ch')) as [string, number]; // as Redis answers it
          return count === 2;
        });
        await publish('a', 'b');
        expect(await client.ping()).to.equal('PONG');
        expect([heard, subscriber.status, later.status]).to.deep.equal([[], 'ready', 'ready']);
        await masterOf().heal();
        await eventually('pushes again', async () => {
          await publish('c');
          return heard.includes('c');
        });
        later.disconnect();
      });
    });
  }
});

/** The parts of a subscribing client that a spec uses. */
interface Subscriber {
  readonly status: string;
  on(event: 'message', listener: (channel: string, text: string) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}
