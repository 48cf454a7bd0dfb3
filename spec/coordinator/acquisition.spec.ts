import { expect } from 'chai';
import type { RedlockError } from '../../lib/runtime/errors.js';
import type { Lease } from '../../lib/lease/public.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { keysOf, kindOf, sentTo } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

/** What a master may do to a claim, by the class of its answer. */
const ANSWERS: Readonly<Record<string, (master: FakeMaster) => void>> = {
  granted: () => undefined,
  held: (master) => master.set('r', 'another', 700),
  foreign: (master) => master.setForeign('r'),
  misconfigured: (master) => void master.replies.push(serverError('NOAUTH Authentication required.')),
  unknown: (master) => (master.manner = 'lose-request'),
};
const CLASSES = Object.keys(ANSWERS);

function combinations<T>(of: readonly T[], length: number): T[][] {
  if (length === 0) return [[]];
  return combinations(of, length - 1).flatMap((start) => of.map((last) => [...start, last]));
}

/**
 * In other words than lib's: which cause alone would be enough, in this order; or other claimants, where too few masters
 * are wrong or silent to cost the quorum without them.
 */
function expected(answers: readonly string[]): string {
  const isMajority = (count: number): boolean => count * 2 > answers.length;
  const without = (...causes: string[]): number => answers.filter((one) => !causes.includes(one)).length;
  if (isMajority(without('held', 'foreign', 'misconfigured', 'unknown'))) return 'granted';
  if (!isMajority(without('held'))) return 'LOCK_TAKEN';
  if (!isMajority(without('foreign'))) return 'WRONG_KIND';
  if (!isMajority(without('foreign', 'misconfigured'))) return 'MISCONFIGURED';
  const isContended = !isMajority(without('held', 'foreign', 'misconfigured'));
  return isContended && isMajority(without('foreign', 'misconfigured', 'unknown'))
    ? 'LOCK_TAKEN'
    : 'NO_QUORUM';
}

async function attempt({ redlock, time }: Bench): Promise<Lease | RedlockError> {
  const call = redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 });
  const result = call.catch((error: unknown) => error as RedlockError);
  await time.advance(50);
  return result;
}

/** One combination: the code, the tally, and that nothing of ours stays. */
async function check(answers: readonly string[]): Promise<void> {
  const bench = fakeCluster(answers.length);
  const { masters, time } = bench;
  for (const [i, master] of masters.entries()) ANSWERS[answers[i] ?? '']?.(master);
  const result = await attempt(bench);
  const title = answers.join();
  if ('status' in result) {
    expect('granted', title).to.equal(expected(answers));
    await result.release();
  } else {
    expect(result.code, title).to.equal(expected(answers));
    checkTally(result, answers);
  }
  for (const master of masters) if (master.manner !== 'answer') master.thaw();
  await time.advance(200);
  const left = masters
    .map((master) => master.value('r'))
    .filter((value) => value?.startsWith('client') === true);
  expect([left, time.pending], title).to.deep.equal([[], 0]);
}

/** A round that was decided early may not have heard of all. */
function checkTally(error: RedlockError, answers: readonly string[]): void {
  expect(error.tally.map(({ node }) => node)).to.deep.equal(answers.map((_, i) => `m${i + 1}`));
  for (const [i, entry] of error.tally.entries()) {
    const answer = answers[i] ?? '';
    if (entry.outcome === 'granted') expect(answer).to.equal('granted');
    if (entry.outcome === 'refused') {
      // by what is told by the look behind a plain claim, where the attempt's deadline left time for it
      expect(answer).to.be.oneOf(['held', 'foreign']);
      if (entry.wrongKind === true) expect(answer).to.equal('foreign');
      if (entry.remainingMs !== undefined)
        expect([answer, entry.remainingMs <= 700]).to.deep.equal(['held', true]);
    }
    if (entry.outcome === 'unknown') {
      expect(answer).to.be.oneOf(['unknown', 'misconfigured']);
      expect(entry.cause.message).to.contain(answer === 'unknown' ? 'no reply within 50 ms' : 'NOAUTH');
    }
  }
}

