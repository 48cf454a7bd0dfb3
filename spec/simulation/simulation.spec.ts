import { expect } from 'chai';
import { Checker } from './checker/checker.js';
import { SimulatedClient } from './world/client.js';
import { drawPlan } from './world/faults.js';
import { SimulatedLink } from './world/link.js';
import { Seeded } from './world/seeded.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { MemoryServer } from '../../lib/testing/master/server.js';
import { shrink } from './shrink.js';
import { simulate } from './simulation.js';
import { timeline } from './timeline.js';
import { World } from './world/world.js';
import { parseOptions } from './command/options.js';
import { further, wide } from '../support/breadth.js';

/** What is wrong with a master for good. */
const WRONG = / has (?:no rights|read-only|another type|spent counter|another guard)$/;

describe('simulation: one seed, one history', () => {
  for (const seed of wide([1, 2, 3, 7], [7])) {
    it(`seed ${seed}: the same twice, with its history kept or not, and no promise broken`, async () => {
      const once = await simulate(seed);
      const twice = await simulate(seed, { history: true });
      expect([twice.digest, twice.events, twice.tookMs]).to.deep.equal([
        once.digest,
        once.events,
        once.tookMs,
      ]);
      expect(once.violations).to.deep.equal([]);
      expect(once.lines).to.deep.equal([]);
      expect(twice.lines.length).to.be.above(100);
    });
  }

  for (const seed of wide([1_722_036_253, 1_572_017_894], [])) {
    it(`seed ${seed}: a place outlived the lease that was claimed over it, and was handed a vote`, async () => {
      expect((await simulate(seed)).violations).to.deep.equal([]);
    });
  }

  further('seed 48062539: a timer was set again and again while virtual time stood still', async () => {
    expect((await simulate(48_062_539)).violations).to.deep.equal([]);
  });

  further('seed 47, which the documentation shows with a mistake built in: no promise broken', async () => {
    expect((await simulate(47)).violations).to.deep.equal([]);
  });

  further('other seeds have other histories', async () => {
    const digests = await Promise.all([11, 12, 13, 14].map(async (seed) => (await simulate(seed)).digest));
    expect(new Set(digests).size).to.equal(4);
  });

  for (const nodes of wide([1, 2, 3, 4, 5], [3])) {
    it(`N=${nodes}, with a guard and without: no promise broken, and locks are granted`, async () => {
      for (const guarded of [true, false]) {
        const report = await simulate(100 + nodes, { nodes, guarded });
        expect([report.violations, report.nodes, report.guardMs > 0]).to.deep.equal([[], nodes, guarded]);
        expect(report.deeds.grants).to.be.above(0);
      }
    });
  }

  for (const nodes of wide([3, 4, 5], [3])) {
    it(`N=${nodes}, a minority of masters is wrong for good: no promise broken, and locks are granted`, async () => {
      for (const guarded of [true, false]) {
        const options = { nodes, guarded, wrongServers: true, history: true };
        const report = await simulate(200 + nodes, options);
        expect(report.violations).to.deep.equal([]);
        expect(report.deeds.grants).to.be.above(0);
        const told = report.lines.filter(({ what }) => WRONG.test(what));
        expect(told.length).to.be.within(1, nodes - quorumOf(nodes));
      }
    });
  }

  further('a fault that is left out does not strike, and the others stay as they were', async () => {
    const whole = await simulate(21);
    const first = whole.plan[0]?.id ?? 0;
    const fewer = await simulate(21, { faults: whole.plan.map(({ id }) => id).filter((id) => id !== first) });
    expect(fewer.plan).to.deep.equal(whole.plan);
    expect((await simulate(21, { faults: [] })).struck).to.deep.equal({});
  });
});

