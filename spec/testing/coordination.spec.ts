/** Elections and jobs over the masters that users test with: without Redis, and without a timer where nothing takes time. */
import { expect } from 'chai';
import { MemoryMasters } from '../../lib/testing/index.js';

describe('masters in memory: elections and jobs', () => {
  it('one leads, a watcher hears of it, and the next takes over at once', async () => {
    await using masters = new MemoryMasters(3);
    const [a, b, watcher] = [masters.redlock(), masters.redlock(), masters.redlock()];
    const watching = watcher.election('e').observe();
    const leads = async (): Promise<string | undefined> => {
      const { value } = await watching.next();
      return value?.value;
    };
    expect(await leads()).to.equal(undefined);
    const first = await a.election('e').campaign('a');
    expect(await leads()).to.equal('a');
    const second = b.election('e').campaign('b');
    await first.resign();
    expect((await second).value).to.equal('b');
    for (let now = await leads(); now !== 'b'; now = await leads()) expect(now).to.equal(undefined);
    await watching.return?.();
    await (await second).resign();
  });

  it('with a master killed, runOnce() and run() do what they do', async () => {
    await using masters = new MemoryMasters(3);
    const [one, other] = [masters.redlock(), masters.redlock()];
    await masters.list[0].kill();
    expect(await one.runOnce('o', 60_000, () => 1)).to.deep.equal({ executed: true, value: 1 });
    expect(await other.runOnce('o', 60_000, () => 2)).to.deep.equal({ executed: false, reason: 'done' });
    await using job = await one.job('j', { every: 3_600_000, atLeastForMs: 1_000 }, () => 3);
    expect(await job.run()).to.deep.equal({ executed: true, value: 3 });
    expect(await job.run()).to.deep.equal({ executed: false, reason: 'too soon' });
  });
});
