import { expect } from 'chai';
import { CLAIM, EXTEND, RELEASE, SCRIPTS, UNDO } from '../../lib/scripts.js';
import { type Command, scriptDigest } from '../../lib/transport.js';
import { fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];

/** What a command does, by name, and the keys and the token that it does it with. */
function read({ name, args }: Command): string {
  if (name === 'set') return `set ${args[0]} ${args[1]}`;
  const script = SCRIPTS.find(({ source }) => source === args[0] || scriptDigest(source) === args[0]);
  const count = Number(args[1]);
  return `${script?.name ?? '?'} ${args.slice(2, 2 + count).join('+')} ${args[2 + count] ?? ''}`.trimEnd();
}

const sent = (master: FakeMaster): string[] => master.sent.map(read);

// The queue comes with an issue of its own. What holds until then: whoever gives a vote back does it by comparing and
// deleting, on the very keys that were claimed, so that whatever waits on them sees them free.
describe('rule 14: every release and undo deletes the vote, by compare-and-delete on the keys of its claim', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: a release`, async () => {
      const { redlock, masters, random } = fakeCluster(nodes, { keyPrefix: 'app:' });
      await (await redlock.acquire(['a', 'b'])).release();
      const [token] = random.tokens;
      for (const master of masters) {
        expect(sent(master)).to.deep.equal([`claim app:a+app:b ${token}`, `release app:a+app:b ${token}`]);
      }
    });

    it(`N=${nodes}: the undo of an attempt that lost`, async () => {
      const { redlock, masters, random } = fakeCluster(nodes);
      masters.forEach((master, i) => i > 0 && master.set('r', 'another', 60_000));
      masters[0]?.set('r', 'another', 60_000);
      await rejection(redlock.acquire('r', { waitMs: 0 }));
      await settle();
      const [token] = random.tokens;
      for (const master of masters) {
        expect(sent(master)).to.deep.equal([`set r ${token}`, `undo r ${token}`]);
        expect(master.value('r')).to.equal('another');
      }
    });

    it(`N=${nodes}: every attempt of a contended wait gives back what it got, also in the home-first ones`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const quorum = Math.floor(nodes / 2) + 1;
      for (const master of masters.slice(0, quorum)) master.set('r', 'another', 600_000);
      const failed = rejection(redlock.acquire('r', { waitMs: 5_000 }));
      await time.advance(6_000);
      expect((await failed).code).to.equal('LOCK_TAKEN');
      for (const master of masters.slice(quorum)) expect(master.size).to.equal(0);
    });

    it(`N=${nodes}: a loss`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 1_000 });
      for (const master of masters) master.set('r', lease.token, 60_000); // a master whose clock stands still
      await time.advance(1_000);
      expect(lease.status).to.equal('lost');
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });
  }

  it('never takes a key of another away, whoever comes in between', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const leases = await Promise.all([
      redlock.acquire('a'),
      redlock.acquire('b'),
      redlock.acquire('c', { ttlMs: 1_000 }),
    ]);
    for (const master of masters) for (const key of ['a', 'b', 'c']) master.set(key, 'another', 600_000);
    await leases[0].release();
    await rejection(leases[1].extend());
    await time.advance(10_000);
    expect(leases[2].status).to.equal('lost');
    for (const master of masters)
      for (const key of ['a', 'b', 'c']) expect(master.value(key)).to.equal('another');
  });
});

describe('rule 14: the scripts delete before anything that may fail', () => {
  for (const { name, source } of [RELEASE, UNDO]) {
    it(`${name}: a DEL and reads, no other write`, () => {
      const commands = [...source.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, command]) => command);
      expect(new Set(commands)).to.deep.equal(
        new Set(name === 'release' ? ['GET', 'DEL'] : ['GET', 'DEL', 'PTTL']),
      );
      expect(source.indexOf("'DEL'")).to.be.below(
        source.includes("'PTTL'") ? source.indexOf("'PTTL'") : Infinity,
      );
    });
  }

  for (const { name, source } of [CLAIM, EXTEND]) {
    it(`${name}: looks at every key before it writes the first`, () => {
      const firstWrite = Math.min(
        ...['SET', 'PEXPIRE'].map((one) => source.indexOf(`'${one}'`)).filter((at) => at >= 0),
      );
      expect(source.lastIndexOf("'GET'")).to.be.below(firstWrite);
    });
  }
});
