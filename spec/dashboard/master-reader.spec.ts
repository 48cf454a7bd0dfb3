/** One master, as it is asked: under virtual time, and by its scripts on a real server. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { MasterReader } from '../../lib/dashboard/master-reader.js';
import { clientKey } from '../../lib/protocol/keys.js';
import type { Command, Transport } from '../../lib/redis/transport.js';
import { transportOver } from '../../lib/redis/client.js';
import { SystemClock, SystemTimers } from '../../lib/runtime/clock.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { FakeTime } from '../support/fake-time.js';
import { PATIENT } from '../support/patience.js';
import { byHand } from '../support/real.js';

describe('a master that is asked: virtual time', () => {
  let time: FakeTime;
  let sent: Command[];
  /** Settles the oldest question. */
  let answers: ((reply: unknown) => void)[];
  let transport: Transport & { isReady: boolean; state: Transport['state'] };
  let reader: MasterReader;

  beforeEach(() => {
    time = new FakeTime();
    [sent, answers] = [[], []];
    transport = {
      ...{
        name: 'a:1',
        isCluster: false,
        keyPrefix: '',
        isReady: true,
        state: 'ready',
        lossReason: undefined,
      },
      call: (command) => {
        sent.push(command);
        return new Promise((resolve, reject) => {
          answers.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)));
        });
      },
      watch: () => () => undefined,
    };
    reader = new MasterReader(transport, { keyPrefix: '', clock: time, timers: time });
  });

  it('its clock, to within half of the round trip, and its latency', async () => {
    const asked = reader.time();
    await time.advance(20);
    answers[0]?.([String(5_000), '0']);
    expect(await asked).to.equal(5_000_000 + 10 - time.now());
    expect([reader.latencyMs, reader.state]).to.deep.equal([20, 'up']);
  });

  it('frozen: silent after a second, asked nothing more until it answers, and then up again', async () => {
    const first = reader.time();
    await time.advance(1_000);
    expect(await first).to.equal(undefined);
    expect([reader.state, reader.cause]).to.deep.equal(['silent', 'no reply within 1000 ms']);
    for (let round = 0; round < 10; round++) {
      await reader.time();
      await reader.scan();
      await reader.read(['x'], new Set());
      await reader.ask();
    }
    expect([sent.length, reader.state]).to.deep.equal([1, 'silent']);
    answers[0]?.(['1', '0']);
    await time.advance(0);
    const again = reader.time();
    answers[1]?.(['2', '0']);
    await again;
    expect([sent.length, reader.state, reader.cause]).to.deep.equal([2, 'up', undefined]);
  });

  it('not connected: down, with the reason, and nothing is sent', async () => {
    Object.assign(transport, {
      isReady: false,
      state: 'lost',
      lossReason: new Error('connect ECONNREFUSED'),
    });
    expect(await reader.time()).to.equal(undefined);
    expect([reader.state, sent.length]).to.deep.equal(['down', 0]);
    expect(reader.cause).to.contain('ECONNREFUSED');
  });

  it('a question that is refused: up, with the reason', async () => {
    const timed = reader.time();
    answers[0]?.(['1', '0']);
    await timed;
    const scanned = reader.scan();
    answers[1]?.(new Error("NOPERM this user has no permissions to run the 'scan' command"));
    expect((await scanned).isOver).to.equal(false);
    expect(reader.state).to.equal('up');
    expect(reader.cause).to.contain('NOPERM');
  });

  it('a scan: ten steps a round at most, and it goes on where it was', async () => {
    const step = async (cursor: string): Promise<void> => {
      await time.advance(0);
      answers[sent.length - 1]?.([cursor, [`lock-${cursor}`], [`me-${cursor}`]]);
    };
    const first = reader.scan();
    for (let i = 1; i <= 10; i++) await step(String(i));
    expect(await first).to.deep.include({ isOver: false });
    expect(sent).to.have.length(10);
    const second = reader.scan();
    await step('0');
    expect(await second).to.deep.equal({ names: ['lock-0'], clients: ['me-0'], isOver: true });
    expect(sent[10]?.args[2]).to.equal('10');
  });
});

