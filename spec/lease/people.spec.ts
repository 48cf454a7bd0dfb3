/** Names of holders and waiters, from one instance to another, over masters in memory and under virtual time. */
import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { BEHIND_CLAIM_MS, RECORD_LIFE_MS, REFRESH_MS } from '../../lib/lease/record-writer.js';
import { MOST_LEASES, readRecord } from '../../lib/lease/instance-record.js';
import { waitPercentile } from '../../lib/telemetry/wait-times.js';
import { clientKey, counterKey, noteKey } from '../../lib/protocol/keys.js';
import { type Command, fingerprint } from '../../lib/redis/transport.js';
import { publicPart } from '../../lib/runtime/random.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import type { RedlockEvents } from '../../lib/telemetry/events.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { WALL_US } from '../support/fake-master.js';
import { rejection } from '../support/rejection.js';

const PROCESS = { host: 'db-1', pid: 4711, version: '1.2.3', startedAtMs: 1_790_000_000_000 };
const LABEL = 'db-1:4711';
const FACTS = { label: LABEL, host: 'db-1', pid: 4711, version: '1.2.3', startedAt: 1_790_000_000_000 };
const NODE_TIMEOUT_MS = 200;

function bench(nodes = 3, options: RedlockOptions = {}): Bench {
  return fakeCluster(
    nodes,
    { nodeTimeoutMs: NODE_TIMEOUT_MS, ...options },
    { process: PROCESS, hasPushes: true },
  );
}

const calls = ({ masters }: Bench): readonly number[] => masters.map((master) => master.calls);

