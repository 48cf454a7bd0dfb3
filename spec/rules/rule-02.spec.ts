import { expect } from 'chai';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo } from '../support/commands.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

/** Ways not to get a clear answer. `leaves`: the vote may be there all the same. */
const UNKNOWN: { readonly name: string; readonly leaves: boolean; happen(master: FakeMaster): void }[] = [
  { name: 'the request is lost', leaves: false, happen: (one) => (one.manner = 'lose-request') },
  { name: 'the reply is lost', leaves: true, happen: (one) => (one.manner = 'lose-reply') },
  { name: 'the master is frozen', leaves: true, happen: (one) => (one.manner = 'freeze') },
  {
    name: 'the socket is closed',
    leaves: false,
    happen: (one) => one.replies.push(new Error('Connection is closed.')),
  },
  {
    name: "the client's commandTimeout",
    leaves: false,
    happen: (one) => one.replies.push(new Error('Command timed out')),
  },
  { name: 'an error of the server', leaves: false, happen: (one) => one.replies.push(serverError('ERR no')) },
  { name: 'BUSY', leaves: false, happen: (one) => one.replies.push(serverError('BUSY Redis is busy')) },
  {
    name: 'LOADING',
    leaves: false,
    happen: (one) => one.replies.push(serverError('LOADING Redis is loading')),
  },
  ...['QUEUED', 'ok', '', 1, 0, true, undefined, [], {}, [1]].map((reply) => ({
    name: `the odd reply ${JSON.stringify(reply) ?? 'undefined'}`,
    leaves: false,
    happen: (one: FakeMaster) => void one.replies.push(reply),
  })),
];

async function tried(bench: Bench): Promise<{ readonly result: unknown }> {
  const { redlock, time } = bench;
  const call = redlock.tryAcquire('r', { nodeTimeoutMs: 50, ttlMs: 10_000 });
  const result = call.catch((error: unknown) => error);
  await time.advance(50);
  return { result: await result };
}

for (const { name, leaves, happen } of UNKNOWN) {
  describe(`rule 2: ${name}, which is unknown`, () => {
    for (const nodes of SIZES) {
      const quorum = quorumOf(nodes);

      it(`N=${nodes}, one grant too few: is no grant`, async () => {
        const bench = fakeCluster(nodes);
        for (const master of bench.masters.slice(quorum - 1)) happen(master);
        const { result } = await tried(bench);
        expect(result).to.have.property('code', 'NO_QUORUM');
      });

      it(`N=${nodes}, one refusal too few: is no refusal`, async () => {
        const bench = fakeCluster(nodes);
        const refusing = nodes - quorum;
        for (const master of bench.masters.slice(0, refusing)) master.set('r', 'another', 60_000);
        for (const master of bench.masters.slice(refusing)) happen(master);
        const { result } = await tried(bench);
        expect(result).to.have.property('code', 'NO_QUORUM');
        const outcomes = (result as { tally: { outcome: string }[] }).tally.map(({ outcome }) => outcome);
        expect(outcomes.filter((one) => one === 'unknown').length).to.equal(nodes - refusing);
      });

      it(`N=${nodes}, a quorum of the others: does no harm, yes or no`, async () => {
        const free = fakeCluster(nodes);
        for (const master of free.masters.slice(quorum)) happen(master);
        expect((await tried(free)).result).to.have.property('status', 'held');
        const held = fakeCluster(nodes);
        const refusing = nodes - quorum + 1;
        for (const master of held.masters.slice(0, refusing)) master.set('r', 'another', 60_000);
        for (const master of held.masters.slice(refusing)) happen(master);
        expect((await tried(held)).result).to.equal(null);
      });

      it(`N=${nodes}, all: is undone like a grant, on every master`, async () => {
        const bench = fakeCluster(nodes);
        for (const master of bench.masters) happen(master);
        expect((await tried(bench)).result).to.have.property('code', 'NO_QUORUM');
        if (leaves) await settle();
        for (const master of bench.masters) master.thaw();
        await bench.time.advance(2_000);
        expect(bench.masters.map(({ size }) => size)).to.deep.equal(bench.masters.map(() => 0));
        for (const master of bench.masters) expect(master.sent.length).to.be.at.least(2);
      });
    }
  });
}

describe('rule 2: scripts that answer oddly', () => {
  const odd = [
    ...[null, 'OK', 1, [], [1], { 0: 1, 1: 0, 2: 0 }],
    ...[
      [1, 0],
      [3, 0],
      [-1, 0],
      ['one', 0],
      [null, null],
    ], // too short, as of another version
    ...[
      [3, 0, 0],
      [-4, 0, 0],
      [4, 0, 0],
      ['one', 0, 0],
      [1.5, 0, 0],
      [null, null, null],
    ],
  ];
  for (const reply of odd) {
    it(`N=3: ${JSON.stringify(reply)} to a claim of two resources, an extension: neither grant nor refusal`, async () => {
      const { redlock, masters } = fakeCluster(3);
      for (const master of masters) master.replies.push(reply);
      const error = await rejection(redlock.acquire(['a', 'b'], { waitMs: 0 }));
      expect(error.code).to.equal('NO_QUORUM');
      const lease = await redlock.acquire('r');
      if (reply === 1) return; // an entry's yes
      for (const master of masters) master.replies.push(reply);
      expect((await rejection(lease.extend())).code).to.equal('NO_QUORUM');
      expect(lease.status).to.equal('held');
    });
  }

  for (const fence of [0, -1, 1.5, 2 ** 53, 'much', null]) {
    it(`N=3: a grant whose fence is ${String(fence)}: neither grant nor refusal, and undone`, async () => {
      const { redlock, masters } = fakeCluster(3);
      for (const master of masters) master.replies.push([1, fence, 0]);
      const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(error.code).to.equal('NO_QUORUM');
      await settle();
      for (const master of masters) expect(kindsSentTo(master)).to.deep.equal(['claim', 'undo']);
    });
  }

  for (const fencing of [true, false]) {
    it(`N=3, fencing ${fencing}: numbers that come as texts are numbers (clients with stringNumbers)`, async () => {
      const { redlock, masters } = fakeCluster(3, { fencing });
      for (const master of masters) master.replies.push(['1', fencing ? '1790000000000001' : '0', '0']);
      const lease = await redlock.acquire(['a', 'b'], { waitMs: 0 });
      expect([lease.status, lease.fence]).to.deep.equal([
        'held',
        fencing ? 1_790_000_000_000_001 : undefined,
      ]);
      for (const master of masters) master.replies.push(['0', '1500', '0']);
      expect(await redlock.tryAcquire(['a', 'b'])).to.equal(null);
    });
  }
});
