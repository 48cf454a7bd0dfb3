/** Lines for pushes: when one is open, when it is tried again, made anew or closed; what is told to nobody. */
import { expect } from 'chai';
import { counterKey, pushChannel, queueKey, looksKey, turnKey } from '../../lib/protocol/keys.js';
import { type Ask, Node } from '../../lib/node/node.js';
import type { Push } from '../../lib/protocol/pushes.js';
import { aligning } from '../../lib/protocol/request.js';
import { MasterClocks } from '../../lib/quorum/master-clocks.js';
import { type Recipient, Subscriptions } from '../../lib/queue/subscriptions.js';
import { type EventLoop, type LoopTimer, SystemTimers } from '../../lib/runtime/clock.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { holdReplies, kindsSentTo } from '../support/commands.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { MINE, PERMITS_OF_R, type QueueBench, queueBench } from '../support/queue-bench.js';

const NOT_PROVEN = 'its connection was lost, and its push connection has to be proven again';
const SERIAL = 1_790_000_000_000_001;

class Listener implements Recipient {
  readonly events: string[] = [];

  onPush(node: Node, push: Push): void {
    this.events.push(`${node.name} ${push.kind} ${push.kind === 'stopped' ? push.holder : push.key}`);
  }

  onOpen(node: Node): void {
    this.events.push(`${node.name} open`);
  }

  onClosed(node: Node, cause: Error): void {
    this.events.push(`${node.name} closed: ${cause.message}`);
  }
}

interface One extends QueueBench {
  readonly master: FakeMaster;
  readonly node: Node;
  readonly listener: Listener;
  isOpen(): boolean;
  hellos(): number;
}

/** An event loop that goes on when the spec says so, over the timers of the process. */
class StallingLoop implements EventLoop {
  #set: { readonly atMs: number; readonly callback: () => void; unref(): void }[] = [];
  readonly #time: FakeTime;

  constructor(time: FakeTime) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now();
  }

  setTimeout(callback: () => void, delayMs: number): LoopTimer {
    const timer = { atMs: this.now() + delayMs, callback, unref: () => undefined };
    this.#set.push(timer);
    return timer;
  }

  clearTimeout(timer: LoopTimer | undefined): void {
    this.#set = this.#set.filter((one) => one !== timer);
  }

  setImmediate(callback: () => void): void {
    setImmediate(callback);
  }

  /** Does nothing for so long; then timers are the first that it handles. */
  stall(byMs: number): void {
    this.#time.stall(byMs);
    for (const timer of this.#set.filter(({ atMs }) => atMs <= this.now())) {
      this.clearTimeout(timer);
      timer.callback();
    }
  }
}

/** One master whose line the spec opens, and somebody who waits. */
async function environment(prepare: (master: FakeMaster) => unknown = () => undefined): Promise<One> {
  const all = queueBench(1);
  const [[master], [node]] = [all.masters, all.nodes];
  if (master === undefined || node === undefined) throw new Error('there is one');
  prepare(master);
  const listener = new Listener();
  all.subscriptions.enter(MINE, listener);
  await settle();
  return {
    ...all,
    master,
    node,
    listener,
    isOpen: () => all.subscriptions.isOpen(node),
    hellos: () => kindsSentTo(master).filter((kind) => kind === 'hello').length,
  };
}

const byHand = (master: FakeMaster): unknown => (master.opensLines = false);

