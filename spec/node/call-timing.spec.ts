import { expect } from 'chai';
import { CallTiming } from '../../lib/node/call-timing.js';
import { Silence } from '../../lib/redis/server-errors.js';
import type { Command, Transport } from '../../lib/redis/transport.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

const PING: Command = { name: 'time', args: [] };

const thrown = (error: Error): never => {
  throw error;
};

interface Ground {
  readonly time: FakeTime;
  readonly master: FakeMaster;
  readonly timing: CallTiming;
  call(): Promise<unknown>;
}

function ground(latencyMs: number): Ground {
  const time = new FakeTime();
  const master = new FakeMaster('m1', time);
  master.latencyMs = latencyMs;
  const timing = new CallTiming(time, () => time.idleMs());
  const call = (): Promise<unknown> => {
    const answer = timing.call(master, PING);
    answer.catch(() => undefined);
    return answer;
  };
  return { time, master, timing, call };
}

describe('how the round trip is measured', () => {
  it('from the sending of a call to its answer', async () => {
    const { time, timing, call } = ground(40);
    void call();
    await time.advance(39);
    expect(timing.trip.bareMs).to.equal(0);
    await time.advance(1);
    expect(timing.trip.bareMs).to.equal(40);
  });

  it('one call at a time: what is sent meanwhile is not measured', async () => {
    const { time, master, timing, call } = ground(40);
    void call();
    await time.advance(10);
    master.latencyMs = 10;
    void call();
    await time.advance(30);
    expect(timing.trip.expectedMs).to.equal(120);
    void call();
    await time.advance(10);
    expect(timing.trip.bareMs).to.equal(10);
  });

  it('no more than one in 10 ms', async () => {
    const { time, master, timing, call } = ground(4);
    void call();
    await time.advance(9);
    master.latencyMs = 1;
    void call();
    await time.advance(1);
    expect(timing.trip.bareMs).to.equal(4);
    void call();
    await time.advance(1);
    expect(timing.trip.bareMs).to.equal(1);
  });

  it('not a call that an attempt gave up on; the next one is', async () => {
    const { time, timing, call } = ground(40);
    void call();
    timing.gaveUp(new Silence(30));
    void call(); // the answer to the first comes before its own
    await time.advance(40);
    expect([timing.trip.expectedMs, timing.trip.patienceMs]).to.deep.equal([0, 1_000]);
    void call();
    await time.advance(40);
    expect(timing.trip.expectedMs).to.equal(120);
  });

  it('a call without an answer shows for how long, also after an attempt gave up on it; else it is 0', async () => {
    const { time, timing, call } = ground(40);
    await time.advance(5);
    expect(timing.unansweredMs).to.equal(0);
    void call();
    await time.advance(30);
    expect(timing.unansweredMs).to.equal(30);
    timing.gaveUp(new Silence(30));
    await time.advance(9);
    expect(timing.unansweredMs).to.equal(39);
    await time.advance(1);
    expect(timing.unansweredMs).to.equal(0);
  });

  it('an attempt that something else cut short is no sign of a slower network', async () => {
    const { time, timing, call } = ground(10);
    void call();
    await time.advance(10);
    timing.gaveUp(new Error('no reply before its validity ended'));
    timing.gaveUp(undefined);
    expect(timing.trip.patienceMs).to.equal(60);
    timing.gaveUp(new Silence(60));
    expect(timing.trip.patienceMs).to.equal(120);
    void call(); // nothing was under way: this is measured
    await time.advance(10);
    expect(timing.trip.patienceMs).to.be.below(60);
  });

  it('not an answer that comes after an attempt would have given up: an attempt waits twice as long for the next', async () => {
    const { time, master, timing, call } = ground(10);
    void call();
    await time.advance(10);
    for (const [latencyMs, isMeasured, patienceMs] of [
      [201, false, 400],
      [401, false, 800],
      [800, true, 1_000],
    ] as const) {
      const { expectedMs } = timing.trip;
      master.latencyMs = latencyMs;
      void call();
      await time.advance(latencyMs);
      expect(timing.trip.expectedMs !== expectedMs, `${latencyMs} ms`).to.equal(isMeasured);
      expect(timing.trip.patienceMs).to.equal(patienceMs);
    }
  });

  it('not a failure: of the server, of the connection, or before it was sent; the next call is', async () => {
    const { time, master, timing, call } = ground(5);
    master.mayTellTime = false;
    void call();
    await time.advance(5);
    master.manner = 'freeze';
    void call();
    master.cut();
    await settle();
    expect(timing.trip.expectedMs).to.equal(0);
    const torn = new Error('torn');
    const without = { call: () => thrown(torn) } as unknown as Transport; // all that is called of it
    expect(await timing.call(without, PING).catch((error: unknown) => error)).to.equal(torn);
    Object.assign(master, { manner: 'answer', mayTellTime: true });
    void call();
    await time.advance(5);
    expect(timing.trip.bareMs).to.equal(5);
  });

  for (const [stallMs, latencyMs, isMeasured] of [
    [25, 26, true],
    [26, 51, false],
    [26, 52, true],
    [100, 199, false],
    [100, 200, true],
  ] as const) {
    it(`busy for ${stallMs} of ${latencyMs} ms: ${isMeasured ? '' : 'not '}measured`, async () => {
      const { time, timing, call } = ground(latencyMs);
      void call();
      time.stall(stallMs);
      await time.advance(latencyMs - stallMs);
      expect(timing.trip.bareMs).to.equal(isMeasured ? latencyMs : 0);
    });
  }

  it('where nobody knows how busy the process is, it never is', async () => {
    const { time, master } = ground(100);
    const timing = new CallTiming(time);
    void timing.call(master, PING);
    time.stall(100);
    await time.advance(0);
    expect(timing.trip.bareMs).to.equal(100);
  });
});