describe('names: inspect', () => {
  it('N=3: the holder by label, host, process and version, since when, and its note; by token nobody', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    const lease = await one.redlock.acquire('r', { note: 'import 42' });
    await one.time.advance(1_500);
    const seen = await redlock.inspect('r');
    const id = publicPart(lease.token);
    const since = Math.floor((lease.fence ?? 0) / 1_000);
    const holder = fingerprint(lease.token);
    expect(seen.heldBy).to.deep.equal({ id, ...FACTS, holder, since, heldMs: 1_500, note: 'import 42' });
    expect(since, 'the masters’ time').to.equal(Math.floor(WALL_US / 1_000 + 1_000));
    for (const node of seen.nodes) expect(node).to.deep.include({ holder, heldBy: { id, ...FACTS } });
    expect(JSON.stringify(seen)).to.not.contain(lease.token);
  });

  it('N=3: waiters by name, in order, each with the time that it has waited', async () => {
    const one = bench();
    await one.redlock.acquire('r');
    const waiting = ['first', 'second'].map((name) => {
      const { redlock } = one.other(name, { label: name, nodeTimeoutMs: NODE_TIMEOUT_MS });
      return { redlock, end: new AbortController() };
    });
    const waits = [];
    for (const { redlock, end } of waiting) {
      waits.push(redlock.acquire('r', { waitMs: Infinity, signal: end.signal }).catch(() => undefined));
      await one.time.advance(1_000);
    }
    const { waiters } = await one.redlock.inspect('r');
    expect(waiters.map(({ label }) => label)).to.deep.equal(['first', 'second']);
    expect(waiters[0]?.waitedMs).to.be.within(1_900, 2_000);
    expect(waiters[1]?.waitedMs).to.be.within(900, 1_000);
    for (const { end } of waiting) end.abort();
    await Promise.all(waits);
  });

  it('held for longer than the counter lives: since when comes from the record', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    const lease = await one.redlock.acquire('r', { renew: true });
    await one.time.advance(300_000);
    expect(one.masters[0]?.value(counterKey('r')), 'the counter is gone').to.equal(undefined);
    const { heldBy } = await redlock.inspect('r');
    expect(heldBy).to.include({
      label: LABEL,
      since: Math.floor((lease.fence ?? 0) / 1_000),
      heldMs: 300_000,
    });
  });

  it('the same for the oldest of more leases than a record has', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    const leases = [];
    for (let i = 0; i <= MOST_LEASES; i++) leases.push(await one.redlock.acquire(`r${i}`, { renew: true }));
    await one.time.advance(300_000);
    const [first, last] = [await redlock.inspect('r0'), await redlock.inspect(`r${MOST_LEASES}`)];
    expect(first.heldBy?.since).to.equal(Math.floor((leases[0]?.fence ?? 0) / 1_000));
    expect(last.heldBy).to.include({ label: LABEL }).and.not.have.property('since');
  });

  it('shared locks: readers, a writer, and holders of permits, each with its note', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    const reader = await one.redlock.readWriteLock('rw').read.acquire({ note: 'reads' });
    const other = await one.redlock.readWriteLock('rw').read.acquire({ note: 'reads too' });
    await one.time.advance(BEHIND_CLAIM_MS);
    const readers = (await redlock.readWriteLock('rw').read.inspect()).heldBy;
    const since = WALL_US / 1_000 + 1_000;
    expect(readers.map((by) => [by.label, by.note, by.since, by.heldMs])).to.have.deep.members([
      [LABEL, 'reads', since, BEHIND_CLAIM_MS],
      [LABEL, 'reads too', since, BEHIND_CLAIM_MS],
    ]);
    await reader.release();
    await other.release();
    const writer = await one.redlock.readWriteLock('rw').write.acquire({ note: 'writes' });
    await one.time.advance(2_000);
    expect((await redlock.readWriteLock('rw').read.inspect()).heldBy).to.deep.equal([
      {
        ...{ id: publicPart(writer.token), ...FACTS, holder: fingerprint(writer.token), note: 'writes' },
        ...{ since: Math.floor((writer.fence ?? 0) / 1_000), heldMs: 2_000 },
      },
    ]);
    await one.redlock.semaphore('s', 3).acquire({ permits: 2, note: 'exports' });
    expect((await redlock.semaphore('s', 3).inspect()).heldBy[0]).to.include({
      label: LABEL,
      note: 'exports',
    });
  });

  it('permits, and a mutex without fencing: since when is published within 20 s, whatever an earlier fencing token is', async () => {
    const one = bench();
    await (await one.redlock.acquire('r')).release();
    await one.time.advance(5_000);
    await one.redlock.semaphore('s', 3).acquire({ permits: 2 });
    await one.redlock.acquire('r', { fencing: false });
    const since = Math.floor(WALL_US / 1_000) + one.time.now();
    await one.time.advance(REFRESH_MS);
    const { redlock } = one.other('asker');
    const [mutex, semaphore] = [await redlock.inspect('r'), await redlock.semaphore('s', 3).inspect()];
    for (const heldBy of [mutex.heldBy, semaphore.heldBy[0]])
      expect(heldBy).to.include({ label: LABEL, since, heldMs: REFRESH_MS });
  });

  it('a holder without a label, or of another library: no name, and the lock as before', async () => {
    const one = bench();
    const quiet = one.other('quiet', { label: false });
    await quiet.redlock.acquire('r', { waitMs: 0 });
    await one.time.advance(REFRESH_MS);
    expect(one.masters.map((master) => master.value(clientKey('', 'quiet')))).to.deep.equal(
      Array.from({ length: 3 }, () => undefined),
    );
    const { heldBy, state } = await one.redlock.inspect('r');
    expect([state, heldBy?.label, heldBy?.id]).to.deep.equal([
      'held',
      undefined,
      publicPart(quiet.random.tokens[0] ?? ''),
    ]);
    for (const master of one.masters) master.set('foreign', 'of another library', 5_000);
    expect(await one.redlock.inspect('foreign')).to.not.have.property('heldBy');
  });

  it('whoever can write there cannot put control characters into what is shown', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'mine' });
    await one.time.advance(BEHIND_CLAIM_MS);
    for (const master of one.masters) {
      master.set(
        clientKey('', publicPart(lease.token)),
        '{"label":"\\u001b[2J","host":"a\\nb","pid":5}',
        9_000,
      );
      master.set(noteKey('r', fingerprint(lease.token)), '\u001B]0;x', 9_000);
    }
    const { heldBy } = await one.other('asker').redlock.inspect('r');
    expect(heldBy).to.not.have.any.keys('label', 'host', 'note');
    expect(heldBy?.pid).to.equal(5);
  });
});

