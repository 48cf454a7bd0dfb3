/** `quorate status`, `unlock`, `doctor`, `up` and `bench` as processes, on real masters. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { counterKey } from '../../lib/protocol/keys.js';
import type { Lease } from '../../lib/lease/public.js';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { freePort, isFree } from '../../scripts/masters/wait.js';
import { needs } from '../support/parts.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { isAlive, program, quorate, Running } from './support/program.js';
import { further, wide } from '../support/breadth.js';

/** What the specs read of what is printed as JSON. */
interface Printed {
  readonly verdict: string;
  readonly nodes: readonly object[];
}

interface Measured {
  readonly masters: number;
  readonly clients: number;
  readonly perSecond: number;
  readonly acquireMs: { readonly median: number; readonly p99: number };
}

const NODES = 3;
const NOBODY = {
  env: { QUORATE_NODES: 'redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3' },
  hasMasters: false,
};

describe(`the command: N=${NODES}, real masters`, function () {
  let masters: Masters;
  let redlock: Redlock;
  let hands: readonly Redis[];
  let folder: string;
  let env: Readonly<Record<string, string>>;
  before(async () => {
    program();
    masters = await startMasters(NODES, { backend: 'process', persist: true });
    redlock = Redlock.connect(masters.urls, { ...PATIENT, localTurns: 0 }); // what was flushed is free for it
    await redlock.ready(EVERY_MASTER);
    hands = masters.list.map(({ port }) => byHand(port));
    folder = mkdtempSync(join(tmpdir(), 'quorate-commands-'));
    const file = join(folder, 'settings.json');
    const { nodeTimeoutMs } = PATIENT; // on a busy machine no master is taken for silent
    writeFileSync(file, JSON.stringify({ nodes: masters.urls, options: { nodeTimeoutMs } }));
    env = { QUORATE_CONFIG: file };
  });
  after(async () => {
    for (const hand of hands) hand.disconnect();
    await redlock.close({ releaseHeld: true, drainMs: 0 });
    await masters.stop();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const hand of hands) await hand.flushall();
  });

  const json = async <T = Printed>(...args: readonly string[]): Promise<T> => {
    const { code, out, complaints } = await quorate([...args, '--json'], { env });
    expect([code, complaints]).to.deep.equal([0, '']);
    return JSON.parse(out) as T; // the specs look at it
  };

  describe('status', () => {
    it('a lock: its holder by fingerprint, master by master, the time left, who waits, the fence, and no token', async () => {
      const lease = await redlock.acquire('invoice:42');
      const other = Redlock.connect(masters.urls, PATIENT);
      const controller = new AbortController();
      const waiting = other
        .acquire('invoice:42', { waitMs: Infinity, signal: controller.signal })
        .catch(() => undefined);
      await eventually(async () => (await redlock.inspect('invoice:42')).waiting === 1);
      const { holder } = await redlock.inspect('invoice:42');
      const seen = await json('status', 'invoice:42');
      expect(seen).to.include({
        resource: 'invoice:42',
        state: 'held',
        holder,
        waiting: 1,
        fence: lease.fence,
      });
      expect(seen.nodes).to.have.length(NODES);
      const { out } = await quorate(['status', 'invoice:42'], { env });
      expect(out).to.match(
        new RegExp(
          `^invoice:42: held by \\S+ \\(${holder}\\), for another .* unless it is renewed\nheld for .* quorate `,
        ),
      );
      expect(out).to.contain(`last fencing token: ${lease.fence}`);
      for (const { port } of masters.list)
        expect(out).to.match(new RegExp(`127.0.0.1:${port} +held +${holder}`));
      expect(out + JSON.stringify(seen))
        .to.not.contain(lease.token)
        .and.to.not.contain('\u001B');
      controller.abort();
      await waiting;
      await other.close();
      await lease.release();
      expect(await json('status', 'invoice:42')).to.include({ state: 'free', fence: lease.fence });
    });

    it('the last fencing token is one that a quorum accepted, and not that of a waiter which took one vote', async () => {
      const lease = await redlock.acquire('eroded');
      await eventually(async () =>
        (await redlock.inspect('eroded')).nodes.every(({ state }) => state === 'held'),
      );
      const fence = lease.fence ?? 0;
      await hands[2]?.set(counterKey('eroded'), fence + 1, 'PX', PATIENT.ttlMs);
      expect(await json('status', 'eroded')).to.include({ state: 'held', fence });
      await lease.release();
      expect(await json('status', 'eroded')).to.include({ state: 'free', fence });
      await hands[1]?.set(counterKey('eroded'), fence + 2, 'PX', PATIENT.ttlMs);
      expect(await json('status', 'eroded'), 'nobody knows').to.not.have.property('fence');
      expect((await quorate(['status', 'eroded'], { env })).out).to.not.contain('fencing token');
    });

    further('shared locks: readers, permits', async () => {
      const reader = await redlock.readWriteLock('rw').read.acquire();
      const permits = await redlock.semaphore('s', 3).acquire({ permits: 2 });
      expect((await quorate(['status', 'rw'], { env })).out).to.match(
        /^rw: held by reader (?:\S+ \()?\w{10}\)?\n/,
      );
      expect((await quorate(['status', 's'], { env })).out).to.match(
        /^s: held by (?:\S+ \()?\w{10}\)? \(2 permits: #0, #1\)\n/,
      );
      await reader.release();
      await permits.release();
      const one = await redlock.semaphore('s', 3).acquire();
      expect((await quorate(['status', 's'], { env })).out).to.match(
        /^s: held by (?:\S+ \()?\w{10}\)? \(1 permit: #0\)\n/,
      );
      await one.release();
    });

    further('a key without expiry', async () => {
      for (const hand of hands) await hand.set('endless', 'token');
      expect((await quorate(['status', 'endless'], { env })).out).to.match(
        /^endless: held by \w{10}, without expiry\n/,
      );
    });

    it('--names lists locks by a pattern, of either kind, and no data; in steps, up to --limit', async () => {
      const keys = Array.from({ length: 2_000 }, (_, i) => [`other:${i}`, 'x']).flat();
      for (const hand of hands) await hand.mset(...keys);
      for (const hand of hands) await hand.lpush('job:list', 'data');
      const leases = [await redlock.acquire('job:a'), await redlock.semaphore('job:b', 2).acquire()];
      const names = (await json<readonly { readonly resource: string }[]>('status', '--names', 'job:*')).map(
        ({ resource }) => resource,
      );
      expect(names).to.deep.equal(['job:a', 'job:b']);
      const limited = await quorate(['status', '--names', 'job:*', '--limit', '1'], { env });
      expect(limited.out.trim().split('\n')).to.have.length(2); // a heading, and one
      expect(limited.complaints).to.match(/there may be more than 1/);
      for (const lease of leases) await lease.release();
      expect((await quorate(['status', '--names', 'job:*'], { env })).out).to.equal('no locks\n');
    });

    it('without a name: the masters', async () => {
      const { out } = await quorate(['status'], { env });
      for (const { port } of masters.list)
        expect(out).to.match(new RegExp(`127.0.0.1:${port} +answers +\\w+ \\d`));
    });

    further('--watch shows it again until interrupted', async () => {
      const one = new Running(['status', '--watch', 'w'], { env });
      await one.says('w: free');
      const lease = await redlock.acquire('w');
      await one.says('w: held by');
      one.process.kill('SIGINT');
      expect(await one.ends()).to.equal(0);
      await lease.release();
    });

    further('--watch ends when nobody reads it any more', async () => {
      const one = new Running(['status', '--watch', 'w'], { env });
      await one.says('w: free');
      one.process.stdout?.destroy();
      expect(await one.ends()).to.equal(0);
    });

    further('--limit works only with --names: 64', async () => {
      const { code, complaints } = await quorate(['status', '--limit', '5', 'x'], { env });
      expect([code, complaints]).to.deep.equal([
        64,
        'quorate: --limit works only with --names; see quorate status --help\n',
      ]);
    });

    further('masters that do not answer: 69', async () => {
      const { code, out } = await quorate(['status', 'r'], NOBODY);
      expect(code).to.equal(69);
      expect(out)
        .to.match(/^r: unknown\n/)
        .and.to.match(/ECONNREFUSED/);
      expect((await quorate(['status', '--names', '*'], NOBODY)).code).to.equal(69);
    });
  });

  describe('unlock', () => {
    it('--force takes the lock away from its holder, and hands it over to the first who waits', async () => {
      const lease = await redlock.acquire('u');
      const other = Redlock.connect(masters.urls, PATIENT);
      const next = other.acquire('u');
      await eventually(async () => (await redlock.inspect('u')).waiting === 1);
      const { code, out } = await quorate(['unlock', '--force', '--grace', '0s', 'u'], { env });
      expect(code).to.equal(0);
      expect(out).to.match(/^u was released on [23] masters.*; its holder may still be working\n$/); // all that were quick
      const second = await next;
      expect(second.fence).to.be.greaterThan(lease.fence ?? Infinity);
      await second.release();
      await other.close();
    });

    it('a holder that waited for it is told, its signal aborts with who took it, and it is free at once', async () => {
      const first = await redlock.acquire('u');
      const other = Redlock.connect(masters.urls, PATIENT);
      const waits = other.acquire('u');
      await eventually(async () => (await redlock.inspect('u')).waiting === 1);
      await first.release();
      const { signal } = await waits;
      const { code, out } = await quorate(['unlock', '--force', 'u'], { env });
      expect([code, out].join()).to.match(/^0,u was released on [23] masters; its holder has stopped\n$/);
      await eventually(() => signal.aborted);
      const reason = signal.reason as RedlockError; // as a loss gives it
      expect([reason.code, typeof reason.stolenBy]).to.deep.equal(['LOCK_LOST', 'string']);
      await (await redlock.acquire('u', { waitMs: 0 })).release();
      await other.close();
    });

    /** A lock of each kind. */
    const KINDS: readonly (readonly [string, () => Promise<Lease>])[] = [
      ['a lock', () => redlock.acquire('u')],
      ['several locks', () => redlock.acquire(['u', 'v'])],
      ['a read lock', () => redlock.readWriteLock('u').read.acquire()],
      ['a write lock', () => redlock.readWriteLock('u').write.acquire()],
      ['a permit', () => redlock.semaphore('u', 2).acquire()],
    ];
    for (const [title, acquire] of wide(KINDS, KINDS.slice(0, 1))) {
      it(`${title} of a holder that is alive: it learns by its next extension that it was taken away, and the name stays free`, async () => {
        const lease = await acquire();
        const lost = once(lease.signal, 'abort');
        expect((await quorate(['unlock', '--force', '--grace', '0s', 'u'], { env })).code).to.equal(0);
        expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
        await lost;
        const reason = lease.signal.reason as RedlockError; // as a loss gives it
        expect(reason.code).to.equal('LOCK_LOST');
        expect(reason.message).to.contain('was lost: it was taken away');
        await eventually(async () =>
          (await Promise.all(hands.map((hand) => hand.exists('u', 'v')))).every((n) => n === 0),
        );
        await (await redlock.acquire('u')).release();
      });
    }

    further(
      '--for keeps it from its holder, from who waits and from everybody else, for that time',
      async () => {
        const lease = await redlock.acquire('u');
        const lost = once(lease.signal, 'abort');
        const other = Redlock.connect(masters.urls, PATIENT);
        const next = other.acquire('u').finally(() => void other.close({ releaseHeld: true }));
        await eventually(async () => (await redlock.inspect('u')).waiting === 1);
        const begun = performance.now();
        expect(await json('unlock', '--force', '--grace', '0s', '--for', '3s', 'u')).to.deep.equal({
          resource: 'u',
          released: NODES,
          silent: 0,
          isStopped: false,
          keptForMs: 3_000,
        });
        await rejection(lease.extend());
        await lost;
        expect((lease.signal.reason as RedlockError).code).to.equal('LOCK_LOST');
        await next;
        expect(performance.now() - begun).to.be.at.least(3_000);
      },
    );

    further('--for of a name that nobody holds keeps it, too; --force ends that', async () => {
      const { code, out } = await quorate(['unlock', '--force', '--grace', '0s', '--for', '10m', 'u'], {
        env,
      });
      expect([code, out]).to.deep.equal([0, 'u was taken on 0 masters, and nobody can lock it for 10 min\n']);
      expect(await redlock.tryAcquire('u')).to.equal(null);
      expect((await quorate(['unlock', '--force', '--grace', '0s', 'u'], { env })).code).to.equal(0);
      await (await redlock.acquire('u')).release();
    });

    further('--for is for exclusive locks (65), and longer than nothing (64)', async () => {
      const lease = await redlock.readWriteLock('u').read.acquire();
      expect(
        (await quorate(['unlock', '--force', '--grace', '0s', '--for', '1m', 'u'], { env })).code,
      ).to.equal(65);
      expect(
        (await quorate(['unlock', '--force', '--grace', '0s', '--for', '0s', 'u'], { env })).code,
      ).to.equal(64);
      lease.assertHeld();
      await lease.release();
    });

    further('a vote that another has by now, or claims at this moment, is left alone', async () => {
      await redlock.acquire('u');
      const others = `mxCWo5jp:${'x'.repeat(24)}+`;
      await hands[2]?.set('u', others, 'PX', PATIENT.ttlMs);
      expect(await json('unlock', '--force', '--grace', '0s', 'u')).to.deep.equal({
        ...{ resource: 'u', released: 2, silent: 0, isStopped: false },
      });
      expect(await Promise.all(hands.map((hand) => hand.get('u')))).to.deep.equal([null, null, others]);
    });

    further('nobody has a quorum: all votes are taken', async () => {
      await hands[2]?.set('u', `mxCWo5jp:${'x'.repeat(24)}`, 'PX', PATIENT.ttlMs);
      expect(await json('unlock', '--force', '--grace', '0s', 'u')).to.deep.equal({
        resource: 'u',
        released: 1,
        silent: 0,
      });
      expect(await hands[2]?.exists('u')).to.equal(0);
    });

    it('all holders of a shared lock', async () => {
      const semaphore = redlock.semaphore('s', 3);
      await semaphore.acquire();
      await semaphore.acquire({ permits: 2 });
      expect((await quorate(['unlock', '--force', '--grace', '0s', 's'], { env })).code).to.equal(0);
      expect((await semaphore.inspect()).state).to.equal('free');
    });

    further('asks on a terminal, says what it breaks, and leaves it without a yes', async function () {
      needs(this, 'script');
      await redlock.acquire('u');
      const command = `${process.execPath} ${program()} unlock --grace 0s u`;
      const answer = async (text: string): Promise<{ code: number | null; out: string }> => {
        const child = spawn('script', ['-qec', command, '/dev/null'], {
          env: { ...process.env, ...env },
          stdio: ['pipe', 'pipe', 'inherit'],
        });
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
        await eventually(() => out.includes('[y/N]'));
        child.stdin.write(`${text}\n`);
        const [code] = (await once(child, 'exit')) as [number | null];
        return { code, out };
      };
      const no = await answer('');
      expect(no.code).to.equal(1);
      expect(no.out).to.match(/may go on beside the next one, until it stops/);
      expect((await redlock.inspect('u')).state).to.equal('held');
      expect((await answer('y')).code).to.equal(0);
      expect((await redlock.inspect('u')).state).to.equal('free');
    });

    further('without a terminal it wants --force: 64', async () => {
      const lease = await redlock.acquire('u');
      expect((await quorate(['unlock', 'u'], { env })).code).to.equal(64);
      lease.assertHeld();
      expect((await redlock.inspect('u')).state).to.equal('held');
      await lease.release();
    });

    it('data is never deleted, and what another library may have written only with --force', async () => {
      for (const hand of hands) await hand.set('data', 'text');
      expect((await quorate(['unlock', '--force', '--grace', '0s', 'data'], { env })).code).to.equal(65);
      expect(await hands[0]?.get('data')).to.equal('text');
      for (const hand of hands) await hand.lpush('list', 'text');
      expect((await quorate(['unlock', '--force', '--grace', '0s', 'list'], { env })).out).to.equal(
        'nobody holds list\n',
      );
      expect(await hands[0]?.lrange('list', 0, 0)).to.deep.equal(['text']);
      for (const hand of hands) await hand.set('foreign', 'token', 'PX', PATIENT.ttlMs);
      expect((await quorate(['unlock', '--force', '--grace', '0s', 'foreign'], { env })).code).to.equal(0);
      expect(await hands[0]?.exists('foreign')).to.equal(0);
    });

    it('nobody holds it: says so. No quorum answers: 69, and nothing is changed', async () => {
      expect(await json('unlock', '--force', '--grace', '0s', 'u')).to.deep.equal({
        resource: 'u',
        released: 0,
        silent: 0,
      });
      expect((await quorate(['unlock', '--force', '--grace', '0s', 'u'], NOBODY)).code).to.equal(69);
    });
  });

  describe('doctor', () => {
    it('masters that are fit: 0; it prints the smallest rights', async () => {
      // a busy machine has round trips that it warns of
      const untilFit = async (...args: readonly string[]): Promise<string> => {
        for (;;) {
          const { code, out } = await quorate(['doctor', ...args], { env });
          if (code === 0) return out;
        }
      };
      expect(await untilFit())
        .to.match(/these masters are fit for locks/)
        .and.to.match(/ACL SETUSER locker .*\+evalsha/);
      const printed = JSON.parse(await untilFit('--watch-clocks', '0s', '--json')) as Printed;
      expect(printed.verdict).to.equal('fit');
    });

    further('exit code by the worst: 1 for warnings, 2 for errors', async () => {
      const two = { QUORATE_NODES: masters.urls.slice(1).join(',') };
      const warned = await quorate(['doctor', '--watch-clocks', '0s'], { env: two });
      expect(warned.code).to.equal(1);
      expect(warned.out).to.match(/WARNING EVEN_NUMBER\n {2}.*\n {2}→ .*docs\/DOCTOR.md#even_number/);
      const dead = await quorate(['doctor', '--timeout', '300ms', '--watch-clocks', '0s'], NOBODY);
      expect(dead.code).to.equal(2);
      expect(dead.out).to.match(/ERROR UNREACHABLE at 127.0.0.1:1/);
    });
  });

  describe('bench', () => {
    further('measures all masters beside the first alone, and leaves no lock', async () => {
      const results = await json<readonly Measured[]>('bench', '--seconds', '1', '--clients', '4');
      expect(results.map(({ masters: count, clients }) => [count, clients])).to.deep.equal([
        [NODES, 1],
        [1, 1],
        [NODES, 4],
        [1, 4],
      ]);
      for (const { perSecond, acquireMs } of results) {
        expect(perSecond).to.be.greaterThan(0);
        expect(acquireMs.p99).to.be.at.least(acquireMs.median);
      }
      expect(await json<readonly object[]>('status', '--names', 'quorate-bench:*')).to.deep.equal([]);
    });

    further('wants sensible numbers: 64; and a quorum: 69', async () => {
      const { code, complaints } = await quorate(['bench', '--seconds', '0'], { env });
      expect([code, complaints]).to.deep.equal([
        64,
        'quorate: --seconds must be a whole number from 1 to 60, and not "0"; see quorate bench --help\n',
      ]);
      expect((await quorate(['bench'], NOBODY)).code).to.equal(69);
    });
  });

  describe('up', () => {
    /** The first of two ports that are free. */
    const firstPort = async (): Promise<string> => {
      for (;;) {
        const port = await freePort();
        if (await isFree(port + 1)) return String(port);
      }
    };

    it('starts masters, prints how to reach them, and ends them on Ctrl-C', async () => {
      const one = new Running(['up', '2', '--port', await firstPort()]);
      await one.says('Ctrl-C');
      const [, nodes = ''] = /QUORATE_NODES=(\S+)/.exec(one.out) ?? [];
      expect(nodes.split(',')).to.have.length(2);
      const ran = await quorate(['run', 'r', '--', 'true'], { env: { QUORATE_NODES: nodes } });
      expect(ran.code).to.equal(0);
      one.process.kill('SIGINT');
      expect(await one.ends()).to.equal(0);
      const gone = { env: { QUORATE_NODES: nodes }, hasMasters: false };
      const after = await quorate(['run', '--no-wait', 'r', '--', 'true'], gone);
      expect(after.code).to.equal(69);
    });

    it('Ctrl-C before it has printed anything: it ends them all the same', async () => {
      const port = await firstPort();
      const one = new Running(['up', '1', '--port', port]);
      const hand = byHand(Number(port));
      await hand.ping().finally(() => hand.disconnect()); // as soon as there is something to end
      one.process.kill('SIGINT');
      expect(await one.ends()).to.equal(0);
      expect(await isFree(Number(port))).to.equal(true);
    });

    further('a port that is taken: one sentence, and nothing is left running', async () => {
      const { code, complaints } = await quorate(['up', '--port', String(masters.list[0]?.port)]);
      expect(code).to.equal(71);
      expect(complaints).to.equal(`quorate: port ${masters.list[0]?.port} is taken: say --port N\n`);
    });

    further('a server that ends by itself: 71, and the others end, too', async () => {
      const one = new Running(['up', '2', '--port', await firstPort()]);
      await one.says('Ctrl-C');
      const urls = (/QUORATE_NODES=(\S+)/.exec(one.out)?.[1] ?? '').split(',');
      const [first, second] = urls.map((url) => byHand(Number(new URL(url).port)));
      const pid = Number(/process_id:(\d+)/.exec((await second?.info('server')) ?? '')?.[1]);
      void first?.call('SHUTDOWN', 'NOSAVE').catch(() => undefined); // it is not answered
      expect(await one.ends()).to.equal(71);
      expect(isAlive(pid)).to.equal(false);
      for (const hand of [first, second]) hand?.disconnect();
    });

    further('no server, or one that cannot be run: 127, 126', async () => {
      const none = await quorate(['up'], { env: { PATH: '/nowhere', QUORATE_REDIS_SERVER: '' } });
      expect(none.code).to.equal(127);
      expect((await quorate(['up', '--server', '/etc/passwd'])).code).to.equal(126);
    });
  });
});
