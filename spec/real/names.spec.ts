/** Names of holders and waiters on real servers: from process to process, over each client, and where rights are missing. */
import { hostname } from 'node:os';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { RECORD_LIFE_MS } from '../../lib/lease/record-writer.js';
import { clientKey, noteKey } from '../../lib/protocol/keys.js';
import type { Inspection } from '../../lib/lease/inspection.js';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { quorate } from '../command/support/program.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, type AnyClient, byHand, eventually, Program, startCluster } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const NODES = 3;

describe(`names: N=${NODES}, real masters`, () => {
  let masters: Masters;
  let hands: readonly Redis[];
  const locks: Redlock[] = [];
  const clients: AnyClient[] = [];
  const programs: Program[] = [];
  before(async () => {
    masters = await startMasters(NODES, { backend: 'process' });
    hands = masters.list.map(({ port }) => byHand(port));
  });
  after(async () => {
    for (const hand of hands) hand.disconnect();
    await masters.stop();
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) program.kill();
    await Promise.all(locks.splice(0).map((redlock) => redlock.close({ releaseHeld: true, drainMs: 0 })));
    for (const client of clients.splice(0)) client.disconnect();
    for (const hand of hands) await hand.flushall();
  });
  const open = (options: RedlockOptions = {}, urls = masters.urls): Redlock => {
    const redlock = Redlock.connect(urls, { ...PATIENT, ...options });
    locks.push(redlock);
    return redlock;
  };
  const hold = async (...args: readonly string[]): Promise<Program> => {
    const program = new Program('hold-noted', masters.urls.join(), ...args);
    programs.push(program);
    await program.says('held');
    return program;
  };
  /** Once the holder's record and its note have arrived. */
  const named = async (redlock: Redlock, name: string): Promise<NonNullable<Inspection['heldBy']>> => {
    let heldBy: Inspection['heldBy'];
    await eventually(async () => {
      ({ heldBy } = await redlock.inspect(name));
      return heldBy?.label !== undefined && heldBy.note !== undefined;
    });
    if (heldBy === undefined) throw new Error('it was just there');
    return heldBy;
  };

  it('another process: inspect, LOCK_TAKEN and quorate status name it, and why it holds the lock', async () => {
    const holder = await hold('r', 'import 42');
    const label = `${hostname()}:${holder.process.pid}`;
    const redlock = open();
    const heldBy = await named(redlock, 'r');
    expect(heldBy).to.include({ label, host: hostname(), pid: holder.process.pid, note: 'import 42' });
    const fence = Number(holder.said[0]?.split(' ')[1]);
    expect(heldBy.since, 'the fencing token is the masters’ time').to.equal(Math.floor(fence / 1_000));
    const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
    expect(error.message)
      .to.contain(`It is held by ${label}, for `)
      .and.to.match(/\(import 42\)\.$/);
    expect(error.heldBy).to.include({ label, note: 'import 42' });
    const { out } = await quorate(['status', 'r'], { env: { QUORATE_NODES: masters.urls.join() } });
    expect(out).to.contain(`held by ${label} (`).and.to.contain('note: import 42');
  });

  it('a waiter is named in inspect and in quorate status, with the time that it has waited', async () => {
    const redlock = open({ label: 'holder' });
    await redlock.acquire('r');
    const end = new AbortController();
    const waiting = open({ label: 'waiter' }).acquire('r', { signal: end.signal });
    await eventually(async () => (await redlock.inspect('r')).waiters[0]?.label === 'waiter');
    expect((await redlock.inspect('r')).waiters[0]?.waitedMs).to.be.at.least(0);
    const { out } = await quorate(['status', 'r'], { env: { QUORATE_NODES: masters.urls.join() } });
    expect(out).to.match(/\n +waiter +waits for\n1 +waiter +\w{10} +[\d.]+ m?s\n/);
    end.abort();
    await rejection(waiting);
  });

  it('killed: its record is gone within a minute, its note within its ttl', async () => {
    const holder = await hold('r', 'import 42', '20000');
    const { id, holder: print = '' } = await named(open(), 'r');
    holder.kill();
    await holder.ends();
    const lives = async (key: string): Promise<number> =>
      Math.max(...(await Promise.all(hands.map((hand) => hand.pttl(key)))));
    expect(await lives(clientKey('', id))).to.be.within(0, RECORD_LIFE_MS); // −1: without expiry
    expect(await lives(noteKey('r', print))).to.be.within(0, 20_000);
  });

  it('closed: nothing is left of it but counters', async () => {
    const redlock = open({ label: 'api-3' });
    const lease = await redlock.acquire('r', { note: 'x' });
    await named(open(), 'r');
    await lease.release();
    await redlock.close();
    for (const hand of hands)
      await eventually(async () => (await hand.keys('*')).every((key) => key.startsWith('quorate:fence:')));
  });

  for (const { name, open: connect } of ALL_KINDS) {
    for (const database of [0, 3]) {
      it(`${name}, database ${database}: a holder is named there`, async () => {
        const own = masters.list.map(({ port }) =>
          connect(port, name.startsWith('io') ? { db: database } : { database }),
        );
        clients.push(...own);
        const redlock = new Redlock(own, { ...PATIENT, label: name });
        locks.push(redlock);
        await redlock.acquire('r', { note: 'x' });
        expect((await named(redlock, 'r')).label).to.equal(name);
        const hand = byHand(masters.list[0]?.port ?? 0, { db: database });
        expect(await hand.keys('quorate:client:*')).to.have.length(1);
        hand.disconnect();
      });
    }
  }

  it('rights that leave out records and notes: locks work, nobody is named, and the doctor notes it once', async () => {
    const keys = [
      '~lock:*',
      ...['fence', 'queue', 'turn', 'looks', 'taken', 'guard', 'doctor'].map((kind) => `~quorate:${kind}*`),
    ];
    for (const hand of hands)
      await hand.call(
        'ACL',
        'SETUSER',
        'narrow',
        'reset',
        'on',
        '>password',
        ...keys,
        '&quorate:push:*',
        '+@all',
      );
    const urls = masters.urls.map((url) => url.replace('redis://', 'redis://narrow:password@'));
    const redlock = open({ keyPrefix: 'lock:', label: 'narrow' }, urls);
    const lease = await redlock.acquire('r', { note: 'import 42' });
    await lease.extend();
    const asker = open({ keyPrefix: 'lock:' }, urls);
    const error = await rejection(asker.acquire('r', { waitMs: 0 }));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.heldBy).to.include({ holder: (await asker.inspect('r')).holder });
    expect([error.heldBy?.label, error.heldBy?.note]).to.deep.equal([undefined, undefined]);
    const { findings } = await redlock.diagnose({ driftOverMs: 0 });
    const [note, ...others] = findings.filter(({ code }) => code === 'NAMES');
    expect([note?.severity, note?.nodes.length, others.length]).to.deep.equal(['note', NODES, 0]);
    expect(findings.filter(({ code }) => code === 'RIGHTS')).to.deep.equal([]);
    await lease.release();
    expect((await asker.inspect('r')).state).to.equal('free');
  });

  it('the documented rights suffice: the doctor finds nothing about names', async () => {
    const { findings } = await open().diagnose({ driftOverMs: 0 });
    expect(findings.filter(({ code }) => code === 'NAMES')).to.deep.equal([]);
  });

  it('a Redis Cluster of three shards as the one master: the holder is named', async () => {
    const cluster = await startCluster(3);
    try {
      for (const { name, openCluster } of ALL_KINDS) {
        const client = openCluster(cluster.list[0]?.port ?? 0);
        clients.push(client);
        const redlock = new Redlock([client], { ...PATIENT, label: name });
        locks.push(redlock);
        for (const resource of ['a', 'b', 'c']) {
          await redlock.acquire(`${name} ${resource}`, { note: resource });
          expect(await named(redlock, `${name} ${resource}`)).to.include({ label: name, note: resource });
        }
      }
      await Promise.all(locks.splice(0).map((redlock) => redlock.close({ releaseHeld: true, drainMs: 0 })));
    } finally {
      for (const client of clients.splice(0)) client.disconnect();
      await cluster.stop();
    }
  });
});
