/** `quorate run` as a process, on real masters: what passes through, what it ends with, and what ends the command. */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Bounds, type Order, type Report, WATCHDOG } from '../../lib/command/run/orders.js';
import { Redlock } from '../../lib/redlock.js';
import { machineNowMs } from '../../lib/runtime/clock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { needs } from '../support/parts.js';
import { Distance } from '../real/support/distance.js';
import { isAlive, program, quorate, Running } from './support/program.js';
import { further, wide } from '../support/breadth.js';

const NODES = 3;
/** Says its process id and waits for TERM, which it says, too, and obeys. */
const OBEDIENT = 'trap "echo TERM; exit" TERM; echo pid $$; while :; do sleep 0.05; done';
/** It does not obey. */
const STUBBORN = 'trap "echo TERM" TERM; echo pid $$; while :; do sleep 0.05; done';

const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

describe(`quorate run: N=${NODES}, real masters`, function () {
  let masters: Masters;
  let redlock: Redlock;
  let folder: string;
  let env: Readonly<Record<string, string>>;
  const running: Running[] = [];
  before(async () => {
    program();
    masters = await startMasters(NODES, { backend: 'process' });
    redlock = Redlock.connect(masters.urls, PATIENT);
    await redlock.ready(EVERY_MASTER);
    env = { QUORATE_NODES: masters.urls.join(',') };
    folder = mkdtempSync(join(tmpdir(), 'quorate-run-'));
  });
  after(async () => {
    await redlock.close();
    await masters.stop();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const one of running.splice(0)) {
      one.process.kill('SIGTERM');
      one.process.kill('SIGKILL');
      await one.ends();
    }
  });

  /** For ten minutes, unless it says something else. */
  function start(...args: readonly string[]): Running {
    const one = new Running(['run', ...(args.includes('--ttl') ? [] : ['--ttl', '10m']), ...args], { env });
    running.push(one);
    return one;
  }

  /** Started again where its lock was lost before it said anything. */
  async function startStubborn(...args: readonly string[]): Promise<{ one: Running; pid: number }> {
    for (;;) {
      const one = start(...args, '--', 'sh', '-c', STUBBORN);
      await eventually(() => one.out.includes('\n') || one.process.exitCode !== null);
      if (one.out.includes('\n')) return { one, pid: await pidOf(one) };
      expect(await one.ends(), one.complaints).to.be.oneOf([69, 70]);
    }
  }

  /** The id of the command's process, as it said itself. */
  async function pidOf(one: Running): Promise<number> {
    await one.says('pid ');
    return Number(/pid (\d+)/.exec(one.out)?.[1]);
  }

  const isFree = async (name: string): Promise<boolean> => (await redlock.inspect(name)).state === 'free';
  const isGone = (pid: number) => eventually(() => !isAlive(pid));

  it('the command runs while the lock is held, and the lock is free when it has ended', async () => {
    const one = start('held', '--', 'sh', '-c', 'echo started; read line', 'sh');
    await one.ends(); // its input is empty
    const other = start('held', '--', 'sh', '-c', 'echo pid $$; sleep 60');
    const pid = await pidOf(other);
    expect((await redlock.inspect('held')).state).to.equal('held');
    process.kill(pid, 'SIGKILL');
    expect(await other.ends()).to.equal(137);
    expect(await isFree('held')).to.equal(true);
  });

  it('a master that is connected later than the others votes, too', async () => {
    const way = await Distance.to(masters.list[2]?.port ?? 0, 40);
    try {
      const urls = [...masters.urls.slice(0, 2), `redis://127.0.0.1:${way.port}`];
      const one = new Running(['run', '--ttl', '10m', 'late', '--', 'sh', '-c', 'echo pid $$; sleep 60'], {
        env: { QUORATE_NODES: urls.join(',') },
      });
      running.push(one);
      const pid = await pidOf(one);
      // its claim may still be on its way there; no renewal is due
      await eventually(async () =>
        (await redlock.inspect('late')).nodes.every(({ state }) => state === 'held'),
      );
      process.kill(pid, 'SIGKILL');
      await one.ends();
    } finally {
      way.close();
    }
  });

  it('exit codes, input, output and the environment pass through; addresses do not', async () => {
    const script = 'echo "[$QUORATE_RESOURCE] [$QUORATE_FENCE] [$QUORATE_NODES]"; cat; echo oops >&2; exit 7';
    const outer = { ...env, QUORATE_FENCE: '1', QUORATE_RESOURCE: 'outer' };
    const { code, out, complaints } = await quorate(['run', 'through', '--', 'sh', '-c', script], {
      env: outer,
      input: 'what is read\n',
    });
    expect(code).to.equal(7);
    expect(out).to.match(/^\[through\] \[\d{16}\] \[\]\nwhat is read\n$/);
    expect(complaints).to.equal('oops\n');
  });

  further('a fence rises from run to run; a shared lock has none, whatever an outer run had', async () => {
    const fenceOf = async (...flags: readonly string[]): Promise<string> =>
      (
        await quorate(['run', ...flags, '--', 'printenv', 'QUORATE_FENCE'], {
          env: { ...env, QUORATE_FENCE: '1' },
        })
      ).out;
    const first = Number(await fenceOf('fenced'));
    expect(Number(await fenceOf('fenced'))).to.be.greaterThan(first);
    expect(await fenceOf('--shared', 'read')).to.equal('');
  });

  it('a signal that ends the command: 128 and its number', async () => {
    expect((await quorate(['run', 'r', '--', 'sh', '-c', 'kill -HUP $$'], { env })).code).to.equal(129);
  });

  further('no such command: 127; one that cannot be executed: 126; nothing stays held', async () => {
    const missing = await quorate(['run', 'r', '--', 'no-such-command'], { env });
    expect([missing.code, missing.complaints]).to.deep.equal([127, 'quorate: no-such-command: not found\n']);
    const other = await quorate(['run', 'r', '--', '/etc/passwd'], { env });
    expect(other.code).to.equal(126);
    expect(await isFree('r')).to.equal(true);
  });

  it('held by another: 75 or what was asked for, without waiting, and after the wait', async () => {
    const lease = await redlock.acquire('taken');
    const plain = await quorate(['run', '--no-wait', 'taken', '--', 'true'], { env });
    expect(plain.code).to.equal(75);
    const holder = String.raw`(?:another|\S+, for [\d.]+ \w+)`; // by name, if its record was not flushed
    expect(plain.complaints).to.match(
      new RegExp(`^quorate: taken is held by ${holder}; quorate status taken shows it\n$`),
    );
    const own = await quorate(
      ['run', '--wait', '200ms', '--conflict-exit-code', '0', 'taken', '--', 'false'],
      { env },
    );
    expect(own.code).to.equal(0);
    await lease.release();
  });

  it('waits for its turn, and runs as soon as the lock is released', async () => {
    const lease = await redlock.acquire('turn');
    const one = start('--wait', 'forever', 'turn', '--', 'echo', 'mine');
    await eventually(async () => (await redlock.inspect('turn')).waiting === 1);
    await lease.release();
    expect(await one.ends()).to.equal(0);
    await one.says('mine');
  });

  it('a signal while it waits ends the wait: 128 and its number, and no place is left', async () => {
    const lease = await redlock.acquire('turn');
    const one = start('--wait', 'forever', 'turn', '--', 'true');
    await eventually(async () => (await redlock.inspect('turn')).waiting === 1);
    one.process.kill('SIGTERM');
    expect(await one.ends()).to.equal(143);
    await eventually(async () => (await redlock.inspect('turn')).waiting === 0);
    await lease.release();
  });

  further('several readers at a time, no writer beside them; N of K permits', async () => {
    const reader = start('--shared', 'rw', '--', 'sh', '-c', 'echo pid $$; sleep 60');
    await pidOf(reader);
    expect((await quorate(['run', '--no-wait', '--shared', 'rw', '--', 'true'], { env })).code).to.equal(0);
    expect(await redlock.readWriteLock('rw').write.tryAcquire()).to.equal(null);
    const two = start('--permits', '2/3', 's', '--', 'sh', '-c', 'echo pid $$; sleep 60');
    await pidOf(two);
    expect(
      (await quorate(['run', '--no-wait', '--permits', '2/3', 's', '--', 'true'], { env })).code,
    ).to.equal(75);
    expect(
      (await quorate(['run', '--no-wait', '--permits', '1/3', 's', '--', 'true'], { env })).code,
    ).to.equal(0);
  });

  further('the name of another kind of lock: 65', async () => {
    const lease = await redlock.acquire('exclusive');
    expect(
      (await quorate(['run', '--no-wait', '--shared', 'exclusive', '--', 'true'], { env })).code,
    ).to.equal(65);
    await lease.release();
  });

  for (const signal of wide(PASSED_ON, PASSED_ON.slice(0, 1))) {
    it(`${signal} is passed on to the command, which decides what comes of it`, async () => {
      const name = signal.slice(3);
      const one = start(
        'r',
        '--',
        'sh',
        '-c',
        `trap "echo got; exit 3" ${name}; echo pid $$; while :; do sleep 0.02; done`,
      );
      await pidOf(one);
      one.process.kill(signal);
      expect(await one.ends()).to.equal(3);
      await one.says('got');
    });
  }

  further('the whole process group gets the signal, children of the command included', async () => {
    const file = join(folder, 'child');
    const script = `(trap "echo child >${file}; exit" TERM; echo ready; while :; do sleep 0.02; done) & echo pid $!; wait`;
    const one = start('r', '--', 'sh', '-c', script);
    const child = await pidOf(one);
    await one.says('ready');
    one.process.kill('SIGTERM');
    expect(await one.ends()).to.equal(143);
    await isGone(child);
    expect(readFileSync(file, 'utf8')).to.equal('child\n');
  });

  further('a background process that the command leaves behind runs on without the lock', async () => {
    const one = start('r', '--', 'sh', '-c', 'sleep 60 >/dev/null 2>&1 & echo pid $!');
    const child = await pidOf(one);
    expect(await one.ends()).to.equal(0);
    expect(isAlive(child)).to.equal(true);
    expect(await isFree('r')).to.equal(true);
    process.kill(child, 'SIGKILL');
  });

  it('the lock is taken away: a command that does not obey TERM is killed, and 70', async () => {
    const { one, pid } = await startStubborn('--ttl', '3s', '--kill-after', '300ms', 'lost');
    await quorate(['unlock', '--force', '--grace', '0s', 'lost'], { env });
    const other = await redlock.acquire('lost');
    expect(await one.ends()).to.equal(70);
    expect(isAlive(pid)).to.equal(false);
    expect(one.complaints).to.match(/the lock was lost while the command ran/);
    other.assertHeld();
    await other.release();
  });

  it('all masters freeze: the command is ended, and 70', async () => {
    const { one, pid } = await startStubborn('--ttl', '2s', '--kill-after', '500ms', 'frozen');
    await Promise.all(masters.list.map((master) => master.freeze()));
    try {
      expect(await one.ends()).to.equal(70);
      expect(isAlive(pid)).to.equal(false);
    } finally {
      await Promise.all(masters.list.map((master) => master.thaw()));
    }
  });

  it('a minority of masters that is frozen or dead costs nothing', async () => {
    const [first] = masters.list;
    await first?.freeze();
    try {
      const { code } = await quorate(['run', 'r', '--', 'true'], { env });
      expect(code).to.equal(0);
    } finally {
      await first?.thaw();
    }
  });

  it('killed −9: its watchdog ends the command, and nobody releases the lock', async () => {
    const one = start('--kill-after', '3m', 'killed', '--', 'sh', '-c', OBEDIENT);
    const pid = await pidOf(one);
    one.process.kill('SIGKILL');
    await isGone(pid);
    await one.says('TERM');
    expect((await redlock.inspect('killed')).state, 'its ttl is left').to.equal('held');
  });

  it('a watchdog that starts late, or stood still, reads what it was told meanwhile before it ends the command', async () => {
    const watchdog = fork(program(), [WATCHDOG], { execArgv: [] });
    const told: Report[] = [];
    const ended = new Promise((resolve) => watchdog.once('exit', resolve));
    watchdog.on('message', (report: Report) => told.push(report));
    const nowMs = machineNowMs();
    const past: Bounds = { termAtMs: nowMs - 1, killAtMs: nowMs + 600_000 };
    const extended: Bounds = { termAtMs: nowMs + 600_000, killAtMs: nowMs + 600_000 };
    const orders: Order[] = [
      { kind: 'start', command: ['true'], bounds: past, killAfterMs: 600_000 },
      { kind: 'bounds', bounds: extended },
    ];
    for (const order of orders) watchdog.send(order);
    await ended;
    expect(told.at(-1)).to.deep.equal({ kind: 'ended', exitCode: 0, signal: null, isCut: false });
  });

  further('stopped: its watchdog ends the command', async () => {
    const { one, pid } = await startStubborn('--ttl', '2s', '--kill-after', '500ms', 'stopped');
    one.process.kill('SIGSTOP');
    await isGone(pid);
    one.process.kill('SIGCONT');
    expect(await one.ends()).to.equal(70);
  });

  further('its watchdog is killed −9: the command is ended, and it says so', async function () {
    needs(this, '/proc');
    const one = start('r', '--kill-after', '300ms', '--', 'sh', '-c', STUBBORN);
    const pid = await pidOf(one);
    const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    expect(parent).to.not.equal(one.process.pid);
    one.process.kill('SIGTERM');
    await one.says('TERM'); // so the watchdog takes orders: it has said what it started
    process.kill(parent, 'SIGKILL');
    expect(await one.ends()).to.equal(71);
    expect(isAlive(pid)).to.equal(false);
    expect(await isFree('r')).to.equal(true);
  });

  further('masters that do not answer: 69, one sentence, and the command was not run', async () => {
    const file = join(folder, 'never');
    const unreachable = { QUORATE_NODES: 'redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3' };
    const { code, complaints } = await quorate(['run', '--wait', '300ms', 'r', '--', 'touch', file], {
      env: unreachable,
      hasMasters: false,
    });
    expect(code).to.equal(69);
    expect(complaints).to.match(/^quorate: [^\n]*ECONNREFUSED[^\n]*run quorate doctor to find the cause\n$/);
    expect(existsSync(file)).to.equal(false);
  });

  further('a password is in no text', async () => {
    const secret = masters.urls.map((url) => url.replace('redis://', 'redis://user:open-sesame@'));
    const { code, complaints } = await quorate(['run', '--no-wait', 'r', '--', 'true'], {
      env: { QUORATE_NODES: secret.join(',') },
    });
    expect(code).to.equal(77);
    expect(complaints).to.not.match(/sesame/);
  });

  describe('wrong use: 64, one sentence that names it, and nothing is run', () => {
    const CASES: readonly (readonly [readonly string[], RegExp])[] = [
      [['run'], /a name is missing/],
      [['run', 'r'], /a command is missing: quorate run NAME -- COMMAND/],
      [['run', 'r', 'q', '--', 'true'], /give one name only: "q" is a second one/],
      [['run', 'r', 'echo', 'hi'], /put -- before "echo": quorate run NAME -- COMMAND \[ARGUMENT\]\.\.\.;/],
      [['run', '--no-wait', 'r', 'ls', '-l'], /put -- before "ls"/],
      [
        ['run', 'r', '--ttl', '5', '--', 'true'],
        /--ttl must be a time such as 500ms, 10s, 2m or 1h, and not "5"/,
      ],
      [['run', 'r', '--ttl', '--', 'true'], /--ttl needs a value: --ttl TIME/],
      [['run', 'r', '--ttl', '100ms', '--', 'true'], /--ttl must be 1s or more/],
      [
        ['run', 'r', '--ttl', '6s', '--kill-after', '3s', '--', 'true'],
        /--ttl must be at least three times --kill-after/,
      ],
      [['run', 'r', '--wait', '1s', '--no-wait', '--', 'true'], /--wait and --no-wait exclude each other/],
      [
        ['run', 'r', '--shared', '--permits', '1/2', '--', 'true'],
        /--shared and --permits exclude each other/,
      ],
      [['run', 'r', '--permits', '3/2', '--', 'true'], /--permits must be N\/K/],
      [
        ['run', 'r', '--conflict-exit-code', '256', '--', 'true'],
        /--conflict-exit-code must be a whole number from 0 to 255/,
      ],
      [['run', 'r', '--no-wait=1', '--', 'true'], /--no-wait takes no value/],
      [['run', 'r', '--tll', '1s', '--', 'true'], /--tll is no flag of this command/],
      [['run', 'quorate:x', '--', 'true'], /names that do not begin with quorate:/],
      [['run', 'r', '--node', 'localhost', '--', 'true'], /--node must be a redis:\/\/ or rediss:\/\/ URL/],
      [['runn'], /"runn" is no command: there are run, /],
    ];
    for (const [args, text] of wide(CASES, CASES.slice(0, 4))) {
      it(args.join(' '), async () => {
        const { code, out, complaints } = await quorate(args, { env });
        expect([code, out]).to.deep.equal([64, '']);
        expect(complaints)
          .to.match(text)
          .and.to.match(/^quorate: [^\n]+\n$/);
      });
    }
  });
});