describe('subscriptions: an open push connection', () => {
  it('is one on which our own message came in, on the channel of our tokens', async () => {
    const { clocks, isOpen, listener, master, subscriptions, hellos } = await environment(byHand);
    expect([isOpen(), hellos(), master.connection.channel]).to.deep.equal([false, 0, pushChannel(MINE)]);
    master.connection.open();
    expect([isOpen(), hellos()]).to.deep.equal([false, 1]);
    await settle();
    expect([isOpen(), subscriptions.isOpenAt(1), subscriptions.isOpenAt(2)]).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect(clocks.ticket()).to.equal(master.micros()); // the reply told it
    expect(listener.events).to.deep.equal(['m1 open']);
  });

  it("is not open before the reply with the master's clock", async () => {
    let arrive = (): void => undefined;
    const { isOpen, listener } = await environment((master) => (arrive = holdReplies(master, 'hello')));
    expect([isOpen(), listener.events]).to.deep.equal([false, []]);
    arrive();
    await settle();
    expect([isOpen(), listener.events]).to.deep.equal([true, ['m1 open']]);
  });

  it('is not open while only the reply came', async () => {
    const { isOpen, master } = await environment((one) => (one.deliversPushes = false));
    expect(isOpen()).to.equal(false);
    master.connection.tell('e 1');
    expect(isOpen()).to.equal(true);
  });

  it('is shared by all waiters, and each gets its own pushes', async () => {
    const { listener, master, subscriptions } = await environment();
    const other = new Listener();
    const token = tokenFrom('mine', '2');
    subscriptions.enter(token, other);
    await settle();
    expect(master.connections.length).to.equal(1);
    master.connection.tell(`g ${SERIAL} ${token} a b`);
    master.connection.tell(`w ${MINE} r`);
    master.connection.tell('a text of nobody');
    master.connection.lose('gone');
    await settle();
    expect(listener.events.slice(1)).to.deep.equal(['m1 first r', 'm1 closed: gone', 'm1 open']);
    expect(other.events).to.deep.equal(['m1 given a b', 'm1 closed: gone', 'm1 open']);
  });

  it('is proven by the last echo alone: a late one came from the server before', async () => {
    const { hellos, isOpen, master, node } = await environment((one) => (one.deliversPushes = false));
    master.become('lost');
    master.become('ready');
    await settle();
    expect(hellos()).to.equal(2);
    master.connection.tell('e 1');
    expect(isOpen()).to.equal(false);
    master.connection.tell('e 2');
    expect([isOpen(), node.waiting]).to.deep.equal([true, 0]);
  });

  it('a push on one that is to be proven again is no news: who waits looks again then', async () => {
    const { isOpen, listener, master } = await environment();
    master.deliversPushes = false;
    master.become('lost');
    master.become('ready');
    await settle();
    for (const text of [`v ${SERIAL} 5 900 7 ${MINE} r`, `g ${SERIAL} ${MINE} r`])
      master.connection.tell(text);
    expect([isOpen(), listener.events]).to.deep.equal([false, ['m1 open', `m1 closed: ${NOT_PROVEN}`]]);
    master.connection.tell('e 2');
    expect([isOpen(), listener.events.at(-1)]).to.deep.equal([true, 'm1 open']);
  });

  it('is proved anew after each loss', async () => {
    const { hellos, isOpen, master, node, subscriptions } = await environment();
    master.opensLines = false;
    master.connection.lose('gone');
    expect([isOpen(), subscriptions.cause(node).message]).to.deep.equal([false, 'gone']);
    master.deliversPushes = false;
    master.connection.open();
    await settle();
    expect([isOpen(), hellos()]).to.deep.equal([false, 2]); // the clock is known, the way is not
  });
});

describe('subscriptions: the connection that locks', () => {
  const comesBack = async (master: FakeMaster): Promise<void> => {
    master.become('lost');
    master.become('ready');
    await settle();
  };

  it('comes back: no message is sent before the master has confirmed the subscription', async () => {
    const { hellos, isOpen, master } = await environment(byHand);
    await comesBack(master);
    expect(hellos()).to.equal(0);
    master.connection.open();
    await settle();
    expect([hellos(), isOpen()]).to.deep.equal([1, true]);
    master.connection.lose('gone');
    await comesBack(master);
    expect(hellos()).to.equal(1);
  });

  it('is ready still: a message that is under way is sent once, and none on an open push connection', async () => {
    const { hellos, isOpen, master } = await environment((one) => (one.deliversPushes = false));
    master.become('ready');
    expect(hellos()).to.equal(1);
    master.connection.tell('e 1');
    master.become('ready');
    expect([isOpen(), hellos()]).to.deep.equal([true, 1]);
  });

  it('is lost before the push connection was open: nobody hears of that', async () => {
    const { listener, master, node, subscriptions } = await environment(
      (one) => (one.deliversPushes = false),
    );
    master.become('lost');
    expect(listener.events).to.deep.equal([]);
    expect(subscriptions.cause(node).message).to.equal('its push connection is not open yet');
  });

  it('is made: the message is sent as soon as it is', async () => {
    const { isOpen, master } = await environment((one) => (one.state = 'opening'));
    master.become('ready');
    await settle();
    expect(isOpen()).to.equal(true);
  });
});

