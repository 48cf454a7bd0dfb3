/** The restart guard's contract under virtual time, and what is said there alone: exact instants, what is sent, what is refused. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/lease.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { DEFAULTS } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { holdBack, kindsSentTo, tokenOf } from '../support/commands.js';
import { type Bench, fakeCluster, FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { bootstraps, deployments, markers, readiness } from '../support/guard/deployment.js';
import { leases, losses, minorities, periods, resends } from '../support/guard/losses.js';
import { MemoryStand } from '../support/guard/memory.js';
import { guardContract, MARKER } from '../support/guard/stand.js';
import { rejection, thrown } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const GUARD_MS = 5_000;
const GUARDED = { ttlMs: 1_000, restartGuardMs: GUARD_MS } as const;
const VALID_MS = 988; // 1000 − (10 + 2)

const inMemory = (nodes: number): Promise<MemoryStand> => Promise.resolve(new MemoryStand(nodes));
guardContract('masters in memory', SIZES, inMemory, [
  ...[losses, resends, minorities, periods, leases],
  ...[bootstraps, readiness, markers, deployments],
]);

/** N masters that were declared to have forgotten nothing. */
async function started(nodes: number, options = {}): Promise<Bench> {
  const bench = fakeCluster(nodes, { ...GUARDED, ...options });
  await bench.redlock.bootstrap();
  return bench;
}

/** The error of a call that fails without time going by. */
async function atOnce(call: Promise<unknown>): Promise<RedlockError> {
  const failed = rejection(call);
  const late = settle().then(() => new Error('it is still pending'));
  const first = await Promise.race([failed, late]);
  if (RedlockError.is(first)) return first;
  throw first;
}

const attempt = (redlock: Redlock): Promise<Lease> => redlock.acquire('r', { waitMs: 0 });
const refused = (redlock: Redlock): Promise<RedlockError> => rejection(attempt(redlock));

function values(masters: readonly FakeMaster[], key = 'r'): (string | undefined)[] {
  return masters.map((master) => master.value(key));
}

