/** Passing events on: who is called, in which order, and what a listener that fails does. */
import { type EventEmitter, on, once } from 'node:events';
import { createHook } from 'node:async_hooks';
import { expect } from 'chai';
import { restore, spy, stub } from 'sinon';
import { EventHub } from '../../lib/runtime/event-hub.js';
import {
  type ClosedEvent,
  EVENT_NAMES,
  type RedlockEvent,
  type RedlockEvents,
} from '../../lib/telemetry/events.js';
import { Emitter } from '../../lib/runtime/listenable.js';
import { Telemetry } from '../../lib/telemetry/telemetry.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { thrown } from '../support/rejection.js';

const EVENT: ClosedEvent = { elapsedMs: 1, held: 0 };

function setUp() {
  const hub = new EventHub<RedlockEvents>();
  const seen: string[] = [];
  return {
    hub,
    listenable: new Emitter(hub, EVENT_NAMES),
    seen,
    note: (name: string) => () => void seen.push(name),
  };
}

/** The warnings of the process while it runs. */
async function warnings(run: () => void | Promise<void>): Promise<readonly Error[]> {
  const emitted = stub(process, 'emitWarning');
  try {
    await run();
    await settle();
    return emitted.args.map(([text, options]) => Object.assign(new Error(String(text)), options));
  } finally {
    emitted.restore();
  }
}

describe('listeners', () => {
  afterEach(() => restore());

  it('on, off and their other names; each is called in the order in which it was added', async () => {
    const { hub, listenable, note, seen } = setUp();
    const gone = note('gone');
    listenable.on('closed', note('on')).addListener('closed', note('added'));
    listenable.on('closed', gone).off('closed', gone).on('closed', gone).removeListener('closed', gone);
    hub.tell('closed', EVENT);
    hub.tell('closed', EVENT);
    await settle();
    expect(seen).to.deep.equal(['on', 'added', 'on', 'added']);
    expect(listenable.listenerCount('closed')).to.equal(2);
  });

  it('one that was added twice is called twice, and taken away once at a time', async () => {
    const { hub, listenable, note, seen } = setUp();
    const twice = note('twice');
    listenable.on('closed', twice).on('closed', twice).off('closed', twice);
    hub.tell('closed', EVENT);
    await settle();
    expect(seen).to.deep.equal(['twice']);
  });

  it('one that is taken away, or added, by another that is called', async () => {
    const { hub, listenable, note, seen } = setUp();
    const last = note('last');
    listenable.on('closed', () => void listenable.off('closed', last).on('closed', note('new')));
    listenable.on('closed', last);
    hub.tell('closed', EVENT);
    await settle();
    expect(seen).to.deep.equal(['last']); // those that were there as it began
    hub.tell('closed', EVENT);
    await settle();
    expect(seen).to.deep.equal(['last', 'new']);
  });

  it('is called after the code that tells, and before what awaits it', async () => {
    const { hub, listenable, note, seen } = setUp();
    listenable.on('closed', note('heard'));
    const step = async (): Promise<void> => {
      hub.tell('closed', EVENT);
      note('told')();
      await Promise.resolve();
    };
    await step();
    note('awaited')();
    expect(seen).to.deep.equal(['told', 'heard', 'awaited']);
  });

  it('once: for one event; node:events knows it', async () => {
    const { hub, listenable, note, seen } = setUp();
    listenable.once('closed', note('once')).on('closed', note('on'));
    const awaited = once(listenable as unknown as EventEmitter, 'closed'); // it has what `once` asks for
    hub.tell('closed', { ...EVENT });
    hub.tell('closed', { ...EVENT });
    await settle();
    expect(seen).to.deep.equal(['once', 'on', 'on']);
    expect(await awaited).to.deep.equal([EVENT]);
    listenable.once('closed', note('never'));
    expect(listenable.listenerCount('closed')).to.equal(2);
  });

  it('gets an event that it cannot change for others', async () => {
    const { hub, listenable } = setUp();
    const seen: boolean[] = [];
    listenable.on('closed', (event) => void seen.push(Object.isFrozen(event)));
    hub.tell('closed', { ...EVENT });
    await settle();
    expect(seen).to.deep.equal([true]);
  });

  it('an event that there is not, and no function: refused by name and value', () => {
    const { listenable } = setUp();
    const unknown = thrown(() => listenable.on('released!' as RedlockEvent, () => undefined));
    expect([unknown.code, unknown.message.includes('"released!"')]).to.deep.equal(['INVALID_ARGUMENT', true]);
    const none = thrown(() => listenable.on('lost', undefined as unknown as () => void)); // from untyped code
    expect([none.code, none.message.includes('listener')]).to.deep.equal(['INVALID_ARGUMENT', true]);
  });

  it('`on` of node:events goes through them', async () => {
    const { hub, listenable } = setUp();
    const events = on(listenable as unknown as EventEmitter, 'closed'); // it asks for `on` and `removeListener`
    hub.tell('closed', EVENT);
    expect((await events.next()).value).to.deep.equal([EVENT]);
    await events.return?.();
    expect(listenable.listenerCount('closed')).to.equal(0);
  });
});