describe('names: records', () => {
  it('N=3: one command for each master in 20 s, however many locks; none for a claim', async () => {
    const one = bench(3, { fencing: false });
    const lease = await one.redlock.acquire('r');
    const before = calls(one);
    await one.time.advance(BEHIND_CLAIM_MS);
    expect(calls(one)).to.deep.equal(before.map((count) => count + 1));
    for (let i = 0; i < 10; i++) await one.redlock.acquire(`r${i}`);
    await one.time.advance(REFRESH_MS - BEHIND_CLAIM_MS - 1);
    expect(calls(one)).to.deep.equal(before.map((count) => count + 11));
    await lease.release();
  });

  it('it outlives the instance’s last lease by a minute; close deletes it at once', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r');
    const key = clientKey('', publicPart(lease.token));
    await one.time.advance(REFRESH_MS);
    expect(one.masters[0]?.ttlMs(key)).to.be.at.most(RECORD_LIFE_MS);
    await lease.release();
    await one.time.advance(REFRESH_MS + RECORD_LIFE_MS);
    expect(one.masters.map((master) => master.value(key))).to.deep.equal([undefined, undefined, undefined]);
    await one.redlock.acquire('r');
    await one.time.advance(BEHIND_CLAIM_MS);
    expect(one.masters[0]?.value(key)).to.contain(LABEL);
    const closing = one.redlock.close({ releaseHeld: true });
    await one.time.advance(NODE_TIMEOUT_MS);
    await closing;
    expect(one.masters[0]?.value(key)).to.equal(undefined);
    expect(one.time.pending, 'no timer is left').to.equal(0);
  });

  it('it has what the instance has done, as of its last write', async () => {
    const one = bench(3, { localTurns: 0 });
    const lease = await one.redlock.acquire('r');
    const waiting = one.redlock.acquire('r');
    await one.time.advance(1_000);
    await lease.release();
    await (await waiting).release();
    const id = publicPart(lease.token);
    const counts = () => readRecord(id, String(one.masters[0]?.value(clientKey('', id))))?.counts;
    expect(counts()?.waits.reduce((sum, count) => sum + count, 0)).to.equal(1);
    await one.time.advance(REFRESH_MS);
    const { acquired, ageMs, lost, waits = [] } = counts() ?? {};
    expect([acquired, ageMs, lost]).to.deep.equal([2, REFRESH_MS + BEHIND_CLAIM_MS, 0]);
    expect([waits[0], waitPercentile(waits, 0.99)]).to.satisfy(
      ([short = 0, long = 0]: readonly number[]) => short === 1 && long >= 1_000 && long < 1_190,
    );
  });

  it('the option keyPrefix is part of its key, and of that of a note', async () => {
    const one = bench(1, { keyPrefix: 'app:' });
    const lease = await one.redlock.acquire('r', { note: 'x' });
    await one.time.advance(BEHIND_CLAIM_MS);
    const [master] = one.masters;
    expect(master?.value(`quorate:client:app:{${publicPart(lease.token)}}`)).to.contain(LABEL);
    expect(master?.value(`quorate:note:{app:r}:${fingerprint(lease.token)}`)).to.equal('x');
    expect((await one.redlock.inspect('r')).heldBy).to.include({ label: LABEL, note: 'x' });
  });
});