describe('the code of an acquisition that failed', () => {
  for (const nodes of [1, 2, 3]) {
    it(`N=${nodes}: for all ${5 ** nodes} mixes of granted, held, another type, set up wrong, silent`, async () => {
      for (const answers of combinations(CLASSES, nodes)) await check(answers);
    });
  }

  for (const nodes of [4, 5]) {
    it(`N=${nodes}: for all ${3 ** nodes} mixes of granted, held, silent`, async () => {
      for (const answers of combinations(['granted', 'held', 'unknown'], nodes)) await check(answers);
    });

    it(`N=${nodes}: for all mixes of held, another type, set up wrong, where they count`, async () => {
      for (const answers of combinations(['held', 'foreign', 'misconfigured'], nodes)) await check(answers);
    });
  }
});

describe('what an error says', () => {
  it('N=5: node by node, with its cause; the attempts, the time, and the resources', async () => {
    const { redlock, masters, time } = fakeCluster(5);
    masters[0]?.set('r', 'another', 60_000);
    for (const master of masters.slice(1, 3)) master.manner = 'freeze';
    masters[3]?.become('lost');
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
    await time.advance(50);
    const error = await failed;
    const { code, attempts, elapsedMs, resources } = error;
    expect({ code, attempts, elapsedMs, resources }).to.deep.equal({
      code: 'NO_QUORUM',
      attempts: 1,
      elapsedMs: 50,
      resources: ['r'],
    });
    const said = error.tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : one.outcome));
    expect(said).to.deep.equal([
      'refused',
      'no reply within 50 ms',
      'no reply within 50 ms',
      'not connected',
      'granted',
    ]);
    for (const name of ['m1', 'm2', 'm3', 'm4', '"r"', '1 of 5']) expect(error.message).to.contain(name);
  });

  it('N=3: a master whose answer was not waited for is reported as pending, not as unknown', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters.slice(0, 2)) master.set('r', 'another', 60_000);
    if (masters[2] !== undefined) masters[2].latencyMs = 5;
    const failed = rejection(redlock.acquire('r', { waitMs: 0 }));
    await time.advance(100);
    const { code, message, tally } = await failed;
    expect([code, tally[2]]).to.deep.equal(['LOCK_TAKEN', { node: 'm3', outcome: 'pending' }]);
    expect(message)
      .to.match(/ m3 not waited for\.$/)
      .and.not.contain('unknown');
  });

  const silences: [string, readonly ('silent' | 'lost' | 'held' | 'well')[], boolean][] = [
    ['all silent', ['silent', 'silent', 'silent'], true],
    ['two silent', ['silent', 'silent', 'well'], true],
    ['one silent, one lost: without the silent one there is no quorum', ['silent', 'lost', 'well'], true],
    ['two silent, which would have been too few', ['silent', 'silent', 'lost', 'lost', 'held'], false],
    ['all lost', ['lost', 'lost', 'lost'], false],
  ];
  for (const [title, states, isNamed] of silences) {
    it(`N=${states.length}, ${title}: nodeTimeoutMs is ${isNamed ? '' : 'not '}named`, async () => {
      const { redlock, masters, time } = fakeCluster(states.length);
      for (const [i, master] of masters.entries()) {
        if (states[i] === 'silent') master.manner = 'freeze';
        else if (states[i] === 'lost') master.become('lost');
        else if (states[i] === 'held') master.set('r', 'another', 60_000);
      }
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      const { code, message } = await failed;
      const hint = / nodeTimeoutMs is how long an attempt waits for a silent master\.$/;
      expect([code, hint.test(message)], message).to.deep.equal(['NO_QUORUM', isNamed]);
      expect(message.includes('no reply within 50 ms')).to.equal(states.includes('silent'));
    });
  }

  for (const code of ['ABORTED', 'CLOSED'] as const) {
    it(`N=3: ${code}: masters that had not answered by then do not read as ill`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      masters[0]?.set('r', 'another', 60_000);
      for (const master of masters.slice(1)) master.latencyMs = 20;
      const controller = new AbortController();
      const failed = rejection(redlock.acquire('r', { signal: controller.signal, waitMs: 0 }));
      await time.advance(5);
      if (code === 'ABORTED') controller.abort();
      else void redlock.close();
      const { tally, ...error } = await failed;
      expect([error.code, tally.map(({ outcome }) => outcome)]).to.deep.equal([
        code,
        ['refused', 'pending', 'pending'],
      ]);
      await time.advance(100);
    });
  }

  it('N=3: masters that are still being dialled: not connected, in so much time', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.become('opening');
    if (masters[0] !== undefined) masters[0].lossReason = new Error('the certificate is unknown');
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
    await time.advance(50);
    const { message, tally } = await failed;
    expect(tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : one.outcome))).to.deep.equal([
      'not connected within 50 ms: the certificate is unknown',
      'not connected within 50 ms',
      'not connected within 50 ms',
    ]);
    expect(message).to.contain('nodeTimeoutMs is how long');
    const { nodes } = await Promise.all([redlock.inspect('r'), time.advance(980)]).then(([seen]) => seen);
    expect(nodes.map((node) => (node.state === 'unknown' ? node.cause.message : node.state))).to.deep.equal([
      'not connected within 980 ms: the certificate is unknown',
      'not connected within 980 ms',
      'not connected within 980 ms',
    ]);
  });

  it('N=1..5: a refusal by a lock reports its remaining time, Infinity without expiry', async () => {
    for (let nodes = 1; nodes <= 5; nodes++) {
      for (const ttlMs of [60_000, Infinity]) {
        for (const resources of [['r'], ['a', 'r']]) {
          const { redlock, masters } = fakeCluster(nodes);
          for (const master of masters) master.set('r', 'another', ttlMs);
          const { tally } = await rejection(redlock.acquire(resources, { waitMs: 0 }));
          const refused = tally.filter(({ outcome }) => outcome === 'refused');
          expect(refused.length).to.be.greaterThan((nodes - 1) / 2);
          for (const entry of refused) expect(entry).to.have.property('remainingMs', ttlMs);
        }
      }
    }
  });

  for (const nodes of [3, 4, 5]) {
    it(`N=${nodes}: one key of another type among the votes of a holder is no reason not to wait`, async () => {
      for (let foreign = 0; foreign < nodes; foreign++) {
        const { redlock, masters, time } = fakeCluster(nodes);
        for (const [i, master] of masters.entries()) {
          if (i === foreign) master.setForeign('r');
          else master.set('r', 'another', 500);
        }
        expect(await redlock.tryAcquire('r').catch((error: unknown) => error), `at m${foreign + 1}`).to.equal(
          null,
        );
        const acquired = redlock.acquire('r');
        await time.advance(1_000);
        expect((await acquired).status).to.equal('held');
      }
    });
  }

  it('N=3: waitMs that ran out keeps what the last full fan-out said', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.set('r', 'another', 5_000);
    const failed = rejection(redlock.acquire('r', { waitMs: 1_000 }));
    await time.advance(1_000);
    const error = await failed;
    expect([error.code, error.elapsedMs]).to.deep.equal(['LOCK_TAKEN', 1_000]);
    expect(error.attempts).to.be.greaterThan(3);
    const times = error.tally.map((entry) =>
      entry.outcome === 'refused' ? entry.remainingMs : entry.outcome,
    );
    expect(times).to.deep.equal([4_000, 4_000, 4_000]);
  });

  it('N=3: the holder is gone and two masters with it, in the middle of the wait: NO_QUORUM, not LOCK_TAKEN', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.set('r', 'another', 60_000);
    const failed = rejection(redlock.acquire('r', { waitMs: 2_000 }));
    await time.advance(1_000);
    for (const master of masters.slice(1)) master.cut();
    await time.advance(2_000);
    expect((await failed).code).to.equal('NO_QUORUM');
  });
});

