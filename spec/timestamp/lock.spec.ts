/** Timestamp locks under virtual time: both methods, all ends of a claim, and what is left on the key. */
import { expect } from 'chai';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { DAY_MS, TimestampBench } from '../support/timestamp-bench.js';

const METHODS = ['script', 'commands'] as const;
/** What a client writes at instant 1 000 of the virtual time, with a ttl of a minute. */
const FIRST = DAY_MS / 1_000 + 62;

describe('timestamp lock: acquire', () => {
  for (const method of METHODS) {
    it(`${method}: a free key: one step, and the instant is there`, async () => {
      const bench = new TimestampBench();
      bench.server.knowsScripts = false;
      const lease = await bench.lock({ method }).acquire('r');
      expect(bench.server.value('r')).to.equal(String(FIRST));
      expect(bench.server.ttlMs('r')).to.equal(method === 'script' ? 61_000 : Infinity);
      expect(bench.sent()).to.deep.equal(method === 'script' ? ['script', 'script'] : ['setnx']);
      expect([lease.status, lease.remainingMs(), lease.resources]).to.deep.equal(['held', 59_900, ['r']]);
    });

    it(`${method}: it is taken over only when the instant is past by the margin`, async () => {
      const bench = new TimestampBench();
      await bench.lock({ method }).acquire('r');
      bench.server.set('r', bench.server.value('r') ?? '', 'none'); // as the plain program leaves it
      const other = bench.lock({ method });
      await bench.time.advance((FIRST + 1) * 1_000 + 99 - bench.wallMs());
      expect(await other.tryAcquire('r')).to.equal(null);
      await bench.time.advance(1);
      const lease = await other.tryAcquire('r');
      expect(lease?.status).to.equal('held');
      expect(bench.server.value('r')).to.equal(String(FIRST + 62));
    });

    it(`${method}: it waits no longer than the holder's instant, and no longer than waitMs`, async () => {
      const bench = new TimestampBench();
      const holder = await bench.lock({ method, unit: 'ms', ttlMs: 1_000, clockMarginMs: 10 }).acquire('r');
      const lock = bench.lock({ method, unit: 'ms', ttlMs: 1_000, clockMarginMs: 10, pollMs: 400 });
      const waiting = lock.acquire('r');
      await bench.time.advance(1_040); // 1 000 + 1 + 10 + 1, and up to half a poll of jitter on the last wait
      expect([holder.status, bench.time.pending]).to.deep.equal(['lost', 1]);
      await bench.time.advance(110);
      expect((await waiting).status).to.equal('held');

      const short = rejection(lock.acquire('r', { waitMs: 500 }));
      await bench.time.advance(500);
      const { code, attempts, elapsedMs, tally, message } = await short;
      expect([code, elapsedMs]).to.deep.equal(['LOCK_TAKEN', 500]);
      expect(attempts).to.be.within(2, 4);
      expect(tally[0]).to.include({ node: 'm1', outcome: 'refused' });
      expect(message).to.match(/^"r" is taken: .*m1 refused \(\d+ ms left\)/);
    });

    it(`${method}: polls are drawn from half of pollMs to half as much again`, async () => {
      const bench = new TimestampBench();
      bench.server.set('r', String(FIRST + 9_999), 'none');
      const failed = rejection(bench.lock({ method, pollMs: 100 }).acquire('r', { waitMs: 1_000 }));
      await bench.time.advance(1_000);
      expect((await failed).attempts).to.be.within(1_000 / 150, 1_000 / 50 + 2);
    });

    it(`${method}: tryAcquire makes one attempt: null when another holds it`, async () => {
      const bench = new TimestampBench();
      await bench.lock({ method }).acquire('r');
      expect(await bench.lock({ method }).tryAcquire('r')).to.equal(null);
      expect(bench.time.pending).to.equal(0);
    });

    it(`${method}: a name that is no well-formed Unicode is refused: others have the same key`, async () => {
      const bench = new TimestampBench();
      const lock = bench.lock({ method });
      for (const call of [
        () => lock.acquire('\ud800'),
        () => lock.tryAcquire('\ud800'),
        () => lock.using('\ud800', () => undefined),
        () => lock.inspect('\ud800'),
      ]) {
        const { code, message } = await rejection(call());
        expect(code).to.equal('INVALID_ARGUMENT');
        expect(message).to.match(
          /^resource must be one non-empty string of well-formed Unicode; got "\\ud800"/,
        );
      }
      expect(bench.sent()).to.deep.equal([]);
    });

    for (const [what, content] of [
      ['a token', 'client:secret'],
      ['the other unit', String(DAY_MS)],
    ] as const) {
      it(`${method}: ${what} on the key is WRONG_KIND at once, and stays`, async () => {
        const bench = new TimestampBench();
        bench.server.set('r', content, 'none');
        const error = await rejection(bench.lock({ method }).acquire('r'));
        expect(error.code).to.equal('WRONG_KIND');
        expect(error.message).to.match(/holds something else than this kind of lock/);
        expect(error.message).to.not.contain('secret');
        expect((await rejection(bench.lock({ method }).tryAcquire('r'))).code).to.equal('WRONG_KIND');
        expect(bench.server.value('r')).to.equal(content);
      });
    }

    it(`${method}: data of another type is WRONG_KIND, and stays`, async () => {
      const bench = new TimestampBench();
      bench.server.setForeign('r');
      expect((await rejection(bench.lock({ method }).acquire('r'))).code).to.equal('WRONG_KIND');
      expect(bench.server.value('r')).to.equal('(something else)');
    });

    it(`${method}: a server that is lost is NO_QUORUM, tried again within waitMs`, async () => {
      const bench = new TimestampBench();
      bench.server.become('lost');
      bench.server.lossReason = new Error('connect ECONNREFUSED');
      const lock = bench.lock({ method });
      const error = await rejection(lock.acquire('r', { waitMs: 0 }));
      expect([error.code, error.attempts]).to.deep.equal(['NO_QUORUM', 1]);
      expect(error.message).to.match(/m1 unknown \(not connected: connect ECONNREFUSED\)/);
      const later = lock.acquire('r');
      await bench.time.advance(300);
      bench.server.become('ready');
      await bench.time.advance(200);
      expect((await later).status).to.equal('held');
    });

    it(`${method}: a client that is on its way gets up to the node timeout, and one listener`, async () => {
      const bench = new TimestampBench();
      bench.server.become('opening');
      const lock = bench.lock({ method });
      const both = [lock.acquire('a'), lock.acquire('b')];
      await settle();
      expect(bench.server.listeners).to.equal(1);
      bench.server.become('ready');
      expect((await Promise.all(both)).map(({ status }) => status)).to.deep.equal(['held', 'held']);
      expect([bench.server.listeners, bench.time.pending]).to.deep.equal([0, 0]);

      bench.server.become('opening');
      const failed = rejection(lock.acquire('c', { waitMs: 0 }));
      await bench.time.advance(200);
      expect((await failed).message).to.match(/not connected within 200 ms/);
      expect([bench.server.listeners, bench.time.pending]).to.deep.equal([0, 0]);
      bench.server.become('ready');
      await settle();
      expect(bench.server.value('c')).to.equal(undefined); // what nobody waits for is not sent
    });

    it(`${method}: the caller's signal in the very turn of the event loop in which the client connects: nothing is sent`, async () => {
      const bench = new TimestampBench();
      bench.server.become('opening');
      const controller = new AbortController();
      const failed = rejection(bench.lock({ method }).acquire('r', { signal: controller.signal }));
      await settle();
      bench.server.become('ready');
      controller.abort();
      expect((await failed).code).to.equal('ABORTED');
      await settle();
      expect(bench.server.calls).to.equal(0);
    });

    for (const [text, code, attempts] of [
      ['NOPERM this user has no permissions', 'MISCONFIGURED', 1],
      ["READONLY You can't write against a read only replica.", 'MISCONFIGURED', 3],
      ['LOADING Redis is loading the dataset in memory', 'NO_QUORUM', 3],
    ] as const) {
      it(`${method}: ${text.split(' ')[0]} is ${code}, ${attempts === 1 ? 'at once' : 'and tried again'}`, async () => {
        const bench = new TimestampBench();
        bench.server.replies.push(...Array.from({ length: 9 }, () => serverError(text)));
        const failed = rejection(bench.lock({ method }).acquire('r', { waitMs: 150 }));
        await bench.time.advance(150);
        const error = await failed;
        expect(error.code).to.equal(code);
        if (attempts === 1) expect(error.attempts).to.equal(1);
        else expect(error.attempts).to.be.at.least(attempts);
        expect(error.message).to.contain(text);
      });
    }

    it(`${method}: a silent server: NO_QUORUM by the node timeout, and what it grants late is given back`, async () => {
      const bench = new TimestampBench();
      bench.server.manner = 'freeze';
      const failed = rejection(bench.lock({ method }).acquire('r', { waitMs: 0 }));
      await bench.time.advance(200);
      const { code, message } = await failed;
      expect(code).to.equal('NO_QUORUM');
      expect(message).to.match(/no reply within 200 ms/);
      bench.server.thaw();
      await settle();
      expect(bench.server.size).to.equal(0);
      expect(bench.time.pending).to.equal(0);
    });

    it(`${method}: another's lock of the very same instant outlives a late no`, async () => {
      const bench = new TimestampBench();
      await bench.lock({ method }).acquire('r');
      bench.server.manner = 'freeze';
      const failed = rejection(bench.lock({ method }).acquire('r', { waitMs: 0 }));
      await bench.time.advance(200);
      expect((await failed).code).to.equal('NO_QUORUM');
      bench.server.thaw();
      await settle();
      expect(bench.server.value('r')).to.equal(String(FIRST));
    });

    it(`${method}: an answer after the ttl is VALIDITY_EXPIRED, not a lease`, async () => {
      const bench = new TimestampBench();
      bench.server.manner = 'freeze';
      const failed = rejection(bench.lock({ method, ttlMs: 1_000 }).acquire('r', { waitMs: 0 }));
      await settle();
      bench.time.stall(900); // no timer fires
      bench.server.thaw();
      expect((await failed).code).to.equal('VALIDITY_EXPIRED');
    });

    it(`${method}: the caller's signal ends a wait, and a claim in flight`, async () => {
      const bench = new TimestampBench();
      const lock = bench.lock({ method });
      await lock.acquire('r');
      const controller = new AbortController();
      const waiting = rejection(lock.acquire('r', { signal: controller.signal }));
      bench.server.manner = 'freeze';
      const unanswered = rejection(lock.acquire('other', { signal: controller.signal }));
      await bench.time.advance(10);
      controller.abort(new Error('enough'));
      for (const error of [await waiting, await unanswered]) {
        expect([error.code, (error.cause as Error).message]).to.deep.equal(['ABORTED', 'enough']);
      }
      bench.server.thaw();
      await settle();
      expect([bench.server.value('other'), bench.time.pending]).to.deep.equal([undefined, 0]);
    });

    it(`${method}: a signal that is aborted already sends nothing`, async () => {
      const bench = new TimestampBench();
      const signal = AbortSignal.abort('no');
      expect((await rejection(bench.lock({ method }).acquire('r', { signal }))).code).to.equal('ABORTED');
      expect(bench.server.calls).to.equal(0);
    });

    it(`${method}: using renews, releases, and keeps the routine's result and error`, async () => {
      const bench = new TimestampBench();
      const lock = bench.lock({ method, ttlMs: 3_000 });
      const long = lock.using(
        'r',
        () => new Promise((resolve) => void bench.time.wait(10_000, () => resolve('done'))),
      );
      await bench.time.advance(9_999);
      expect(await lock.tryAcquire('r')).to.equal(null);
      await bench.time.advance(1);
      expect(await long).to.equal('done');
      expect(bench.server.size).to.equal(0);
      const failing = lock.using('r', { waitMs: 0 }, () => Promise.reject(new TypeError('of the routine')));
      expect(await failing.catch((error: unknown) => error)).to.be.instanceOf(TypeError);
      expect([bench.server.size, bench.time.pending]).to.deep.equal([0, 0]);
    });

    it(`${method}: inspect reports free, held, over, foreign and unknown`, async () => {
      const bench = new TimestampBench();
      const lock = bench.lock({ method });
      expect(await lock.inspect('r')).to.deep.equal({ resource: 'r', state: 'free' });
      await lock.acquire('r');
      expect(await lock.inspect('r')).to.deep.equal({ resource: 'r', state: 'held', remainingMs: 62_100 });
      bench.server.set('r', '5', 'none');
      expect(await lock.inspect('r')).to.deep.equal({ resource: 'r', state: 'free' });
      bench.server.set('r', 'text', 'none');
      expect(await lock.inspect('r')).to.deep.equal({ resource: 'r', state: 'foreign' });
      bench.server.become('lost');
      expect(await lock.inspect('r')).to.have.property('state', 'unknown');
    });
  }

  it('the replies 1 and 3 of a server that lets something run between: tried again at once, three times at most', async () => {
    const bench = new TimestampBench();
    bench.server.replies.push([1], [3]);
    expect((await bench.lock().tryAcquire('r'))?.status).to.equal('held');
    expect(bench.time.now()).to.equal(1_000);
    bench.server.replies.push([3], [1], [3]);
    expect(await bench.lock().tryAcquire('s')).to.equal(null);
    expect(bench.server.replies).to.deep.equal([]);
    bench.server.replies.push('OK');
    expect((await rejection(bench.lock().acquire('t', { waitMs: 0 }))).message).to.match(
      /a reply that no server gives/,
    );
  });
});

