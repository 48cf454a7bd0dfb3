/** One poller for all who look, under virtual time. */
import { expect } from 'chai';
import { LINGER_MS, Poller, type PollerParts, ROUND_MS, type Viewer } from '../../lib/dashboard/poller.js';
import { MOST_READ } from '../../lib/dashboard/lock-book.js';
import { recordText } from '../../lib/lease/instance-record.js';
import { clientKey } from '../../lib/protocol/keys.js';
import { FakeTime } from '../support/fake-time.js';
import { FakeReader, holderRead, lockRead } from './support.js';

const NODES = 3;

describe(`the poller: N=${NODES}, virtual time`, () => {
  let time: FakeTime;
  let readers: readonly FakeReader[];
  let diagnoses: AbortSignal[];
  let poller: Poller;

  const make = (more: Partial<PollerParts> = {}): Poller =>
    new Poller({
      ...{ readers, clock: time, timers: time },
      isWanted: () => true,
      diagnose: (signal) => {
        diagnoses.push(signal);
        return Promise.resolve([]);
      },
      nextTick: () => undefined,
      keyPrefix: '',
      ...more,
    });
  const viewer = (more: Partial<Viewer> = {}): Viewer & { rounds: number } => {
    const one = { rounds: 0, watched: [], opened: undefined, onRound: () => void one.rounds++, ...more };
    return one;
  };
  const asked = (): number => readers.reduce((sum, { asked }) => sum + asked.times, 0);
  const hold = (name: string, on = readers): void => {
    for (const { locks } of on) locks.set(name, lockRead({ holders: [holderRead('h')] }));
  };

  beforeEach(() => {
    time = new FakeTime();
    readers = [new FakeReader('a', 100), new FakeReader('b', 110), new FakeReader('c', 90)];
    diagnoses = [];
    poller = make();
  });
  afterEach(() => poller.close());

  it('nobody looks: no master is asked, and no timer is set', async () => {
    await time.advance(60_000);
    expect([asked(), time.pending]).to.deep.equal([0, 0]);
  });

  it('one looks: a round every half a second, begun at once', async () => {
    const one = viewer();
    poller.attach(one);
    await time.advance(0);
    expect(readers.map(({ asked }) => asked.times)).to.deep.equal([1, 1, 1]);
    await time.advance(10 * ROUND_MS);
    expect([readers[0]?.asked.times, one.rounds]).to.deep.equal([11, 11]);
  });

  it('fifty look: as much is asked as for one', async () => {
    const all = Array.from({ length: 50 }, () => viewer());
    for (const one of all) poller.attach(one);
    await time.advance(10 * ROUND_MS);
    const { times, infos, reads, scans } = readers[0]?.asked ?? {};
    expect({ times, reads, scans, infos }).to.deep.equal({ times: 11, reads: 11, scans: 11, infos: 2 });
    expect(all.map(({ rounds }) => rounds)).to.deep.equal(all.map(() => 11));
  });

  it('the last one leaves: it goes on for five seconds, and then asks nothing and has no timer', async () => {
    const detach = poller.attach(viewer());
    await time.advance(2 * ROUND_MS);
    detach();
    await time.advance(LINGER_MS - 2 * ROUND_MS);
    const before = asked();
    await time.advance(2 * ROUND_MS);
    expect(asked()).to.be.greaterThan(before);
    await time.advance(ROUND_MS);
    const after = asked();
    await time.advance(60_000);
    expect([asked(), time.pending]).to.deep.equal([after, 0]);
  });

  it('somebody looks again: it runs again, and knows nothing of before', async () => {
    hold('x');
    poller.attach(viewer())();
    await time.advance(60_000);
    expect(poller.locks).to.deep.equal([]);
    const one = viewer();
    poller.attach(one);
    await time.advance(0);
    expect([one.rounds, poller.locks.map(({ name }) => name)]).to.deep.equal([1, ['x']]);
  });

  it('closed: no more rounds, whoever looks', async () => {
    poller.attach(viewer());
    await time.advance(0);
    poller.close();
    const before = asked();
    poller.attach(viewer());
    await time.advance(60_000);
    expect([asked(), time.pending]).to.deep.equal([before, 0]);
  });

  it('a lock that is taken is there after the next round; one that is gone is not', async () => {
    poller.attach(viewer());
    await time.advance(0);
    hold('x');
    await time.advance(ROUND_MS);
    expect(poller.lock('x')?.state).to.equal('held');
    for (const { locks } of readers) locks.delete('x');
    await time.advance(ROUND_MS);
    expect(poller.lock('x')).to.equal(undefined);
  });

  it('a silent master: its votes are unknown, the lock is held, and the master is shown with its cause', async () => {
    hold('x');
    const [, , last] = readers;
    if (last !== undefined) [last.state, last.cause] = ['silent', 'no reply within 1000 ms'];
    poller.attach(viewer());
    await time.advance(0);
    expect(poller.lock('x')).to.include({ state: 'held' });
    expect(poller.lock('x')?.votes).to.deep.equal(['granted', 'granted', 'unknown']);
    expect(poller.shown.masters[2]).to.include({ state: 'silent', cause: 'no reply within 1000 ms' });
    expect([poller.isPartial, poller.shown.masters[0]?.state]).to.deep.equal([false, 'up']);
  });

  it('clocks: each against the median of them, which is the time of all that is shown', async () => {
    poller.attach(viewer());
    await time.advance(0);
    expect(poller.shown.masters.map(({ clockAheadMs }) => clockAheadMs)).to.deep.equal([0, 10, -10]);
    expect(poller.shown.at).to.equal(time.now() + 100);
  });

  it('2,500 locks: a round reads 2,000 of them at most, all are read in two, and those that are looked at in each', async () => {
    for (let i = 0; i < 2_500; i++) hold(`lock-${i}`);
    poller.attach(viewer({ watched: ['lock-2499'], opened: 'lock-2498' }));
    await time.advance(0);
    expect(readers[0]?.asked.names).to.equal(MOST_READ);
    expect(readers[0]?.lastRead).to.include.members(['lock-2499', 'lock-2498']);
    expect(poller.locks).to.have.length(MOST_READ);
    await time.advance(ROUND_MS);
    expect(poller.locks).to.have.length(2_500);
    expect(readers[0]?.lastRead).to.include.members(['lock-2499', 'lock-2498']);
    expect([readers[0]?.asked.names, readers[0]?.lastOpened]).to.deep.equal([2 * MOST_READ, ['lock-2498']]);
  });

  it('12,000 locks: 10,000 are known, and it says that there may be more', async () => {
    for (let i = 0; i < 12_000; i++) hold(`lock-${i}`);
    poller.attach(viewer());
    await time.advance(6 * ROUND_MS);
    expect([poller.locks.length, poller.isPartial]).to.deep.equal([10_000, true]);
  });

  it('names that are not wanted are not read', async () => {
    poller = make({ isWanted: (name) => name.startsWith('a') });
    hold('a');
    hold('b');
    poller.attach(viewer());
    await time.advance(0);
    expect(readers[0]?.lastRead).to.deep.equal(['a']);
  });

  it('the doctor comes once a minute, while somebody looks', async () => {
    const detach = poller.attach(viewer());
    await time.advance(59_000);
    expect(diagnoses).to.have.length(1);
    await time.advance(50_000);
    expect(diagnoses).to.have.length(2);
    detach();
    await time.advance(600_000);
    expect(diagnoses).to.have.length(2);
  });

  it('a doctor that is at work when the last one leaves is sent away, and comes with the next one', async () => {
    poller = make({
      diagnose: (signal) => {
        diagnoses.push(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      },
    });
    poller.attach(viewer())();
    await time.advance(2 * LINGER_MS);
    expect(diagnoses.map(({ aborted }) => aborted)).to.deep.equal([true]);
    poller.attach(viewer());
    await time.advance(0);
    expect(diagnoses.map(({ aborted }) => aborted)).to.deep.equal([true, false]);
  });

  it('what two instances have done, one of which holds nothing: by their records, for whoever looks', async () => {
    const ids = ['client-1', 'client-2'];
    const write = (acquired: number): void => {
      for (const reader of readers) {
        reader.clients = ids;
        for (const id of ids)
          reader.written.set(
            clientKey('', id),
            recordText(
              { id, label: id },
              {
                held: [],
                beat: 1,
                waits: [],
                counts: { ageMs: time.now(), acquired, lost: 0, waits: [acquired] },
              },
            ),
          );
      }
    };
    await time.advance(100_000);
    poller.attach(viewer());
    await time.advance(0);
    expect(poller.shown.minute.shared).to.equal(undefined);
    write(100);
    await time.advance(20_000);
    expect(poller.shown.minute.shared?.acquired.every((one) => one === null || one === 0)).to.equal(true);
    write(160);
    await time.advance(6_000);
    const { acquired = [], lost = [], waitP99 = [] } = poller.shown.minute.shared ?? {};
    expect(acquired.filter((one) => one === 6)).to.have.length.within(15, 20);
    expect([Math.max(...lost.map(Number)), Math.max(...waitP99.map(Number))]).to.deep.equal([0, 1]);
    for (const { written } of readers) written.clear();
    await time.advance(6_000);
    expect(poller.shown.minute.shared).to.equal(undefined);
  });
});
