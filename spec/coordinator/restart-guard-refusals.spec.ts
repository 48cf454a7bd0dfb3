/** What the restart guard refuses, on whose word, and what it sends: nothing here takes time. */
import { expect } from 'chai';
import { RedlockError } from '../../lib/runtime/errors.js';
import { DEFAULTS } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { tokenOf } from '../support/commands.js';
import { fakeCluster, FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { MARKER } from '../support/guard/stand.js';
import { rejection, thrown } from '../support/rejection.js';

const GUARDED = { ttlMs: 1_000, restartGuardMs: 5_000 } as const;
const VALID_MS = 988; // 1000 − (10 + 2)

/** The error of a call that fails without time going by. */
async function atOnce(call: Promise<unknown>): Promise<RedlockError> {
  const failed = rejection(call);
  const late = settle().then(() => new Error('it is still pending'));
  const first = await Promise.race([failed, late]);
  if (RedlockError.is(first)) return first;
  throw first;
}

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
    const { masters, other, redlock } = fakeCluster(3, GUARDED);
    await redlock.bootstrap();
    await other('other', { ttlMs: 1_000, fencing: false }).redlock.acquire('r');
    for (const master of masters) expect(master.sent.at(-1)?.command.name).to.equal('set');
  });

  it('N=3, fencing off: a guarded claim is a script without counters', async () => {
    const { redlock, masters } = fakeCluster(3, { ...GUARDED, fencing: false });
    await redlock.bootstrap();
    const lease = await redlock.acquire('r');
    for (const master of masters) {
      const claim = master.sent.find((command) => tokenOf(command) === lease.token);
      expect(claim?.keys).to.deep.equal(['r', MARKER]);
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
    const handle = (await longer.acquire('r')).giveAway();
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
