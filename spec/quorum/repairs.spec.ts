import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { MAX_ENTRIES_PER_NODE, Repairs } from '../../lib/quorum/repairs.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';

function environment() {
  const time = new FakeTime();
  const master = new FakeMaster('m1', time);
  const node = new Node(master, 0, time);
  const repairs = new Repairs([node], time, time);
  let owed = 0;
  const owe = (ttlMs = 30_000): string => {
    const token = `token-${++owed}`;
    repairs.add(node, { scope: plainScope(`k${owed}`), token, untilMs: time.now() + ttlMs });
    return token;
  };
  return { time, master, node, repairs, owe };
}

describe('repairs: undos that did not get through at first', () => {
  it('tries at once where there is a connection, and is done with the confirmation', async () => {
    const { master, repairs, time, owe } = environment();
    master.set('k1', owe(), 30_000);
    await settle();
    expect([master.value('k1'), repairs.size]).to.deep.equal([undefined, 0]);
    await time.advance(60_000);
    expect([master.sent.length, time.pending]).to.deep.equal([1, 0]);
  });

  it('waits for a master that is lost, without a command, and undoes when it is back', async () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    master.set('k1', owe(), 30_000);
    await time.advance(5_000);
    expect(master.sent).to.deep.equal([]);
    master.state = 'ready';
    await time.advance(2_000);
    expect([master.value('k1'), repairs.size, time.pending]).to.deep.equal([undefined, 0, 0]);
  });

  it('asks a master that answers with errors again, less and less often, until the vote has run out', async () => {
    const { master, repairs, time, owe } = environment();
    for (let i = 0; i < 100; i++)
      master.replies.push(new Error('LOADING Redis is loading the dataset in memory'));
    owe(10_000);
    await time.advance(20_000);
    expect(master.sent.length).to.be.within(5, 20);
    expect([repairs.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('an odd reply is no confirmation', async () => {
    const { master, repairs, time, owe } = environment();
    master.replies.push('OK', null, [1], 7);
    owe();
    await settle();
    expect(repairs.size).to.equal(1);
    await time.advance(5_000);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, 5]);
  });

  it('forgets a vote that has run out, also of a master that stays lost or silent', async () => {
    for (const trouble of ['lost', 'freeze'] as const) {
      const { master, repairs, time, owe } = environment();
      if (trouble === 'lost') master.state = 'lost';
      else master.manner = 'freeze';
      owe(3_000);
      await time.advance(2_000);
      expect(repairs.size).to.equal(1);
      await time.advance(2_000);
      expect([repairs.size, time.pending], trouble).to.deep.equal([0, 0]);
    }
  });

  it('has one timer for all, and none when nothing is owed', async () => {
    const { master, time, owe } = environment();
    master.state = 'lost';
    expect(time.pending).to.equal(0);
    for (let i = 0; i < 1_000; i++) owe();
    expect(time.pending).to.equal(1);
    master.state = 'ready';
    await time.advance(2_000);
    expect(time.pending).to.equal(0);
  });

  it('sends a few at a time to a master that is frozen', async () => {
    const { master, node, repairs, time, owe } = environment();
    master.manner = 'freeze';
    for (let i = 0; i < 1_000; i++) owe();
    await time.advance(10_000);
    expect(node.inFlight + node.waiting).to.be.at.most(16);
    expect(repairs.size).to.equal(1_000);
    master.thaw();
    await time.advance(10_000);
    expect(repairs.size).to.equal(0);
  });

  it(`keeps at most ${MAX_ENTRIES_PER_NODE} of one master: the newest`, async () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    for (let i = 0; i < MAX_ENTRIES_PER_NODE + 5; i++) owe();
    expect(repairs.size).to.equal(MAX_ENTRIES_PER_NODE);
    master.state = 'ready';
    await time.advance(5_000);
    const undone = new Set(master.sent.map(({ args }) => args[2]));
    expect([undone.size, undone.has('k5'), undone.has('k6')]).to.deep.equal([
      MAX_ENTRIES_PER_NODE,
      false,
      true,
    ]);
  });

  it('keeps a token once, for as long as its later vote lives', async () => {
    const { master, node, repairs, time } = environment();
    master.state = 'lost';
    for (const untilMs of [2_000, 9_000]) {
      repairs.add(node, { scope: plainScope('k'), token: 'token', untilMs: time.now() + untilMs });
    }
    expect(repairs.size).to.equal(1);
    await time.advance(5_000);
    expect(repairs.size).to.equal(1);
  });

  it('a vote that comes in while its undo is on the wire is undone again', async () => {
    const { master, node, repairs, time } = environment();
    const orphan = { scope: plainScope('k'), token: 'token', untilMs: time.now() + 30_000 };
    master.latencyMs = 10;
    repairs.add(node, orphan);
    await settle();
    repairs.add(node, { ...orphan }); // told again meanwhile: the answer that is on its way may be older than the vote
    await time.advance(10);
    expect(repairs.size).to.equal(1);
    await time.advance(5_000);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, 2]);
  });

  it('schedules nothing after close, whatever is still owed', async () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    owe();
    repairs.close();
    owe();
    expect(time.pending).to.equal(0);
  });
});