describe('a listener that fails', () => {
  for (const [how, fail] of [
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
    [
      'throws what is no error',
      () => {
        throw 'mine'; // eslint-disable-line -- listeners do that
      },
    ],
  ] as const) {
    it(`${how}: the others are called, and a process warning tells once`, async () => {
      const { hub, listenable, note, seen } = setUp();
      listenable.on('closed', fail).on('closed', note('next'));
      const told = await warnings(async () => {
        hub.tell('closed', EVENT);
        await settle();
        hub.tell('closed', EVENT);
      });
      expect(seen).to.deep.equal(['next', 'next']);
      expect(told.map(({ message }) => message)).to.deep.equal([
        "a listener of 'closed' failed, which is reported once: mine",
      ]);
      expect(told[0]).to.include({ type: 'QuorateWarning', code: 'QUORATE_LISTENER' });
    });
  }

  it('harms no lock: acquired, renewed, released all the same', async () => {
    const { redlock, time } = fakeCluster(3, { ttlMs: 1_000 });
    const fail = (): never => {
      throw new Error('mine');
    };
    const told = await warnings(async () => {
      for (const name of ['acquired', 'renewed', 'released', 'closed'] as const) redlock.on(name, fail);
      const lease = await redlock.acquire('r', { renew: true });
      await time.advance(5_000);
      expect(lease.status).to.equal('held');
      await lease.release();
      await redlock.close();
    });
    expect(told.length).to.equal(1); // one function
  });

  it('may close the instance, or take another lock', async () => {
    const { redlock, time } = fakeCluster(3);
    const codes: string[] = [];
    let isFirst = true;
    redlock.on('acquired', async () => {
      if (!isFirst) return;
      isFirst = false;
      codes.push((await redlock.acquire('s')).status);
      void redlock.close();
    });
    const lease = await redlock.acquire('r');
    await time.advance(100);
    codes.push((lease.signal.reason as { readonly code: string }).code); // an error of quorate
    expect(codes).to.deep.equal(['held', 'CLOSED']);
  });
});

describe('without a listener', () => {
  afterEach(() => restore());

  /** How many promises an acquisition and its release make. */
  async function promises(prepare: (bench: ReturnType<typeof fakeCluster>) => void): Promise<number> {
    const bench = fakeCluster(3);
    prepare(bench);
    await (await bench.redlock.acquire('before')).release();
    await settle();
    let count = 0;
    const hook = createHook({ init: (_id, type) => void (count += type === 'PROMISE' ? 1 : 0) }).enable();
    try {
      await (await bench.redlock.acquire('r')).release();
    } finally {
      hook.disable();
    }
    await settle();
    return count;
  }

  it('nothing is observed: no event is made, and no promise more', async () => {
    const acquire = spy(Telemetry.prototype, 'acquire');
    const release = spy(Telemetry.prototype, 'release');
    const tell = spy(EventHub.prototype, 'tell');
    const unheard = await promises(() => undefined);
    expect([acquire.callCount, release.callCount, tell.callCount]).to.deep.equal([0, 0, 0]);
    const other = await promises(({ redlock }) => redlock.on('closed', () => undefined));
    expect([acquire.callCount, release.callCount, tell.callCount]).to.deep.equal([0, 0, 0]);
    expect(other).to.equal(unheard);
    expect(await promises(({ redlock }) => redlock.on('acquired', () => undefined))).to.be.above(unheard);
    expect(tell.callCount).to.equal(2);
  });

  it('no clock is read for a release that nobody hears of', async () => {
    const reads = async (name: RedlockEvent): Promise<number> => {
      const { redlock, time } = fakeCluster(1);
      redlock.on(name, () => undefined);
      const lease = await redlock.acquire('r');
      const earliest = spy(time, 'earliest');
      await lease.release();
      return earliest.callCount;
    };
    const unheard = await reads('closed');
    expect(await reads('released')).to.equal(unheard + 3);
  });
});