describe('a master that is asked: N=1, real master', function () {
  let masters: Masters;
  let hand: Redis;
  let redlock: Redlock;
  let reader: MasterReader;
  before(async () => {
    masters = await startMasters(1, { backend: 'process' });
    hand = byHand(masters.list[0]?.port ?? 0);
    redlock = Redlock.connect(masters.urls, PATIENT);
    await redlock.ready();
    const place = { keyPrefix: '', clock: new SystemClock(), timers: new SystemTimers() };
    reader = new MasterReader(transportOver(hand), place);
  });
  after(async () => {
    hand.disconnect();
    await redlock.close({ releaseHeld: true, drainMs: 0 });
    await masters.stop();
  });
  afterEach(() => hand.flushall());

  async function found(): Promise<readonly string[]> {
    const names = new Set<string>();
    for (;;) {
      const scanned = await reader.scan();
      for (const name of scanned.names) names.add(name);
      if (scanned.isOver) return [...names].sort();
    }
  }

  it('it finds locks by their keys, queues, leaders and jobs, with whatever is in a name', async () => {
    const names = ['plain', 'with{tag}', 'a}b', '{', 'spaces and\nlines', 'ü'];
    const leases = await Promise.all(names.map((name) => redlock.acquire(name)));
    await hand.zadd('quorate:queue:{waited-for}', 1, 'client12:token!');
    await hand.set('quorate:tagged:value:el{ec}tion', '1|ab|1|1|1|value');
    await hand.set('quorate:record:{job}', '1|ab|1|1|1|2|60000|d|0|0|every 60000');
    await hand.set('quorate:record:{once}', '1|ab|1|1|1|1|60000|d|0');
    expect(await found()).to.deep.equal([...names, 'waited-for', 'el{ec}tion', 'job'].sort());
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it('it looks into a set of 30,000 other keys in rounds, and finds the one lock', async () => {
    for (let i = 0; i < 30; i++)
      await hand.mset(...Array.from({ length: 1_000 }, (_, j) => [`data:${i}:${j}`, 'value']).flat());
    const lease = await redlock.acquire('one');
    expect(await found()).to.deep.equal(['one']);
    await lease.release();
  });

  it('it finds the records of instances, of its own prefix only', async () => {
    for (const key of [clientKey('', 'client12'), clientKey('', 'a-b_c-d_'), clientKey('app:', 'client34')])
      await hand.set(key, '{}');
    await hand.set('quorate:client:{odd:id}', '{}');
    expect((await reader.scan()).clients).to.have.members(['client12', 'a-b_c-d_']);
    const place = { keyPrefix: 'app:', clock: new SystemClock(), timers: new SystemTimers() };
    const other = new MasterReader(transportOver(hand), place);
    expect(await other.scan()).to.deep.equal({ names: [], clients: ['client34'], isOver: true });
  });

  it('a lock at rest, a key of another type, one that is gone: nobody holds them', async () => {
    await hand.set('rest', '~', 'PX', 60_000);
    await hand.lpush('list', '1');
    const read = await reader.read(['rest', 'list', 'gone'], new Set());
    expect([...read].map(([name, { holders, kind }]) => [name, kind, holders.length])).to.deep.equal([
      ['rest', 'mutex', 0],
      ['list', 'foreign', 0],
      ['gone', 'none', 0],
    ]);
  });

  it('waiters that have not looked for 20 s are gone', async () => {
    await hand.zadd('quorate:queue:{x}', 1, 'client12:gone', 2, 'client12:there');
    const [s] = await hand.time();
    await hand.hset('quorate:looks:{x}', 'client12:gone', `${(Number(s) - 60) * 1_000_000}|0|1|1|1|0`);
    const x = (await reader.read([], new Set(['x']))).get('x');
    expect([x?.waiting, x?.waiters.length, x?.waiters[0]?.sinceMs]).to.deep.equal([1, 1, 0.002]);
  });
});
