import { expect } from 'chai';
import { RedlockError } from '../../lib/runtime/errors.js';
import { DEFAULTS } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { holdBack, kindsSentTo, tokenOf } from '../support/commands.js';
import { type Bench, fakeCluster, FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const MARKER = 'quorate:guard';
const GUARD_MS = 5_000;
const GUARDED = { ttlMs: 1_000, restartGuardMs: GUARD_MS } as const;
const VALID_MS = 988; // 1000 − (10 + 2)
const ONE_ATTEMPT = { waitMs: 0 } as const;

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

/** Without its data, and with the scripts, as another client has sent them by then. */
function restartKnowing(master: FakeMaster): void {
  master.restart('lost');
  master.knowsScripts = true;
}

function values(masters: readonly FakeMaster[], key = 'r'): (string | undefined)[] {
  return masters.map((master) => master.value(key));
}

describe('restart guard: a master that may have forgotten votes gives none', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, first start: QUARANTINED for one period, and no vote is left`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      const error = await rejection(redlock.acquire('r', ONE_ATTEMPT));
      expect([error.code, error.remainingMs]).to.deep.equal(['QUARANTINED', GUARD_MS]);
      const quarantined = error.tally.filter(({ outcome }) => outcome === 'quarantined');
      expect(quarantined.length).to.be.at.least(nodes - quorumOf(nodes) + 1);
      for (const entry of quarantined) expect(entry).to.include({ remainingMs: GUARD_MS });
      await settle();
      expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
    });

    it(`N=${nodes}: it lasts one period from the first command on, to the millisecond`, async () => {
      const { redlock, time } = fakeCluster(nodes, GUARDED);
      await rejection(redlock.acquire('r', ONE_ATTEMPT));
      await time.advance(GUARD_MS - 1);
      expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: 1 });
      await time.advance(1);
      expect((await redlock.acquire('r', ONE_ATTEMPT)).status).to.equal('held');
    });

    it(`N=${nodes}, ${nodes - quorumOf(nodes)} without their data: the others grant, those hold no vote`, async () => {
      const { redlock, masters } = await started(nodes);
      const forgetful = masters.slice(quorumOf(nodes));
      for (const master of forgetful) master.restart('lost');
      const lease = await redlock.acquire('r', ONE_ATTEMPT);
      await settle();
      expect(values(masters)).to.deep.equal(
        masters.map((master) => (forgetful.includes(master) ? undefined : lease.token)),
      );
    });

    it(`N=${nodes}, one more without its data: QUARANTINED, and the votes of the others are given back`, async () => {
      const { redlock, masters } = await started(nodes);
      for (const master of masters.slice(quorumOf(nodes) - 1)) master.restart('lost');
      const error = await rejection(redlock.acquire('r', ONE_ATTEMPT));
      expect([error.code, error.remainingMs]).to.deep.equal(['QUARANTINED', GUARD_MS]);
      await settle();
      expect(values(masters)).to.deep.equal(masters.map(() => undefined));
    });

    for (const [what, happen] of [
      ['restart with the data kept', (master: FakeMaster) => master.restart('kept')],
      ['restart without it', (master: FakeMaster) => master.restart('lost')],
      ['FLUSHALL', (master: FakeMaster) => master.forget()],
    ] as const) {
      it(`N=${nodes}, ${what} on all: the old lease's keys or their absence count for nothing`, async () => {
        const { redlock, masters, other } = await started(nodes);
        const lease = await redlock.acquire('r');
        for (const master of masters) happen(master);
        const theirs = other().redlock;
        expect((await rejection(theirs.acquire('r', ONE_ATTEMPT))).code).to.equal('QUARANTINED');
        expect((await rejection(theirs.tryAcquire('r'))).code).to.equal('QUARANTINED');
        expect((await rejection(theirs.using('r', ONE_ATTEMPT, () => 'ran'))).code).to.equal('QUARANTINED');
        expect(lease.status).to.equal('held');
        await lease.release(); // always allowed
        expect(values(masters)).to.deep.equal(masters.map(() => undefined));
      });
    }
  }

  it('N=3, SCRIPT FLUSH: nothing is forgotten, and they vote', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.knowsScripts = false;
    await (await redlock.acquire('r', ONE_ATTEMPT)).extend();
  });

  it('N=3: a claim that is on its way as its master restarts is not a vote (T-B7)', async () => {
    const { redlock, masters } = await started(3);
    const arrive = masters.map((master) => holdBack(master, 'claim'));
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    await settle();
    for (const master of masters) restartKnowing(master);
    for (const run of arrive) run();
    expect((await failed).code).to.equal('QUARANTINED');
    await settle();
    expect(values(masters)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('N=3: a vote that was forgotten before its fence was accepted does not count', async () => {
    const { redlock, masters } = await started(3);
    const [lagging, leading, taken] = masters;
    lagging?.set('quorate:fence:{r}', `${lagging.micros() + 1_000}`, 60_000);
    leading?.set('quorate:fence:{r}', `${leading.micros() + 2_000}`, 60_000);
    taken?.set('r', 'another', 60_000);
    const arrive = masters.map((master) => holdBack(master, 'accept'));
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    await settle();
    if (lagging !== undefined) restartKnowing(lagging);
    for (const run of arrive) run();
    const error = await failed;
    expect([error.code, ...error.tally.map(({ outcome }) => outcome)]).to.deep.equal([
      'QUARANTINED',
      'quarantined',
      'granted',
      'refused',
    ]);
    await settle();
    expect(values(masters)).to.deep.equal([undefined, undefined, 'another']);
  });

  it('N=3: a quarantined master did not look: an attempt that failed is undone there as well', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.restart('lost');
    await rejection(redlock.acquire('r', ONE_ATTEMPT));
    await settle();
    for (const master of masters) expect(kindsSentTo(master).at(-1)).to.equal('undo');
  });

  it('N=3, a slow one that restarted: its quarantine begins with the first claim, though the others decide it', async () => {
    const { redlock, masters, time } = await started(3);
    const slow = masters[2];
    slow?.restart('lost');
    if (slow !== undefined) slow.latencyMs = 20;
    await redlock.acquire('r', ONE_ATTEMPT);
    await time.advance(100);
    expect(slow?.value(MARKER)).to.be.a('string');
  });

  it('N=3, one taken, one quarantined, one free: QUARANTINED, since others alone did not make it impossible', async () => {
    const { redlock, masters } = await started(3);
    masters[0]?.set('r', 'another', 400);
    masters[1]?.restart('lost');
    const error = await rejection(redlock.acquire('r', ONE_ATTEMPT));
    expect([error.code, ...error.tally.map(({ outcome }) => outcome)]).to.deep.equal([
      'QUARANTINED',
      'refused',
      'quarantined',
      'granted',
    ]);
  });

  it('N=3, two taken, one quarantined: LOCK_TAKEN, and tryAcquire gives null', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters.slice(0, 2)) master.set('r', 'another', 400);
    masters[2]?.restart('lost');
    expect((await rejection(redlock.acquire('r', ONE_ATTEMPT))).code).to.equal('LOCK_TAKEN');
    expect(await redlock.tryAcquire('r')).to.equal(null);
  });

  it('N=3, one quarantined, one gone: NO_QUORUM, since neither alone made it impossible', async () => {
    const { redlock, masters } = await started(3);
    masters[0]?.restart('lost');
    masters[1]?.become('lost');
    expect((await rejection(redlock.acquire('r', ONE_ATTEMPT))).code).to.equal('NO_QUORUM');
  });
});