describe('what a grant knows', () => {
  it('N=3: what was granted is given back where it was asked for, and nowhere else', async () => {
    const { redlock, masters } = fakeCluster(3);
    const away = masters.at(-1);
    away?.become('lost');
    const lease = await redlock.acquire('r');
    away?.become('ready');
    await lease.release();
    await settle();
    expect(masters.map(sentTo)).to.deep.equal([['claim 1', 'release 1'], ['claim 1', 'release 1'], []]);
  });

  it('N=3: its release follows a claim that is in flight to a silent master, which is sent nothing else', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ttlMs: 60_000, nodeTimeoutMs: 50 });
    const [, slow, silent] = masters;
    if (silent !== undefined) silent.manner = 'freeze';
    const lease = await redlock.acquire('r');
    await Promise.all(Array.from({ length: 20 }, (_, i) => redlock.acquire(`another ${i}`)));
    if (slow !== undefined) slow.manner = 'freeze';
    const failed = rejection(redlock.acquire('late', { waitMs: 0 }));
    await time.advance(50);
    await failed;
    slow?.thaw();
    await redlock.acquire('next');
    const before = silent?.sent.length ?? 0;
    await lease.release();
    await settle();
    expect(silent === undefined ? [] : sentTo(silent).slice(before)).to.deep.equal(['release 1']);
  });

  it('N=3: renewals leave its counters alone', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    await time.advance(3_600_000);
    await redlock.acquire('r', { ttlMs: 3_000, renew: true });
    await time.advance(5_000);
    const renewals = masters.flatMap(({ sent }) => sent.filter((command) => kindOf(command) === 'extend'));
    expect(renewals.length).to.be.above(2);
    for (const command of renewals) expect(keysOf(command)).to.not.include(counterKey('r'));
  });
});