describe('restart guard: to the millisecond', () => {
  for (const nodes of SIZES) {
    const spare = nodes - quorumOf(nodes);

    it(`N=${nodes}: a quarantine lasts one period from the first command on; no vote and no timer is left by who failed`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      await refused(redlock);
      await settle();
      expect([time.pending, Math.max(...masters.map(({ size }) => size))]).to.deep.equal([0, 0]);
      await time.advance(GUARD_MS - 1);
      expect(await refused(redlock)).to.include({ remainingMs: 1 });
      const { nodes: states } = await redlock.bootstrap();
      for (const state of states) expect(state).to.include({ state: 'unchanged', remainingMs: 1 });
      await time.advance(1);
      expect((await attempt(redlock)).status).to.equal('held');
    });

    it(`N=${nodes}: acquire waits for it, or fails with QUARANTINED after its waitMs`, async () => {
      const { redlock, time } = fakeCluster(nodes, GUARDED);
      const startedAtMs = time.now();
      const failed = rejection(redlock.acquire('r', { waitMs: 1_000 }));
      await time.advance(1_000);
      const left = { code: 'QUARANTINED', elapsedMs: 1_000, remainingMs: GUARD_MS - 1_000 };
      expect(await failed).to.include(left);
      expect(time.pending).to.equal(0);
      let grantedAtMs = 0;
      const acquired = redlock.acquire('r', { waitMs: 60_000 }).finally(() => (grantedAtMs = time.now()));
      await time.advance(GUARD_MS - 1_000 + DEFAULTS.maxDelayMs);
      await acquired;
      expect(grantedAtMs - startedAtMs).to.be.within(GUARD_MS, GUARD_MS + DEFAULTS.maxDelayMs);
    });

    it(`N=${nodes}: ready() resolves when the quarantine of a quorum is over, to the millisecond`, async () => {
      const guardMs = 5_300; // no whole number of seconds
      const { redlock, masters, time } = fakeCluster(nodes, { ...GUARDED, restartGuardMs: guardMs });
      let isReady = false;
      void redlock.ready().then(() => (isReady = true));
      await settle();
      for (const master of masters.slice(quorumOf(nodes))) master.become('lost');
      await time.advance(guardMs - 1);
      expect(isReady).to.equal(false);
      await time.advance(1);
      expect([isReady, time.pending]).to.deep.equal([true, 0]);
      await attempt(redlock);
    });

    for (const data of ['lost', 'kept'] as const) {
      it(`N=${nodes}, ${spare + 1} restarted, data ${data}: the validity of a lease stands to its end, renewed or not`, async () => {
        const { redlock, masters, time } = await started(nodes);
        const lease = await redlock.acquire('r');
        const renewed = await redlock.acquire('s', { renew: true });
        const { signal } = lease;
        for (const master of masters.slice(0, spare + 1)) master.restart(data);
        await time.advance(500);
        expect(await rejection(lease.extend())).to.include({ code: 'QUARANTINED' });
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS - 500]);
        await time.advance(VALID_MS - 501);
        expect(signal.aborted || lease.status === 'held').to.equal(true);
        await time.advance(1);
        expect([lease.status, renewed.status, signal.aborted]).to.deep.equal(['lost', 'lost', true]);
        expect(time.pending).to.equal(0);
      });
    }
  }

  it('N=3, one in quarantine, one away: ready() resolves within a second of its return', async () => {
    const { redlock, masters, time } = await started(3);
    const [, forgetful, away] = masters;
    forgetful?.restart('lost');
    away?.become('lost');
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    await time.advance(1_500);
    away?.become('ready');
    expect(isReady).to.equal(false);
    await time.advance(1_000);
    expect(isReady).to.equal(true);
    await ready;
  });

  it('N=3: a quarantined master did not look: an attempt that failed is undone there as well', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.restart('lost');
    await refused(redlock);
    await settle();
    for (const master of masters) expect(kindsSentTo(master).at(-1)).to.equal('undo');
  });

  it('N=3: a vote that was forgotten before its fence was accepted does not count', async () => {
    const { redlock, masters } = await started(3);
    const [lagging, leading, taken] = masters;
    lagging?.set('quorate:fence:{r}', `${lagging.micros() + 1_000}`, 60_000);
    leading?.set('quorate:fence:{r}', `${leading.micros() + 2_000}`, 60_000);
    taken?.set('r', 'another', 60_000);
    const arrive = masters.map((master) => holdBack(master, 'accept'));
    const failed = refused(redlock);
    await settle();
    lagging?.restart('lost');
    if (lagging !== undefined) lagging.knowsScripts = true; // as another client has sent them by then
    for (const run of arrive) run();
    const error = await failed;
    const outcomes = error.tally.map(({ outcome }) => outcome);
    expect([error.code, ...outcomes]).to.deep.equal(['QUARANTINED', 'quarantined', 'granted', 'refused']);
    await settle();
    expect(values(masters)).to.deep.equal([undefined, undefined, 'another']);
  });

  for (const manner of ['answer', 'freeze'] as const) {
    it(`N=3, masters ${manner}: ready() ends with CLOSED, at once or within a node timeout; no timer is left`, async () => {
      const { redlock, masters, time } = fakeCluster(3, GUARDED);
      for (const master of masters) master.manner = manner;
      const failed = [rejection(redlock.ready())];
      if (manner === 'freeze') failed.push(rejection(redlock.bootstrap()));
      await settle();
      void redlock.close();
      await time.advance(manner === 'freeze' ? 100 : 0);
      const codes = (await Promise.all(failed)).map(({ code }) => code);
      expect([time.pending, codes.join()]).to.deep.equal([
        0,
        manner === 'freeze' ? 'CLOSED,NO_QUORUM' : 'CLOSED',
      ]);
    });
  }
});

describe('restart guard: when a quorum is back (T-B9)', () => {
  /** When each restarted, in ms: all orders of three, and where two of five are still up. */
  const ORDERS = '0 100 250, 0 250 100, 100 0 250, 100 250 0, 250 0 100, 250 100 0, 0 100 –, – 250 100';
  const OTHERS = '0 100 250 – –, 250 – 100 – 0, 400 300 200 100 0, 0, 100 0';
  for (const order of [...ORDERS.split(', '), ...OTHERS.split(', ')]) {
    const atMs = order.split(' ').map((ms) => (ms === '–' ? undefined : Number(ms)));
    const nodes = atMs.length;
    const endsMs = atMs.map((ms) => (ms === undefined ? 0 : ms + GUARD_MS)).sort((a, b) => a - b);
    const backAtMs = endsMs[quorumOf(nodes) - 1] ?? 0;
    const allBackAtMs = endsMs.at(-1) ?? 0;
    const restarted = atMs.filter((ms) => ms !== undefined);
    // the answer that decides the round is the last one, so all are known
    const isExact = atMs.at(-1) !== undefined && restarted.length === nodes - quorumOf(nodes) + 1;
    it(`N=${nodes}, restarted after ${order} ms: a quorum votes again in ${backAtMs}, and by remainingMs at the latest`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const startedAtMs = time.now();
      const until = (ms: number): Promise<void> => time.advance(startedAtMs + ms - time.now());
      for (const ms of [0, 100, 200, 250, 300, 400]) {
        await until(ms);
        const now = masters.filter((_, i) => atMs[i] === ms);
        for (const master of now) master.restart('kept');
        if (now.length > 0) await redlock.bootstrap(); // changes nothing, but they notice
      }
      const error = await refused(redlock);
      expect(error.code).to.equal('QUARANTINED');
      // the round is over with the answers that decide it: those that are not in are not counted on
      const [firstMs, lastMs] = [backAtMs, isExact ? backAtMs : allBackAtMs];
      const toldMs = time.now() - startedAtMs + (error.remainingMs ?? 0);
      expect(toldMs).to.be.within(firstMs, lastMs);
      await until(backAtMs - 1);
      expect((await refused(redlock)).code).to.equal('QUARANTINED');
      await until(backAtMs);
      await (await attempt(redlock)).release();
      await until(toldMs);
      await attempt(redlock);
    });
  }

  for (const nodes of SIZES) {
    it(`N=${nodes}, as few restarted as cost the quorum, the others gone: remainingMs is exact`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const spare = nodes - quorumOf(nodes);
      for (const master of masters.slice(0, spare + 1)) master.restart('kept');
      await redlock.bootstrap();
      await time.advance(700);
      for (const master of masters.slice(spare + 1)) master.become('lost');
      expect(await refused(redlock)).to.include({ code: 'QUARANTINED', remainingMs: GUARD_MS - 700 });
    });
  }
});