describe('restart guard: when a quorum is back (T-B9)', () => {
  /** All orders in which three masters may have restarted, and two of five that are still up. */
  const restarts: readonly (readonly (number | undefined)[])[] = [
    [0, 100, 250],
    [0, 250, 100],
    [100, 0, 250],
    [100, 250, 0],
    [250, 0, 100],
    [250, 100, 0],
    [0, 100, undefined],
    [undefined, 250, 100],
    [0, 100, 250, undefined, undefined],
    [250, undefined, 100, undefined, 0],
    [400, 300, 200, 100, 0],
    [0],
    [100, 0],
  ];
  for (const atMs of restarts) {
    const nodes = atMs.length;
    const endsMs = atMs.map((ms) => (ms === undefined ? 0 : ms + GUARD_MS)).sort((a, b) => a - b);
    const backAtMs = endsMs[quorumOf(nodes) - 1] ?? 0;
    const allBackAtMs = endsMs.at(-1) ?? 0;
    // the answer that decides the round is the last one, so all are known
    const isExact =
      atMs.at(-1) !== undefined &&
      atMs.filter((ms) => ms !== undefined).length === nodes - quorumOf(nodes) + 1;
    const when = atMs.map((ms) => ms ?? '–').join(', ');

    it(`N=${nodes}, restarted after ${when} ms: a quorum votes again in ${backAtMs}, and by remainingMs at the latest`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const startedAtMs = time.now();
      const until = (ms: number): Promise<void> => time.advance(startedAtMs + ms - time.now());
      for (const ms of [0, 100, 200, 250, 300, 400]) {
        await until(ms);
        const now = masters.filter((_, i) => atMs[i] === ms);
        for (const master of now) master.restart('kept');
        if (now.length > 0) await redlock.bootstrap(); // changes nothing, but they notice
      }
      const error = await rejection(redlock.acquire('r', ONE_ATTEMPT));
      expect(error.code).to.equal('QUARANTINED');
      // the round is over with the answers that decide it: those that are not in are not counted on
      expect(error.remainingMs).to.be.within(
        startedAtMs + backAtMs - time.now(),
        startedAtMs + allBackAtMs - time.now(),
      );
      if (isExact) expect(error.remainingMs).to.equal(startedAtMs + backAtMs - time.now());
      const toldMs = time.now() - startedAtMs + (error.remainingMs ?? 0);
      await until(backAtMs - 1);
      expect((await rejection(redlock.acquire('r', ONE_ATTEMPT))).code).to.equal('QUARANTINED');
      await until(backAtMs);
      await (await redlock.acquire('r', ONE_ATTEMPT)).release();
      await until(toldMs);
      await redlock.acquire('r', ONE_ATTEMPT);
    });
  }

  for (const nodes of SIZES) {
    it(`N=${nodes}, the decisive masters restarted at one instant: remainingMs is exact, and does not count on one that is gone`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const spare = nodes - quorumOf(nodes);
      for (const master of masters.slice(0, spare + 1)) master.restart('kept');
      await redlock.bootstrap();
      await time.advance(700);
      for (const master of masters.slice(spare + 1)) master.become('lost');
      expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({
        code: 'QUARANTINED',
        remainingMs: GUARD_MS - 700,
      });
    });
  }

  for (const nodes of SIZES) {
    it(`N=${nodes}: an acquire that waits long enough gets the lock once the quarantine is over`, async () => {
      const { redlock, time } = fakeCluster(nodes, GUARDED);
      const startedAtMs = time.now();
      let grantedAtMs = 0;
      const acquired = redlock.acquire('r', { waitMs: 60_000 }).finally(() => (grantedAtMs = time.now()));
      await time.advance(GUARD_MS + DEFAULTS.maxDelayMs);
      expect((await acquired).fence).to.be.a('number');
      expect(grantedAtMs - startedAtMs).to.be.within(GUARD_MS, GUARD_MS + DEFAULTS.maxDelayMs);
    });

    it(`N=${nodes}: one that does not, fails with QUARANTINED after its waitMs`, async () => {
      const { redlock, time } = fakeCluster(nodes, GUARDED);
      const failed = rejection(redlock.acquire('r', { waitMs: 1_000 }));
      await time.advance(1_000);
      expect(await failed).to.include({
        code: 'QUARANTINED',
        elapsedMs: 1_000,
        remainingMs: GUARD_MS - 1_000,
      });
      expect(time.pending).to.equal(0);
    });
  }

  it('remainingMs is undefined with any other code', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.set('r', 'another', 400);
    expect((await rejection(redlock.acquire('r', ONE_ATTEMPT))).remainingMs).to.equal(undefined);
  });
});

