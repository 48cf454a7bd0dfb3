/** The doctor on real servers: each finding that a server can be brought to, the rights that it prints, and its bounds. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { Diagnosis } from '../../lib/diagnosis/diagnosis.js';
import type { FindingCode, Severity } from '../../lib/diagnosis/finding.js';
import type { DiagnoseOptions } from '../../lib/input/diagnose-options.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Master } from '../../lib/redis/masters.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { HOST } from '../../scripts/masters/wait.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually, startCluster } from '../support/real.js';
import { needs, partOf } from '../support/parts.js';
import { Distance } from './support/distance.js';
import { ServerProcess } from './support/server-process.js';

/** The C library that this process runs with. */
function libc(): string {
  const { sharedObjects } = process.report.getReport() as unknown as {
    readonly sharedObjects: readonly string[];
  };
  return sharedObjects.find((path) => /\/libc\.so/.test(path)) ?? '';
}

const NODES = 3;
const QUICK: DiagnoseOptions = { driftOverMs: 0, timeoutMs: 120_000 };
/** For what ends with it. */
const BRIEF: DiagnoseOptions = { driftOverMs: 0, timeoutMs: 5_000 };
/** What servers of the kit have that nobody should run: no append-only file. */
const OF_THE_KIT = 'NO_PERSISTENCE';
/** What a busy machine can bring about beside what is looked for. */
const BY_LOAD: readonly FindingCode[] = ['ROUND_TRIP', 'ROUND_TRIPS_APART', 'CLOCKS_APART', 'UNREACHABLE'];
const USER = 'doctor-spec';