describe('restart guard: what is refused, and what is sent', () => {
  const INSIDE = 'user_script:4: quorate needs INFO in scripts:';
  const [SIX, SEVEN, LATER] = [
    'This Redis command is not allowed from scripts',
    "ERR The user executing the script can't run this command or subcommand script: 2a1, on @user_script:4.",
    'ERR ACL failure in script: User default has no permissions to run the',
  ];
  const refusals = {
    'INFO in scripts of Redis 6.2': [
      `ERR Error running script (call to f_2a1): @user_script:4: ${INSIDE} @user_script: 15: ${SIX}`,
      'INFO',
    ],
    'INFO denied by Redis 7.0': [`ERR ${INSIDE} ${SEVEN}`, 'INFO'],
    'TIME denied by Redis 7.2 and Valkey': [
      `ERR user_script:4: quorate needs TIME in scripts: ${LATER} 'time' command script: 2a1, on @user_script:4.`,
      'TIME',
    ],
    'another right denied by Redis 7.0': [SEVEN, 'no right to run a command'],
    'another right denied by Redis 7.2 and Valkey': [
      `${LATER} 'pttl' command script: 2a1, on @user_script:16.`,
      'no right to run PTTL',
    ],
  } as const;
  for (const [what, [text, named]] of Object.entries(refusals)) {
    for (const nodes of [1, 3]) {
      it(`N=${nodes}, ${what}: MISCONFIGURED at once, by acquire, ready and bootstrap`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
        for (const call of [() => redlock.acquire('r'), () => redlock.ready(), () => redlock.bootstrap()]) {
          for (const master of masters) master.replies.push(serverError(text));
          const error = await atOnce(call());
          expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
          expect(error.message).to.contain(named);
          await settle();
          for (const master of masters) master.replies.length = 0;
        }
        expect([time.pending, Math.max(...masters.map(({ size }) => size))]).to.deep.equal([0, 0]);
      });
    }
  }

  it('N=3, a Redis Cluster among the masters: INVALID_ARGUMENT, naming option and value', () => {
    const time = new FakeTime();
    const transports = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
    for (const one of transports.slice(2)) one.isCluster = true;
    const own = { clock: time, timers: time, random: new FakeRandom(), disconnect: () => undefined };
    const environment = { transports, ...own };
    const error = thrown(() => new Redlock(environment, GUARDED));
    expect(error.code).to.equal('INVALID_ARGUMENT');
    expect(error.message).to.match(/restartGuardMs .*Cluster.* got 5000/);
    expect(new Redlock(environment, { ttlMs: 1_000 }).options.restartGuardMs).to.equal(0);
  });

  it('N=3: bootstrap without a period, with wrong options, after close: refused before anything is sent', async () => {
    const [{ redlock, masters }, unguarded] = [fakeCluster(3, GUARDED), fakeCluster(3)];
    for (const [call, text] of [
      [() => unguarded.redlock.bootstrap(), /restartGuardMs .* got 0/],
      [() => redlock.bootstrap({ force: 1 } as object), /force/],
      [() => redlock.bootstrap({ force: null } as object), /force/],
      [() => redlock.bootstrap({ forced: true } as object), /forced/],
    ] as const) {
      const error = await rejection(call());
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text);
    }
    await redlock.close();
    expect((await rejection(redlock.bootstrap())).code).to.equal('CLOSED');
    for (const { sent } of [...masters, ...unguarded.masters]) expect(sent).to.deep.equal([]);
  });

  it('N=3: waits for connections only, without a guard', async () => {
    const { redlock, masters } = fakeCluster(3);
    await redlock.ready();
    expect(masters[0]?.sent.length).to.equal(0);
  });

  it('N=3: the claim of a client without guard and fencing is as every other Redlock sends it', async () => {
    const { masters, other } = await started(3);
    await attempt(other('other', { ttlMs: 1_000, fencing: false }).redlock);
    for (const master of masters) expect(master.sent.at(-1)?.name).to.equal('set');
  });

  it('N=3, fencing off: a guarded claim is a script without counters', async () => {
    const { redlock, masters } = await started(3, { fencing: false });
    const lease = await attempt(redlock);
    for (const master of masters) {
      const claim = master.sent.find((command) => tokenOf(command) === lease.token);
      expect(claim?.args.slice(1, 4)).to.deep.equal(['2', 'r', MARKER]);
    }
  });
});

