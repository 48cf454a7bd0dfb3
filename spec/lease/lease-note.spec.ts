/** The note of a lease, over masters in memory and under virtual time: where it is, how long, and whose. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { noteKey } from '../../lib/protocol/keys.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { serverError } from '../support/fake-master.js';

const TTL_MS = 9_000;

function bench(): Bench {
  return fakeCluster(3, { ttlMs: TTL_MS, nodeTimeoutMs: 200 });
}

const keyOf = ({ resources: [name = ''], token }: Lease): string => noteKey(name, fingerprint(token));
const notes = ({ masters }: Bench, key: string): readonly (string | undefined)[] =>
  masters.map((master) => master.value(key));
const all = (note: string | undefined): readonly (string | undefined)[] => [note, note, note];

describe('the note of a lease', () => {
  it('N=3: beside the vote, as long as it; renewed with it, and gone with the release', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'import 42', renew: true });
    const key = keyOf(lease);
    expect(notes(one, key)).to.deep.equal(all('import 42'));
    expect(one.masters[0]?.ttlMs(key)).to.equal(TTL_MS);
    await one.time.advance(5 * TTL_MS);
    expect(notes(one, key)).to.deep.equal(all('import 42'));
    expect(one.masters[0]?.ttlMs(key)).to.be.at.most(TTL_MS);
    await lease.release();
    expect(notes(one, key)).to.deep.equal(all(undefined));
  });

  it('an extension by another ttl: the note lives as long', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'x' });
    await lease.extend(60_000);
    expect(one.masters.map((master) => master.ttlMs(keyOf(lease)))).to.deep.equal([60_000, 60_000, 60_000]);
  });

  it('an extension that failed: it lives no longer than the votes', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'x' });
    await one.time.advance(1_000);
    for (const master of one.masters) master.replies.push(serverError('LOADING it loads its data'));
    await lease.extend().catch(() => undefined);
    expect([lease.status, one.masters[0]?.ttlMs(keyOf(lease))]).to.deep.equal(['held', TTL_MS - 1_000]);
  });

  it('not renewed: gone with the ttl, as after a crash', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'x' });
    await one.time.advance(TTL_MS);
    expect(notes(one, keyOf(lease))).to.deep.equal(all(undefined));
  });

  it('N=3: without a note no command more; with one, one for the grant and one for the release', async () => {
    const counted = async (note: string): Promise<readonly number[]> => {
      const one = bench();
      await (await one.redlock.acquire('r')).release(); // the masters know the scripts
      const before = one.masters.map(({ calls }) => calls);
      await (await one.redlock.acquire('r', { note })).release();
      return one.masters.map(({ calls }, i) => calls - (before[i] ?? 0));
    };
    const plain = await counted('');
    expect(await counted('x')).to.deep.equal(plain.map((calls) => calls + 2));
  });

  for (const second of ['theirs', '']) {
    it(`a local hand-over to a call with the note "${second}": the former holder’s is gone`, async () => {
      const one = bench();
      const lease = await one.redlock.acquire('r', { note: 'mine' });
      const next = one.redlock.acquire('r', { note: second });
      await lease.release();
      const { token } = await next;
      expect(token, 'the same grant').to.equal(lease.token);
      expect(notes(one, keyOf(lease))).to.deep.equal(all(second === '' ? undefined : second));
    });
  }

  it('N=3, one master lost: the others have it, and the lease is as without', async () => {
    const one = bench();
    one.masters[0]?.become('lost');
    const lease = await one.redlock.acquire('r', { note: 'x' });
    expect(notes(one, keyOf(lease))).to.deep.equal([undefined, 'x', 'x']);
    expect(lease.status).to.equal('held');
  });

  it('using, tryAcquire, adopt, a re-entrant mutex; of several resources each', async () => {
    const one = bench();
    await one.redlock.using('a', { note: 'u' }, (lease) => {
      expect(notes(one, keyOf(lease))).to.deep.equal(all('u'));
    });
    const tried = await one.redlock.tryAcquire('b', { note: 't' });
    expect(tried === null ? [] : notes(one, keyOf(tried))).to.deep.equal(all('t'));
    const given = await one.redlock.acquire('c');
    const adopted = await one.redlock.adopt(given.giveAway(), { note: 'a' });
    expect(notes(one, keyOf(adopted))).to.deep.equal(all('a'));
    await one.redlock.mutex('d', { reentrant: true }).using({ note: 'r' }, ({ token }) => {
      expect(notes(one, noteKey('d', fingerprint(token)))).to.deep.equal(all('r'));
    });
    const { token } = await one.redlock.acquire(['e', 'f'], { note: 'both' });
    for (const name of ['e', 'f'])
      expect(notes(one, noteKey(name, fingerprint(token)))).to.deep.equal(all('both'));
  });

  it('given away: it stays for who adopts the lease, until its ttl', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'x' });
    lease.giveAway();
    expect(notes(one, keyOf(lease))).to.deep.equal(all('x'));
  });

  it('lost to others: it is deleted', async () => {
    const one = bench();
    const lease = await one.redlock.acquire('r', { note: 'x' });
    for (const master of one.masters) master.set('r', 'another', 5_000);
    await lease.extend().catch(() => undefined);
    expect(lease.status).to.equal('lost');
    expect(notes(one, keyOf(lease))).to.deep.equal(all(undefined));
  });
});