describe('restart guard: leases that are held (T-B10)', () => {
  for (const nodes of SIZES) {
    const spare = nodes - quorumOf(nodes);

    it(`N=${nodes}, ${spare} restarted without data: extended for its whole ttl, and released`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const lease = await redlock.acquire('r');
      for (const master of masters.slice(0, spare)) master.restart('lost');
      await time.advance(500);
      await lease.extend();
      expect(lease.remainingMs()).to.equal(VALID_MS);
      expect(values(masters)).to.deep.equal(masters.map((_, i) => (i < spare ? undefined : lease.token)));
      await lease.release();
      await settle();
      expect(values(masters)).to.deep.equal(masters.map(() => undefined));
    });

    it(`N=${nodes}, ${spare} restarted, the lease is renewed: their votes are back once they vote again`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const lease = await redlock.acquire('r', { renew: true });
      for (const master of masters.slice(0, spare)) master.restart('lost');
      await time.advance(GUARD_MS + 1_000);
      expect([lease.status, ...values(masters)]).to.deep.equal(['held', ...masters.map(() => lease.token)]);
    });

    for (const data of ['lost', 'kept'] as const) {
      it(`N=${nodes}, ${spare + 1} restarted, data ${data}: extend throws QUARANTINED, the old validity stands to its end`, async () => {
        const { redlock, masters, time } = await started(nodes);
        const lease = await redlock.acquire('r');
        const { signal } = lease;
        for (const master of masters.slice(0, spare + 1)) master.restart(data);
        await time.advance(500);
        const error = await rejection(lease.extend());
        expect([error.code, error.remainingMs]).to.deep.equal(['QUARANTINED', GUARD_MS]);
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS - 500]);
        await time.advance(VALID_MS - 501);
        expect(signal.aborted || lease.status === 'held').to.equal(true);
        await time.advance(1);
        expect([lease.status, signal.aborted]).to.deep.equal(['lost', true]);
        expect(signal.reason).to.include({ code: 'LOCK_LOST' });
        expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
      });
    }

    it(`N=${nodes}, ${spare + 1} restarted, the lease is renewed: lost at its end, and no timer is left`, async () => {
      const { redlock, masters, time } = await started(nodes);
      const lease = await redlock.acquire('r', { renew: true });
      for (const master of masters.slice(0, spare + 1)) master.restart('lost');
      await time.advance(VALID_MS);
      expect([lease.status, time.pending]).to.deep.equal(['lost', 0]);
    });
  }

  it('N=3, one restarted: adopt takes the lease over', async () => {
    const { redlock, masters, other } = await started(3);
    const handle = (await redlock.acquire('r')).handle();
    masters[0]?.restart('lost');
    expect((await other().redlock.adopt(handle)).status).to.equal('held');
  });

  it('N=3, two restarted: adopt fails with QUARANTINED', async () => {
    const { redlock, masters, other } = await started(3);
    const handle = (await redlock.acquire('r')).handle();
    for (const master of masters.slice(0, 2)) master.restart('kept');
    const error = await rejection(other().redlock.adopt(handle, { waitMs: 0 }));
    expect([error.code, error.remainingMs]).to.deep.equal(['QUARANTINED', GUARD_MS]);
  });
});

