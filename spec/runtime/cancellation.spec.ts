import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { Cancellation } from '../../lib/runtime/cancellation.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('Cancellation', () => {
  it('one listener however many waits share a signal, none after the last was disposed of', () => {
    const { signal } = new AbortController();
    const waits = Array.from({ length: 100 }, () => new Cancellation(signal));
    expect(listeners(signal)).to.equal(1);
    for (const wait of waits.slice(1)) wait.dispose();
    expect(listeners(signal)).to.equal(1);
    waits[0]?.dispose();
    expect(listeners(signal)).to.equal(0);
  });

  it('a signal can be used again after all its waits have ended', () => {
    const controller = new AbortController();
    new Cancellation(controller.signal).dispose();
    const again = new Cancellation(controller.signal);
    expect(listeners(controller.signal)).to.equal(1);
    controller.abort('enough');
    expect(again.cancelled).to.deep.equal({ code: 'ABORTED', cause: 'enough' });
  });

  it('an abort ends every wait of the signal once, with its reason', () => {
    const controller = new AbortController();
    let calls = 0;
    const waits = Array.from({ length: 20 }, () => new Cancellation(controller.signal));
    for (const wait of waits) wait.listen(() => void calls++);
    const reason = new Error('enough');
    controller.abort(reason);
    expect(calls).to.equal(20);
    for (const { cancelled } of waits) expect(cancelled).to.deep.equal({ code: 'ABORTED', cause: reason });
    expect(listeners(controller.signal)).to.equal(0);
  });

  it('a signal that was aborted before ends the wait at once and gets no listener', () => {
    const signal = AbortSignal.abort('before');
    expect(new Cancellation(signal).cancelled).to.deep.equal({ code: 'ABORTED', cause: 'before' });
    expect(listeners(signal)).to.equal(0);
  });

  it('the first end counts: CLOSED stays CLOSED, and nobody is called twice', () => {
    const controller = new AbortController();
    const wait = new Cancellation(controller.signal);
    let calls = 0;
    wait.listen(() => void calls++);
    wait.cancel({ code: 'CLOSED' });
    controller.abort();
    expect(wait.cancelled).to.deep.equal({ code: 'CLOSED' });
    expect(calls).to.equal(1);
  });

  it('a wait that was disposed of hears nothing any more', () => {
    const controller = new AbortController();
    const [over, other] = [new Cancellation(controller.signal), new Cancellation(controller.signal)];
    let calls = 0;
    over.listen(() => void calls++);
    over.dispose();
    controller.abort();
    expect([calls, over.cancelled]).to.deep.equal([0, undefined]);
    expect(other.cancelled?.code).to.equal('ABORTED');
  });

  it('a wait that is disposed of while others are being ended is left alone', () => {
    const controller = new AbortController();
    const [first, second] = [new Cancellation(controller.signal), new Cancellation(controller.signal)];
    first.listen(() => second.dispose());
    let calls = 0;
    second.listen(() => void calls++);
    controller.abort();
    expect(calls).to.equal(0);
  });

  it('disposing twice, or without a signal, does nothing', () => {
    const { signal } = new AbortController();
    const [one, other] = [new Cancellation(signal), new Cancellation(signal)];
    one.dispose();
    one.dispose();
    new Cancellation().dispose();
    expect(listeners(signal)).to.equal(1);
    other.dispose();
  });

  it('two signals do not mix', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const [first, second] = [new Cancellation(one.signal), new Cancellation(two.signal)];
    one.abort();
    expect([first.cancelled?.code, second.cancelled]).to.deep.equal(['ABORTED', undefined]);
  });
});
