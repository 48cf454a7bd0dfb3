/** `quorate elect` and `quorate cron` as processes, on real masters. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { isAlive, program, quorate, Running } from './support/program.js';
import { further, wide } from '../support/breadth.js';

const NODES = 3;
const SLEEPER = 'echo pid $$ fence $QUORATE_FENCE; sleep 60';
/** Its loss is soon found out, also where nobody brought it about. */
const QUICK = ['--ttl', '4s', '--kill-after', '300ms'];
const LASTING = ['--ttl', '10m', '--kill-after', '300ms'];

describe(`the command: elections and schedules, N=${NODES}, real masters`, function () {
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
  });
  after(async () => {
    await redlock.close();
    await masters.stop();
  });
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quorate-coordination-'))));
  afterEach(async () => {
    for (const one of running.splice(0)) {
      one.process.kill('SIGKILL');
      await one.ends();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  function start(...args: readonly string[]): Running {
    const one = new Running(args, { env });
    running.push(one);
    return one;
  }

  const numbersIn = ({ out }: Running, what: string): readonly number[] =>
    [...out.matchAll(new RegExp(`${what} (\\d+)`, 'g'))].map(([, number]) => Number(number));
  const waiting = async (name: string): Promise<number> => (await redlock.inspect(name)).waiting;

  describe('elect', () => {
    const candidate = (value: string, terms = LASTING): Running =>
      start('elect', '--value', value, ...terms, 'boss', '--', 'sh', '-c', SLEEPER);

    it('one leads, and others see its value; when it is killed −9, its command ends and the next one leads', async () => {
      const first = candidate('first');
      await first.says('pid');
      const second = candidate('second');
      await eventually(async () => (await waiting('boss')) === 1);
      expect((await redlock.election('boss').leader())?.value).to.equal('first');
      first.process.kill('SIGKILL');
      const [pid = 0] = numbersIn(first, 'pid');
      await eventually(() => !isAlive(pid));
      await quorate(['unlock', '--force', '--grace', '0s', 'boss'], { env }); // as its ttl would
      await second.says('pid');
      expect(numbersIn(second, 'fence')[0]).to.be.greaterThan(numbersIn(first, 'fence')[0] ?? Infinity);
      expect((await redlock.election('boss').leader())?.value).to.equal('second');
      second.process.kill('SIGTERM');
      expect(await second.ends()).to.equal(143);
      expect(await redlock.election('boss').leader()).to.equal(null);
    });

    further(
      'when the leadership is taken away, the command ends, and runs again once it leads again',
      async () => {
        const one = candidate('one', QUICK);
        await one.says('pid');
        const next = redlock.acquire('boss');
        await eventually(async () => (await waiting('boss')) === 1);
        const { code, complaints } = await quorate(['unlock', '--force', '--grace', '0s', 'boss'], { env });
        expect(code, complaints).to.equal(0);
        const lease = await next;
        await eventually(() => one.complaints.includes('campaigning again'));
        await lease.release();
        await eventually(() => numbersIn(one, 'pid').length >= 2);
        const [before = 0, after = 0] = numbersIn(one, 'fence');
        expect(after).to.be.greaterThan(before);
        expect(one.complaints).to.match(/boss: campaigning again/);
        await eventually(() => !isAlive(numbersIn(one, 'pid')[0] ?? 0));
      },
    );

    further(
      'a command that ends by itself ends it with its exit code; the next one leads at once',
      async () => {
        const { code } = await quorate(['elect', 'boss', '--', 'sh', '-c', 'exit 4'], { env });
        expect(code).to.equal(4);
        expect((await redlock.inspect('boss')).state).to.equal('free');
      },
    );

    further('masters that cannot be reached: says which, once each, and waits on', async () => {
      const nobody = { QUORATE_NODES: 'redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3' };
      const one = new Running(['elect', 'boss', '--', 'true'], { env: nobody });
      running.push(one);
      await eventually(() => one.complaints.split('\n').length > 3);
      one.process.kill('SIGTERM');
      expect(await one.ends()).to.equal(143);
      expect(one.complaints.trim().split('\n').toSorted()).to.deep.equal(
        [1, 2, 3].map(
          (port) =>
            `quorate: 127.0.0.1:${port} does not take part: not connected: connect ECONNREFUSED 127.0.0.1:${port}`,
        ),
      );
    });

    further('a signal while it waits ends the wait', async () => {
      const lease = await redlock.acquire('boss');
      const one = candidate('one');
      await eventually(async () => (await waiting('boss')) === 1);
      one.process.kill('SIGINT');
      expect(await one.ends()).to.equal(130);
      await lease.release();
    });
  });

  describe('cron', () => {
    /** Writes each tick that is run, with its fence. */
    const script = () => `echo "$QUORATE_SCHEDULED_AT $QUORATE_FENCE" >> ${join(folder, 'ticks')}`;
    const ticks = (): readonly string[] => {
      try {
        return readFileSync(join(folder, 'ticks'), 'utf8').trim().split('\n');
      } catch {
        return []; // none yet
      }
    };

    it('three processes, one of them killed −9: each tick is run once, with rising fences; TERM ends the others with 0', async () => {
      const command = ['cron', ...LASTING, 'tick', 'every 500ms', '--', 'sh', '-c', script()];
      const all = [start(...command), start(...command), start(...command)];
      await eventually(() => ticks().length >= 3);
      all[0]?.process.kill('SIGKILL');
      await all[0]?.ends();
      await quorate(['unlock', '--force', '--grace', '0s', 'tick'], { env }); // as its ttl would, if it was in the middle of a run
      const seen = ticks().length;
      await eventually(() => ticks().length >= seen + 4);
      for (const one of all.slice(1)) one.process.kill('SIGTERM');
      for (const one of all.slice(1)) expect(await one.ends()).to.equal(0);
      const instants = ticks().map((line) => line.split(' ')[0]);
      expect(new Set(instants).size).to.equal(instants.length);
      for (const instant of instants) expect(Date.parse(instant ?? '') % 500).to.equal(0);
      const fences = ticks().map((line) => Number(line.split(' ')[1]));
      expect(fences).to.deep.equal(fences.toSorted((a, b) => a - b));
      // on a busy machine, one of the two may have run them all
      const said = all.slice(1).map(({ complaints }) => complaints);
      expect(said.join('')).to.match(/tick: .* started, fence \d+/);
    });

    further(
      'a cron expression, with seconds; a command that fails is told, and the next tick is run',
      async () => {
        const one = start(
          'cron',
          ...QUICK,
          'failing',
          '* * * * * *',
          '--',
          'sh',
          '-c',
          `${script()}; exit 3`,
        );
        await eventually(
          () => ticks().length >= 2 && /failing: \S+ failed: exit code 3/.test(one.complaints),
        );
      },
    );

    further('--at-most alone: the ttl is no longer than that', async () => {
      const one = start('cron', '--at-most', '5s', 'short', 'every 300ms', '--', 'sh', '-c', script());
      await eventually(() => ticks().length >= 2 && one.complaints.includes('done after'));
      one.process.kill('SIGTERM');
      expect(await one.ends()).to.equal(0);
    });

    further('--quiet says nothing of runs that go well', async () => {
      const command = ['sh', '-c', `${script()}; test $(wc -l < ${join(folder, 'ticks')}) -lt 3`];
      const one = start('cron', '--quiet', ...QUICK, 'quiet', 'every 300ms', '--', ...command);
      await eventually(() => one.complaints.includes('failed'));
      expect(ticks().length).to.be.at.least(3);
      expect(one.complaints).to.match(/^quorate: quiet: \S+ failed: exit code 1$/m);
      expect(one.complaints).to.not.match(/started|done/);
    });

    further('goes on when nobody reads its complaints any more', async () => {
      const one = start('cron', ...QUICK, 'unread', 'every 300ms', '--', 'sh', '-c', script());
      await eventually(() => one.complaints.includes('done'));
      one.process.stderr?.destroy();
      const seen = ticks().length;
      await eventually(() => ticks().length >= seen + 3);
      one.process.kill('SIGTERM');
      expect(await one.ends()).to.equal(0);
    });

    further(
      'masters that die while it runs, and ticks that pass meanwhile, are told: each once',
      async () => {
        const own = await startMasters(NODES, { backend: 'process' });
        const others = own.list.slice(1);
        const one = new Running(['cron', ...QUICK, 'away', 'every 1s', '--', 'sh', '-c', script()], {
          env: { QUORATE_NODES: own.urls.join(',') },
        });
        running.push(one);
        try {
          await eventually(() => one.complaints.includes('done'));
          for (const master of others) await master.kill();
          for (const { port } of others)
            await eventually(() => one.complaints.includes(`127.0.0.1:${port} does not take part: `));
          const goneMs = Date.now();
          await eventually(() => Date.now() > goneMs + 3_000); // three ticks
          for (const { port } of others)
            // a busy machine may miss them again once they are back
            expect(one.complaints.split(`127.0.0.1:${port} does not take part`)).to.have.length(2);
          for (const master of others) await master.restart();
          await eventually(() => one.complaints.includes('takes part again after'));
          const seen = ticks().length;
          await eventually(() => ticks().length > seen);
          expect(one.complaints).to.match(/away: \S+ skipped: no quorum for "away": .* 2 needed/);
          const [fromAt, toAt] = ['does not take part', 'takes part again'].map((text) =>
            one.complaints.indexOf(text),
          );
          expect(one.complaints.slice(fromAt, toAt)).to.not.match(/overlap/);
        } finally {
          await own.stop();
        }
      },
    );

    further('TERM is passed on to the command, which may end in order', async () => {
      const patient = 'trap "echo ended; exit 0" TERM; echo begun; while :; do sleep 0.02; done';
      const one = start('cron', ...QUICK, 'slow', 'every 300ms', '--', 'sh', '-c', patient);
      await one.says('begun');
      one.process.kill('SIGTERM');
      expect(await one.ends()).to.equal(0);
      expect(one.out).to.match(/ended/);
    });

    const CASES: readonly (readonly [readonly string[], RegExp])[] = [
      [['cron', 'x', '--', 'true'], /give a name and one expression in quotes/],
      [
        ['cron', 'x', '61 * * * *', '--', 'true'],
        /^quorate: cron must be .*; got "61 \* \* \* \*", whose minute cannot be "61"; see .*\n$/,
      ],
      [['cron', 'x', 'every 1s', 'sync', '--all'], /put -- before "sync"/],
      [['cron', 'x', 'every', '1s', '--', 'true'], /give a name and one expression in quotes/],
      [['cron', 'x', 'every', '1s', 'true'], /give a name and one expression in quotes/],
      [['elect', 'boss', './scheduler', '--port', '80'], /put -- before "\.\/scheduler"/],
      [['cron', 'x', 'every 5', '--', 'true'], /the period must be a time such as/],
      [['cron', 'x', 'every 0s', '--', 'true'], /every must be/],
      [['cron', '--time-zone', 'Mars/Base', 'x', '* * * * *', '--', 'true'], /--time-zone must be/],
      [
        ['cron', '--missed', 'some', 'x', '* * * * *', '--', 'true'],
        /--missed must be skip or once or all, and not "some"/,
      ],
      [
        ['cron', 'x', '* * * * *'],
        /a command is missing: quorate cron NAME 'EXPRESSION' -- COMMAND \[ARGUMENT\]\.\.\.;/,
      ],
      [['elect', 'boss'], /a command is missing: quorate elect NAME -- COMMAND/],
      [
        ['cron', '--at-most', '10s', '--ttl', '20s', 'x', 'every 1s', '--', 'true'],
        /--ttl must be at most --at-most; see/,
      ],
      [['cron', '--at-most', '500ms', 'x', 'every 1s', '--', 'true'], /--at-most must be 1s or more/],
      [['cron', '--jitter', '999999999h', 'x', 'every 1s', '--', 'true'], /--jitter must be a whole number/],
      [['elect', '--value', 'x'.repeat(5_000), 'boss', '--', 'true'], /value must be/],
    ];
    for (const [args, text] of wide(CASES, CASES.slice(0, 2))) {
      it(`wrong use: ${args.join(' ').slice(0, 60)}`, async () => {
        const { code, complaints } = await quorate(args, { env });
        expect(complaints)
          .to.match(text)
          .and.to.match(/^quorate: [^\n]+\n$/);
        expect(code).to.equal(64);
      });
    }
  });
});