describe('restart guard: bootstrap (T-B8)', () => {
  for (const nodes of SIZES) {
    const names = Array.from({ length: nodes }, (_, i) => `m${i + 1}`);

    it(`N=${nodes}, first start: changed, and the first grant is immediate`, async () => {
      const { redlock } = fakeCluster(nodes, GUARDED);
      expect(await redlock.bootstrap()).to.deep.equal({
        changed: true,
        nodes: names.map((node) => ({ node, state: 'declared' })),
      });
      expect((await redlock.acquire('r', ONE_ATTEMPT)).remainingMs()).to.equal(VALID_MS);
    });

    it(`N=${nodes}, the second time: nothing changed, they vote already`, async () => {
      const { redlock } = await started(nodes);
      expect(await redlock.bootstrap()).to.deep.equal({
        changed: false,
        nodes: names.map((node) => ({ node, state: 'unchanged', remainingMs: 0 })),
      });
    });

    it(`N=${nodes}, in quarantine: nothing changed, with the time left of each; force ends it`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      await rejection(redlock.acquire('r', ONE_ATTEMPT));
      await time.advance(100);
      const nodesOf = (remainingMs: number): object[] =>
        names.map((node) => ({ node, state: 'unchanged', remainingMs }));
      expect(await redlock.bootstrap()).to.deep.equal({ changed: false, nodes: nodesOf(GUARD_MS - 100) });
      expect((await rejection(redlock.acquire('r', ONE_ATTEMPT))).code).to.equal('QUARANTINED');
      expect(await redlock.bootstrap({ force: true })).to.deep.equal({
        changed: true,
        nodes: names.map((node) => ({ node, state: 'declared' })),
      });
      await redlock.acquire('r', ONE_ATTEMPT);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 1));
    });

    it(`N=${nodes}, another process since: a marker that is there is not believed, unless by force`, async () => {
      const { redlock, masters } = await started(nodes);
      for (const master of masters) master.restart('kept');
      const { changed, nodes: states } = await redlock.bootstrap({ force: false });
      expect([changed, ...states]).to.deep.equal([
        false,
        ...names.map((node) => ({ node, state: 'unchanged', remainingMs: GUARD_MS })),
      ]);
      await redlock.bootstrap({ force: true });
      await redlock.acquire('r', ONE_ATTEMPT);
    });

    it(`N=${nodes}, ${nodes - quorumOf(nodes)} gone: done at the others, the cause for the rest`, async () => {
      const { redlock, masters } = fakeCluster(nodes, GUARDED);
      for (const master of masters.slice(quorumOf(nodes))) master.become('lost');
      const report = await redlock.bootstrap();
      expect(report.changed).to.equal(true);
      expect(report.nodes.map(({ state }) => state)).to.deep.equal(
        masters.map((_, i) => (i < quorumOf(nodes) ? 'declared' : 'unknown')),
      );
      for (const node of report.nodes)
        if (node.state === 'unknown') expect(node.cause.message).to.equal('not connected');
      await redlock.acquire('r', ONE_ATTEMPT);
    });

    it(`N=${nodes}, ${nodes - quorumOf(nodes) + 1} silent: NO_QUORUM within one node timeout, naming them`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
      for (const master of masters.slice(0, nodes - quorumOf(nodes) + 1)) master.manner = 'freeze';
      const failed = rejection(redlock.bootstrap());
      await time.advance(100);
      const error = await failed;
      expect([error.code, time.pending]).to.deep.equal(['NO_QUORUM', 0]);
      expect(error.tally.flatMap(({ node, outcome }) => (outcome === 'unknown' ? [node] : []))).to.deep.equal(
        names.slice(0, nodes - quorumOf(nodes) + 1),
      );
    });
  }

  it('N=3, one declared, two not: changed, and the state of each', async () => {
    const { redlock, masters, time } = await started(3);
    masters[0]?.forget();
    masters[1]?.restart('kept');
    await time.advance(10);
    expect(await redlock.bootstrap()).to.deep.equal({
      changed: true,
      nodes: [
        { node: 'm1', state: 'declared' },
        { node: 'm2', state: 'unchanged', remainingMs: GUARD_MS },
        { node: 'm3', state: 'unchanged', remainingMs: 0 },
      ],
    });
  });

  it('N=3, restartGuardMs 0: INVALID_ARGUMENT without force, and nothing is sent', async () => {
    const { redlock, masters } = fakeCluster(3);
    const error = await rejection(redlock.bootstrap());
    expect([error.code, masters[0]?.sent.length]).to.deep.equal(['INVALID_ARGUMENT', 0]);
    expect(error.message).to.match(/restartGuardMs .* got 0/);
  });

  it('N=3, restartGuardMs 0 and force: the guard is gone, for clients without one', async () => {
    const { masters, other } = await started(3);
    const { redlock } = other('unguarded', { ttlMs: 1_000 });
    expect((await rejection(redlock.acquire('r'))).code).to.equal('MISCONFIGURED');
    expect((await redlock.bootstrap({ force: true })).changed).to.equal(true);
    expect(masters.map((master) => master.value(MARKER))).to.deep.equal([undefined, undefined, undefined]);
    await redlock.acquire('r', ONE_ATTEMPT);
  });

  it('N=3: wrong options are refused before anything is sent', async () => {
    const { redlock, masters } = fakeCluster(3, GUARDED);
    for (const [given, named] of [
      [{ force: 1 }, 'force'],
      [{ force: null }, 'force'],
      [{ forced: true }, 'forced'],
    ] as const) {
      const error = await rejection(redlock.bootstrap(given as object));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.contain(named);
    }
    expect(masters[0]?.sent.length).to.equal(0);
  });

  it('N=3: CLOSED after close', async () => {
    const { redlock } = await started(3);
    await redlock.close({ releaseHeld: true });
    expect((await rejection(redlock.bootstrap())).code).to.equal('CLOSED');
  });
});