describe('timestamp lock by commands: the race to take an expired lock over', () => {
  it('of two that both saw it expired one holds it, and its release copes with what the loser wrote', async () => {
    const bench = new TimestampBench();
    bench.server.set('r', '5', 'none');
    bench.server.latencyMs = 10;
    const locks = [
      bench.lock({ method: 'commands', unit: 'ms' }),
      bench.lock({ method: 'commands', unit: 'ms' }),
    ];
    const racing = locks.map((lock) => lock.tryAcquire('r'));
    await bench.time.advance(5);
    bench.time.stall(3); // the second one's GETSET comes later, with a later instant
    await bench.time.advance(100);
    const leases = await Promise.all(racing);
    expect(leases.filter((lease) => lease !== null)).to.have.length(1);
    expect(bench.sent().filter((name) => name === 'getset')).to.have.length(2);
    const [lease] = leases.filter((one) => one !== null);
    const released = lease?.release();
    await bench.time.advance(100);
    await released;
    expect(bench.server.size).to.equal(0);
  });

  it('each GETSET writes an instant of its own moment: one of before would end the lock of a faster client early', async () => {
    const bench = new TimestampBench();
    bench.server.set('r', '5', 'none');
    bench.server.latencyMs = 50;
    const acquired = bench.lock({ method: 'commands', unit: 'ms' }).acquire('r');
    await bench.time.advance(150);
    await acquired;
    const [first, second] = ['setnx', 'getset'].map((name) => {
      return Number(bench.server.sent.find(({ command }) => command.name === name)?.command.args[1]);
    });
    expect((second ?? 0) - (first ?? 0)).to.equal(100);
  });

  it('what GETSET replaced may be no instant at all: that is no lease', async () => {
    const bench = new TimestampBench();
    bench.server.replies.push(0, '5', 'a token');
    expect((await rejection(bench.lock({ method: 'commands' }).acquire('r'))).code).to.equal('WRONG_KIND');
  });

  it('a key that went between SETNX and GET, or between GET and GETSET, was free', async () => {
    const bench = new TimestampBench();
    bench.server.replies.push(0, null);
    expect((await bench.lock({ method: 'commands' }).tryAcquire('r'))?.status).to.equal('held');
    bench.server.replies.push(0, '5', null);
    expect((await bench.lock({ method: 'commands' }).tryAcquire('s'))?.status).to.equal('held');
  });
});