describe('restart guard: no shorter than a ttl and its drift', () => {
  const covered = { ttlMs: 1_000, restartGuardMs: 1_012 } as const;
  const expectRefused = ({ code, message }: RedlockError, ttlMs: number): void => {
    expect(code).to.equal('INVALID_ARGUMENT');
    expect(message).to.match(new RegExp(`^ttlMs .*restartGuardMs \\(1012 ms\\).* got ${ttlMs}\\.$`));
  };

  it('the constructor: refused from one ms beyond on, naming option and value', () => {
    fakeCluster(3, covered);
    for (const [options, ttlMs] of [
      [{ ...covered, ttlMs: 1_001 }, 1_001],
      [{ restartGuardMs: 1_012 }, DEFAULTS.ttlMs],
      [{ ...covered, driftFactor: 0.02 }, 1_000],
    ] as const) {
      const error = thrown(() => fakeCluster(3, options));
      expectRefused(error, ttlMs);
    }
    for (const restartGuardMs of [-1, 0.5, NaN, Infinity, '5000', null, true] as number[]) {
      const { code, message } = thrown(() => fakeCluster(3, { restartGuardMs }));
      expect([code, message.slice(0, 15)]).to.deep.equal(['INVALID_ARGUMENT', 'restartGuardMs ']);
    }
  });

  it('acquire, tryAcquire, using, extend, adopt: refused, and nothing is sent; the lease stands', async () => {
    const { redlock, masters, other } = fakeCluster(3, covered);
    await redlock.bootstrap();
    const lease = await redlock.acquire('r');
    const { redlock: longer } = other('other', { ttlMs: 5_000, restartGuardMs: 6_000, keyPrefix: 'p:' });
    await longer.bootstrap();
    const handle = (await longer.acquire('r')).handle();
    await settle();
    const sent = masters.map((master) => master.sent.length);
    const tooLong = { ttlMs: 1_001 };
    for (const call of [
      () => redlock.acquire('s', tooLong),
      () => redlock.tryAcquire('s', tooLong),
      () => redlock.using('s', tooLong, () => 'ran'),
      () => lease.extend(1_001),
    ])
      expectRefused(await rejection(call()), 1_001);
    expectRefused(await rejection(redlock.adopt(handle)), 5_000);
    expect(masters.map((master) => master.sent.length)).to.deep.equal(sent);
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS]);
    await lease.extend(1_000);
  });
});

describe("restart guard: a master's clock steps back", () => {
  for (const [nodes, after, passMs, backMs, leftMs] of [
    [1, 'the first claim', 1_000, 3_000, GUARD_MS],
    [1, 'the first claim', 3_000, 2_000, GUARD_MS - 1_000],
    [1, 'the first claim', 60_000, 61_000, GUARD_MS],
    [1, 'bootstrap', 0, 1, 1],
    [1, 'bootstrap', 0, 2_000, 2_000],
    [1, 'bootstrap', 0, 3_600_000, GUARD_MS],
    [1, 'bootstrap', 60_000, 60_000, 0],
    [3, 'the first claim', 60_000, 61_000, 0],
  ] as const) {
    it(`N=${nodes}, one by ${backMs} ms, ${passMs} ms after ${after}: QUARANTINED for ${leftMs} ms`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      const [one] = masters;
      await (after === 'bootstrap' ? redlock.bootstrap() : refused(redlock));
      await time.advance(passMs);
      if (one !== undefined) one.clockAheadUs -= backMs * 1_000;
      for (const ms of [leftMs, 1].filter((each, i) => each <= leftMs && leftMs > i)) {
        expect(await refused(redlock)).to.include({ remainingMs: ms });
        await time.advance(ms === 1 ? 1 : ms - 1);
      }
      const { token } = await attempt(redlock);
      await settle();
      expect(values(masters)).to.deep.equal(nodes === 1 ? [token] : [undefined, token, token]);
    });
  }
});