describe('subscriptions: refused, lost, led astray', () => {
  it('an echo that comes after its second proves nothing, though the push connection is there still', async () => {
    const { isOpen, master, time } = await environment((one) => (one.deliversPushes = false));
    master.connection.renew = () => undefined; // it takes its time
    await time.advance(1_000);
    master.connection.tell('e 1');
    expect(isOpen()).to.equal(false);
  });

  it('40 waiters look one after another: one message is under way, none restarts its time, and the push connection is replaced', async () => {
    const { hellos, master, node, subscriptions, time } = await environment();
    await time.advance(2_000);
    master.deliversPushes = false;
    for (let look = 0; look < 40; look++) {
      subscriptions.verify(node);
      expect([hellos(), master.connection.renewals]).to.deep.equal([2, 0]);
      await time.advance(25);
    }
    expect(master.connection.renewals).to.equal(1);
  });

  it('a message that is under way is waited for also after a stall that was longer than its time', async () => {
    const { hellos, master, node, subscriptions, time } = await environment();
    await time.advance(2_000);
    master.deliversPushes = false;
    subscriptions.verify(node);
    time.stall(1_500);
    subscriptions.verify(node);
    expect([hellos(), master.connection.renewals]).to.deep.equal([2, 0]);
    await time.advance(0);
    expect(master.connection.renewals).to.equal(1);
  });

  it('40 waiters look one after another: they share one message in each second', async () => {
    const { hellos, isOpen, master, node, subscriptions, time } = await environment();
    for (let look = 0; look < 200; look++) {
      subscriptions.verify(node);
      await time.advance(50);
    }
    expect([hellos(), isOpen(), master.connection.renewals]).to.deep.equal([10, true, 0]);
  });

  it('an echo that has arrived while the event loop stalled is read before it is missed', async () => {
    const { clocks, master, node, time } = await environment((one) => (one.deliversPushes = false));
    const loop = new StallingLoop(time);
    const subscriptions = new Subscriptions([node], clocks, time, new SystemTimers(loop));
    subscriptions.enter(MINE, new Listener());
    await settle();
    loop.stall(5_000);
    master.connection.tell('e 1'); // sockets are read after the timers
    await settle();
    expect([subscriptions.isOpen(node), master.connection.renewals]).to.deep.equal([true, 0]);
    subscriptions.verify(node);
    await settle();
    loop.stall(5_000);
    await settle();
    expect(master.connection.renewals).to.equal(1);
    subscriptions.close();
  });

  it('an answer of another kind tells no clock: the push connection does not open', async () => {
    for (const reply of ['OK', [1]]) {
      const { clocks, isOpen, master } = await environment((one) => one.replies.push(reply));
      master.connection.tell('e 1');
      expect([isOpen(), clocks.isKnown(0)]).to.deep.equal([false, false]);
    }
  });

  it('an answer of another kind, and one that comes after the end and says that the message reached nobody, break nothing', async () => {
    const { nodes, subscriptions } = queueBench(1);
    const [node] = nodes;
    const asks: Ask[] = [];
    if (node !== undefined) node.send = (ask) => void asks.push(ask);
    subscriptions.enter(MINE, new Listener());
    await settle();
    const told = (reply: unknown) => (): void => {
      for (const { sink } of asks) if (node !== undefined) sink.onReply(node, reply);
    };
    expect(asks.length).to.equal(1);
    expect(told('OK')).not.to.throw();
    subscriptions.close();
    expect(told([0, SERIAL])).not.to.throw();
  });

  it('a user who may not publish: no push connection for 5 s, then the next waiter tries again', async () => {
    const refuse = (master: FakeMaster): unknown => master.replies.push(serverError('NOPERM no channels'));
    const { isOpen, listener, master, node, subscriptions, time } = await environment(refuse);
    const stands = (): unknown[] => [subscriptions.canReach(1), master.connections.length, isOpen()];
    expect([stands(), master.connection.isClosed]).to.deep.equal([[false, 1, false], true]);
    expect(listener.events).to.deep.equal(['m1 closed: NOPERM no channels']);
    expect(subscriptions.cause(node).message).to.equal('NOPERM no channels');
    await time.advance(4_999);
    subscriptions.enter(tokenFrom('mine', '2'), listener);
    expect(stands()).to.deep.equal([false, 1, false]);
    await time.advance(1);
    expect(subscriptions.canReach(1)).to.equal(false); // nobody begins to queue in the very millisecond
    subscriptions.enter(tokenFrom('mine', '3'), listener);
    await time.advance(1);
    expect(stands()).to.deep.equal([true, 2, true]);
  });

  it('a user who may not subscribe: the same', async () => {
    const { master, subscriptions, time } = await environment(byHand);
    master.connection.lose('NOPERM no channels', true);
    expect([subscriptions.canReach(1), master.connection.isClosed]).to.deep.equal([false, true]);
    await time.advance(5_001);
    expect(subscriptions.canReach(1)).to.equal(true);
  });

  it('masters without pushes are not reached, and nothing is tried again there', () => {
    const { masters, subscriptions, time } = queueBench(3);
    expect([subscriptions.canReach(3), subscriptions.canReach(4)]).to.deep.equal([true, false]);
    for (const master of masters.slice(0, 2)) master.hasPushes = false;
    expect([subscriptions.canReach(1), subscriptions.canReach(2)]).to.deep.equal([true, false]);
    subscriptions.enter(MINE, new Listener());
    expect(masters.map(({ connections }) => connections.length)).to.deep.equal([0, 0, 1]);
    expect(time.pending).to.equal(1); // for the third
  });

  it('an echo that is not back after a second: the push connection is replaced', async () => {
    const { isOpen, master, time } = await environment((one) => (one.deliversPushes = false));
    await time.advance(999);
    expect(master.connection.renewals).to.equal(0);
    await time.advance(1);
    expect(master.connection.renewals).to.equal(1);
    master.deliversPushes = true;
    await time.advance(1_000);
    expect([isOpen(), master.connections.length]).to.deep.equal([true, 1]);
  });

  it('also one that is not even answered; and nothing of it is left unsent', async () => {
    const { master, node, time } = await environment((one) => (one.state = 'opening'));
    expect(node.waiting).to.equal(1);
    master.opensLines = false;
    await time.advance(1_000);
    expect([node.waiting, master.connection.renewals]).to.deep.equal([0, 1]);
  });

  it('a push connection that is not confirmed within 10 s, and whose end nobody hears of, is replaced, again and again', async () => {
    const { isOpen, master, time } = await environment(byHand);
    await time.advance(9_999);
    expect(master.connection.renewals).to.equal(0);
    await time.advance(1);
    expect(master.connection.renewals).to.equal(1);
    await time.advance(10_000);
    expect(master.connection.renewals).to.equal(2);
    master.connection.open();
    await time.advance(60_000);
    expect([isOpen(), master.connection.renewals]).to.deep.equal([true, 2]);
  });

  it('so is one that was open, is lost, and does not come back; and one of which the client makes no other', async () => {
    const { isOpen, master, time } = await environment();
    master.opensLines = false;
    master.connection.lose('gone');
    await time.advance(9_999);
    expect([isOpen(), master.connection.renewals]).to.deep.equal([false, 0]);
    let renewals = 0;
    master.connection.renew = () => void renewals++;
    await time.advance(1);
    expect(renewals).to.equal(1);
    await time.advance(10_000);
    expect(renewals).to.equal(2);
  });

  it('it is not while the connection for commands is lost as well: both come back by themselves', async () => {
    const { master, subscriptions, time } = await environment(byHand);
    master.become('lost');
    await time.advance(30_000);
    expect(master.connection.renewals).to.equal(0);
    subscriptions.close();
    expect(time.pending).to.equal(0);
  });

  it('a push connection that breaks again and again while its master takes nothing: one message waits at most', async () => {
    const { master, node, subscriptions } = await environment((one) => (one.state = 'opening'));
    for (let turn = 0; turn < 20; turn++) {
      master.connection.lose();
      await settle();
    }
    expect(node.waiting).to.equal(1);
    subscriptions.close();
    expect([node.waiting, master.listeners]).to.deep.equal([0, 0]);
  });

  it('a message that reached nobody: the push connection leads to another server, and is replaced at once', async () => {
    const { isOpen, master } = await environment(byHand);
    master.replies.push([0, SERIAL]);
    master.connection.open();
    await settle();
    expect([isOpen(), master.connection.renewals]).to.deep.equal([false, 1]);
  });

  it('another failure of the message is no reason to give up: a second later the push connection is replaced', async () => {
    const refuse = (master: FakeMaster): unknown => master.replies.push(serverError('LOADING its data'));
    const { isOpen, master, subscriptions, time } = await environment(refuse);
    expect([isOpen(), subscriptions.canReach(1)]).to.deep.equal([false, true]);
    await time.advance(1_000);
    expect([isOpen(), master.connection.renewals]).to.deep.equal([true, 1]);
  });

  it('verify: one message more on an open push connection that has told nothing for a second, none on others', async () => {
    const { hellos, isOpen, master, node, subscriptions, time } = await environment(byHand);
    subscriptions.verify(node);
    expect(hellos()).to.equal(0);
    master.connection.open();
    await time.advance(1_000);
    subscriptions.verify(node);
    await time.advance(1_000);
    expect([hellos(), isOpen(), master.connection.renewals]).to.deep.equal([2, true, 0]);
    master.deliversPushes = false;
    subscriptions.verify(node);
    await time.advance(1_000);
    expect([hellos(), isOpen(), master.connection.renewals]).to.deep.equal([3, false, 1]);
  });
});

