import { expect } from 'chai';
import { tokenFrom } from '../simulation/world/seeded.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { holdBack, sentTo } from '../support/commands.js';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

describe('rule 5: undo goes to every master that was sent to', () => {
  for (const nodes of SIZES) {
    const quorum = quorumOf(nodes);
    const most = nodes - quorum;

    for (const manner of ['freeze', 'lose-reply', 'lose-request'] as const) {
      it(`N=${nodes}, ${quorum} silent (${manner}): behind the claim, before the next attempt, answered or not`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const master of masters.slice(0, quorum)) master.manner = manner;
        const failed = rejection(redlock.acquire('r', { waitMs: 1_000, nodeTimeoutMs: 50 }));
        await time.advance(1_200);
        const { attempts } = await failed;
        expect(attempts).to.be.greaterThan(3);
        const wanted = Array.from({ length: attempts }, (_, i) => [`claim ${i + 1}`, `undo ${i + 1}`]).flat();
        for (const master of masters) {
          const sent = sentTo(master).slice(0, wanted.length);
          expect(sent).to.deep.equal(wanted.slice(0, sent.length));
          // a silent one gets no more than a bounded number; each claim that it got has its undo behind it
          expect(sent.length % 2).to.equal(0);
          expect(sent.length).to.be.at.least(8);
        }
      });
    }

    for (const fencing of [true, false]) {
      const others = fencing ? 'a script that refused compared the tokens' : 'and the refused ones as well';
      it(`N=${nodes}, split votes, fencing ${fencing}: the granted ones are given back; ${others}`, async () => {
        const { redlock, masters } = fakeCluster(nodes, { fencing });
        for (const master of masters.slice(0, most + 1)) master.set('r', 'another', 60_000);
        expect(await redlock.tryAcquire('r')).to.equal(null);
        await settle();
        for (const [i, master] of masters.entries()) {
          // a plain claim that was refused may have been run twice, and refused by its own vote
          const isExplained = fencing && i <= most;
          expect(sentTo(master)).to.deep.equal(isExplained ? ['claim 1'] : ['claim 1', 'undo 1']);
          expect(master.value('r')).to.equal(i <= most ? 'another' : undefined);
        }
      });
    }

    it(`N=${nodes}: a frozen master that thaws runs claim and undo in order; no vote stays`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(redlock.acquire('r', { waitMs: 400, nodeTimeoutMs: 50, ttlMs: 60_000 }));
      await time.advance(600);
      await failed;
      for (const master of masters) master.thaw();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0)); // at once: no repair is needed
    });

    it(`N=${nodes}, forty attempts end at a master that fell silent: each undo goes out at once, past the window`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'freeze';
      const failed = Array.from({ length: 40 }, (_, i) =>
        rejection(redlock.acquire(`r${i}`, { waitMs: 0, nodeTimeoutMs: 50, ttlMs: 60_000 })),
      );
      await time.advance(50);
      await Promise.all(failed);
      for (const master of masters) {
        const sent = sentTo(master);
        expect(sent.length).to.equal(80);
        for (let i = 1; i <= 40; i++) expect(sent.slice(40)).to.include(`undo ${i}`);
        master.thaw();
        expect(master.size).to.equal(0); // no repair is needed
      }
    });

    it(`N=${nodes}: a caller's abort in the middle of a round does not keep the undos from being sent`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.latencyMs = 20;
      const controller = new AbortController();
      const failed = rejection(redlock.acquire('r', { signal: controller.signal }));
      await time.advance(10);
      controller.abort();
      expect((await failed).code).to.equal('ABORTED');
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1']);
      await time.advance(100);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}: undos that get lost or are answered with errors are tried again until they are confirmed`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters.slice(most))
        master.replies.push(serverError('ERR the claim'), serverError('ERR busy'));
      for (const master of masters.slice(0, most)) {
        const [claim, undo] = ['OK', serverError('ERR busy')];
        master.replies.push(claim, undo);
        master.set('r', tokenFrom('client', 'secret-1'), 60_000); // the vote that the scripted reply speaks of
      }
      await rejection(redlock.acquire('r', { waitMs: 0 }));
      await time.advance(2_000);
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1', 'undo 1']);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    for (const way of [
      'on a cluster, whose requests may overtake each other',
      'sent again by the client after a reconnect',
    ])
      it(`N=${nodes}: a claim that runs past its undo, ${way}: the late grant is undone again`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const isCluster = way.startsWith('on a cluster');
        for (const master of masters) master.isCluster = isCluster;
        const runLate = masters.map((master) => holdBack(master, 'claim'));
        const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
        if (!isCluster) for (const master of masters) master.state = 'lost';
        await time.advance(60);
        await failed;
        for (const master of masters) master.become('ready');
        await time.advance(2_000);
        for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1']); // answered
        for (const run of runLate) run();
        expect(masters.map((master) => master.value('r'))).to.deep.equal(
          masters.map(() => tokenFrom('client', 'secret-1')),
        );
        await time.advance(100);
        expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([
          0,
          ...masters.map(() => 0),
        ]);
      });
  }
});

describe('rule 5: NOSCRIPT', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: a claim is not sent whole once its attempt ended: it would overtake the undo`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) {
        master.knowsScripts = false;
        master.manner = 'freeze';
      }
      const failed = rejection(redlock.acquire(['a', 'b'], { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      await failed;
      for (const master of masters) master.thaw();
      await time.advance(1_000);
      // what is sent whole then has no keys: it teaches the script, for the next attempt
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1', 'lesson']);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: nor after the caller's abort`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) {
        master.knowsScripts = false;
        master.latencyMs = 20;
      }
      const controller = new AbortController();
      const failed = rejection(redlock.acquire(['a', 'b'], { signal: controller.signal }));
      await time.advance(10);
      controller.abort();
      await failed;
      await time.advance(1_000);
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'undo 1', 'lesson']);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });
  }

  it('N=3, one master is slow to say NOSCRIPT: its claim still counts among the votes, as the lease is held', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const [slow] = masters;
    if (slow === undefined) throw new Error('there are three');
    slow.knowsScripts = false;
    slow.latencyMs = 20;
    const lease = await redlock.acquire(['a', 'b']);
    await time.advance(100);
    await lease.release();
    await time.advance(100);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });
});
