import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { serverError } from '../support/fake-master.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { settle } from '../support/fake-time.js';
import { TimestampBench } from '../support/timestamp-bench.js';
import { rejection, thrown } from '../support/rejection.js';

const SIZES = [1, 3, 5];

/** Everything that a program would print of a value. */
function printed(value: unknown): string {
  let text = '';
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const console = new Console(sink);
  console.log(value);
  console.log('%s %o %O %j', value, value, value, value);
  console.dir(value, { depth: null, showHidden: true });
  const everything = inspect(value, { depth: null, showHidden: true, getters: false });
  const raw = inspect(value, { depth: null, showHidden: true, customInspect: false });
  const error = value instanceof Error ? [value.stack, value.message, String(value.cause)].join() : '';
  return [text, everything, raw, String(value), JSON.stringify(value), error].join('\n');
}

function expectNoToken({ random }: Bench, value: unknown): void {
  const text = printed(value);
  expect(random.tokens.length).to.be.greaterThan(0);
  for (const token of random.tokens) expect(text).to.not.contain(token);
  expect(text).to.not.contain('secret-');
}

describe('no text shows a token', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: a lease, held, renewed, watched, lost, released; and the instance`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, time } = bench;
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      void lease.signal;
      expectNoToken(bench, lease);
      expectNoToken(bench, { nested: [lease] });
      expectNoToken(bench, redlock);
      expect(JSON.parse(JSON.stringify(lease))).to.deep.equal({
        resources: ['r'],
        fence: lease.fence,
        ttlMs: 3_000,
        status: 'held',
        remainingMs: 2_968,
      });
      expect(lease.fence).to.be.a('number'); // a fencing token is no secret
      await lease.release();
      expectNoToken(bench, lease);
      const lost = await redlock.acquire('r', { ttlMs: 3_000 });
      time.stall(5_000);
      expectNoToken(bench, lost.signal.reason);
      expectNoToken(bench, lost.signal);
      expectNoToken(bench, lost);
      expectNoToken(
        bench,
        thrown(() => lost.assertHeld()),
      );
      expectNoToken(
        bench,
        thrown(() => lease.assertHeld()),
      );
    });

    it(`N=${nodes}: errors of masters that quote the command, as a server and as ioredis do`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, masters } = bench;
      const quoting = (): Error => {
        const token = bench.random.tokens.at(-1) ?? '';
        const error = serverError(
          `ERR unknown thing, with args beginning with: 'r' '${token}' 'PX' again ${token}`,
        );
        error.stack = `ReplyError: ${error.message}\n    at parser`;
        return Object.assign(error, {
          command: { name: 'set', args: ['r', token, 'PX', '1000'] },
          previousErrors: [],
        });
      };
      for (const master of masters) {
        const send = master.call.bind(master);
        master.call = (command) => send(command).then(() => Promise.reject(quoting()));
      }
      const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(error.code).to.equal('NO_QUORUM');
      expectNoToken(bench, error);
      for (const entry of error.tally) expectNoToken(bench, entry);
      expectNoToken(bench, await rejection(redlock.acquire(['a', 'b'], { waitMs: 0 })));
      await redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: a server that cuts the quoted command in the middle of the token`, async () => {
      const bench = fakeCluster(nodes);
      for (const master of bench.masters) {
        const send = master.call.bind(master);
        master.call = (command) =>
          send(command).then(() => {
            const token = (bench.random.tokens.at(-1) ?? '').slice(0, -1);
            throw serverError(`ERR unknown command 'SET', with args beginning with: 'r' '${token}`);
          });
      }
      const error = await rejection(bench.redlock.acquire('r', { waitMs: 0 }));
      expect(error.code).to.equal('MISCONFIGURED');
      expectNoToken(bench, error);
      await bench.redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: odd replies that hold the token`, async () => {
      const bench = fakeCluster(nodes);
      for (const master of bench.masters) {
        const send = master.call.bind(master);
        master.call = (command) => send(command).then(() => bench.random.tokens.at(-1));
      }
      expectNoToken(bench, await rejection(bench.redlock.acquire('r', { waitMs: 0 })));
      await bench.redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: errors of extensions and adoptions`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, masters } = bench;
      const lease = await redlock.acquire('r');
      const quote = (): Error => serverError(`ERR in '${lease.token}'`);
      for (const master of masters) master.replies.push(quote());
      expectNoToken(bench, await rejection(lease.extend()));
      const handle = lease.giveAway();
      for (const master of masters) master.replies.push(quote());
      expectNoToken(bench, await rejection(redlock.adopt(handle, { waitMs: 0 })));
      for (const master of masters) master.forget();
      expectNoToken(bench, await rejection(redlock.adopt(handle)));
      const bad = { ...handle, version: 2 as 1 }; // what untyped callers may give
      expectNoToken(bench, await rejection(redlock.adopt(bad)));
      expectNoToken(bench, await rejection(redlock.adopt({ ...handle, ttlMs: 0 })));
    });

    it(`N=${nodes}: an inspection distinguishes holders and shows no token`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock } = bench;
      await redlock.acquire('r');
      const first = await redlock.inspect('r');
      await redlock.acquire('s');
      expectNoToken(bench, first);
      expect(first.holder).to.not.equal((await redlock.inspect('s')).holder);
    });
  }

  it('console.log of a lease of each kind: what its JSON has, and nothing of any other lease', async () => {
    const bench = fakeCluster(3);
    const { redlock } = bench;
    const options = { ttlMs: 3_000, renew: true };
    const lock = redlock.readWriteLock('shared');
    const leases = [
      await redlock.acquire('first', options),
      await redlock.acquire('second', options),
      await redlock.semaphore('permits', 3).acquire(options),
      await lock.write.acquire(options),
      await redlock.mutex('entered', { reentrant: true }).acquire({ ...options, owner: 'x' }),
    ];
    const names = leases.map(({ resources }) => resources[0] ?? '');
    for (const lease of leases) {
      void lease.signal;
      const text = printed(lease);
      expectNoToken(bench, lease);
      for (const name of names) {
        if (lease.resources.includes(name)) expect(text).to.contain(name);
        else expect(text, `${lease.resources.join()} shows another lease`).to.not.contain(name);
      }
      for (const key of ['resources', 'fence', 'ttlMs', 'status', 'remainingMs'])
        expect(inspect(lease), key).to.contain(`${key}:`);
      expect(inspect(lease)).to.match(/^(Lease|WriteLease|ReentrantLease) \{/);
      expect(inspect([[[lease]]])).to.match(/\[(Lease|WriteLease|ReentrantLease)\]/);
    }
    for (const other of [redlock, redlock.mutex('m'), lock, lock.read, redlock.semaphore('permits', 3)])
      expectNoToken(bench, other);
    await redlock.close({ releaseHeld: true });
  });

  it('console.log of masters in memory, and of a timestamp lease', async () => {
    const masters = new MemoryMasters(3);
    const lease = await masters.redlock().acquire('r');
    for (const value of [lease, masters, masters.redlock()])
      expect(printed(value)).to.not.contain(lease.token);
    await masters.close();
    const timestamp = await new TimestampBench().lock().acquire('lock.r');
    expect(inspect(timestamp))
      .to.match(/^TimestampLease \{/)
      .and.to.contain("status: 'held'");
  });

  it('N=3: LOCK_TAKEN, while another holds it', async () => {
    const bench = fakeCluster(3);
    const theirs = await bench.other().redlock.acquire('r');
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 100 }));
    await bench.time.advance(200);
    expectNoToken(bench, await failed);
    expect(printed(await failed)).to.not.contain(theirs.token);
    await settle();
  });
});