describe('simulation: a smaller run that breaks the same', () => {
  further('without the faults that are not needed; its timeline marks what broke', async () => {
    // instant amnesia without a guard: beyond the model, where exclusion breaks
    const options = { guarded: false, beyond: 'amnesia', nodes: 1 } as const;
    let seed = 1;
    while ((await simulate(seed, options)).broken === 0) seed++;
    const report = await simulate(seed, options);
    const { faults, report: smallest } = await shrink(report, options, ({ broken }) => broken > 0);
    expect(faults.length).to.be.below(report.plan.length);
    expect(smallest.broken).to.be.above(0);
    for (const fault of faults) {
      const without = await simulate(seed, { ...options, faults: faults.filter((one) => one !== fault) });
      expect(without.broken, `fault ${fault} is needed`).to.equal(0);
    }
    const text = timeline(await simulate(seed, { ...options, history: true }), { about: 'CHECK' });
    expect(text).to.contain('broken, as faults beyond the model do').and.contain('PLAN');
    const aboutOne = timeline(await simulate(seed, { ...options, history: true }), { about: 'c1:1' });
    expect(aboutOne).to.match(/claim (\(whole\) )?\S+ c1:1 /);
  });
});

describe('simulation: the world', () => {
  it('carries events out in the order of their instants, and of their scheduling at the same one', async () => {
    const world = new World();
    const seen: string[] = [];
    const seeded = new Seeded('order');
    const all = Array.from({ length: 500 }, (_, i) => ({ i, atMs: seeded.whole(0, 50) }));
    for (const { i, atMs } of all) world.at(atMs, () => seen.push(`${atMs}/${i}`), i % 2 === 0);
    world.at(20, () => seen.push('never')).isCancelled = true;
    await world.run(() => false);
    const sorted = [...all].sort((one, other) => one.atMs - other.atMs || one.i - other.i);
    expect(seen).to.deep.equal(sorted.map(({ i, atMs }) => `${atMs}/${i}`));
  });

  it("settles a client's promises before the next event", async () => {
    const world = new World();
    const seen: string[] = [];
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await Promise.resolve();
      seen.push('settled');
    };
    world.at(1, () => void chain());
    world.at(1, () => seen.push('next'));
    await world.run(() => false);
    expect(seen).to.deep.equal(['settled', 'next']);
  });
});