describe(`the doctor: N=${NODES}, real servers`, function () {
  let masters: Masters;
  let hands: readonly Redis[];
  const closers: (() => Promise<void> | void)[] = [];
  before(async () => {
    masters = await startMasters(NODES, { backend: 'process' });
    hands = masters.list.map(({ port }) => byHand(port));
  });
  after(async () => {
    for (const hand of hands) hand.disconnect();
    await masters.stop();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  function open(list: readonly Master[] = masters.urls, options: RedlockOptions = {}): Redlock {
    const redlock = Redlock.connect(list, options);
    closers.push(() => redlock.close());
    return redlock;
  }

  /** Settings of the first server, until the spec is over. */
  async function configure(settings: Readonly<Record<string, string>>): Promise<void> {
    const hand = hands[0] as Redis; // three were started
    for (const [name, text] of Object.entries(settings)) {
      const [, before = ''] = await hand.config('GET', name);
      await hand.config('SET', name, text);
      closers.push(async () => void (await hand.config('SET', name, before)));
    }
  }

  const addressOf = (i: number): string => `${HOST}:${masters.list[i]?.port}`;
  const codes = ({ findings }: Diagnosis) =>
    findings.filter(({ code }) => code !== OF_THE_KIT).map(({ code, severity }) => `${code} ${severity}`);

  /** What it says once nothing is found but these, or something that no load explains. */
  async function diagnosed(
    redlock: Redlock,
    options: DiagnoseOptions,
    isWanted: (diagnosis: Diagnosis) => boolean,
  ): Promise<Diagnosis> {
    for (;;) {
      const diagnosis = await redlock.diagnose(options);
      if (isWanted(diagnosis) || !diagnosis.findings.some(({ code }) => BY_LOAD.includes(code)))
        return diagnosis;
    }
  }

  async function codesOf(
    redlock: Redlock,
    wanted: readonly string[],
    options = QUICK,
  ): Promise<readonly string[]> {
    const isWanted = (diagnosis: Diagnosis): boolean => codes(diagnosis).join() === wanted.join();
    return codes(await diagnosed(redlock, options, isWanted));
  }

  /** It is found of exactly these masters, and nothing else is. */
  async function expectOnly(
    redlock: Redlock,
    code: FindingCode,
    severity: Severity,
    ...nodes: readonly string[]
  ): Promise<Diagnosis> {
    const options = code === 'UNREACHABLE' || code === 'LOGIN_REFUSED' ? BRIEF : QUICK;
    const nodesOf = ({ findings }: Diagnosis): string | undefined =>
      findings.find((one) => one.code === code)?.nodes.join();
    const isWanted = (one: Diagnosis): boolean =>
      codes(one).join() === `${code} ${severity}` && nodesOf(one) === nodes.join();
    const diagnosis = await diagnosed(redlock, options, isWanted);
    expect(codes(diagnosis)).to.deep.equal([`${code} ${severity}`]);
    expect(nodesOf(diagnosis)).to.equal(nodes.join());
    return diagnosis;
  }

  it('servers as they should be: fit; their software, round trips and clocks are told', async () => {
    const careful = await startMasters(NODES, { backend: 'process', persist: true });
    closers.push(() => careful.stop());
    const all = { timeoutMs: 120_000 };
    const diagnosis = await diagnosed(open(careful.urls), all, ({ findings }) => findings.length === 0);
    expect(diagnosis.findings).to.deep.equal([]);
    expect(diagnosis.verdict).to.equal('fit');
    for (const { server, roundTripMs, clockAheadMs } of diagnosis.nodes) {
      expect(server).to.match(/^(?:Redis|Valkey) \d+\.\d+/);
      expect(roundTripMs?.p99).to.be.at.least(roundTripMs?.median ?? Infinity);
      expect(clockAheadMs).to.be.a('number');
    }
  });

  it('it sets no key, and leaves nobody connected or subscribed', async () => {
    await hands[0]?.flushall();
    const redlock = open();
    await redlock.diagnose(QUICK);
    for (const hand of hands) expect(await hand.dbsize()).to.equal(0);
    await redlock.close();
    await eventually(async () => {
      const lists = await Promise.all(hands.map((hand) => hand.call('CLIENT', 'LIST')));
      return lists.every((list) => !String(list).includes('quorate'));
    });
  });

  it('no append-only file: NO_PERSISTENCE, a warning; with a guard a note', async () => {
    const { findings } = await diagnosed(open(), QUICK, (one) => one.findings.length === 1);
    expect(findings).to.have.length(1);
    expect(findings[0]).to.include({ code: OF_THE_KIT, severity: 'warning' });
    expect(findings[0]?.nodes).to.deep.equal([0, 1, 2].map(addressOf));
    const guarded = await open(masters.urls, { restartGuardMs: 60_000 }).diagnose(QUICK);
    expect(guarded.findings.find(({ code }) => code === OF_THE_KIT)).to.include({
      code: OF_THE_KIT,
      severity: 'note',
    });
  });

  it('appendfsync everysec: APPENDFSYNC', async () => {
    await configure({ appendonly: 'yes', appendfsync: 'everysec' });
    await expectOnly(open(), 'APPENDFSYNC', 'warning', addressOf(0));
  });

  it('a policy that evicts: EVICTION, an error once there is a limit', async () => {
    await configure({ 'maxmemory-policy': 'allkeys-lru' });
    await expectOnly(open(), 'EVICTION', 'warning', addressOf(0));
    await configure({ maxmemory: '1gb' });
    await expectOnly(open(), 'EVICTION', 'error', addressOf(0));
  });

  it('a full memory: MEMORY', async () => {
    await configure({ maxmemory: '1' });
    await expectOnly(open(), 'MEMORY', 'error', addressOf(0));
  });

  it('a save that failed: WRITES_REFUSED', async () => {
    const args = ['--save', '3600 1', '--dbfilename', 'x', '--enable-protected-configs', 'yes'];
    const failing = await startMasters(1, { backend: 'process', args });
    const [{ port, url } = { port: 0, url: '' }] = failing.list;
    const hand = byHand(port);
    closers.push(
      () => failing.stop(),
      () => hand.disconnect(),
    );
    await hand.config('SET', 'dir', '/proc');
    await hand.bgsave();
    await eventually(async () => (await hand.info('persistence')).includes('rdb_last_bgsave_status:err'));
    await expectOnly(open([url, ...masters.urls.slice(1)]), 'WRITES_REFUSED', 'error', `${HOST}:${port}`);
  });

  it('one server behind two addresses: SAME_SERVER', async () => {
    const [first, second] = masters.list;
    const list = [`redis://${HOST}:${first?.port}`, `redis://localhost:${first?.port}`, second?.url ?? ''];
    await expectOnly(open(list), 'SAME_SERVER', 'error', addressOf(0), `localhost:${first?.port}`);
  });

  it('a replica, and a master that has one: REPLICA, HAS_REPLICAS', async () => {
    const [first, second] = hands;
    await second?.replicaof(HOST, masters.list[0]?.port ?? 0);
    closers.push(async () => void (await second?.replicaof('NO', 'ONE')));
    await eventually(async () => String(await first?.info('replication')).includes('connected_slaves:1'));
    const wanted = ['REPLICA error', 'HAS_REPLICAS warning'];
    const diagnosis = await diagnosed(open(), QUICK, (one) => codes(one).join() === wanted.join());
    expect(codes(diagnosis)).to.deep.equal(wanted);
    const [replica, master] = diagnosis.findings;
    expect([replica?.nodes, master?.nodes]).to.deep.equal([[addressOf(1)], [addressOf(0)]]);
  });

  it('a Sentinel that watches, by which one is found, or that stands for a master: SENTINEL', async () => {
    const lines = [`sentinel monitor main ${HOST} ${masters.list[0]?.port} 1`];
    const sentinel = await ServerProcess.start(lines, '--sentinel');
    closers.push(() => sentinel.stop());
    const heard = async () => (await hands[0]?.call('PUBSUB', 'NUMSUB', '__sentinel__:hello')) as unknown[];
    await eventually(async () => Number((await heard())[1]) > 0);
    await expectOnly(open(), 'SENTINEL', 'warning', addressOf(0));
    const address = { sentinels: [{ host: HOST, port: sentinel.port }], name: 'main' };
    const through = open([address, ...masters.urls.slice(1)]);
    await expectOnly(through, 'SENTINEL', 'warning', `main@${HOST}:${sentinel.port}`);
    const itself = await open([`redis://${HOST}:${sentinel.port}`, ...masters.urls.slice(1)]).diagnose(QUICK);
    expect(codes(itself)).to.include('SENTINEL error');
  });

  it('a Redis Cluster: a warning for its client, an error for a client of one of its nodes: CLUSTER', async () => {
    const cluster = await startCluster();
    closers.push(() => cluster.stop());
    const { Cluster } = await import('ioredis');
    const port = cluster.list[0]?.port ?? 0;
    const client = new Cluster([{ host: HOST, port }]);
    closers.push(() => client.disconnect());
    const redlock = new Redlock([client]);
    closers.push(() => redlock.close());
    await redlock.ready();
    expect(await codesOf(redlock, ['CLUSTER warning', 'ONE_MASTER note'])).to.have.members([
      'CLUSTER warning',
      'ONE_MASTER note',
    ]);
    const plain = open([`redis://${HOST}:${port}`]);
    expect(await codesOf(plain, ['CLUSTER error', 'ONE_MASTER note'])).to.have.members([
      'CLUSTER error',
      'ONE_MASTER note',
    ]);
  });

  it('an even number: EVEN_NUMBER; a single one: ONE_MASTER', async () => {
    await expectOnly(open(masters.urls.slice(1)), 'EVEN_NUMBER', 'warning');
    await expectOnly(open(masters.urls.slice(2)), 'ONE_MASTER', 'note');
  });

  it('a master that is dead, and one that is frozen: UNREACHABLE, within the timeout', async () => {
    const [first] = masters.list;
    await first?.freeze();
    closers.push(async () => first?.thaw());
    await expectOnly(open(), 'UNREACHABLE', 'warning', addressOf(0));
    const nobody = open([`redis://${HOST}:1`, ...masters.urls.slice(1)]);
    const dead = await expectOnly(nobody, 'UNREACHABLE', 'warning', `${HOST}:1`);
    expect(dead.findings[0]?.text).to.match(/not connected: connect ECONNREFUSED/);
  });

  it('a password that the client has not got, and a wrong one: LOGIN_REFUSED, and no password in the text', async () => {
    await hands[0]?.call('ACL', 'SETUSER', 'default', 'resetpass', '>sesame');
    closers.push(async () => void (await hands[0]?.call('ACL', 'SETUSER', 'default', 'nopass')));
    const rest = masters.urls.slice(1);
    await expectOnly(open([masters.urls[0] ?? '', ...rest]), 'LOGIN_REFUSED', 'error', addressOf(0));
    const wrong = { host: HOST, port: masters.list[0]?.port ?? 0, password: 'open-up' };
    const other = await expectOnly(open([wrong, ...rest]), 'LOGIN_REFUSED', 'error', addressOf(0));
    expect(JSON.stringify(other)).to.not.match(/sesame|open-up/);
  });

  it('a master that is far away: ROUND_TRIP, and IO_THREADS where it has several', async () => {
    const threaded = await startMasters(1, { backend: 'process', args: ['--io-threads', '2'] });
    closers.push(() => threaded.stop());
    const port = threaded.list[0]?.port ?? 0;
    const way = await Distance.to(port, 30);
    closers.push(() => way.close());
    const list = [`redis://${HOST}:${way.port}`, ...masters.urls.slice(1)];
    const wanted = ['ROUND_TRIP error', 'ROUND_TRIPS_APART warning', 'IO_THREADS warning'];
    const isOfThatOne = ({ code, nodes }: Diagnosis['findings'][number]): boolean =>
      code === OF_THE_KIT || nodes.join() === `${HOST}:${way.port}`;
    const isWanted = (one: Diagnosis): boolean =>
      codes(one).join() === wanted.join() && one.findings.every(isOfThatOne);
    expect(codes(await diagnosed(open(list, { nodeTimeoutMs: 50 }), QUICK, isWanted))).to.deep.equal(wanted);
  });

  for (const nodes of [2, 3]) {
    it(`N=${nodes}, one 40 ms away and well within the node timeout: ROUND_TRIPS_APART`, async () => {
      const way = await Distance.to(masters.list[0]?.port ?? 0, 40);
      closers.push(() => way.close());
      const far = `${HOST}:${way.port}`;
      const list = [`redis://${far}`, ...masters.urls.slice(1, nodes)];
      const trips = ({ findings }: Diagnosis) => findings.filter(({ code }) => code.startsWith('ROUND_TRIP'));
      const told = (one: Diagnosis): readonly string[] =>
        trips(one).map(({ code, severity, nodes: at }) => `${code} ${severity} ${at.join()}`);
      const wanted = [`ROUND_TRIPS_APART warning ${far}`];
      const diagnosis = await diagnosed(open(list), QUICK, (one) => told(one).join() === wanted.join());
      const found = trips(diagnosis);
      expect(told(diagnosis)).to.deep.equal(wanted);
      expect(found[0]?.text).to.match(
        /^Half of the round trips take \d+ ms or more; at most other masters they take [\d.]+ ms/,
      );
    });
  }

  it('few connections left: CONNECTIONS', async () => {
    await configure({ maxclients: '3' });
    const { findings } = await open().diagnose(QUICK);
    const finding = findings.find(({ code }) => code === 'CONNECTIONS');
    expect(finding?.nodes).to.deep.equal([addressOf(0)]);
  });

  it('different databases, and one that the server has not got: DATABASE', async () => {
    const [first = '', ...rest] = masters.urls;
    const different = open([`${first}/3`, ...rest]);
    await expectOnly(different, 'DATABASE', 'error', ...[0, 1, 2].map(addressOf));
    const beyond = open(masters.urls.map((url) => `${url}/999`));
    await expectOnly(beyond, 'DATABASE', 'error', ...[0, 1, 2].map(addressOf));
  });

  describe('clocks', () => {
    /**
     * A server with a clock of its own: the machine's own server, since one that brings its own libraries takes none of ours.
     *
     * @param fake  as libfaketime takes it
     */
    async function startAt(fake: string): Promise<string> {
      const before = { ...process.env };
      delete process.env['QUORATE_REDIS_SERVER'];
      // with the C library before jemalloc, which asks for the time before libfaketime is ready
      process.env['LD_PRELOAD'] = [partOf('libfaketime'), libc()].join(' ');
      process.env['FAKETIME'] = fake;
      process.env['FAKETIME_DONT_FAKE_MONOTONIC'] = '1';
      try {
        const odd = await startMasters(1, { backend: 'process' });
        closers.push(() => odd.stop());
        return odd.urls[0] ?? '';
      } finally {
        for (const name of ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC'])
          delete process.env[name];
        Object.assign(process.env, before);
      }
    }

    it('a clock that is ahead: CLOCKS_APART, a warning from 100 ms, an error from 500 ms on', async function () {
      needs(this, 'libfaketime');
      const rest = masters.urls.slice(1);
      const near = open([await startAt('+0.3s'), ...rest]);
      expect(await codesOf(near, ['CLOCKS_APART warning'])).to.deep.equal(['CLOCKS_APART warning']);
      const isWanted = (one: Diagnosis): boolean =>
        codes(one).join() === 'CLOCKS_APART error' &&
        Math.abs((one.nodes[1]?.clockAheadMs ?? 0) - 5_000) < 1_000;
      const far = await diagnosed(open([await startAt('-5s'), ...rest]), QUICK, isWanted);
      expect(codes(far)).to.deep.equal(['CLOCKS_APART error']);
      expect(far.nodes[1]?.clockAheadMs).to.be.within(4_000, 6_000);
    });

    it('a clock that is fast by five in a hundred: CLOCK_DRIFT', async function () {
      needs(this, 'libfaketime');
      const url = await startAt('+0 x1.05');
      const redlock = open([url, ...masters.urls.slice(1)]);
      const driftIn = ({ findings }: Diagnosis) => findings.find(({ code }) => code === 'CLOCK_DRIFT');
      const isFound = (one: Diagnosis): boolean => driftIn(one)?.nodes.length === 1;
      const drift = driftIn(await diagnosed(redlock, { driftOverMs: 1_000, timeoutMs: 120_000 }, isFound));
      expect(drift).to.include({ severity: 'error' });
      expect(drift?.nodes).to.deep.equal([new URL(url).host]);
    });
  });

  describe('rights', () => {
    async function allow(...rules: readonly string[]): Promise<void> {
      for (const hand of hands) await hand.call('ACL', 'SETUSER', USER, 'reset', 'on', '>secret', ...rules);
      closers.push(async () => {
        for (const hand of hands) await hand.call('ACL', 'DELUSER', USER);
      });
    }

    const asUser = (more: object = {}): readonly Master[] =>
      masters.list.map(({ port }) => ({
        host: HOST,
        port,
        username: USER,
        password: 'secret',
        enableReadyCheck: false,
        ...more,
      }));

    /** Two instances of that user: one has it, the other is let in behind it. */
    async function expectLocks(options: RedlockOptions, more: object = {}): Promise<void> {
      const [one, other] = [open(asUser(more), options), open(asUser(more), options)];
      const lease = await one.acquire('r', PATIENT);
      const next = other.acquire('r', PATIENT);
      await eventually(async () => (await one.inspect('r')).waiting === 1);
      await lease.extend();
      await lease.release();
      await (await next).release();
    }

    const FEATURES: readonly (readonly [string, RedlockOptions, object])[] = [
      ['exclusive locks', {}, {}],
      ['a database', {}, { db: 3 }],
    ];
    for (const [what, options, more] of FEATURES) {
      it(`a user with exactly the rights that it prints for ${what}: locks work, and it finds nothing missing`, async () => {
        const named = { ...options, keyPrefix: 'lock:' };
        await allow('~*', '+@all', '&*');
        const { rights } = await open(asUser(more), named).diagnose(QUICK);
        await allow(...rights);
        await expectLocks(named, more);
        const found = await codesOf(open(asUser(more), named), ['NOT_KNOWN note', 'NOT_KNOWN note']);
        expect(found).to.deep.equal(['NOT_KNOWN note', 'NOT_KNOWN note']); // INFO and CONFIG GET are the doctor's own
      });
    }

    it('with what it prints for itself besides, it knows everything, and shared locks work with theirs', async () => {
      const named = { keyPrefix: 'lock:' };
      await allow('~*', '+@all', '&*');
      const { rights, rightsToDiagnose } = await open(asUser(), named).diagnose({ ...QUICK, shared: true });
      await allow(...rights, ...rightsToDiagnose);
      const redlock = open(asUser(), named);
      expect(await codesOf(redlock, [], { ...QUICK, shared: true })).to.deep.equal([]);
      const [prices, exports] = [redlock.readWriteLock('rw'), redlock.semaphore('s', 2)];
      for (const lock of [prices.read, prices.write, exports])
        await lock.using(PATIENT, async (lease) => lease.extend());
    });

    it('each right that is missing is named: RIGHTS, PUSHES', async () => {
      const named = { keyPrefix: 'lock:' };
      await allow('~*', '+@all', '&*');
      const { rights, rightsToDiagnose } = await open(asUser(), named).diagnose(QUICK);
      await allow(...rights, ...rightsToDiagnose, '-pexpire', '-zadd');
      const rightsIn = async (): Promise<Diagnosis> => {
        const isWanted = (one: Diagnosis): boolean => codes(one).join() === 'RIGHTS error';
        return diagnosed(open(asUser(), named), QUICK, isWanted);
      };
      const commands = await rightsIn();
      expect(codes(commands)).to.deep.equal(['RIGHTS error']);
      expect(commands.findings[0]?.text).to.match(/may not run PEXPIRE, ZADD/);
      await allow(...rights, ...rightsToDiagnose, 'resetchannels');
      const channels = codes(await open(asUser(), named).diagnose(QUICK));
      expect(channels).to.include('PUSHES warning');
      await allow(...rights, ...rightsToDiagnose, '-eval', '-evalsha');
      const scripts = await rightsIn();
      expect(codes(scripts)).to.deep.equal(['RIGHTS error']);
      expect(scripts.findings[0]?.text).to.match(/runs no scripts/);
    });

    it('a user who may do nothing at all gets findings, not a crash', async () => {
      await allow();
      const { findings, verdict } = await open(asUser()).diagnose(BRIEF);
      expect(verdict).to.equal('error');
      expect(findings.map(({ code }) => code)).to.include.members(['RIGHTS', 'NOT_KNOWN']);
    });

    it('a guard whose user may not ask for the run id: RIGHTS', async () => {
      const guarded = { keyPrefix: 'lock:', restartGuardMs: 60_000 };
      await allow('~*', '+@all', '&*');
      const { rights, rightsToDiagnose } = await open(asUser(), guarded).diagnose(QUICK);
      await allow(...rights, ...rightsToDiagnose, '-info');
      const found = await open(asUser(), guarded).diagnose(QUICK);
      expect(found.findings.find(({ code }) => code === 'RIGHTS')?.text).to.match(/INFO/);
    });
  });

  it('through ioredis 5, with its defaults', async () => {
    const clients = masters.list.map(({ port }) => new Redis5(port, HOST));
    closers.push(() => {
      for (const client of clients) client.disconnect();
    });
    const redlock = new Redlock(clients);
    closers.push(() => redlock.close());
    expect(await codesOf(redlock, [])).to.deep.equal([]);
  });
});