describe('names: LOCK_TAKEN', () => {
  it('N=3: error.heldBy and its text name the holder, for how long, and its note; its JSON too', async () => {
    const one = bench();
    await one.redlock.acquire('r', { note: 'import 42' });
    await one.time.advance(12_300);
    const { redlock } = one.other('asker');
    const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.message).to.match(
      /^"r" is taken: .*\. It is held by db-1:4711, for 12\.3 s \(import 42\)\.$/,
    );
    expect(error.heldBy).to.include({ ...FACTS, note: 'import 42', heldMs: 12_300 });
    expect(error.toJSON().heldBy).to.deep.equal(error.heldBy);
    expect([error.attempts, error.tally.length, error.resources]).to.deep.equal([1, 3, ['r']]);
  });

  it('N=3: who fails again and again asks once a second', async () => {
    const one = bench();
    await one.redlock.acquire('r');
    await one.time.advance(BEHIND_CLAIM_MS);
    const { redlock } = one.other('asker');
    await rejection(redlock.acquire('r', { waitMs: 0 }));
    const sent = () =>
      one.masters.flatMap((master) => master.sent.filter(({ kind }) => kind === 'inspect')).length;
    expect(sent()).to.equal(3);
    for (let i = 0; i < 20; i++) {
      const { heldBy } = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(heldBy?.label).to.equal(LABEL);
    }
    expect(sent()).to.equal(3);
  });

  it('calls that give null, elections and jobs ask nobody', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    await one.redlock.acquire('r');
    expect(await redlock.tryAcquire('r')).to.equal(null);
    expect(await redlock.mutex('r').tryAcquire()).to.equal(null);
    const once = redlock.runOnce('r', 60_000, () => undefined);
    await one.time.advance(15_000);
    expect(await once).to.deep.equal({ executed: false, reason: 'running' });
    const end = new AbortController();
    const leading = redlock.election('r').lead(() => undefined, { signal: end.signal });
    await one.time.advance(1_000);
    end.abort();
    await leading.catch(() => undefined);
    expect(one.masters[0]?.sent.filter(({ kind }) => kind === 'inspect')).to.deep.equal([]);
  });

  it('N=3, two masters fall silent: the error comes within one node timeout more, with its code', async () => {
    const one = bench();
    await one.redlock.acquire('r');
    const { redlock } = one.other('asker');
    for (const master of one.masters.slice(0, 2)) {
      const { call } = master;
      const freezing = (command: Command): Promise<unknown> => {
        if (scriptOf(command)?.name === 'inspect') master.manner = 'freeze';
        return call.call(master, command);
      };
      Object.assign(master, { call: freezing });
    }
    let error: unknown;
    const failing = redlock.acquire('r', { waitMs: 0 }).catch((reason: unknown) => (error = reason));
    await one.time.advance(NODE_TIMEOUT_MS - 1);
    expect(error, 'it is looked up').to.equal(undefined);
    await one.time.advance(1);
    await failing;
    expect(error).to.include({ code: 'LOCK_TAKEN', heldBy: undefined });
    expect((error as Error).message).to.not.contain('It is held by');
  });

  it('another call of this instance has it: it is named, and no master is asked', async () => {
    const one = bench();
    await one.redlock.acquire('r');
    const before = calls(one);
    const error = await rejection(one.redlock.acquire('r', { waitMs: 0 }));
    expect(error.heldBy).to.include({ label: LABEL, pid: 4711 });
    expect(error.message).to.contain('It is held by db-1:4711');
    expect(calls(one)).to.deep.equal(before);
  });

  it('several resources: which one it is', async () => {
    const one = bench();
    await one.redlock.acquire('b');
    await one.time.advance(BEHIND_CLAIM_MS);
    const { redlock } = one.other('asker');
    const error = await rejection(redlock.acquire(['a', 'b'], { waitMs: 0 }));
    expect(error.message).to.contain('"b" is held by db-1:4711');
  });
});

describe('names: events', () => {
  it('contended and waiting have the holder once it is known, and never wait for it', async () => {
    const one = bench();
    await one.redlock.acquire('r');
    await one.time.advance(BEHIND_CLAIM_MS);
    const { redlock } = one.other('asker');
    const heard: (string | undefined)[] = [];
    redlock.on('contended', ({ heldBy }) => heard.push(heldBy?.label));
    redlock.on('waiting', ({ heldBy }) => heard.push(heldBy?.label));
    const waits = () => rejection(redlock.acquire('r', { waitMs: 50 }));
    const first = waits();
    await one.time.advance(300);
    await first;
    expect(heard[0]).to.equal(undefined);
    heard.length = 0;
    const second = waits();
    await one.time.advance(300);
    await second;
    expect(heard).to.include(LABEL).and.to.not.include(undefined);
  });

  it('lost to others: the first event of a lock begins the look-up, a later one has the holder', async () => {
    const one = bench();
    const { redlock } = one.other('asker');
    const lost: RedlockEvents['lost'][] = [];
    redlock.on('lost', (event) => lost.push(event));
    const reader = () => redlock.readWriteLock('rw').read.acquire();
    const leases = [await reader(), await reader()];
    for (const master of one.masters) master.delete('rw');
    await one.redlock.readWriteLock('rw').write.acquire();
    await one.time.advance(BEHIND_CLAIM_MS);
    for (const lease of leases) {
      await rejection(lease.extend());
      await one.time.advance(0);
    }
    expect(lost.map(({ cause, heldBy }) => [cause.code, heldBy?.label])).to.deep.equal([
      ['LOCK_LOST', undefined],
      ['LOCK_LOST', LABEL],
    ]);
  });

  it('lost without a refusal: nobody is asked', async () => {
    const one = bench(3, { ttlMs: 1_000 });
    const lost: RedlockEvents['lost'][] = [];
    one.redlock.on('lost', (event) => lost.push(event));
    await one.redlock.acquire('r');
    await one.time.advance(1_000);
    expect(lost.map((event) => 'heldBy' in event)).to.deep.equal([false]);
    expect(one.masters[0]?.sent.filter(({ kind }) => kind === 'inspect')).to.deep.equal([]);
  });
});