describe('simulation: a client and its link', () => {
  function stand(resends: boolean) {
    const world = new World();
    const micros = (): number => 1e15 + Math.round(world.nowMs * 1_000);
    const server = new MemoryServer('m1', { micros, trueMs: () => world.nowMs });
    const client = new SimulatedClient('c1', world, 1);
    const late: string[] = [];
    const tell = ({ args }: { args: readonly string[] }, isOrphaned: boolean): void => {
      if (isOrphaned) late.push(args[0] ?? '');
    };
    const link = new SimulatedLink({
      world,
      client,
      server,
      seeded: new Seeded('net'),
      resends,
      hasLatePushes: false,
      tell,
    });
    const ran: string[] = [];
    server.onExecuted = ({ args }) => ran.push(args[0] ?? '');
    const set = (key: string) => link.call({ name: 'set', args: [key, 'token', 'PX', '60000', 'NX'] });
    const until = (atMs: number): Promise<void> => world.run(() => world.nowMs >= atMs);
    const tick = (): void => void world.after(1, tick);
    tick();
    return { world, server, client, link, late, ran, set, until };
  }

  it('a connection keeps the order of commands and of replies', async () => {
    const { set, ran, until } = stand(false);
    await until(500);
    const replies: number[] = [];
    for (let i = 0; i < 50; i++) void set(`k${i}`).then(() => replies.push(i));
    await until(1_500);
    expect(ran).to.deep.equal(Array.from({ length: 50 }, (_, i) => `k${i}`));
    expect(replies).to.deep.equal(Array.from({ length: 50 }, (_, i) => i));
  });

  for (const resends of [true, false]) {
    it(`a cut that lets pass what was sent: it runs, and is ${resends ? 'sent again' : 'rejected'}`, async () => {
      const { link, late, ran, set, until } = stand(resends);
      await until(500);
      const ends: string[] = [];
      void set('k').then(
        (reply) => ends.push(String(reply)),
        (error: Error) => ends.push(error.message),
      );
      link.cut(true);
      await until(2_000);
      expect(late).to.deep.equal(['k']);
      expect([ran.length, ends]).to.deep.equal(resends ? [2, ['null']] : [1, ['Connection is closed.']]);
    });
  }

  it('a partition holds messages back, and lets them go when it heals', async () => {
    const { link, ran, set, until } = stand(false);
    await until(500);
    link.block('to server');
    void set('k');
    await until(1_000);
    expect(ran).to.deep.equal([]);
    link.heal(false);
    await until(1_200);
    expect(ran).to.deep.equal(['k']);
  });

  it('a suspended client: its monotonic clock stops, timers wait, and its clock of lib knows', async () => {
    const { client, until } = stand(false);
    await until(100);
    const before = client.clock.now();
    const fired: string[] = [];
    client.wait(50, () => fired.push('timer'));
    client.suspend();
    await until(1_100);
    expect([fired, client.monotonicMs()]).to.deep.equal([[], 100]);
    client.goOn();
    expect(client.clock.now() - before).to.be.within(990, 1_030);
    await until(1_140);
    expect(fired).to.deep.equal([]);
    await until(1_200);
    expect(fired).to.deep.equal(['timer']);
  });

  it("a client's timers are those of production: one timer of its event loop for many deadlines", async () => {
    const { client, until } = stand(false);
    await until(100);
    const fired: number[] = [];
    for (let i = 0; i < 50; i++) client.deadline(200, () => fired.push(-1)).cancel();
    client.deadline(10, () => fired.push(client.monotonicMs()));
    expect([client.pending, client.armed]).to.deep.equal([1, 1]);
    await until(400);
    expect([fired, client.pending, client.armed]).to.deep.equal([[110], 0, 0]);
  });

  it('a paused client: what comes in waits; timers first, then sockets, then deadlines', async () => {
    const { client, until } = stand(false);
    await until(100);
    const seen: string[] = [];
    client.deadline(10, () => seen.push('deadline'));
    client.wait(20, () => seen.push('timer'));
    client.pause();
    client.hear(() => seen.push('socket'));
    await until(200);
    expect(seen).to.deep.equal([]);
    client.goOn();
    await until(210);
    expect(seen).to.deep.equal(['timer', 'socket', 'deadline']);
  });

  for (const [title, comesIn] of [
    ['just as it goes on', (hear: () => void): void => hear()],
    [
      'when it is paused again just then',
      (hear: () => void, client: SimulatedClient): void => {
        client.pause();
        hear();
      },
    ],
  ] as const) {
    it(`a client that was paused: what comes in ${title} waits behind what came in before`, async () => {
      const { client, until } = stand(false);
      await until(100);
      const seen: string[] = [];
      client.pause();
      for (const name of ['first', 'second']) client.hear(() => seen.push(name));
      await until(200);
      client.goOn();
      comesIn(() => client.hear(() => seen.push('third')), client);
      await until(210);
      if (client.isPaused) expect(seen).to.deep.equal([]);
      client.goOn();
      await until(220);
      expect(seen).to.deep.equal(['first', 'second', 'third']);
    });
  }
});

describe('simulation: plans and command lines', () => {
  it('without a guard no data is lost; beyond the model it is', () => {
    const terms = {
      servers: 3,
      clients: 3,
      untilMs: 60_000,
      awayMs: 0,
      isCalm: false,
      isFull: false,
      failsOver: false,
      silencesPushes: false,
      favoured: [],
    };
    for (let seed = 0; seed < 50; seed++) {
      const seeded = new Seeded(`plan ${seed}`);
      const plan = drawPlan(seeded, { ...terms, isGuarded: false, beyond: undefined });
      expect(plan.every(({ data }) => data === 'kept')).to.equal(true);
      expect(plan.some(({ kind }) => /emptied|replaced|server clock/.test(kind))).to.equal(false);
    }
  });

  it('a checker reports what is broken, with the instant', () => {
    const world = new World(true);
    const checker = new Checker(world, { isBeyond: false });
    checker.fail('progress', 'nothing moves');
    expect(checker.violations).to.deep.equal([{ property: 'progress', atMs: 0, text: 'nothing moves' }]);
  });

  const REFUSED = [
    ['--nodes', '0'],
    ['--seeds', '-1'],
    ['--minutes', '0'],
    ['--beyond', 'all'],
    ['--guarded', 'maybe'],
    ['--faults', '1,x'],
  ] as const;
  for (const [name, value] of REFUSED) {
    it(`npm run simulate -- ${name} ${value} is refused, by name and value`, () => {
      expect(() => parseOptions([`${name}=${value}`])).to.throw(Error, new RegExp(`${name} must be .*got `));
    });
  }
});