describe('restart guard: ready()', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: resolves when the quarantine of a quorum is over, to the millisecond`, async () => {
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
      await redlock.acquire('r', ONE_ATTEMPT);
    });
  }

  it('N=3: at once where they vote, also when one has forgotten', async () => {
    const { redlock, masters, time } = await started(3);
    masters[0]?.restart('lost');
    await redlock.ready();
    expect(time.pending).to.equal(0);
  });

  it('N=3: begins the quarantine of masters that have none yet', async () => {
    const { redlock, time, other } = fakeCluster(3, GUARDED);
    void redlock.ready();
    await time.advance(1_500);
    expect(await rejection(other().redlock.acquire('r', ONE_ATTEMPT))).to.include({
      remainingMs: GUARD_MS - 1_500,
    });
    await time.advance(GUARD_MS);
  });

  it('N=3: goes on asking while fewer than a quorum answer', async () => {
    const { redlock, masters, time } = await started(3);
    for (const master of masters.slice(0, 2)) master.manner = 'freeze';
    let isReady = false;
    void redlock.ready().then(() => (isReady = true));
    await time.advance(2_000);
    expect(isReady).to.equal(false);
    for (const master of masters) master.thaw();
    await time.advance(200);
    expect(isReady).to.equal(true);
  });

  it('N=3, one in quarantine, one away: resolves within a second of its return, and does not wait for the quarantine', async () => {
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

  it('N=3: CLOSED by close during the quarantine, at once, and no timer is left', async () => {
    const { redlock, time } = fakeCluster(3, GUARDED);
    const failed = rejection(redlock.ready());
    await time.advance(1_500);
    await redlock.close({ releaseHeld: true });
    expect([(await failed).code, time.pending]).to.deep.equal(['CLOSED', 0]);
  });

  it('N=3: CLOSED by close while masters are silent, within one node timeout', async () => {
    const { redlock, masters, time } = fakeCluster(3, GUARDED);
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(redlock.ready());
    await settle();
    void redlock.close({ releaseHeld: true });
    await time.advance(200);
    expect([(await failed).code, time.pending]).to.deep.equal(['CLOSED', 0]);
  });

  it('N=3: waits for connections only, without a guard', async () => {
    const { redlock, masters } = fakeCluster(3);
    await redlock.ready();
    expect(masters[0]?.sent.length).to.equal(0);
  });
});

describe('restart guard: set-ups that it cannot work with', () => {
  const refusals = [
    [
      'Redis 6.2, where scripts may not ask INFO',
      'ERR Error running script (call to f_2a1): @user_script:4: user_script:4: quorate needs INFO in scripts: @user_script: 15: This Redis command is not allowed from scripts',
      'INFO',
    ],
    [
      'INFO denied, as Redis 7.0 words it',
      "ERR user_script:4: quorate needs INFO in scripts: ERR The user executing the script can't run this command or subcommand script: 2a1, on @user_script:4.",
      'INFO',
    ],
    [
      'TIME denied, as Redis 7.2 and Valkey word it',
      "ERR user_script:4: quorate needs TIME in scripts: ERR ACL failure in script: User default has no permissions to run the 'time' command script: 2a1, on @user_script:4.",
      'TIME',
    ],
    [
      'another right denied, as Redis 7.0 words it',
      "ERR The user executing the script can't run this command or subcommand script: 2a1, on @user_script:16.",
      'no right to run a command',
    ],
    [
      'another right denied, as Redis 7.2 and Valkey word it',
      "ERR ACL failure in script: User default has no permissions to run the 'pttl' command script: 2a1, on @user_script:16.",
      'no right to run PTTL',
    ],
  ] as const;
  for (const [what, text, named] of refusals) {
    for (const nodes of [1, 3]) {
      it(`N=${nodes}, ${what}: MISCONFIGURED at once, by acquire`, async () => {
        const { redlock, masters } = fakeCluster(nodes, GUARDED);
        for (const master of masters) master.replies.push(serverError(text));
        const error = await atOnce(redlock.acquire('r'));
        expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
        expect(error.message).to.contain(named);
        expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
      });

      it(`N=${nodes}, ${what}: MISCONFIGURED, by ready`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes, GUARDED);
        for (const master of masters) master.replies.push(serverError(text));
        const error = await atOnce(redlock.ready());
        expect([error.code, time.pending]).to.deep.equal(['MISCONFIGURED', 0]);
        expect(error.message).to.contain(named);
      });

      it(`N=${nodes}, ${what}: MISCONFIGURED, by bootstrap`, async () => {
        const { redlock, masters } = fakeCluster(nodes, GUARDED);
        for (const master of masters) master.replies.push(serverError(text));
        expect((await atOnce(redlock.bootstrap())).code).to.equal('MISCONFIGURED');
      });
    }
  }

  it('N=3, a Redis Cluster among the masters: INVALID_ARGUMENT, naming option and value', () => {
    const time = new FakeTime();
    const transports = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
    for (const one of transports.slice(2)) one.isCluster = true;
    const environment = {
      transports,
      clock: time,
      timers: time,
      random: new FakeRandom(),
      disconnect: () => undefined,
    };
    const error = thrown(() => new Redlock(environment, GUARDED));
    expect(error.code).to.equal('INVALID_ARGUMENT');
    expect(error.message).to.match(/restartGuardMs .*Cluster.* got 5000/);
    expect(new Redlock(environment, { ttlMs: 1_000 }).options.restartGuardMs).to.equal(0);
  });

  const markers: readonly [string, (master: FakeMaster) => void][] = [
    ['of another type', (master) => master.setForeign(MARKER)],
    ['with another text', (master) => master.set(MARKER, 'something')],
    ['that is empty', (master) => master.set(MARKER, '')],
    ['of a future version', (master) => master.set(MARKER, `2|run1|0|${GUARD_MS}`)],
    ['with more behind it', (master) => master.set(MARKER, `1|run1|0|${GUARD_MS}|more`)],
    ['of the study, without a period', (master) => master.set(MARKER, 'run1|0')],
  ];
  for (const [what, put] of markers) {
    it(`N=3, a marker ${what}: MISCONFIGURED by acquire and ready, with and without a guard; it stays as it is`, async () => {
      const { redlock, masters, other } = fakeCluster(3, GUARDED);
      for (const master of masters) put(master);
      const before = values(masters, MARKER);
      const { redlock: unguarded } = other('unguarded', { ttlMs: 1_000 });
      for (const call of [
        redlock.acquire('r'),
        redlock.ready(),
        redlock.bootstrap(),
        unguarded.acquire('r'),
      ]) {
        const error = await atOnce(call);
        expect(error.code).to.equal('MISCONFIGURED');
        expect(error.message).to.contain(MARKER);
      }
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
      expect(values(masters, MARKER)).to.deep.equal(before);
    });

    it(`N=3, a marker ${what}: bootstrap with force writes it anew`, async () => {
      const { redlock, masters } = fakeCluster(3, GUARDED);
      for (const master of masters) put(master);
      expect((await redlock.bootstrap({ force: true })).changed).to.equal(true);
      await redlock.acquire('r', ONE_ATTEMPT);
    });
  }

  it('N=3: the text about a marker that cannot be read names the key, its prefix included', async () => {
    const { redlock, masters } = fakeCluster(3, { ...GUARDED, keyPrefix: 'app:' });
    for (const master of masters) master.set('quorate:guard:app:', 'something');
    expect((await atOnce(redlock.acquire('r'))).message).to.contain('quorate:guard:app:');
  });

  it('N=3, a minority of unreadable markers costs no lease', async () => {
    const { redlock, masters } = await started(3);
    masters[0]?.setForeign(MARKER);
    await (await redlock.acquire('r', ONE_ATTEMPT)).extend();
  });
});

describe('restart guard: one for the deployment', () => {
  for (const nodes of [1, 3]) {
    it(`N=${nodes}, a client with another period: MISCONFIGURED at once, naming both`, async () => {
      const { masters, other } = await started(nodes);
      const { redlock } = other('other', { ttlMs: 1_000, restartGuardMs: 7_000 });
      for (const call of [redlock.acquire('r'), redlock.ready(), redlock.bootstrap()]) {
        const error = await atOnce(call);
        expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
        expect(error.message).to.contain('restartGuardMs').and.contain('5000').and.contain('7000');
      }
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}, a client without a guard, fencing on: MISCONFIGURED at once, naming both`, async () => {
      const { masters, other } = await started(nodes);
      const error = await atOnce(other('other', { ttlMs: 1_000 }).redlock.acquire('r'));
      expect([error.code, error.attempts]).to.deep.equal(['MISCONFIGURED', 1]);
      expect(error.message).to.contain('restartGuardMs').and.contain('5000').and.match(/\b0\b/);
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}, another period: an extension and an adoption are refused as well, and the lease stands`, async () => {
      const { redlock, masters } = await started(nodes);
      const lease = await redlock.acquire('r');
      for (const master of masters) master.set(MARKER, '1|run1|0|7000');
      expect((await atOnce(lease.extend())).code).to.equal('MISCONFIGURED');
      expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS]);
      const error = await atOnce(redlock.adopt(lease.handle()));
      expect(error.code).to.equal('MISCONFIGURED');
    });
  }

  it('N=3: a client without guard and fencing sees no marker: its plain claim is as every other Redlock sends it', async () => {
    const { masters, other } = await started(3);
    const { redlock } = other('other', { ttlMs: 1_000, fencing: false });
    await redlock.acquire('r', ONE_ATTEMPT);
    for (const master of masters) expect(master.sent.at(-1)?.name).to.equal('set');
  });

  it('N=3: a change of the period, by force: clients with the new one vote at once, those with the old one are refused', async () => {
    const { redlock, other } = await started(3);
    const { redlock: changed } = other('other', { ttlMs: 1_000, restartGuardMs: 7_000 });
    await changed.bootstrap({ force: true });
    await (await changed.acquire('r', ONE_ATTEMPT)).release();
    expect((await atOnce(redlock.acquire('r'))).code).to.equal('MISCONFIGURED');
  });

  it('N=3, fencing off: the claim is a script without counters, and a loss is noticed all the same', async () => {
    const { redlock, masters } = await started(3, { fencing: false });
    const lease = await redlock.acquire('r', ONE_ATTEMPT);
    expect(lease.fence).to.equal(undefined);
    await lease.extend();
    for (const master of masters) {
      const claim = master.sent.find((command) => tokenOf(command) === lease.token);
      expect(claim?.args.slice(1, 4)).to.deep.equal(['2', 'r', MARKER]);
      expect(master.value('quorate:fence:{r}')).to.equal(undefined);
    }
    await lease.release();
    for (const master of masters) master.restart('lost');
    expect((await atOnce(redlock.acquire('r', ONE_ATTEMPT))).code).to.equal('QUARANTINED');
  });

  it('N=3, per call: fencing off under a guard is guarded, too', async () => {
    const { redlock, masters } = await started(3);
    for (const master of masters) master.restart('lost');
    const failed = redlock.acquire('r', { ...ONE_ATTEMPT, fencing: false });
    expect((await atOnce(failed)).code).to.equal('QUARANTINED');
  });

  it('N=3, several key prefixes: a marker for each, and each has to be declared', async () => {
    const { masters, other } = await started(3);
    const a = other('a', { ...GUARDED, keyPrefix: 'a:' }).redlock;
    expect((await atOnce(a.acquire('r', ONE_ATTEMPT))).code).to.equal('QUARANTINED');
    const b = other('b', { ...GUARDED, keyPrefix: 'b:', restartGuardMs: 9_000 }).redlock;
    await b.bootstrap();
    await b.acquire('r', ONE_ATTEMPT);
    for (const master of masters) {
      expect(master.value('quorate:guard:a:')).to.match(/^1\|run1\|[1-9]\d+\|5000$/);
      expect(master.value('quorate:guard:b:')).to.match(/^1\|run1\|\d+\|9000$/);
      expect(master.value(MARKER)).to.match(/^1\|run1\|\d+\|5000$/);
    }
    for (const master of masters) master.restart('lost');
    expect(await atOnce(b.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: 9_000 });
  });
});

describe('restart guard: no shorter than a ttl', () => {
  const covered = { ttlMs: 1_000, restartGuardMs: 1_012 } as const; // ttl + drift

  function expectRefused(error: { code: string; message: string }, ttlMs: number): void {
    expect(error.code).to.equal('INVALID_ARGUMENT');
    expect(error.message).to.match(new RegExp(`^ttlMs .*restartGuardMs \\(1012 ms\\).* got ${ttlMs}\\.$`));
  }

  it('the constructor: refused from one ms beyond on, naming option and value', () => {
    fakeCluster(3, covered);
    expectRefused(
      thrown(() => fakeCluster(3, { ...covered, ttlMs: 1_001 })),
      1_001,
    );
    expectRefused(
      thrown(() => fakeCluster(3, { restartGuardMs: 1_012 })),
      DEFAULTS.ttlMs,
    );
    expectRefused(
      thrown(() => fakeCluster(3, { ...covered, driftFactor: 0.02 })),
      1_000,
    );
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
    expectRefused(await rejection(redlock.acquire('s', { ttlMs: 1_001 })), 1_001);
    expectRefused(await rejection(redlock.tryAcquire('s', { ttlMs: 1_001 })), 1_001);
    expectRefused(await rejection(redlock.using('s', { ttlMs: 1_001 }, () => 'ran')), 1_001);
    expectRefused(await rejection(lease.extend(1_001)), 1_001);
    expectRefused(await rejection(redlock.adopt(handle)), 5_000);
    expect(masters.map((master) => master.sent.length)).to.deep.equal(sent);
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS]);
    await lease.extend(1_000);
  });

  for (const restartGuardMs of [-1, 0.5, NaN, Infinity, '5000', null, true]) {
    it(`restartGuardMs ${JSON.stringify(restartGuardMs)}: INVALID_ARGUMENT`, () => {
      const error = thrown(() => fakeCluster(3, { restartGuardMs: restartGuardMs as number }));
      expect([error.code, error.message.startsWith('restartGuardMs ')]).to.deep.equal([
        'INVALID_ARGUMENT',
        true,
      ]);
    });
  }
});

describe("restart guard: steps of a master's clock", () => {
  const back = (master: FakeMaster | undefined, ms: number): void => {
    if (master !== undefined) master.clockAheadUs -= ms * 1_000;
  };

  it('N=1, back behind the beginning of a quarantine: it begins again', async () => {
    const { redlock, masters, time } = fakeCluster(1, GUARDED);
    await rejection(redlock.acquire('r', ONE_ATTEMPT));
    await time.advance(1_000);
    back(masters[0], 3_000);
    expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: GUARD_MS });
    await time.advance(GUARD_MS - 1);
    expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: 1 });
    await time.advance(1);
    await redlock.acquire('r', ONE_ATTEMPT);
  });

  it('N=1, back within a quarantine: it ends that much later', async () => {
    const { redlock, masters, time } = fakeCluster(1, GUARDED);
    await rejection(redlock.acquire('r', ONE_ATTEMPT));
    await time.advance(3_000);
    back(masters[0], 2_000);
    expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: GUARD_MS - 1_000 });
  });

  it('N=1, back long after a quarantine, behind its beginning: another one', async () => {
    const { redlock, masters, time } = fakeCluster(1, GUARDED);
    await rejection(redlock.acquire('r', ONE_ATTEMPT));
    await time.advance(60_000);
    await (await redlock.acquire('r', ONE_ATTEMPT)).release();
    back(masters[0], 61_000);
    expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: GUARD_MS });
  });

  for (const [stepMs, quarantinedMs] of [
    [1, 1],
    [2_000, 2_000],
    [3_600_000, GUARD_MS],
  ] as const) {
    it(`N=1, back by ${stepMs} ms right after bootstrap: quarantined for ${quarantinedMs} ms, no longer than a period`, async () => {
      const { redlock, masters, time } = await started(1);
      back(masters[0], stepMs);
      expect(await rejection(redlock.acquire('r', ONE_ATTEMPT))).to.include({ remainingMs: quarantinedMs });
      await time.advance(quarantinedMs);
      await redlock.acquire('r', ONE_ATTEMPT);
    });
  }

  it('N=1, back by less than has gone by since it voted first: it votes on', async () => {
    const { redlock, masters, time } = await started(1);
    await time.advance(60_000);
    back(masters[0], 60_000);
    await redlock.acquire('r', ONE_ATTEMPT);
  });

  it('N=3, one steps back: the others grant', async () => {
    const { redlock, masters, time } = fakeCluster(3, GUARDED);
    await rejection(redlock.acquire('r', ONE_ATTEMPT));
    await time.advance(60_000);
    back(masters[0], 61_000);
    const lease = await redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    expect(values(masters)).to.deep.equal([undefined, lease.token, lease.token]);
  });
});