describe('what is tried again', () => {
  const passing = [
    'READONLY You cannot write against a replica',
    'OOM command not allowed',
    'MISCONF Redis is',
  ];
  const lasting = [
    'NOAUTH Authentication required.',
    'NOPERM this user has no permissions',
    "ERR unknown command 'evalsha'",
  ];

  for (const [messages, isRetried] of [
    [passing, true],
    [lasting, false],
  ] as const) {
    for (const message of messages) {
      it(`N=3: ${message}: ${isRetried ? 'within waitMs, and it can pass' : 'at once, without another attempt'}`, async () => {
        const { redlock, masters, time } = fakeCluster(3);
        for (const master of masters)
          master.replies.push(...Array.from({ length: 4 }, () => serverError(message)));
        const result = redlock
          .acquire('r', { waitMs: 5_000 })
          .catch((error: unknown) => error as RedlockError);
        await time.advance(isRetried ? 6_000 : 0);
        const outcome = await result;
        if ('code' in outcome)
          expect([outcome.code, outcome.attempts, isRetried]).to.deep.equal(['MISCONFIGURED', 1, false]);
        else expect(isRetried).to.equal(true);
      });
    }
  }

  it('N=3: one that passes among them is worth another attempt', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters.slice(0, 2)) {
      const message = master === masters[0] ? 'NOAUTH' : 'OOM';
      master.replies.push(...Array.from({ length: 100 }, () => serverError(message)));
    }
    const failed = rejection(redlock.acquire('r', { waitMs: 500 }));
    await time.advance(1_000);
    const { code, attempts } = await failed;
    expect([code, attempts > 1]).to.deep.equal(['MISCONFIGURED', true]);
  });

  it('N=3: a key of another type: WRONG_KIND at once', async () => {
    const { redlock, masters } = fakeCluster(3);
    for (const master of masters) master.setForeign('r');
    const { code, attempts } = await rejection(redlock.acquire('r', { waitMs: Infinity })); // the clock does not move
    expect([code, attempts]).to.deep.equal(['WRONG_KIND', 1]);
  });

  it('tryAcquire gives null for LOCK_TAKEN only, and makes one attempt', async () => {
    for (const [answer, code] of [
      ['unknown', 'NO_QUORUM'],
      ['foreign', 'WRONG_KIND'],
      ['misconfigured', 'MISCONFIGURED'],
    ] as const) {
      const { redlock, masters, time, random } = fakeCluster(3);
      for (const master of masters) ANSWERS[answer]?.(master);
      const failed = rejection(redlock.tryAcquire('r', { nodeTimeoutMs: 200 }));
      await time.advance(200);
      expect([(await failed).code, random.tokens.length]).to.deep.equal([code, 1]);
    }
    const { redlock, masters } = fakeCluster(3);
    for (const master of masters) master.set('r', 'another');
    expect(await redlock.tryAcquire('r')).to.equal(null);
    await settle();
  });

  it('N=3: a slow master that does not know the script gets the claim again while the lease is held, and votes for it', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const slow = masters[2] as FakeMaster;
    slow.knowsScripts = false;
    slow.latencyMs = 20;
    const lease = await redlock.acquire('r', { ttlMs: 60_000 });
    await time.advance(100);
    expect(slow.value('r')).to.equal(lease.token);
  });
});
