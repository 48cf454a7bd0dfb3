import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { plainClaim } from '../../lib/protocol/request.js';
import { Round } from '../../lib/quorum/round.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const ANSWERS = ['OK', null, 'error'] as const;
type Answer = (typeof ANSWERS)[number];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

function combinations(length: number): Answer[][] {
  if (length === 0) return [[]];
  return combinations(length - 1).flatMap((start) => ANSWERS.map((last) => [...start, last]));
}

function orders(length: number): number[][] {
  if (length === 0) return [[]];
  return orders(length - 1).flatMap((order) =>
    Array.from({ length }, (_, at) => [...order.slice(0, at), length - 1, ...order.slice(at)]),
  );
}

/** Is it said, and can nothing that is to come change it? In other words than lib's. */
function isDecided(answers: readonly Answer[], nodes: number): boolean {
  const count = (wanted: Answer): number => answers.filter((one) => one === wanted).length;
  const pending = nodes - answers.length;
  const isImpossible = 2 * (nodes - count(null)) <= nodes;
  const mayGrant = 2 * (count('OK') + pending) > nodes;
  const mayBeHeld = 2 * (nodes - count(null) - pending) <= nodes;
  return 2 * count('OK') > nodes || isImpossible || (!mayGrant && !mayBeHeld) || pending === 0;
}

/** One round over masters that answer when told. */
async function follow(answers: readonly Answer[], order: readonly number[]): Promise<void> {
  const time = new FakeTime();
  const nodes = answers.map((_, i) => {
    const master = new FakeMaster(`m${i + 1}`, time);
    master.manner = 'lose-request';
    return new Node(master, i, time);
  });
  const round = new Round(nodes, plainClaim(plainScope('r'), 't', 1_000), time.now(), {
    onLateVote: () => undefined,
  });
  let isSettled = false;
  void round.ask(nodes).then(() => (isSettled = true));
  const seen: Answer[] = [];
  let decision: string | undefined;
  for (const i of order) {
    const [node, answer] = [nodes[i], answers[i]];
    if (node === undefined || answer === undefined) throw new Error('an order of all nodes');
    if (answer === 'error') round.onFailure(node, new Error('gone'));
    else round.onReply(node, answer);
    seen.push(answer);
    for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    expect(isSettled, `${seen.join()} of ${answers.length}`).to.equal(isDecided(seen, answers.length));
    if (decision !== undefined) expect(round.decision).to.equal(decision);
    if (isSettled) decision = round.decision;
  }
  expect(isSettled).to.equal(true);
}

describe('rule 3: a round settles as soon as it is decided', () => {
  for (const nodes of SIZES.slice(0, 4)) {
    it(`N=${nodes}: all ${3 ** nodes} combinations in every order of arrival; late answers change nothing`, async () => {
      for (const answers of combinations(nodes))
        for (const order of orders(nodes)) await follow(answers, order);
    });
  }

  it('N=5: all 243 combinations in order', async () => {
    for (const answers of combinations(5)) await follow(answers, [0, 1, 2, 3, 4]);
  });

  for (const nodes of SIZES) {
    const quorum = quorumOf(nodes);
    const spare = nodes - quorum;

    for (const manner of ['freeze', 'lose-reply', 'lose-request'] as const) {
      it(`N=${nodes}, ${spare} silent (${manner}): acquire, extend, release settle at the quorum, in no time`, async () => {
        const { redlock, masters } = fakeCluster(nodes);
        for (const master of masters.slice(0, spare)) master.manner = manner;
        const lease = await redlock.acquire('r'); // the clock does not move
        await lease.extend();
        expect(lease.status).to.equal('held');
        await lease.release();
      });

      it(`N=${nodes}, ${quorum} silent (${manner}): acquire settles with the node timeout, as unknown`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const master of masters.slice(0, quorum)) master.manner = manner;
        let isSettled = false;
        const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 80 }));
        void failed.then(() => (isSettled = true));
        await time.advance(79);
        expect(isSettled).to.equal(false);
        await time.advance(1);
        expect(isSettled).to.equal(true);
        const { code, elapsedMs } = await failed;
        expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 80]);
      });
    }

    it(`N=${nodes}, ${spare + 1} refuse, the others silent: taken, without the node timeout`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      for (const master of masters.slice(0, spare + 1)) master.set('r', 'another', 60_000);
      for (const master of masters.slice(spare + 1)) master.manner = 'freeze';
      expect(await redlock.tryAcquire('r')).to.equal(null); // the clock does not move
    });

    it(`N=${nodes}, the slowest needs 90 ms: a yes takes as long as the quorum's slowest`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const [i, master] of masters.entries()) master.latencyMs = i < quorum ? 10 : 90;
      const startedAtMs = time.now();
      let tookMs = -1;
      void redlock.acquire('r').then(() => (tookMs = time.now() - startedAtMs));
      await time.advance(200);
      expect(tookMs).to.equal(10);
    });

    it(`N=${nodes}, all silent: every call settles within a node timeout or its wait`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('mine', { nodeTimeoutMs: 80 });
      const given = await redlock.acquire('given', { nodeTimeoutMs: 80 });
      const handle = given.giveAway();
      for (const master of masters) master.manner = 'freeze';
      const options = { nodeTimeoutMs: 80, waitMs: 0 };
      const calls: Promise<unknown>[] = [
        redlock.acquire('r', options),
        redlock.acquire(['a', 'b'], options),
        redlock.tryAcquire('r', { nodeTimeoutMs: 80 }),
        redlock.using('r', options, () => undefined),
        redlock.adopt(handle, options),
        lease.extend(),
        lease.release(),
      ];
      let settled = 0;
      for (const call of calls) void call.catch(() => undefined).then(() => settled++);
      await time.advance(80);
      expect(settled).to.equal(calls.length);
      const last = redlock.inspect('r').then(() => redlock.close());
      await time.advance(600);
      await last;
      expect(time.pending).to.equal(0);
    });
  }

  for (const [nodes, each] of [
    [2, 1],
    [4, 2],
  ] as const) {
    it(`N=${nodes}, a tie of ${each}:${each}: is no quorum for either, and decided at once`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      for (const master of masters.slice(0, each)) master.set('r', 'another', 60_000);
      expect(await redlock.tryAcquire('r')).to.equal(null);
      await settle();
      expect(masters.map((master) => master.value('r'))).to.deep.equal(
        masters.map((_, i) => (i < each ? 'another' : undefined)),
      );
    });

    it(`N=${nodes}, ${each} silent and ${each} grant: unknown, with the node timeout`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters.slice(0, each)) master.manner = 'lose-request';
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 60 }));
      await time.advance(60);
      expect((await failed).code).to.equal('NO_QUORUM');
    });
  }
});
