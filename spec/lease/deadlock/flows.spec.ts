/** Which routine a call is made in, and when that is followed through promises. */
import { expect } from 'chai';
import { type Flow, Flows, FOLLOWED_MS } from '../../../lib/lease/deadlock/flows.js';
import type { Lease } from '../../../lib/lease/public.js';
import { FakeTime } from '../../support/fake-time.js';

function flowIn(flows: Flows): Flow {
  return { lease: {} as Lease, outer: flows.current, isOver: false };
}

/** What a routine sees of itself: at once, and after an `await`. */
function seen(flows: Flows): Promise<readonly boolean[]> {
  const flow = flowIn(flows);
  return flows.run(flow, async () => {
    const atOnce = flows.current === flow;
    await Promise.resolve();
    return [atOnce, flows.current === flow];
  });
}

describe('flows of calls', () => {
  it('a routine’s code up to its first await is known; the rest if somebody listens, or a call has waited in vain lately', async () => {
    const time = new FakeTime();
    const flows = new Flows(time);
    expect(await seen(flows)).to.deep.equal([true, false]);
    let isAsked = true;
    flows.isAsked = () => isAsked;
    expect(await seen(flows)).to.deep.equal([true, true]);
    isAsked = false;
    expect(await seen(flows)).to.deep.equal([true, false]);
    flows.waitedInVain();
    expect(await seen(flows)).to.deep.equal([true, true]);
    await time.advance(FOLLOWED_MS);
    expect(await seen(flows)).to.deep.equal([true, false]);
    expect(flows.current).to.equal(undefined);
  });

  it('routines within routines; not those that are over', async () => {
    const flows = new Flows(new FakeTime());
    flows.isAsked = () => true;
    const outer = flowIn(flows);
    await flows.run(outer, async () => {
      await Promise.resolve();
      const inner = flowIn(flows);
      expect(inner.outer).to.equal(outer);
      await flows.run(inner, async () => {
        await Promise.resolve();
        outer.isOver = true;
        expect(flows.current).to.equal(inner);
        inner.isOver = true;
        expect(flows.current).to.equal(undefined);
      });
      expect(flows.current).to.equal(undefined);
    });
  });

  it('what is done outside of all routines, as a timer that is set, is in none of them', async () => {
    const flows = new Flows(new FakeTime());
    flows.isAsked = () => true;
    const flow = flowIn(flows);
    await flows.run(flow, async () => {
      await Promise.resolve();
      const [within, outside] = [
        new Promise((resolve) => void setImmediate(() => resolve(flows.current))),
        flows.outside(() => new Promise((resolve) => void setImmediate(() => resolve(flows.current)))),
      ];
      expect(await Promise.all([within, outside])).to.deep.equal([flow, undefined]);
      expect(flows.current).to.equal(flow);
    });
  });

  it('routines that each begin the next before they end do not add up', async () => {
    const flows = new Flows(new FakeTime());
    flows.isAsked = () => true;
    let deepest = 0;
    let left = 1_000;
    const step = async (before?: Flow): Promise<void> => {
      const flow = flowIn(flows);
      await flows.run(flow, async () => {
        await Promise.resolve();
        if (before !== undefined) before.isOver = true;
        let depth = 0;
        for (let one: Flow | undefined = flow; one !== undefined; one = one.outer) depth++;
        deepest = Math.max(deepest, depth);
        if (--left > 0) await step(flow);
      });
    };
    await step();
    expect(deepest).to.be.at.most(3);
  });
});