describe('subscriptions: the end', () => {
  it('push connections are closed when nobody has waited for 5 s, and opened for the next waiter', async () => {
    const { isOpen, listener, master, subscriptions, time } = await environment();
    subscriptions.leave(MINE);
    await time.advance(4_999);
    expect([isOpen(), master.connection.isClosed]).to.deep.equal([true, false]);
    subscriptions.enter(MINE, listener);
    await time.advance(60_000);
    expect([isOpen(), master.connections.length]).to.deep.equal([true, 1]);
    subscriptions.leave(MINE);
    await time.advance(5_000);
    expect([isOpen(), master.connection.isClosed, time.pending]).to.deep.equal([false, true, 0]);
    subscriptions.enter(MINE, listener);
    await settle();
    expect([isOpen(), master.connections.length]).to.deep.equal([true, 2]);
  });

  it('one of two waiters leaves: push connections stay', async () => {
    const { isOpen, listener, subscriptions, time } = await environment();
    subscriptions.enter(tokenFrom('mine', '2'), listener);
    subscriptions.leave(MINE);
    await time.advance(60_000);
    expect(isOpen()).to.equal(true);
  });

  it('close: nobody hears of a push connection that was not open yet', async () => {
    const { listener, subscriptions } = await environment(byHand);
    subscriptions.close();
    expect(listener.events).to.deep.equal([]);
  });

  it('close: at once, for good, and without a timer', async () => {
    const { listener, master, subscriptions, time } = await environment();
    subscriptions.close();
    expect([master.connection.isClosed, time.pending]).to.deep.equal([true, 0]);
    subscriptions.enter(MINE, listener);
    subscriptions.leave(MINE);
    await settle();
    expect([master.connections.length, time.pending]).to.deep.equal([1, 0]);
    expect(listener.events).to.deep.equal(['m1 open', 'm1 closed: its push connection is not open yet']);
  });
});

