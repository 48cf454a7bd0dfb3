/** Renewals of many leases that fall due together, as leases and masters take them. */
import { expect } from 'chai';
import { RESERVED_MARK } from '../../lib/runtime/random.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { Grant } from '../../lib/quorum/grant.js';
import { validUntilMsOf } from '../support/insides.js';
import type { Lease } from '../../lib/lease/public.js';
import { MAX_LENGTH } from '../../lib/node/batch.js';
import { Node } from '../../lib/node/node.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Extension, type Renewer, renewTogether } from '../../lib/quorum/renewal-batch.js';
import { nodeTimeoutOf } from '../../lib/protocol/node-timeout.js';
import { GRANTED } from '../../lib/protocol/quorum.js';
import { BATCH, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { type Script, scriptDigest } from '../../lib/redis/script.js';
import { entriesOf, type EntryKind, isBatch } from '../support/entries.js';
import type { Command } from '../../lib/redis/transport.js';
import { plainScope } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { wide } from '../support/breadth.js';

const TERMS = {
  ...{ ttlMs: 1_000, nodeTimeoutMs: 50, isPatient: false },
  ...{ onEnd: () => undefined, onLate: () => undefined },
};
const MANY = 600;
const TTL_MS = 9_000;
/** ttl / 3, less the sixteenth that a renewal among many may be early. */
const EARLIEST_MS = Math.floor(TTL_MS / 3 - TTL_MS / 16) - 1;
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

interface Kept extends Bench {
  readonly leases: readonly Lease[];
  /** The calls that a master got since, and how many extensions they were. */
  readonly calls: readonly (readonly Command[])[];
}

/** So many leases that are renewed, taken at one instant. */
async function keep(nodes: number, options: RedlockOptions = {}): Promise<Kept> {
  const bench = fakeCluster(nodes, { ttlMs: TTL_MS, ...options });
  const names = Array.from({ length: MANY }, (_, i) => `r${i}`);
  const leases = await Promise.all(names.map((name) => bench.redlock.acquire(name, { renew: true })));
  await settle();
  const calls = bench.masters.map(callsOf);
  for (const master of bench.masters) master.sent.length = 0;
  return { ...bench, leases, calls };
}

/** So many leases of each kind. */
const OF_EACH = 20;

/** Leases of each kind that are renewed, one kind after another, over and over. */
async function keepAll(nodes: number): Promise<Kept> {
  const bench = fakeCluster(nodes, { ttlMs: TTL_MS });
  const { redlock } = bench;
  const options = { renew: true };
  const taken = Array.from({ length: OF_EACH }, (_, i) => [
    redlock.acquire(`x${i}`, options),
    redlock.readWriteLock(`r${i}`).read.acquire(options),
    redlock.semaphore(`s${i}`, 1).acquire(options),
    redlock.readWriteLock(`w${i}`).write.acquire(options),
  ]);
  const leases = await Promise.all(taken.flat());
  await settle();
  const calls = bench.masters.map(callsOf);
  for (const master of bench.masters) master.sent.length = 0;
  return { ...bench, leases, calls };
}

/** The calls that it gets from here on. */
function callsOf(master: FakeMaster): Command[] {
  const own: Command[] = [];
  const call = master.call.bind(master);
  master.call = (command) => {
    own.push(command);
    return call(command);
  };
  return own;
}

const extensions = (master: FakeMaster): number => master.sent.filter(({ kind }) => kind === 'extend').length;

const statuses = (leases: readonly Lease[]): readonly string[] => [
  ...new Set(leases.map(({ status }) => status)),
];

const holdAll = (masters: readonly FakeMaster[], leases: readonly Lease[]): boolean =>
  masters.every((master) =>
    leases.every(({ resources: [name = ''], token }) => master.value(name) === token),
  );

/** Until a call of many is on its way to each of these. @returns when that is */
async function untilAsked(time: FakeTime, masters: readonly FakeMaster[]): Promise<number> {
  await time.advance(EARLIEST_MS);
  while (masters.some((master) => extensions(master) < 100)) await time.advance(1);
  return time.now();
}

describe('renewals of many leases', () => {
  for (const nodes of wide([1, 2, 3, 4, 5], [1, 3])) {
    it(`N=${nodes}: all of them in a few calls to each master, for as long as they are held`, async () => {
      const { calls, leases, masters, time } = await keep(nodes);
      await time.advance(TTL_MS / 3);
      for (const [i, master] of masters.entries()) {
        expect(extensions(master)).to.equal(MANY);
        expect(calls[i]?.length).to.be.at.most(Math.ceil(MANY / 256) + 1); // the first few go by themselves
      }
      for (const lease of leases) expect(lease.remainingMs()).to.be.above(TTL_MS * 0.9);
      await time.advance(TTL_MS * 10);
      expect(statuses(leases)).to.deep.equal(['held']);
      expect(holdAll(masters, leases)).to.equal(true);
      for (const own of calls) expect(own.every(isBatch)).to.equal(true);
    });

    it(`N=${nodes}: a call follows as soon as a quorum has answered the one before, or after 8 ms`, async () => {
      for (const [answering, apartMs] of [
        [nodes, 2],
        [quorumOf(nodes), 2],
        [quorumOf(nodes) - 1, 8],
      ] as const) {
        const { masters, time } = await keep(nodes);
        for (const [i, master] of masters.entries()) {
          if (i < answering) master.latencyMs = 2;
          else master.manner = 'freeze';
        }
        const fromMs = await untilAsked(time, masters);
        const asked = [];
        for (const inMs of [0, apartMs - 1, apartMs, 2 * apartMs - 1, 2 * apartMs]) {
          await time.advance(fromMs + inMs - time.now());
          asked.push(masters.map(extensions));
        }
        const each = [256, 256, 512, 512, 592]; // and the first eight at their own instant
        expect(asked).to.deep.equal(each.map((count) => masters.map(() => count)));
      }
    });

    it(`N=${nodes}: none before its time, none after it`, async () => {
      const { masters, time } = await keep(nodes);
      await time.advance(EARLIEST_MS);
      expect(masters.map(extensions)).to.deep.equal(masters.map(() => 0));
      await time.advance(TTL_MS / 3 - EARLIEST_MS);
      expect(masters.map(extensions)).to.deep.equal(masters.map(() => MANY));
    });

    it(`N=${nodes}: one that a quorum gave to another is lost, and no other is`, async () => {
      const { leases, masters, time } = await keep(nodes);
      const [first, ...others] = leases;
      const reasons: unknown[] = [];
      first?.signal.addEventListener('abort', () => reasons.push(first.signal.reason));
      for (const master of masters.slice(0, quorumOf(nodes))) master.set('r0', 'somebody', 60_000);
      await time.advance(TTL_MS / 3 + 1);
      expect([first?.status, ...statuses(others)]).to.deep.equal(['lost', 'held']);
      expect(reasons).to.have.lengthOf(1);
      expect((reasons[0] as { code?: string }).code).to.equal('LOCK_LOST');
      for (const master of masters.slice(0, quorumOf(nodes))) expect(master.value('r0')).to.equal('somebody');
      await time.advance(TTL_MS * 3);
      expect(statuses(others)).to.deep.equal(['held']);
    });

    it(`N=${nodes}: keys that are gone are set again`, async () => {
      const { leases, masters, time } = await keep(nodes);
      for (const master of masters.slice(0, nodes - quorumOf(nodes) + 1)) master.forget();
      await time.advance(TTL_MS / 3);
      expect(statuses(leases)).to.deep.equal(['held']);
      expect(holdAll(masters, leases)).to.equal(true);
    });

    it(`N=${nodes}: masters that forgot their scripts cost a second call, and no lease`, async () => {
      const { leases, masters, time } = await keep(nodes);
      for (const master of masters) master.knowsScripts = false;
      await time.advance(TTL_MS / 3);
      for (const lease of leases) expect(lease.remainingMs()).to.be.above(TTL_MS * 0.9);
      expect(holdAll(masters, leases)).to.equal(true);
    });

    it(`N=${nodes}: a quorum is frozen, and a node timeout is longer than the validity that is left: loss is signalled by the end of validity nevertheless`, async () => {
      const { masters, redlock, time } = fakeCluster(nodes, { ttlMs: 10_000, nodeTimeoutMs: 3_000 });
      const leases = await Promise.all(
        ['a', 'b', 'c'].map((name) => redlock.acquire(name, { renew: true })), // renewed together, three times
      );
      const endMs = Math.max(...leases.map(validUntilMsOf));
      const toldAtMs = leases.map(() => NaN);
      leases.forEach((lease, i) => lease.signal.addEventListener('abort', () => (toldAtMs[i] = time.now())));
      for (const master of masters.slice(0, quorumOf(nodes))) master.manner = 'freeze';
      await time.advance(20_000);
      for (const atMs of toldAtMs) expect(atMs).to.be.within(endMs - 2, endMs);
    });

    it(`N=${nodes}: a frozen quorum costs all leases, and each is signalled by the end of its validity`, async () => {
      const { leases, masters, time } = await keep(nodes);
      const endMs = Math.max(...leases.map(validUntilMsOf));
      const toldAtMs = leases.map(() => NaN);
      leases.forEach((lease, i) => lease.signal.addEventListener('abort', () => (toldAtMs[i] = time.now())));
      for (const master of masters.slice(0, quorumOf(nodes))) master.manner = 'freeze';
      await time.advance(TTL_MS * 2);
      expect(statuses(leases)).to.deep.equal(['lost']);
      for (const atMs of toldAtMs) expect(atMs).to.be.at.most(endMs);
      for (const master of masters) master.thaw();
      await time.advance(TTL_MS * 2);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });
  }

  for (const nodes of wide([3, 4, 5], [3])) {
    const spare = nodes - quorumOf(nodes);
    for (const manner of ['freeze', 'lose-reply', 'lose-request'] as const) {
      it(`N=${nodes}, ${spare} of them: ${manner}: all stay held, and a release then leaves nothing behind`, async () => {
        const { leases, masters, time } = await keep(nodes);
        for (const master of masters.slice(0, spare)) master.manner = manner;
        await time.advance(TTL_MS / 3);
        for (const lease of leases) expect(lease.remainingMs()).to.be.above(TTL_MS * 0.9);
        await Promise.all(leases.map((lease) => lease.release()));
        for (const master of masters) master.thaw();
        await time.advance(TTL_MS * 2);
        expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
        expect(time.pending).to.equal(0);
      });
    }

    it(`N=${nodes}: given back while the masters have not answered, none is set again`, async () => {
      const { leases, masters, time } = await keep(nodes);
      for (const master of masters) master.manner = 'freeze';
      await untilAsked(time, masters);
      const released = Promise.all(leases.map((lease) => lease.release()));
      for (const master of masters) master.thaw();
      await time.advance(1);
      await released;
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
      await time.advance(TTL_MS);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}: one master's connection breaks before it answers: what ended is undone there`, async () => {
      const { leases, masters, time } = await keep(nodes);
      const [broken] = masters;
      if (broken === undefined) return;
      broken.manner = 'lose-reply';
      await untilAsked(time, [broken]);
      broken.cut();
      await Promise.all(leases.map((lease) => lease.release()));
      broken.manner = 'answer';
      broken.become('ready');
      await time.advance(TTL_MS / 2);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: given away while the masters have not answered: not renewed any more, and not taken back`, async () => {
      const { leases, masters, time } = await keep(nodes);
      for (const master of masters) master.manner = 'freeze';
      await untilAsked(time, masters);
      const asked = masters.map(extensions);
      for (const lease of leases) lease.giveAway();
      await time.advance(TTL_MS / 9);
      expect(masters.map(extensions)).to.deep.equal(asked);
      for (const master of masters) master.thaw();
      await time.advance(TTL_MS / 2);
      expect(holdAll(masters, leases)).to.equal(true);
      await time.advance(TTL_MS);
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });
  }

  for (const nodes of wide([1, 3, 5], [3])) {
    it(`N=${nodes}: leases of all kinds: a call to each master for the exclusive ones, and one for the others`, async () => {
      const { leases, masters, time, calls } = await keepAll(nodes);
      await time.advance(TTL_MS / 3);
      for (const own of calls) {
        const isBy = ({ args }: Command, { source }: Script): boolean =>
          args[0] === source || args[0] === scriptDigest(source);
        const shared = own.filter((one) => isBy(one, SHARED_BATCH));
        const exclusive = own.filter((one) => isBy(one, BATCH));
        expect(own.length).to.equal(shared.length + exclusive.length);
        // the first few go by themselves
        for (const { length } of [shared, exclusive]) expect(length).to.be.within(1, 2);
        const kinds = shared.flatMap(entriesOf).map(({ kind }) => kind);
        const each = (kind: EntryKind): number => kinds.filter((one) => one === kind).length;
        expect([each('rw-extend'), each('permit-extend')]).to.deep.equal([2 * OF_EACH, OF_EACH]);
      }
      for (const lease of leases) expect(lease.remainingMs()).to.be.above(TTL_MS * 0.9);
      await time.advance(TTL_MS * 5);
      expect(statuses(leases)).to.deep.equal(['held']);
      await Promise.all(leases.map((lease) => lease.release()));
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: of all kinds, and masters that forgot their scripts: a second call each, and no lease is lost`, async () => {
      const { leases, masters, time } = await keepAll(nodes);
      for (const master of masters) master.knowsScripts = false;
      await time.advance(TTL_MS / 3);
      for (const lease of leases) expect(lease.remainingMs()).to.be.above(TTL_MS * 0.9);
      await time.advance(TTL_MS);
      expect(statuses(leases)).to.deep.equal(['held']);
      for (const { sent } of masters) expect(sent.at(-1)?.command.name).to.equal('evalsha'); // it was taught
    });
  }

  it('N=3: one of a semaphore whose permits others have by now is lost, and no other is', async () => {
    const { leases, masters, time } = await keepAll(3);
    const one = leases.find(({ resources: [name] }) => name === 's0');
    for (const master of masters.slice(0, 2)) {
      const taken = { 'other:1': `0|${Math.floor(master.micros() / 1_000) + 60_000}|1` };
      master.delete('s0');
      master.setFields('s0', taken);
    }
    await time.advance(TTL_MS / 3 + 1);
    expect(one?.status).to.equal('lost');
    await time.advance(TTL_MS);
    expect(statuses(leases.filter((lease) => lease !== one))).to.deep.equal(['held']);
  });

  it('N=3: given back while a master that extended them is away: undone there until the last extension has run out', async () => {
    const { leases, masters, time } = await keep(3);
    const [away, ...others] = masters;
    if (away === undefined) return;
    const startMs = time.now();
    away.manner = 'lose-reply';
    for (const master of others) master.manner = 'freeze'; // the renewal is not over yet
    await untilAsked(time, masters);
    away.cut();
    const released = Promise.all(leases.map((lease) => lease.release()));
    for (const master of others) master.thaw();
    await time.advance(1);
    await released;
    expect(away.size).to.be.above(100);
    await time.advance(startMs + TTL_MS * 1.1 - time.now()); // what was there before the renewal is over by now
    expect(away.size).to.be.above(100);
    away.manner = 'answer';
    away.become('ready');
    await time.advance(TTL_MS / 9);
    expect(away.size).to.equal(0);
  });

  it('N=3: given away just before the masters say yes: not asked for again', async () => {
    const { leases, masters, time } = await keep(3);
    for (const master of masters) master.latencyMs = 20;
    await untilAsked(time, masters);
    for (const lease of leases) lease.giveAway();
    const asked = masters.map(extensions);
    await time.advance(TTL_MS / 9);
    expect(masters.map(extensions)).to.deep.equal(asked);
  });

  it('N=3: a client that gives commands up by itself: the others renew, the silent one gets few more, and nothing is left behind', async () => {
    const { leases, masters, time } = await keep(3);
    const [silent] = masters;
    if (silent === undefined) return;
    silent.manner = 'freeze';
    await untilAsked(time, [silent]);
    silent.timeOutByClient();
    for (let i = 0; i < 30; i++) {
      await time.advance(TTL_MS / 3);
      silent.timeOutByClient();
    }
    expect(statuses(leases)).to.deep.equal(['held']);
    expect(silent.unanswered).to.be.below(30);
    await Promise.all(leases.map((lease) => lease.release()));
    silent.thaw();
    await time.advance(TTL_MS * 2);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('N=3: a master that stays silent gets a bounded number of calls', async () => {
    const { calls, leases, masters, time } = await keep(3);
    const [silent] = masters;
    if (silent === undefined) return;
    silent.manner = 'freeze';
    await time.advance(TTL_MS * 20);
    expect(statuses(leases)).to.deep.equal(['held']);
    expect(calls[0]?.length).to.be.below(20);
  });

  it('N=3: a quorum that answers after the end of validity extends nothing, even if no timer has noticed the end', async () => {
    const { leases, masters, time } = await keep(3);
    for (const master of masters) master.manner = 'freeze';
    await untilAsked(time, masters);
    time.stall(TTL_MS * 0.75);
    for (const master of masters) master.thaw();
    await settle();
    expect(statuses(leases)).to.deep.equal(['lost']);
    expect(leases.map((lease) => lease.remainingMs()).some((ms) => ms > 0)).to.equal(false);
  });

  it('N=3: validity counts from the instant at which it was sent', async () => {
    const { leases, masters, time } = await keep(3);
    for (const master of masters) master.manner = 'freeze';
    await untilAsked(time, masters);
    const sentByMs = time.now();
    await time.advance(150);
    for (const master of masters) master.thaw();
    await settle();
    const ends = leases.map(validUntilMsOf).sort((one, other) => one - other);
    const extended = ends.filter((endMs) => endMs > TTL_MS * 1.2);
    expect(extended.length).to.be.above(100);
    for (const endMs of extended.slice(0, 100)) expect(endMs).to.be.at.most(sentByMs + TTL_MS * 0.99 - 2);
  });

  it('N=3: a master that does not know the script learns it, and renews the next time', async () => {
    const { masters, leases, time } = await keep(3);
    const [forgetful] = masters;
    if (forgetful === undefined) return;
    forgetful.knowsScripts = false;
    await time.advance(TTL_MS / 3);
    await time.advance(TTL_MS / 3);
    for (const { resources } of leases) expect(forgetful.ttlMs(resources[0] ?? '')).to.be.above(TTL_MS * 0.9);
  });

  it('N=3: renewed for long, then given back while a master is away: undone there when it is back', async () => {
    const { leases, masters, time } = await keep(3);
    await time.advance(TTL_MS * 3);
    const [away] = masters;
    away?.become('lost');
    await Promise.all(leases.map((lease) => lease.release()));
    away?.become('ready');
    await time.advance(TTL_MS / 3);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('N=3: leases with and without fencing, of several resources, of two ttls', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ttlMs: TTL_MS });
    const leases = await Promise.all(
      Array.from({ length: MANY }, (_, i) =>
        redlock.acquire(i % 3 === 0 ? [`a${i}`, `b${i}`] : `a${i}`, {
          renew: true,
          fencing: i % 2 === 0,
          ttlMs: i % 5 === 0 ? TTL_MS : TTL_MS * 2,
        }),
      ),
    );
    await time.advance(TTL_MS * 6);
    expect(statuses(leases)).to.deep.equal(['held']);
    for (const master of masters) expect(master.size).to.equal(MANY + MANY / 3);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('a cluster gets each by itself', async () => {
    const bench = fakeCluster(1, { ttlMs: TTL_MS }, { isCluster: true });
    const names = Array.from({ length: 20 }, (_, i) => `r${i}`);
    const leases = await Promise.all(names.map((name) => bench.redlock.acquire(name, { renew: true })));
    const [master] = bench.masters;
    const before = master?.calls ?? 0;
    await bench.time.advance(TTL_MS / 3);
    expect((master?.calls ?? 0) - before).to.equal(20);
    expect(statuses(leases)).to.deep.equal(['held']);
  });
});

describe('renewals: one call', () => {
  interface Scene {
    readonly time: FakeTime;
    readonly masters: readonly FakeMaster[];
    readonly nodes: readonly Node[];
    readonly grants: readonly Grant[];
    readonly owed: [string, string][];
    /** Tokens of leases that ended while they were renewed. */
    readonly dropped: string[];
    /** Which of them may be extended soon where they were not, and where. */
    readonly missed: [number, string][];
    /** How each of them ended. */
    readonly ends: string[];
    /** Of those that a quorum extended only after that: when the call had been sent. */
    readonly late: Record<string, number>;
    send(): void;
    /** How often it was told that a quorum has extended them all. */
    answered(): number;
  }

  /** Four leases, held by three masters. @param timeoutsMs  the node timeout of each @param names  of what is held */
  function scene(
    sentTo?: (nodes: readonly Node[]) => readonly Node[],
    timeoutsMs: readonly number[] = [50, 50, 50, 50],
    names: readonly string[] = ['a', 'b', 'c', 'd'],
  ): Scene {
    const time = new FakeTime();
    const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
    const nodes = masters.map((master, i) => new Node(master, i, time));
    const grants = names.map((name) => {
      for (const master of masters) master.set(name, `t${name}`, 1_000);
      return new Grant(plainScope(name), `t${name}`, 0, sentTo?.(nodes) ?? nodes);
    });
    const owed: [string, string][] = [];
    const dropped: string[] = [];
    const missed: [number, string][] = [];
    const ends = grants.map(() => 'open');
    const late: Record<string, number> = {};
    const owe = (node: Node, { token }: Grant): void => void owed.push([node.name, token]);
    const due = grants.map(
      (grant, i) => new Extension(grant, { ...TERMS, nodeTimeoutMs: timeoutsMs[i] ?? 50 }),
    );
    const renewer: Renewer = {
      parts: { nodes, clock: time, timers: time },
      owe,
      onDropped: ({ grant }) => void dropped.push(grant.token),
      onExtended: (one, sentAtMs) => void (ends[due.indexOf(one)] = `extended from ${sentAtMs}`),
      onLate: (one, sentAtMs) => void (late[one.grant.token] = sentAtMs),
      onUnsure: (one) => void (ends[due.indexOf(one)] = 'unsure'),
      onMissed: (one, node) => void missed.push([due.indexOf(one), node.name]),
    };
    let answered = 0;
    return {
      time,
      masters,
      nodes,
      grants,
      owed,
      dropped,
      missed,
      ends,
      late,
      send: () => renewTogether(renewer, due, () => void answered++),
      answered: () => answered,
    };
  }

  it('is followed by the undo or release of a lease, once on each connection, while it is in flight', async () => {
    const { grants, masters, nodes, send } = scene();
    const [first, second] = masters;
    for (const master of [first, second]) if (master !== undefined) master.manner = 'freeze';
    send();
    await settle();
    const sent = grants[0]?.open[0];
    const look = (): unknown[] => nodes.map((node) => sent?.owes(node));
    expect(look()).to.deep.equal([true, true, false]);
    expect(nodes.map((node) => sent?.follow(node))).to.deep.equal([true, true, false]);
    expect(look()).to.deep.equal([false, false, false]);
    expect(nodes.map((node) => sent?.follow(node))).to.deep.equal([false, false, false]);
    const other = grants[1]?.open[0];
    expect(nodes.map((node) => other?.owes(node))).to.deep.equal([true, true, false]);
  });

  it('calls back once when a quorum has extended all of them', async () => {
    const { answered, ends, masters, send, time } = scene();
    const [slow] = masters;
    if (slow !== undefined) slow.manner = 'freeze';
    send();
    expect(answered()).to.equal(0);
    await settle();
    expect([...new Set(ends)]).to.deep.equal([`extended from ${time.now()}`]);
    expect(answered()).to.equal(1);
    slow?.thaw();
    await settle();
    expect(answered()).to.equal(1);
  });

  it('does not call back if one of them has to be renewed alone', async () => {
    const { answered, ends, masters, send } = scene();
    for (const master of masters.slice(1)) master.set('a', 'somebody', 1_000);
    send();
    await settle();
    expect([ends[0], answered()]).to.deep.equal(['unsure', 0]);
  });

  it('is open for its leases until all masters have answered, and no longer', async () => {
    const { ends, grants, masters, send, time } = scene();
    const [slow] = masters;
    if (slow === undefined) return;
    slow.manner = 'freeze';
    send();
    await settle();
    expect(ends).to.deep.equal(grants.map(() => `extended from ${time.now()}`));
    expect(grants.map(({ open }) => open.length)).to.deep.equal([1, 1, 1, 1]);
    slow.thaw();
    await settle();
    expect(grants.map(({ open }) => open.length)).to.deep.equal([0, 0, 0, 0]);
  });

  for (const follows of [false, true]) {
    it(`a master that sets a key of a lease that has ended owes its undo, ${follows ? 'unless that followed' : 'if nothing followed'}`, async () => {
      const { grants, masters, nodes, owed, send } = scene();
      const [slow] = masters;
      if (slow === undefined) return;
      slow.manner = 'freeze';
      send();
      await settle();
      const [grant] = grants;
      const [node] = nodes;
      if (grant === undefined || node === undefined) return;
      if (follows) grant.open[0]?.follow(node);
      grant.end();
      slow.thaw();
      await settle();
      expect(owed).to.deep.equal(follows ? [] : [['m1', 'ta']]);
    });
  }

  it('likewise where a master refused one of the others', async () => {
    const { grants, masters, owed, send } = scene();
    const [slow] = masters;
    if (slow === undefined) return;
    slow.manner = 'freeze';
    slow.set('d', 'somebody', 1_000);
    send();
    await settle();
    for (const grant of grants) grant.end();
    slow.thaw();
    await settle();
    expect(owed).to.deep.equal(['ta', 'tb', 'tc'].map((token) => ['m1', token]));
  });

  it('one that was given back or away before it was sent is not in it; one that was meanwhile is not extended', async () => {
    const { ends, grants, masters, send, time } = scene();
    grants[0]?.end();
    send();
    expect(masters[0]?.sent.length).to.equal(3);
    expect(ends[0]).to.equal('unsure');
    grants[1]?.end();
    grants[2]?.giveAway();
    await settle();
    expect(ends).to.deep.equal(['unsure', 'unsure', 'unsure', `extended from ${time.now()}`]);
  });

  it('masters that do not answer count as silent from then on, and all is unsure', async () => {
    const { ends, masters, nodes, send, time } = scene();
    for (const master of masters.slice(0, 2)) master.manner = 'freeze';
    send();
    await time.advance(49);
    expect(ends).to.deep.equal(['open', 'open', 'open', 'open']);
    await time.advance(1);
    expect(ends).to.deep.equal(['unsure', 'unsure', 'unsure', 'unsure']);
    expect(nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([false, false, true]);
    expect(time.pending).to.equal(0);
  });

  it('answered by a quorum after that: each is told once, with the instant of its sending', async () => {
    const { ends, late, masters, send, time } = scene();
    for (const master of masters) master.manner = 'freeze';
    masters[0]?.set('b', 'somebody', 1_000);
    masters[1]?.set('b', 'somebody', 1_000);
    const sentAtMs = time.now();
    send();
    await time.advance(60);
    expect([...new Set(ends)]).to.deep.equal(['unsure']);
    masters[0]?.thaw();
    await settle();
    expect(late).to.deep.equal({});
    masters[1]?.thaw();
    await settle();
    expect(late).to.deep.equal({ ta: sentAtMs, tc: sentAtMs, td: sentAtMs });
    for (const token of Object.keys(late)) delete late[token];
    masters[2]?.thaw();
    await settle();
    expect(late).to.deep.equal({});
  });

  it('answered by a quorum in time: the last answer tells nothing', async () => {
    const { late, masters, send } = scene();
    const [slow] = masters;
    if (slow !== undefined) slow.manner = 'freeze';
    send();
    await settle();
    slow?.thaw();
    await settle();
    expect(late).to.deep.equal({});
  });

  it('masters have no longer to answer than the shortest node timeout among them, whichever comes first', async () => {
    for (const timeoutsMs of [
      [20, 900, 900, 900],
      [900, 20, 900, 900],
      [900, 900, 900, 20],
    ]) {
      const { ends, masters, send, time } = scene(undefined, timeoutsMs);
      for (const master of masters.slice(0, 2)) master.manner = 'freeze';
      send();
      await time.advance(19);
      expect([...new Set(ends)]).to.deep.equal(['open']);
      await time.advance(1);
      expect([...new Set(ends)]).to.deep.equal(['unsure']);
    }
  });

  it('masters that do not answer: of the longest node timeout, its rest is left for the second try of each', async () => {
    const { grants, masters, nodes, send, time } = scene(undefined, [0, 0, 0, 0]);
    send(); // now it is known how fast they are
    await settle();
    for (const master of masters) master.manner = 'freeze';
    send();
    await time.advance(100);
    const leftMs = grants.map(({ open: [one] }) =>
      one instanceof Extension ? nodeTimeoutOf(nodes, one) : 0,
    );
    expect(leftMs).to.deep.equal([150, 150, 150, 150]); // of ttl / 4
  });

  it('with fewer than a quorum connected nothing is sent', async () => {
    const { ends, masters, send, time } = scene();
    for (const master of masters.slice(0, 2)) master.become('lost');
    send();
    expect(ends).to.deep.equal(['unsure', 'unsure', 'unsure', 'unsure']);
    expect(masters.map(({ sent }) => sent.length)).to.deep.equal([0, 0, 0]);
    expect(time.pending).to.equal(0);
  });

  it('goes to masters also that did not hold the lease before, which it notes', async () => {
    const { grants, nodes, send } = scene((all) => all.slice(0, 2));
    send();
    await settle();
    for (const { sentTo } of grants) expect(sentTo).to.have.members(nodes);
  });

  it('one by itself does not go this way', () => {
    const { grants, masters, send, ends } = scene();
    for (const grant of grants.slice(1)) grant.end();
    send();
    expect([ends[0], masters[0]?.sent.length]).to.deep.equal(['unsure', 0]);
  });

  it('a reply of another shape is no yes', async () => {
    for (const reply of [[1, 1, 1], 3, 'OK', null, [1, 1, 1, 'odd'], [[0, 5, 0], 1, 1, 1]]) {
      const { ends, masters, send } = scene();
      for (const master of masters.slice(0, 2)) master.replies.push(reply);
      send();
      await settle();
      expect(ends, JSON.stringify(reply)).to.include('unsure');
    }
  });

  it('two go together, in one call: the first to a master has the source of its script', async () => {
    const { ends, grants, masters, send, time } = scene();
    const calls: Command[] = [];
    const [first] = masters;
    const call = first?.call.bind(first);
    if (first === undefined || call === undefined) return;
    first.call = (command) => {
      calls.push(command);
      return call(command);
    };
    for (const grant of grants.slice(2)) grant.end();
    send();
    await settle();
    send();
    await settle();
    expect(ends.slice(0, 2)).to.deep.equal(new Array(2).fill(`extended from ${time.now()}`));
    expect(calls.map(({ name }) => name)).to.deep.equal(['eval', 'evalsha']);
    expect(time.pending).to.equal(0);
  });

  it('a quorum of connected masters is enough', async () => {
    const { ends, grants, masters, send, time } = scene();
    masters[0]?.become('lost');
    send();
    await settle();
    expect(ends).to.deep.equal(grants.map(() => `extended from ${time.now()}`));
  });

  /** Two of them fill a call. */
  const LONG = ['a', 'b', 'c', 'd', 'e'].map((name) => name.repeat(MAX_LENGTH / 2));

  it('more than fit into one call: as many calls as they need, and it calls back after the last', async () => {
    const { answered, ends, grants, masters, send, time } = scene(undefined, [], LONG.slice(0, 4));
    send();
    expect(masters.map(({ calls }) => calls)).to.deep.equal([2, 2, 2]);
    await settle();
    expect(ends).to.deep.equal(grants.map(() => `extended from ${time.now()}`));
    expect(answered()).to.equal(1);
    for (const [i, master] of masters.entries())
      expect(
        master.sent.map(({ keys }) => keys[0]),
        `m${i + 1}`,
      ).to.deep.equal(LONG.slice(0, 4));
  });

  it('if only one is left for the last call, it goes alone', async () => {
    const { answered, ends, send, time } = scene(undefined, [], LONG);
    send();
    await settle();
    expect(ends).to.deep.equal([...new Array<string>(4).fill(`extended from ${time.now()}`), 'unsure']);
    expect(answered()).to.equal(0);
  });

  it('a master that refuses one of them extends the others', async () => {
    const { ends, masters, missed, send, time } = scene();
    masters[1]?.set('d', 'somebody', 1_000);
    masters[2]?.replies.push(new Error('ERR busy'));
    send();
    await settle();
    expect(ends).to.deep.equal([...new Array<string>(3).fill(`extended from ${time.now()}`), 'unsure']);
    expect(missed).to.deep.equal([[3, 'm2']]); // after an error, nothing is to be expected soon
  });

  it('all have answered, with errors: unsure at once, and nothing is in flight any more', async () => {
    const { ends, grants, masters, send, time } = scene();
    for (const master of masters) master.replies.push(new Error('ERR busy'));
    send();
    await settle();
    expect(ends).to.deep.equal(['unsure', 'unsure', 'unsure', 'unsure']);
    expect(grants.map(({ open }) => open.length)).to.deep.equal([0, 0, 0, 0]);
    expect(time.pending).to.equal(0);
  });

  it('a call that the client gave up may still run: the release of a lease follows it', async () => {
    const { ends, grants, masters, nodes, send } = scene();
    for (const master of masters) master.manner = 'freeze';
    send();
    await settle();
    for (const master of masters) master.timeOutByClient();
    await settle();
    expect(ends).to.deep.equal(['unsure', 'unsure', 'unsure', 'unsure']);
    const sent = grants[0]?.open[0];
    expect(nodes.map((node) => sent?.owes(node))).to.deep.equal([true, true, true]);
  });

  it('a lease that ends meanwhile says so, if it is in a call', async () => {
    const { dropped, grants, masters, send } = scene();
    for (const master of masters) master.manner = 'freeze';
    send();
    await settle();
    grants[1]?.setAside();
    expect(dropped).to.deep.equal(['tb']);
  });

  it('each knows what the masters have answered for it', async () => {
    const { grants, masters, send } = scene();
    masters[1]?.set('d', 'somebody', 1_000);
    if (masters[2] !== undefined) masters[2].manner = 'freeze';
    send();
    await settle();
    const kinds = grants.map(({ open: [one] }) =>
      one instanceof Extension ? one.outcomes.map((outcome) => outcome?.kind) : [],
    );
    const extended = ['granted', 'granted'];
    expect(kinds).to.deep.equal([extended, extended, extended, ['granted', 'refused']]);
    masters[2]?.thaw();
    await settle();
  });

  it('a reply of another shape tells nothing of any of them', async () => {
    const { grants, masters, send } = scene();
    masters[0]?.replies.push(null);
    if (masters[2] !== undefined) masters[2].manner = 'freeze';
    send();
    await settle();
    const outcomes = grants.flatMap(({ open }) =>
      open.map((one) => one instanceof Extension && one.outcomes),
    );
    expect(outcomes).to.deep.equal(grants.map(() => [undefined, GRANTED]));
    masters[2]?.thaw();
    await settle();
  });

  it('one that goes alone is in no call', () => {
    const { grants, nodes } = scene();
    const [grant] = grants;
    const [node] = nodes;
    if (grant === undefined || node === undefined) return;
    const alone = new Extension(grant, TERMS);
    alone.drop();
    expect(alone.outcomes).to.deep.equal([]);
    expect([alone.owes(node), alone.follow(node), alone.isFollowedAt(node)]).to.deep.equal([
      false,
      false,
      false,
    ]);
  });

  it('NOSCRIPT at one master: its leases may be extended there soon', async () => {
    const { masters, missed, nodes, send, time } = scene();
    for (const node of nodes) node.introductions.introduces(BATCH);
    if (masters[1] !== undefined) masters[1].knowsScripts = false;
    send();
    await time.advance(1);
    expect(missed).to.deep.equal([0, 1, 2, 3].map((i) => [i, 'm2']));
  });

  it('data under the name of one of them: it will not be extended there soon', async () => {
    const { ends, masters, missed, send, time } = scene();
    masters[0]?.delete('c');
    masters[0]?.setFields('c', { field: 'value' });
    send();
    await time.advance(1);
    expect([missed, new Set(ends).size]).to.deep.equal([[], 1]);
  });

  it('a waiter that was asked to let its vote rest: that lease may be extended there soon', async () => {
    const { grants, masters, missed, send, time } = scene();
    const [master] = masters;
    const waiter = tokenFrom('waiter', '1');
    if (master !== undefined) master.publish = () => 1; // it listens
    master?.set(grants[2]?.keys[0] ?? '', waiter + RESERVED_MARK, 1_000);
    send();
    await time.advance(1);
    expect(missed).to.deep.equal([[2, 'm1']]);
  });
});
