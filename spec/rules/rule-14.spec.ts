import { expect } from 'chai';
import { counterKey, queueKey, turnKey } from '../../lib/protocol/keys.js';
import type { Entry } from '../support/entries.js';
import { fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { partCode, scriptCode } from '../support/lua-files.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];

/** What a request does, and the keys and the token that it does it with. */
const read = ({ kind, keys, token }: Entry): string => `${kind} ${keys.join('+')} ${token}`;

const sent = (master: FakeMaster): string[] => master.sent.map(read);

// Whoever gives a vote back does it by comparing and deleting, on the very keys that were claimed, with the queues beside
// them; spec/protocol/lua/queue-scripts.spec.ts has what is handed over then.
describe('rule 14: every release and undo deletes the vote, by compare-and-delete on the keys of its claim', () => {
  for (const nodes of SIZES) {
    for (const fencing of [true, false]) {
      // the counters follow the keys, and the claim's marker is last
      const beside = (...keys: string[]): string =>
        fencing ? keys.map((key) => `+${counterKey(key)}`).join('') : '';

      it(`N=${nodes}, fencing ${fencing}: a release`, async () => {
        const { redlock, masters, random } = fakeCluster(nodes, { keyPrefix: 'app:', fencing });
        await (await redlock.acquire(['a', 'b'])).release();
        const [token] = random.tokens;
        const locks = ['app:a', 'app:b'];
        const keys = `${locks.join('+')}${beside(...locks)}`;
        for (const master of masters) {
          expect(sent(master)).to.deep.equal([
            `claim ${keys}${fencing ? '+quorate:guard:app:' : ''} ${token}`,
            `release ${[...locks, ...locks.map(queueKey), ...locks.map(turnKey)].join('+')} ${token}`,
          ]);
        }
      });

      it(`N=${nodes}, fencing ${fencing}: the undo of an attempt that lost`, async () => {
        const { redlock, masters, random } = fakeCluster(nodes, { fencing });
        const quorum = Math.floor(nodes / 2) + 1;
        for (const master of masters.slice(quorum - 1)) master.set('r', 'another', 60_000);
        await rejection(redlock.acquire('r', { waitMs: 0 }));
        await settle();
        const [token] = random.tokens;
        const claim = fencing ? `claim r${beside('r')}+quorate:guard ${token}` : `claim r ${token}`;
        for (const [i, master] of masters.entries()) {
          // a script that refused compared the tokens: there is nothing to give back
          const isExplained = fencing && i >= quorum - 1;
          const keys = `r+${queueKey('r')}+${turnKey('r')}`;
          expect(sent(master)).to.deep.equal(isExplained ? [claim] : [claim, `undo ${keys} ${token}`]);
          expect(master.value('r')).to.equal(i >= quorum - 1 ? 'another' : undefined);
        }
      });
    }

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

  it("never takes another's key away, whatever happens in between", async () => {
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

/** What a script calls, in order; with a `p` in front where a failure does not end it. */
function callsOf(source: string): string[] {
  return [...source.matchAll(/redis\.(p?)call\('(\w+)'/g)].map(([, p = '', command = '']) => p + command);
}

const [CLAIMING, ACCEPTING, COUNTER] = ['claiming', 'accepting', 'counter'].map(partCode) as [
  string,
  string,
  string,
];
const [EXTENDING, LEAVING] = ['extending', 'leaving'].map(partCode) as [string, string];
const CLAIMING_AT_ONCE = scriptCode('claim').atOnce;
/** A claim that is not the usual case. */
const LONG_WAY = CLAIMING.slice(CLAIMING.indexOf('local function claim('));

const isWrite = (call: string): boolean => /^p?(?:SET|DEL|PEXPIRE)$/.test(call);

describe('rule 14: the scripts delete before anything that may fail', () => {
  for (const [name, source] of Object.entries({
    release: partCode('releasing'),
    undo: partCode('undoing'),
  })) {
    it(`${name}: the first write is a DEL, and what is written after it may fail: the queues`, () => {
      expect(callsOf(source).filter(isWrite)).to.deep.equal(['DEL']);
      expect(source.indexOf('leave(')).to.be.above(source.indexOf("'DEL'"));
      expect(LEAVING).to.contain('pcall(leaveQueue, own, token, gone[i])');
      if (source.includes("'PTTL'")) expect(source.indexOf("'DEL'")).to.be.below(source.indexOf("'PTTL'"));
    });
  }

  it('release, the short ways: they write nothing but that', () => {
    for (const source of [scriptCode('release').atOnce, partCode('releasing-many')])
      expect(callsOf(source).filter(isWrite)).to.deep.equal(['DEL']);
  });

  it('no script but those of the guard writes anything by itself', () => {
    for (const name of ['claim', 'undo', 'release', 'batch'])
      expect(callsOf(scriptCode(name).rest)).to.deep.equal([]);
  });

  for (const [name, body] of Object.entries({ claim: LONG_WAY, extend: EXTENDING })) {
    it(`${name}: looks at every lock before it writes the first`, () => {
      const calls = callsOf(body);
      expect(calls.slice(0, calls.findIndex(isWrite))).to.include('pGET');
      expect(calls.slice(calls.findIndex(isWrite))).to.not.include('pGET');
    });
  }

  it('claim: looks at every counter before it writes the first, and writes the locks last', () => {
    expect(LONG_WAY.indexOf('count(')).to.be.below(LONG_WAY.indexOf('countOn('));
    expect(LONG_WAY.indexOf('countOn(')).to.be.below(LONG_WAY.indexOf("'SET'"));
    expect(callsOf(LONG_WAY).filter(isWrite)).to.deep.equal(['SET']);
  });

  it('accept: looks at every lock and every counter before it writes the first', () => {
    for (const look of ["'GET'", 'count(', 'acceptable('])
      expect(ACCEPTING.indexOf(look)).to.be.within(0, ACCEPTING.indexOf('countOn('));
    expect(callsOf(ACCEPTING).filter(isWrite)).to.deep.equal(['SET']); // the mark of a hand-over, at last
    expect(ACCEPTING.indexOf("'SET'")).to.be.above(ACCEPTING.indexOf('countOn('));
    expect(callsOf(COUNTER).filter(isWrite)).to.deep.equal(['SET']);
  });

  it('claim, the short way: the lock is taken before it is counted; where that fails, the lock is given back', () => {
    const shortWay = CLAIMING.slice(0, -LONG_WAY.length);
    const atOnce = CLAIMING_AT_ONCE.slice(CLAIMING_AT_ONCE.indexOf('if isFree and'));
    for (const way of [shortWay, atOnce]) {
      // the lock, the counter in two ways, the counter put back in two ways, the lock given back
      expect(callsOf(way).filter(isWrite)).to.deep.equal(['SET', 'pSET', 'SET', 'SET', 'SET', 'DEL']);
      // a yes is the only way out before that
      const replies = way.slice(way.indexOf("'GET')"), way.indexOf("'DEL'")).match(/return.*/g);
      expect(replies).to.deep.equal(['return fence end', 'return {1, fence, told}']);
    }
  });

  it('extend: it writes locks, and nothing else', () => {
    expect(callsOf(EXTENDING).filter(isWrite)).to.deep.equal(['SET', 'PEXPIRE']);
    expect(callsOf(partCode('extending-many'))).to.deep.equal(['pMGET', 'PTTL', 'PEXPIRE']);
  });
});
