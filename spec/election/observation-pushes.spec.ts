/** Watching by itself: what pushes and looks make it ask and tell, and when. */
import { expect } from 'chai';
import type { LeaderReading } from '../../lib/election/leaders.js';
import { Observation } from '../../lib/election/observation.js';
import type { Leader } from '../../lib/election/public.js';
import type { PushListener } from '../../lib/redis/subscription.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { FakeCoordination } from '../support/fake-coordination.js';
import { type FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const NOBODY: LeaderReading = { kind: 'nobody' };
const UNKNOWN: LeaderReading = { kind: 'unknown' };

function leads(fence: number, remainingMs = 60_000, seq = 1): LeaderReading {
  return { kind: 'leader', leader: { value: `${fence}.${seq}`, fence, seq }, remainingMs };
}

interface Bench {
  readonly time: FakeTime;
  readonly observation: Observation;
  readonly coordination: FakeCoordination;
  /** What hears of each master's pushes, by its index. */
  readonly listeners: PushListener[];
  /** Push connections that are closed. */
  readonly closed: number[];
  /** When it looked. */
  readonly looks: number[];
  /** What it told, and how it ended. */
  readonly told: string[];
  /** The looks under way are answered by that. */
  answer(reading: LeaderReading): Promise<void>;
  push(index: number, text: string): void;
}

interface Setting {
  readonly hasPushes?: boolean;
  readonly signal?: AbortSignal;
}

function bench({ hasPushes = true, signal }: Setting = {}): Bench {
  const coordination = new FakeCoordination(3);
  const { time } = coordination;
  const [listeners, closed, looks, told]: [PushListener[], number[], number[], string[]] = [[], [], [], []];
  const subscribe = (_channel: string, listener: PushListener) => {
    const index = listeners.push(listener) - 1;
    return { renew: () => undefined, close: () => closed.push(index) };
  };
  for (const node of coordination.coordinator.nodes)
    Object.assign(node, { subscribe: hasPushes ? subscribe : () => undefined });
  const waiting: ((reading: LeaderReading) => void)[] = [];
  const read = (): Promise<LeaderReading> => {
    looks.push(time.now() - 1_000);
    return new Promise((resolve) => waiting.push(resolve));
  };
  const observation = new Observation(coordination, 'c', read, signal);
  return {
    ...{ time, observation, coordination, listeners, closed, looks, told },
    async answer(seen) {
      for (const resolve of waiting.splice(0)) resolve(seen);
      await settle();
    },
    push: (index, text) => listeners[index]?.onPush(text),
  };
}

/** It is watched from here on; these masters push. */
async function watched(
  first: LeaderReading,
  open: readonly number[] = [0, 1, 2],
  setting?: Setting,
): Promise<Bench> {
  const one = bench(setting);
  const run = async (): Promise<void> => {
    for await (const leader of one.observation) one.told.push(leader?.value ?? 'nobody');
    one.told.push('over');
  };
  run().catch((error: unknown) => one.told.push(RedlockError.is(error) ? error.code : String(error)));
  await one.answer(first);
  for (const index of open) one.listeners[index]?.onOpen();
  while (one.looks.length < 1 + open.length && open.length > 0) {
    const before = one.looks.length;
    await one.answer(first);
    if (one.looks.length === before) break;
  }
  await one.answer(first);
  one.looks.length = 0;
  return one;
}

describe('observe: what is asked', () => {
  it('each master is subscribed to once, and looked at as its pushes begin', async () => {
    const { answer, listeners, looks, observation } = bench();
    void observation.next();
    void observation.next();
    expect([listeners.length, looks.length]).to.deep.equal([3, 1]);
    await answer(NOBODY);
    listeners[0]?.onOpen();
    expect(looks.length).to.equal(2);
    await observation.return();
  });

  it('while a look is under way, no other one, and no timer: whatever comes meanwhile, one follows', async () => {
    const { answer, looks, push, time } = await watched(leads(5));
    push(0, 'v 6 1 900');
    expect([looks.length, time.pending]).to.deep.equal([1, 0]);
    push(1, 'v 6 1 900');
    push(2, 'v 5 1 900');
    expect([looks.length, time.pending]).to.deep.equal([1, 0]);
    await answer(leads(6));
    expect(looks.length).to.equal(2);
    await answer(leads(6));
    expect([looks.length, time.pending]).to.deep.equal([2, 1]);
  });

  it('nothing for half a minute while a quorum pushes, each second while fewer do', async () => {
    for (const [open, looksInMs] of [
      [[0, 1], 30_000],
      [[0], 1_000],
    ] as const) {
      const { looks, time } = await watched(NOBODY, open);
      await time.advance(looksInMs - 1);
      expect(looks).to.deep.equal([]);
      await time.advance(1);
      expect(looks.length).to.equal(1);
    }
  });

  it('each second once too few masters push, and once too few have answered', async () => {
    const { listeners, looks, time } = await watched(leads(5));
    for (const index of [0, 1]) listeners[index]?.onLost(new Error('gone'), false);
    await time.advance(1_000);
    expect(looks.length).to.equal(1);
    const other = await watched(leads(5));
    other.push(0, 'v 6 1 900');
    await other.answer(UNKNOWN);
    await other.time.advance(1_000);
    expect(other.looks.length).to.equal(2);
  });

  it('a push connection that is lost once more does not put the next look off', async () => {
    const { listeners, looks, time } = await watched(NOBODY, []);
    await time.advance(900);
    listeners[0]?.onLost(new Error('gone'), false);
    await time.advance(100);
    expect(looks.length).to.equal(1);
  });

  it('a look that a push brings is in place of that which was due', async () => {
    const { answer, listeners, looks, time } = await watched(NOBODY, []);
    await time.advance(900);
    listeners[0]?.onOpen();
    await time.advance(200); // the look takes its time
    await answer(NOBODY);
    expect(looks.length).to.equal(1);
  });
});

describe('observe: what pushes tell', () => {
  it('a resignation of the leader that is known, or of a later one: a look; of an earlier one, or of nobody: none', async () => {
    for (const [first, text, count] of [
      [leads(5), 'r 5', 1],
      [leads(5), 'r 6', 1],
      [leads(5), 'r 4', 0],
      [NOBODY, 'r 5', 0],
    ] as const) {
      const { looks, push } = await watched(first);
      push(0, text);
      expect(looks.length, text).to.equal(count);
    }
  });

  it('texts of nobody, and numbers that are too long, are no news of a leader that is known', async () => {
    const { looks, push } = await watched(leads(5));
    for (const text of ['text', 'v 5 1', `v ${'9'.repeat(20)} 1 900`, `v 5 ${'9'.repeat(20)} 900`])
      push(0, text);
    expect(looks).to.deep.equal([]);
  });

  it("the leader's votes last as long as a quorum of masters have pushed, and a look follows when they are over", async () => {
    const { looks, push, time } = await watched(leads(5, 1_000));
    push(0, 'v 5 1 5000');
    push(2, 'v 5 1 6000');
    await time.advance(5_009);
    expect(looks).to.deep.equal([]);
    await time.advance(1);
    expect(looks.length).to.equal(1);
  });

  it("a push of an earlier leader does not make the later one's votes last", async () => {
    const { looks, push, time } = await watched(leads(5, 1_000));
    for (const index of [0, 1, 2]) push(index, 'v 4 9 60000');
    await time.advance(1_010);
    expect(looks.length).to.equal(1);
  });
});

describe('observe: what is told', () => {
  it('each change, and nothing twice', async () => {
    const { answer, push, told } = await watched(leads(5));
    const changes: readonly (readonly [string, LeaderReading])[] = [
      ['v 5 2 900', leads(5, 900, 2)],
      ['v 6 2 900', leads(6, 900, 2)],
      ['v 7 1 900', leads(6, 900, 2)],
      ['r 6', NOBODY],
    ];
    for (const [text, look] of changes) {
      push(0, text);
      await answer(look);
    }
    expect(told).to.deep.equal(['5.1', '5.2', '6.2', 'nobody']);
  });

  it('too few masters answer at first: nobody is known to lead', async () => {
    const { told } = await watched(UNKNOWN);
    expect(told).to.deep.equal(['nobody']);
  });

  it('too few masters answer: the leader stands until its votes are over, and not a moment longer', async () => {
    for (const [afterMs, expected] of [
      [999, ['5.1']],
      [1_000, ['5.1', 'nobody']],
    ] as const) {
      const { answer, push, time, told } = await watched(leads(5, 1_000));
      await time.advance(afterMs);
      push(0, 'v 6 1 900');
      await answer(UNKNOWN);
      expect(told).to.deep.equal(expected);
    }
  });
});

describe('observe: its end', () => {
  it('what comes afterwards asks for nothing, and tells nothing', async () => {
    const { answer, closed, coordination, listeners, looks, observation, push, time } = await watched(
      leads(5),
    );
    push(0, 'v 6 1 900');
    push(0, 'v 7 1 900'); // one more look would follow
    await observation.return();
    await answer(leads(7));
    listeners[0]?.onOpen();
    push(0, 'v 8 1 900');
    expect([looks.length, time.pending, coordination.begun.size]).to.deep.equal([1, 0, 0]);
    expect(closed).to.deep.equal([0, 1, 2]);
  });

  it('masters that cannot push have no connection to close', async () => {
    const { observation, told } = await watched(NOBODY, [], { hasPushes: false });
    await observation.return();
    await settle();
    expect(told).to.deep.equal(['nobody', 'over']);
  });

  it('a signal that has aborted: no master is subscribed to, or asked', async () => {
    const { listeners, looks, observation } = bench({ signal: AbortSignal.abort() });
    expect(await observation.next()).to.deep.equal({ done: true, value: undefined });
    expect([listeners.length, looks.length]).to.deep.equal([0, 0]);
  });

  it('why it could not begin is told once; an error of another kind each time', async () => {
    const begun = async (why: Error): Promise<unknown[]> => {
      const { coordination, observation } = bench();
      coordination.begin = (): never => {
        throw why;
      };
      const told = await Promise.allSettled([observation.next(), observation.next()]);
      return told.map((one): unknown => (one.status === 'rejected' ? one.reason : one.value));
    };
    const closed = new RedlockError('CLOSED', 'it is closed');
    expect(await begun(closed)).to.deep.equal([closed, { done: true, value: undefined }]);
    const bug = new TypeError('a bug');
    expect(await begun(bug)).to.deep.equal([bug, bug]);
  });

  it('the instance closes while nobody waits: whoever asks next is told so, once', async () => {
    const { answer, coordination, observation } = bench();
    const first = observation.next();
    await answer(NOBODY);
    expect(await first).to.deep.equal({ done: false, value: null as Leader | null });
    for (const cancellation of coordination.begun) cancellation.cancel({ code: 'CLOSED' });
    await observation.return();
    expect(await rejection(observation.next())).to.include({ code: 'CLOSED' });
    expect(await observation.next()).to.deep.equal({ done: true, value: undefined });
  });
});
