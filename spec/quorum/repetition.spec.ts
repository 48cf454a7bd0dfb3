/** Those in the queue who are gone, and more of them than one call may drop: whoever gives the lock back goes on. */
import { expect } from 'chai';
import { queueKey, turnKey } from '../../lib/protocol/keys.js';
import { MAX_DROPPED } from '../../lib/protocol/lua/waiting.js';
import { Node } from '../../lib/node/node.js';
import { Repairs } from '../../lib/quorum/repairs.js';
import { isToRepeat } from '../../lib/protocol/replies.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { wide } from '../support/breadth.js';
import { hold, kindsOf, queueBench, MINE, OTHER, waitIn } from '../support/queue-bench.js';

const CALLS = 4;
const DEAD = CALLS * MAX_DROPPED;

/** So many stand in the queue there, before everybody else, and nobody listens for them. */
function lineUpDead(master: FakeMaster, count = DEAD, key = 'r'): void {
  for (let i = 0; i < count; i++) master.addMember(queueKey(key), tokenFrom(`d${i % 9}`, String(i)), i);
  master.expire(queueKey(key), 60_000);
  master.set(turnKey(key), '0||', 60_000);
}

const waiting = (master: FakeMaster): number => {
  const members = master.members(queueKey('r'));
  return typeof members === 'symbol' ? 0 : members.length;
};

describe('waiters that are gone: more than one call may drop', () => {
  for (const nodes of wide([1, 2, 3, 5], [3])) {
    it(`N=${nodes}: a release is sent again until the first living waiter is handed the lock; no timer takes part`, async () => {
      const bench = fakeCluster(nodes, { ttlMs: 600_000, waitMs: 60_000 }, { hasPushes: true });
      const lease = await bench.redlock.acquire('r');
      const wait = bench.other().redlock.acquire('r');
      await settle();
      for (const master of bench.masters) {
        lineUpDead(master);
        master.sent.length = 0;
      }
      await lease.release();
      expect((await wait).status).to.equal('held');
      for (const master of bench.masters) {
        const releases = kindsSentTo(master).filter((kind) => kind === 'release');
        expect([releases.length, waiting(master)]).to.deep.equal([CALLS, 0]);
      }
    });

    it(`N=${nodes}: the caller of release does not wait for that`, async () => {
      const bench = fakeCluster(nodes, { ttlMs: 600_000 });
      const lease = await bench.redlock.acquire('r');
      for (const master of bench.masters) {
        lineUpDead(master);
        master.latencyMs = 10;
      }
      const startedMs = bench.time.now();
      let releasedAtMs = 0;
      void lease.release().then(() => (releasedAtMs = bench.time.now()));
      await bench.time.advance(10 * CALLS);
      expect(releasedAtMs - startedMs).to.equal(10);
      expect(bench.masters.map(waiting)).to.deep.equal(bench.masters.map(() => 0));
    });
  }

  it('an undo of the background goes on likewise', async () => {
    const time = new FakeTime();
    const master = new FakeMaster('m1', time);
    const node = new Node(master, 0, time);
    const repairs = new Repairs([node], time, time);
    hold(master, MINE);
    lineUpDead(master);
    repairs.add(node, { scope: plainScope('r'), token: MINE, untilMs: time.now() + 30_000 });
    await settle();
    expect([kindsOf(master), waiting(master)]).to.deep.equal([new Array(CALLS).fill('undo'), 0]);
    expect([repairs.size, master.size]).to.deep.equal([0, 0]);
  });

  it('it ends where the connection does', async () => {
    const bench = fakeCluster(1, { ttlMs: 600_000 });
    const lease = await bench.redlock.acquire('r');
    const [master] = bench.masters as [FakeMaster];
    lineUpDead(master);
    const send = master.call.bind(master);
    master.call = (command) => {
      const reply = send(command);
      master.state = 'lost';
      return reply;
    };
    master.sent.length = 0;
    await lease.release();
    await bench.time.advance(30_000);
    expect([kindsSentTo(master), waiting(master)]).to.deep.equal([['release'], DEAD - MAX_DROPPED]);
  });

  it('a waiter looks again at once, until it is handed the lock: it depends on nobody else', async () => {
    const environment = queueBench(3);
    for (const master of environment.masters) {
      hold(master, OTHER);
      lineUpDead(master);
    }
    const { ends, stay } = waitIn(environment, { ticket: DEAD });
    await settle(); // its look is refused, and drops the first of them
    for (const master of environment.masters) master.delete('r'); // it runs out, and nobody hands over
    await environment.time.advance(13_125 + 5 * CALLS);
    expect(ends).to.deep.equal(['reserved']);
    for (const master of environment.masters) {
      expect(kindsOf(master)).to.deep.equal(new Array(CALLS).fill('queue'));
      expect([master.value('r'), waiting(master)]).to.deep.equal([`${MINE}+`, 0]);
    }
    stay.end();
  });

  it('the replies that say so: a release below zero, an undo with a 2; and nothing else', () => {
    for (const reply of [-1, -2, '-1', [1, -2, 2], [0, 500, 3], ['1', '-2', '2']])
      expect(isToRepeat(reply), JSON.stringify(reply)).to.equal(true);
    for (const reply of [0, 1, '3', [1, -2, 0], [0, -2, 1], [-1], null, 'OK', undefined])
      expect(isToRepeat(reply), JSON.stringify(reply)).to.equal(false);
  });
});
