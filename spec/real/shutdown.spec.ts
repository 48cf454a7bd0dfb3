import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { tokenIn } from '../../lib/runtime/random.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { byHand, eventually, loadScripts, Program } from '../support/real.js';
import { wide } from '../support/breadth.js';

/**
 * A service that is told to stop, as every deployment does: `programs.ts` has it. That leases are renewed meanwhile is shown
 * under virtual time: `spec/coordinator/coordinator.spec.ts`.
 */
for (const nodes of wide([1, 3], [3])) {
  describe(`shutdown of a process, N=${nodes}`, () => {
    let masters: Masters;
    let hands: Redis[];
    let redlock: Redlock;
    let programs: Program[] = [];
    beforeEach(async () => {
      masters = await startMasters(nodes);
      hands = masters.list.map(({ port }) => byHand(port));
      redlock = Redlock.connect(masters.urls, PATIENT);
      await redlock.ready(EVERY_MASTER);
    });
    afterEach(async () => {
      for (const program of programs) program.kill();
      programs = [];
      await redlock.close({ releaseHeld: true });
      for (const hand of hands) hand.disconnect();
      await masters.stop();
    });
    const start = async (...args: string[]): Promise<Program> => {
      const program = new Program('serve', masters.urls.join(), 'r', ...args);
      programs.push(program);
      await program.says('held');
      return program;
    };
    const serve = async (how: string): Promise<Program> => {
      const program = await start(how);
      await eventually(async () => !(await values()).includes(null)); // the last master has granted, too
      return program;
    };
    const values = (): Promise<(string | null)[]> => Promise.all(hands.map((hand) => hand.get('r')));

    it('SIGTERM while a routine works: it keeps its lock until it has ended, and then the next one is let in', async () => {
      const program = await serve('is deaf');
      const before = await values();
      let isIn = false;
      const next = redlock.acquire('r').then((lease) => {
        isIn = true;
        return lease;
      });
      program.process.kill('SIGTERM');
      await program.says('told');
      await eventually(async () => (await redlock.inspect('r')).waiting === 1);
      expect([isIn, await values()]).to.deep.equal([false, before]);
      expect(program.said).to.not.include('closed');
      program.process.kill('SIGUSR2');
      expect(await program.says('ends')).to.equal('ends held');
      await (await next).release();
      expect(await program.ends()).to.equal(0);
      expect(program.said.slice(-3)).to.include.members(['left', 'closed']);
    });

    it('a routine that listens stops at once, and the process ends by itself', async () => {
      const program = await serve('listens');
      program.process.kill('SIGTERM');
      expect(await program.ends()).to.equal(0);
      expect(program.said).to.include.members(['told', 'ends held', 'left', 'closed']);
      expect(await redlock.tryAcquire('r')).to.not.equal(null);
    });

    it('a lease taken by hand: its holder hears of it and releases it', async () => {
      const program = await serve('by hand');
      program.process.kill('SIGTERM');
      expect(await program.ends()).to.equal(0);
      expect(program.said).to.include.members(['ends held', 'left', 'closed']);
      expect(await redlock.tryAcquire('r')).to.not.equal(null);
    });

    it('a routine that goes on after drainMs: its lock is not deleted, runs out, and only then is free', async () => {
      const program = await start('is deaf', '100', '1500');
      program.process.kill('SIGTERM');
      await program.says('closed');
      const left = await Promise.all(hands.map((hand) => hand.pttl('r')));
      const begunMs = performance.now();
      const lease = await redlock.acquire('r');
      // a master whose key has run out already says -2
      expect(performance.now() - begunMs).to.be.above(Math.min(...left) - 100);
      expect(program.said.filter((line) => line.startsWith('ends'))).to.deep.equal([]);
      program.process.kill('SIGUSR2');
      expect(await program.says('ends')).to.equal('ends lost');
      expect(await program.ends()).to.equal(0);
      const votes = (await values()).filter((value) => value !== null); // a minority may have refused: it had the old vote
      expect(votes.length).to.be.above(nodes / 2); // its release touched nothing
      expect(new Set(votes.map((vote) => tokenIn(vote)))).to.deep.equal(new Set([lease.token]));
    });

    const leaving = ['ioredis', 'redis'].flatMap((client) => [1, 40].map((count) => ({ client, count })));
    for (const { client, count } of leaving) {
      it(`process.exit() right after a release of ${count} by ${client} that was not awaited: nothing is left`, async () => {
        const names = Array.from({ length: count }, (_, i) => `left:${i}`);
        await loadScripts(hands);
        const program = new Program('leave', masters.urls.join(), client, ...names);
        programs.push(program);
        const held = (): Promise<number[]> => Promise.all(hands.map((hand) => hand.exists(...names)));
        await eventually(async () => (await held()).every((keys) => keys === count));
        program.tell('leave');
        expect(await program.ends()).to.equal(0);
        await eventually(async () => (await held()).every((keys) => keys === 0)); // their ttl is ten minutes
      });
    }

    it('signalled twice: the second SIGTERM waits for nobody', async () => {
      const program = await serve('is deaf');
      program.process.kill('SIGTERM');
      await program.says('told');
      program.process.kill('SIGTERM');
      await program.says('closed');
      expect(program.said.some((line) => line.startsWith('ends'))).to.equal(false);
      program.process.kill('SIGUSR2');
      expect(await program.ends()).to.equal(0);
    });
  });
}
