import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { inspection } from '../../lib/protocol/request.js';
import { expiredByMs } from '../../lib/protocol/validity.js';
import { MAX_ENTRIES_PER_NODE, owe as oweUndo, Repairs } from '../../lib/quorum/repairs.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { IGNORED_ANSWER } from '../../lib/node/sink.js';
import { quorumParts } from '../support/quorum-parts.js';

/** How many undos may be on the wire to a master, and how many requests to a silent one. */
const ON_THE_WIRE = 16;

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
    expect([master.value('k1'), repairs.size, time.pending]).to.deep.equal([undefined, 0, 0]);
    await time.advance(60_000);
    expect(master.sent.length).to.equal(1);
  });

  it('after all were done, the next one is tried again as well', async () => {
    const { master, repairs, time, owe } = environment();
    owe();
    await settle();
    master.state = 'lost';
    owe();
    master.state = 'ready';
    await time.advance(50);
    expect([repairs.size, master.sent.length, time.pending]).to.deep.equal([0, 2, 0]);
  });

  it('one that is new is tried again soon, however long others have waited', async () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    owe();
    await time.advance(10_000);
    owe();
    master.state = 'ready';
    await time.advance(49);
    expect([repairs.size, master.sent.length]).to.deep.equal([2, 0]);
    await time.advance(1);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, 2]);
  });

  it('one after another that comes in does not keep the first from being tried again', async () => {
    const { master, time, owe } = environment();
    master.state = 'lost';
    owe();
    await time.advance(40);
    owe();
    master.state = 'ready';
    await time.advance(10);
    expect(master.sent.length).to.equal(2);
  });

  it('the same undo is not sent twice at a time', async () => {
    const { master, node, repairs, time } = environment();
    const orphan = { scope: plainScope('k'), token: 'token', untilMs: time.now() + 30_000 };
    master.manner = 'freeze';
    repairs.add(node, orphan);
    await settle();
    repairs.add(node, { ...orphan });
    repairs.run();
    await settle();
    expect(master.sent.length).to.equal(1);
  });

  it('is settled when those under way have been answered', async () => {
    const { master, repairs, owe } = environment();
    let isSettled = false;
    await repairs.settled();
    master.manner = 'freeze';
    owe();
    await settle();
    void repairs.settled().then(() => (isSettled = true));
    await settle();
    expect(isSettled).to.equal(false);
    master.thaw();
    await settle();
    expect(isSettled).to.equal(true);
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

  it('at the instant at which the vote is over, nothing is sent any more', () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    owe(1_000);
    master.state = 'ready';
    time.stall(1_000);
    repairs.run();
    expect([repairs.size, master.sent.length]).to.deep.equal([0, 0]);
  });

  it('one that waits behind others is not sent once its vote is over', async () => {
    const { master, repairs, time, owe } = environment();
    master.manner = 'freeze';
    for (let i = 0; i < ON_THE_WIRE; i++) owe();
    owe(1_000);
    await time.advance(3_000);
    expect(repairs.size).to.equal(ON_THE_WIRE);
    master.thaw();
    await time.advance(3_000);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, ON_THE_WIRE]);
  });

  it('and is over for who waits until all are settled', async () => {
    const { master, repairs, time, owe } = environment();
    master.manner = 'freeze';
    for (let i = 0; i < ON_THE_WIRE; i++) owe();
    owe(1_000); // no room
    await settle();
    await time.advance(1_000);
    let isSettled = false;
    void repairs.settled().then(() => (isSettled = true));
    await settle();
    expect(isSettled).to.equal(false);
    master.manner = 'answer';
    master.thaw();
    await settle();
    expect(isSettled).to.equal(true);
  });

  it('those on the wire stay there, though their votes are over: no others take their places', async () => {
    const { master, repairs, time, owe } = environment();
    master.manner = 'freeze';
    for (let i = 0; i < ON_THE_WIRE; i++) owe(1_000);
    await time.advance(3_000);
    expect(repairs.size).to.equal(0);
    owe();
    await time.advance(3_000);
    expect(master.sent.length).to.equal(ON_THE_WIRE);
    master.thaw();
    await time.advance(3_000);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, ON_THE_WIRE + 1]);
  });

  it('what was not sent to a silent master by then is dropped, and makes room', async () => {
    const { master, node, repairs, time, owe } = environment();
    master.manner = 'freeze';
    for (let i = 0; i < ON_THE_WIRE; i++) node.send({ request: inspection('other'), sink: IGNORED_ANSWER });
    await settle();
    node.markSilent();
    for (let i = 0; i < ON_THE_WIRE; i++) owe(1_000);
    await settle();
    expect([node.waiting, master.sent.length]).to.deep.equal([ON_THE_WIRE, ON_THE_WIRE]);
    await time.advance(3_000);
    expect([node.waiting, repairs.size, time.pending]).to.deep.equal([0, 0, 0]);
    owe();
    master.thaw();
    await time.advance(100);
    expect([repairs.size, master.sent.length]).to.deep.equal([0, ON_THE_WIRE + 1]);
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
    expect(node.window.inFlight + node.waiting).to.be.at.most(16);
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
    const undone = new Set(master.sent.map(({ keys }) => keys[0]));
    expect([undone.size, undone.has('k5'), undone.has('k6')]).to.deep.equal([
      MAX_ENTRIES_PER_NODE,
      false,
      true,
    ]);
  });

  it('too many for one master: one that was told again counts as new', async () => {
    const { master, node, repairs, time, owe } = environment();
    const again = { scope: plainScope('again'), token: 'again', untilMs: time.now() + 30_000 };
    master.state = 'lost';
    repairs.add(node, again);
    for (let i = 1; i < MAX_ENTRIES_PER_NODE; i++) owe();
    repairs.add(node, { ...again });
    owe();
    master.state = 'ready';
    await time.advance(5_000);
    const undone = new Set(master.sent.map(({ keys }) => keys[0]));
    expect([undone.has('again'), undone.has('k1'), undone.has('k2')]).to.deep.equal([true, false, true]);
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

  it('schedules and sends nothing after close, whatever is still owed', async () => {
    const { master, repairs, time, owe } = environment();
    master.state = 'lost';
    owe();
    repairs.close();
    master.state = 'ready';
    owe();
    await settle();
    expect([time.pending, repairs.size, master.sent.length]).to.deep.equal([0, 1, 0]);
  });

  it('nothing is owed: there is nothing to close', () => {
    const { repairs, time } = environment();
    repairs.close();
    expect(time.pending).to.equal(0);
  });

  it('an undo is owed for as long as what it takes back may live', async () => {
    const { master, node, time } = environment();
    const parts = quorumParts([node], time);
    const { driftFactor, repairs } = parts;
    master.state = 'lost';
    const orphan = { scope: plainScope('k'), token: 'token', lifeMs: 1_000 };
    const untilMs = expiredByMs(time.now(), 1_000, driftFactor);
    oweUndo(parts, node, orphan);
    expect(repairs.size).to.equal(1);
    time.stall(untilMs - time.now() - 1);
    repairs.run();
    expect(repairs.size).to.equal(1);
    time.stall(1);
    repairs.run();
    expect(repairs.size).to.equal(0);
  });
});