describe('subscriptions: pushes for a token that has left', () => {
  const GRANT = `g ${SERIAL} ${MINE} app:r`;
  const yields = (master: FakeMaster): string[][] =>
    master.sent
      .filter(({ kind }) => kind === 'yield')
      .map(({ args, keys, token = '' }) => [...keys, token, args.place ?? '', args.proposal ?? '']);

  async function left(prepare?: (master: FakeMaster) => unknown): Promise<One> {
    const one = await environment(prepare);
    one.subscriptions.enter(tokenFrom('mine', '2'), new Listener());
    one.subscriptions.leave(MINE);
    return one;
  }

  it('and has won: they are no news until its votes are given back', async () => {
    const { master, subscriptions } = await left();
    subscriptions.hold(MINE, undefined);
    for (const text of [GRANT, `v ${SERIAL} 5 900 7 ${MINE} app:r`]) master.connection.tell(text);
    expect(yields(master)).to.deep.equal([]);
    subscriptions.release(MINE);
    master.connection.tell(GRANT);
    expect(yields(master).length).to.equal(1);
  });

  it('and has won permits: a vote that may be for others is changed to these', async () => {
    const alignment = aligning(PERMITS_OF_R, MINE, '0,3');
    const direct = (given: string): string => `V ${SERIAL} 5 900 ${given} ${MINE} app:r`;
    for (const [text, changes] of [
      [direct('p0,3'), 0],
      [direct('p0,4'), 1],
      [`G ${SERIAL} ${MINE} app:r`, 1], // a reservation does not say for which permits it is
    ] as const) {
      const { master, subscriptions } = await left();
      subscriptions.hold(MINE, { slots: '0,3', alignment });
      master.connection.tell(text);
      expect(yields(master)).to.deep.equal([]);
      expect(master.sent.filter(({ kind }) => kind === 'permit-align').length).to.equal(changes);
    }
  });

  it('the vote is declined, for no place in return, under the name without the prefix of the client', async () => {
    for (const [keyPrefix, key] of [
      ['', 'app:r'],
      ['app:', 'r'],
      ['apps:', 'app:r'],
    ] as const) {
      const { master } = await left((one) => (one.keyPrefix = keyPrefix));
      for (const text of [GRANT, `w ${MINE} app:r`, `i ${SERIAL} ${MINE} app:r`])
        master.connection.tell(text);
      const keys = [key, queueKey(key), turnKey(key), looksKey(key), counterKey(key)];
      const [given = [], ...more] = yields(master);
      expect(more).to.deep.equal([]);
      expect(given.slice(0, -1)).to.deep.equal([...keys, MINE, `${SERIAL}|0|0`]);
    }
  });

  it('one of a lock that several may hold is declined in its own words', async () => {
    for (const [text, want] of [
      [`g ${SERIAL} ${MINE} r`, undefined],
      [`v ${SERIAL} 5 900 7 ${MINE} r`, undefined],
      [`G ${SERIAL} ${MINE} r`, 'r'],
      [`V ${SERIAL} 5 900 7 ${MINE} r`, 'r'],
    ] as const) {
      const { master } = await left();
      master.connection.tell(text);
      const [declined] = master.sent.filter(({ kind }) => kind === 'yield');
      expect([declined?.args.place, declined?.args.want]).to.deep.equal([`${SERIAL}|0|0`, want]);
    }
  });

  it('a vote that was declined in vain is declined again once the push connection is proven', async () => {
    const { master } = await left();
    master.manner = 'lose-request';
    master.connection.tell(GRANT);
    const [lost] = yields(master);
    master.cut();
    master.manner = 'answer';
    await settle();
    expect(yields(master).length).to.equal(1);
    master.become('ready');
    await settle();
    expect(yields(master)).to.deep.equal([lost, lost]);
    master.become('lost');
    master.become('ready');
    await settle();
    expect(yields(master).length).to.equal(2); // it is done
  });

  it('it is not once the push connections were closed: it expires', async () => {
    const { listener, master, subscriptions, time } = await left();
    subscriptions.leave(tokenFrom('mine', '2'));
    master.manner = 'lose-request';
    master.connection.tell(GRANT);
    master.cut();
    master.manner = 'answer';
    await time.advance(5_000);
    master.become('ready');
    subscriptions.enter(MINE, listener);
    await settle();
    expect([subscriptions.isOpenAt(1), yields(master).length]).to.deep.equal([true, 1]);
  });

  it('so are a hundred of them; more expire', async () => {
    const { master } = await left();
    master.deliversPushes = false;
    for (let i = 0; i < 101; i++) {
      master.manner = 'lose-request';
      master.connection.tell(`g ${SERIAL + i} ${MINE} app:r`);
      master.cut();
      await settle();
      master.manner = 'answer';
      master.become('ready');
    }
    master.deliversPushes = true;
    master.become('lost');
    master.become('ready');
    await settle();
    expect(yields(master).length).to.equal(201);
  });

  it('a token that was never here is declined', async () => {
    const { master } = await environment();
    master.connection.tell(`g ${SERIAL} ${tokenFrom('mine', '7')} r`);
    expect(yields(master).length).to.equal(1);
  });

  it('and none when the push connections are closed', () => {
    const time = new FakeTime();
    const master = new FakeMaster('m1', time);
    const subscriptions = new Subscriptions(
      [new Node(master, 0, time)],
      new MasterClocks(1, time),
      time,
      time,
    );
    subscriptions.leave(MINE);
    subscriptions.close();
    expect([time.pending, master.sent]).to.deep.equal([0, []]);
  });
});
