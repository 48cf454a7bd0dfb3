import { expect } from 'chai';
import { RoundTrip } from '../../lib/node/round-trip.js';
import { SendWindow, SILENT_WINDOW, WINDOW } from '../../lib/node/send-window.js';
import { FakeTime } from '../support/fake-time.js';

/** Longer than a master may answer nothing while many requests are in flight, and how often a silent one is probed. */
const [SILENT_AFTER_MS, PROBE_EVERY_MS] = [200, 5_000];

function windowWith(inFlight: number): { time: FakeTime; window: SendWindow } {
  const time = new FakeTime();
  const window = new SendWindow(time);
  window.inFlight = inFlight;
  return { time, window };
}

/** Asks for room again and again until a silence is just not long enough. */
function lookOn({ time, window }: { readonly time: FakeTime; readonly window: SendWindow }): void {
  for (let ms = 0; ms < SILENT_AFTER_MS; ms += 10) {
    expect(window.roomFor(1)).to.equal(1);
    time.stall(10);
  }
}

describe('how many requests may be in flight to one master', () => {
  it('a thousand: what is wanted, up to what is left of them', () => {
    expect(windowWith(0).window.roomFor(3)).to.equal(3);
    expect(windowWith(0).window.roomFor(SILENT_WINDOW)).to.equal(SILENT_WINDOW);
    expect(windowWith(0).window.roomFor(WINDOW + 1)).to.equal(WINDOW);
    expect(windowWith(WINDOW - 2).window.roomFor(5)).to.equal(2);
    expect(windowWith(WINDOW - 2).window.roomFor(1)).to.equal(1);
    expect(windowWith(WINDOW).window.roomFor(1)).to.equal(0);
  });

  it('sixteen, while it is silent', () => {
    const { window } = windowWith(SILENT_WINDOW - 2);
    window.isSilent = true;
    expect([window.roomFor(2), window.roomFor(3)]).to.deep.equal([2, 2]);
    window.inFlight = SILENT_WINDOW;
    expect([window.roomFor(1), window.roomFor(0)]).to.deep.equal([0, 0]);
  });

  it('says when it falls silent, and when it is silent no longer; once each', () => {
    const { time, window } = windowWith(SILENT_WINDOW);
    const said: boolean[] = [];
    window.onSilence = () => void said.push(window.isSilent);
    lookOn({ time, window });
    time.stall(1);
    window.roomFor(1);
    window.isSilent = true;
    expect(said).to.deep.equal([true]);
    window.answered(1);
    window.answered(1);
    expect(said).to.deep.equal([true, false]);
  });

  it('for how long it has been silent: from the first sign on; 0 once it answers', () => {
    const { time, window } = windowWith(1);
    for (const silentMs of [300, 200]) {
      time.stall(1_000);
      expect(window.silentForMs).to.equal(0);
      window.isSilent = true;
      time.stall(silentMs - 1);
      window.abandon(0);
      time.stall(1);
      expect(window.silentForMs).to.equal(silentMs);
      window.answered(0);
    }
  });

  it('counts the calls, and the requests in them', () => {
    const { window } = windowWith(0);
    for (const count of [1, 4]) window.sent(count);
    expect([window.calls, window.requests, window.inFlight]).to.deep.equal([2, 5, 5]);
  });

  it('it is silent once it has answered nothing for more than 200 ms while sixteen were in flight', () => {
    const { time, window } = windowWith(SILENT_WINDOW);
    expect(window.roomFor(1)).to.equal(1);
    lookOn({ time, window });
    expect([window.roomFor(1), window.isSilent]).to.deep.equal([1, false]);
    time.stall(1);
    expect([window.roomFor(1), window.isSilent]).to.deep.equal([0, true]);
  });

  it('at a round trip of 300 ms: once nothing has come for longer than an answer takes', () => {
    const time = new FakeTime();
    const trip = new RoundTrip();
    for (let i = 0; i < 60; i++) trip.measured(300);
    const window = new SendWindow(time, trip);
    window.inFlight = SILENT_WINDOW;
    for (let ms = 0; ms <= 300; ms += 50) {
      expect([window.roomFor(1), window.isSilent], `${ms} ms`).to.deep.equal([1, false]);
      time.stall(50);
    }
    expect([window.roomFor(1), window.isSilent]).to.deep.equal([0, true]);
  });

  it('the time between two looks counts for 50 ms at most: we may have stood still, with its answers unread', () => {
    const { time, window } = windowWith(SILENT_WINDOW);
    window.roomFor(1);
    for (let i = 0; i < 4; i++) {
      time.stall(60_000);
      expect([window.roomFor(1), window.isSilent]).to.deep.equal([1, false]);
    }
    time.stall(1);
    expect([window.roomFor(1), window.isSilent]).to.deep.equal([0, true]);
  });

  it('fewer in flight are no silence, however long ago room was asked for', () => {
    const { time, window } = windowWith(0);
    for (let ms = 0; ms <= SILENT_AFTER_MS; ms += 10) {
      expect(window.roomFor(SILENT_WINDOW)).to.equal(SILENT_WINDOW);
      time.stall(10);
    }
    window.inFlight = SILENT_WINDOW;
    expect([window.roomFor(1), window.isSilent]).to.deep.equal([1, false]);
  });

  it('an answer ends the silence, and the time starts anew', () => {
    const { time, window } = windowWith(SILENT_WINDOW + 3);
    window.roomFor(1);
    lookOn({ time, window });
    time.stall(1);
    expect(window.roomFor(1)).to.equal(0);
    window.answered(2);
    expect([window.inFlight, window.isSilent]).to.deep.equal([SILENT_WINDOW + 1, false]);
    time.stall(40); // nobody looks, so nothing is counted
    lookOn({ time, window });
    expect(window.roomFor(1)).to.equal(1);
  });

  it('what the client gave up stays in flight until an answer comes, which answers it, too', () => {
    const { window } = windowWith(10);
    window.abandon(3);
    window.abandon(1);
    expect([window.inFlight, window.isSilent]).to.deep.equal([10, true]);
    window.answered(2);
    expect([window.inFlight, window.isSilent]).to.deep.equal([4, false]);
    window.answered(1);
    expect(window.inFlight).to.equal(3);
  });

  it('a client that gives up by itself probes a silent master with one request every 5 s, if there is one', () => {
    const { time, window } = windowWith(SILENT_WINDOW + 1);
    window.abandon(SILENT_WINDOW);
    expect(window.roomFor(0)).to.equal(0);
    expect([window.roomFor(4), window.roomFor(4)]).to.deep.equal([1, 0]);
    time.stall(PROBE_EVERY_MS - 1);
    expect(window.roomFor(4)).to.equal(0);
    time.stall(1);
    expect([window.roomFor(4), window.roomFor(4)]).to.deep.equal([1, 0]);
  });

  it('a client that gives nothing up does not', () => {
    const { window } = windowWith(SILENT_WINDOW);
    window.isSilent = true;
    expect(window.roomFor(4)).to.equal(0);
  });

  it('once answered, there is nothing left that was given up', () => {
    const { window } = windowWith(SILENT_WINDOW + 2);
    window.abandon(1);
    window.answered(1);
    window.isSilent = true;
    expect([window.inFlight, window.roomFor(4)]).to.deep.equal([SILENT_WINDOW, 0]);
  });
});
