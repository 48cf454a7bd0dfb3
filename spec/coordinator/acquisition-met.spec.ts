/** What the first attempt met, and what the next acquisition of the lock makes of it. */
import { expect } from 'chai';
import { type AcquisitionBench, acquisitionBench } from '../support/acquisition-bench.js';
import { type CommandKind, kindOf, kindsSentTo, tokenOf } from '../support/commands.js';
import { settle } from '../support/fake-time.js';
import { hold, letGo, OTHER } from '../support/queue-bench.js';

/** Asks once for the lock, which another holds. */
async function isRefused({ acquire, masters }: AcquisitionBench): Promise<void> {
  for (const master of masters) hold(master);
  await acquire({ waitMs: 0 }).catch(() => undefined);
}

/** Another has had it each of the last times that it was asked for, once of them for long enough to open push connections. */
async function likelyHeld(bench: AcquisitionBench): Promise<void> {
  const { acquire, coordinator, masters } = bench;
  for (const master of masters) hold(master);
  const wait = acquire();
  await settle();
  for (const master of masters) await letGo(master);
  await coordinator.release(await wait, 50);
  for (let times = 0; times < 5; times++) await isRefused(bench);
  begin(bench);
}

function begin({ masters, told }: AcquisitionBench): void {
  for (const master of masters) master.sent.length = 0;
  told.length = 0;
}

/** What the instance has sent to the first master since. */
function sent({ masters, random }: AcquisitionBench): CommandKind[] {
  const [master] = masters;
  return master.sent.filter((command) => random.tokens.includes(tokenOf(command))).map(kindOf);
}

/** What an acquisition does first. */
async function firstOf(bench: AcquisitionBench): Promise<CommandKind | undefined> {
  begin(bench);
  void bench.acquire({ waitMs: 1_000 }).catch(() => undefined);
  await settle();
  return sent(bench)[0];
}

describe('acquisition: what the first attempt met', () => {
  it('one that queues at once counts among those that wait', async () => {
    const bench = acquisitionBench(true, 1);
    await likelyHeld(bench);
    const waits = [bench.acquire(), bench.acquire()].map((wait) => wait.catch(() => undefined));
    await settle();
    expect(bench.told).to.deep.equal([
      ['waits', 1],
      ['refused', 1, 3, 'held'], // there is no room for another: it asks once
    ]);
    expect(bench.coordinator.waiting).to.equal(1);
    expect(await waits[1]).to.equal(undefined);
  });

  it('one that is granted at once makes the lock less likely to be held', async () => {
    const bench = acquisitionBench(true);
    await likelyHeld(bench);
    for (const master of bench.masters) master.delete('r');
    await bench.coordinator.release(await bench.acquire({ waitMs: 0 }), 50);
    expect(await firstOf(bench)).to.equal('claim');
  });

  it('a claim in the queue that got no answers says nothing about that', async () => {
    const bench = acquisitionBench(true);
    await likelyHeld(bench);
    for (const master of bench.masters) {
      master.delete('r');
      const send = master.call.bind(master);
      master.call = (command) => {
        if (kindOf(command) !== 'claim') return send(command);
        return Promise.reject(new Error('Connection is closed.'));
      };
    }
    const failed = bench.acquire({ waitMs: 5, handOver: 'reserve' }).catch(() => undefined);
    await bench.time.advance(100);
    await failed;
    expect(bench.told[1]).to.deep.equal(['refused', 1, 3, 'unknown']);
    expect(await firstOf(bench)).to.equal('queue');
  });

  it('what later attempts meet says nothing: the next acquisition queues as soon as it is refused', async () => {
    const bench = acquisitionBench(true);
    for (const master of bench.masters) master.manner = 'freeze';
    const failed = bench.acquire({ waitMs: 70 }).catch(() => undefined);
    await bench.time.advance(50);
    for (const master of bench.masters) {
      hold(master);
      master.thaw();
    }
    await bench.time.advance(100);
    await failed;
    expect(bench.told.slice(0, 3)).to.deep.equal([
      ['refused', 1, 3, 'unknown'],
      ['waits', 1],
      ['refused', 2, 3, 'held'],
    ]);
    begin(bench);
    void bench.acquire().catch(() => undefined);
    await settle();
    expect(sent(bench)).to.include('queue');
  });

  it('one that may not queue keeps to its own pauses, also where the lock is held now and then', async () => {
    const bench = acquisitionBench(true);
    await isRefused(bench);
    begin(bench);
    void bench.acquire({ fair: false, minDelayMs: 100, maxDelayMs: 100 }).catch(() => undefined);
    await bench.time.advance(99);
    expect(kindsSentTo(bench.masters[0]).filter((kind) => kind === 'claim')).to.have.lengthOf(1);
    expect(bench.masters[0].value('r')).to.equal(OTHER);
  });
});
