import { once } from 'node:events';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Lease } from '../../lib/lease/public.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { locksOn } from '../support/commands.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { byHand, eventually, Program } from '../support/real.js';
import { wide } from '../support/breadth.js';

const lostSignal = async (lease: Lease): Promise<void> => {
  if (!lease.signal.aborted) await once(lease.signal, 'abort');
};

for (const nodes of wide([1, 3], [3])) {
  describe(`loss: N=${nodes}`, () => {
    let masters: Masters;
    let hands: Redis[];
    let redlock: Redlock;
    let programs: Program[] = [];
    beforeEach(async () => {
      masters = await startMasters(nodes);
      hands = masters.list.map(({ port }) => byHand(port));
      redlock = Redlock.connect(masters.urls, { waitMs: PATIENT.waitMs });
      await redlock.ready(EVERY_MASTER);
    });
    afterEach(async () => {
      for (const program of programs) program.kill();
      programs = [];
      for (const master of masters.list) await master.thaw().catch(() => undefined);
      await redlock.close({ releaseHeld: true });
      for (const hand of hands) hand.disconnect();
      await masters.stop();
    });
    const start = (name: string, ...args: string[]): Program => {
      const program = new Program(name, masters.urls.join(), ...args);
      programs.push(program);
      return program;
    };

    it('its keys are deleted and another takes them: renewal finds out and the signal fires', async () => {
      const lease = await redlock.acquire('r', { ttlMs: 1_500, renew: true });
      for (const hand of hands) await hand.set('r', 'another');
      await lostSignal(lease);
      expect(lease.status).to.equal('lost');
      expect(lease.signal.reason).to.include({ code: 'LOCK_LOST' });
      expect(() => lease.assertHeld())
        .to.throw()
        .with.property('code', 'LOCK_LOST');
      for (const hand of hands) expect(await hand.get('r')).to.equal('another');
    });

    it('all masters frozen: the signal fires when validity is over, and `using` settles', async () => {
      let reason: unknown;
      const value = await redlock.using('r', { ttlMs: 600 }, async (lease) => {
        for (const master of masters.list) await master.freeze();
        await lostSignal(lease);
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
        reason = lease.signal.reason;
        return 'the result';
      });
      expect(value).to.equal('the result');
      expect(reason).to.include({ code: 'LOCK_LOST' });
    });

    it('the event loop is stalled past the lease: right at every instant, and the signal fires in the first turn of the event loop', async () => {
      const lease = await redlock.acquire('r', { ttlMs: 300, renew: true });
      const { signal } = lease;
      const untilMs = performance.now() + 320;
      while (performance.now() < untilMs) if (lease.remainingMs() === 0) break;
      const turn = new Promise((resolve) => setTimeout(() => setImmediate(resolve), 0));
      expect([lease.remainingMs(), lease.status]).to.deep.equal([0, 'lost']);
      await turn;
      expect(signal.aborted).to.equal(true);
    });

    it('the event loop is stalled and nobody looks: the signal fires in the first timer phase', async () => {
      const lease = await redlock.acquire('r', { ttlMs: 300, renew: true });
      const { signal } = lease;
      const turn = new Promise((resolve) => setTimeout(() => setImmediate(resolve), 0));
      const untilMs = performance.now() + 320;
      while (performance.now() < untilMs);
      await turn;
      expect([signal.aborted, lease.status]).to.deep.equal([true, 'lost']);
    });

    if (nodes < 3) return; // what a process does with its timers does not depend on N

    it('the process is paused past its lease: in the first turn of the event loop status is lost and the signal fired', async () => {
      const program = start('hold', 'r', '400', 'renew');
      await program.says('held');
      program.process.kill('SIGSTOP');
      // it is over when the masters say so
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
      await redlock.acquire('r');
      program.process.kill('SIGCONT');
      expect(await program.says('status')).to.equal('status lost, 0 ms left');
      expect(await program.says('aborted')).to.equal('aborted true');
      expect(program.said).to.include('signal fired');
      expect(await program.ends()).to.equal(0);
    });

    it('the process is paused within `using`: it settles, and the process ends by itself', async () => {
      const program = start('using', 'r');
      await program.says('held');
      program.process.kill('SIGSTOP');
      for (const hand of hands) await eventually(async () => (await hand.exists('r')) === 0);
      program.process.kill('SIGCONT');
      expect(await program.says('settled')).to.equal('settled lost');
      expect(await program.ends()).to.equal(0);
    });

    it('nothing stays scheduled: a process ends by itself after close, with leases that it never released', async () => {
      const program = start('close');
      expect(await program.ends()).to.equal(0);
      expect(program.said).to.deep.equal(['held false', 'closed']);
      for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
    });

    it('nothing stays scheduled: also when the masters are frozen at close', async () => {
      const program = start('close-frozen');
      await program.says('held');
      for (const master of masters.list) await master.freeze();
      program.process.kill('SIGUSR2');
      expect(await program.ends()).to.equal(0);
      expect(program.said).to.include('closed');
    });

    it("nothing stays scheduled: with renewals running when the caller's clients are disconnected", async () => {
      const program = start('disconnect');
      expect(await program.ends()).to.equal(0);
      expect(program.said).to.include('held false').and.include('done');
    });
  });
}
