import { expect } from 'chai';
import type { Inspection } from '../../lib/lease/inspection.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { rejection } from '../support/rejection.js';

/** One letter a master: f free, a or b held by that token, x something else, ? silent, ! lost, o an odd reply. */
function arrange(state: string): Bench {
  const bench = fakeCluster(state.length, { nodeTimeoutMs: 200 });
  bench.masters.forEach((master, i) => {
    const letter = state[i];
    if (letter === 'a' || letter === 'b') master.set('r', `client:${letter}`, 1_000 * (i + 1));
    else if (letter === 'x') master.setForeign('r');
    else if (letter === '?') master.manner = 'freeze';
    else if (letter === '!') master.state = 'lost';
    else if (letter === 'o') master.replies.push(['?']);
  });
  return bench;
}

async function inspect(state: string): Promise<Inspection> {
  const { redlock, time } = arrange(state);
  const inspection = redlock.inspect('r');
  await time.advance(200);
  return inspection;
}

describe('inspection', () => {
  const cases: [string, Inspection['state']][] = [
    ['f', 'free'],
    ['a', 'held'],
    ['x', 'foreign'],
    ['?', 'unknown'],
    ['ff', 'free'],
    ['fa', 'contended'],
    ['aa', 'held'],
    ['f?', 'unknown'],
    ['fff', 'free'],
    ['ffa', 'free'],
    ['faa', 'held'],
    ['fab', 'contended'],
    ['aa?', 'held'],
    ['a!f', 'contended'],
    ['f!f', 'free'],
    ['a?!', 'unknown'],
    ['xxf', 'foreign'],
    ['xxa', 'foreign'],
    ['oof', 'unknown'],
    ['aabb', 'contended'],
    ['aaab', 'held'],
    ['aabbf', 'contended'],
    ['aaa!?', 'held'],
    ['aa!?o', 'unknown'],
    ['fffaa', 'free'],
  ];
  for (const [masters, state] of cases) {
    it(`N=${masters.length}, masters ${masters}: ${state}`, async () => {
      expect((await inspect(masters)).state).to.equal(state);
    });
  }

  it('N=5: says how long the holder keeps a quorum if it does nothing more', async () => {
    const { remainingMs, holder } = await inspect('aaaaa'); // 1 to 5 s are left: at 3 s the third vote goes
    expect(remainingMs).to.equal(3_000);
    expect(holder).to.equal(fingerprint('client:a'));
  });

  it('N=1: a key without expiry has Infinity left', async () => {
    const { redlock, masters } = fakeCluster(1);
    masters[0]?.set('r', 'for ever');
    expect((await redlock.inspect('r')).remainingMs).to.equal(Infinity);
  });

  it('names every master and what it said, with the cause where it said nothing', async () => {
    const { nodes } = await inspect('fax?!');
    expect(nodes.map(({ node, state }) => `${node} ${state}`)).to.deep.equal([
      'm1 free',
      'm2 held',
      'm3 foreign',
      'm4 unknown',
      'm5 unknown',
    ]);
    const causes = nodes.flatMap((node) => (node.state === 'unknown' ? [node.cause.message] : []));
    expect(causes).to.deep.equal(['no reply within 200 ms', 'not connected']);
  });

  it('never shows a token', async () => {
    expect(JSON.stringify(await inspect('aab'))).to.not.contain('client:');
  });

  it('changes nothing', async () => {
    const { redlock, masters } = arrange('aab');
    await redlock.inspect('r');
    expect(masters.map((master) => master.value('r'))).to.deep.equal(['client:a', 'client:a', 'client:b']);
    expect(masters.map((master) => master.ttlMs('r'))).to.deep.equal([1_000, 2_000, 3_000]);
  });

  it('N=3, one silent: takes one node timeout, and leaves no timer', async () => {
    const { redlock, time } = arrange('f?f');
    let isDone = false;
    const inspection = redlock.inspect('r').then(() => (isDone = true));
    await time.advance(199);
    expect(isDone).to.equal(false);
    await time.advance(1);
    await inspection;
    expect(time.pending).to.equal(0);
  });

  it('looks at the key that the option keyPrefix makes', async () => {
    const { masters, other } = fakeCluster(1);
    masters[0]?.set('app:r', 'client:a', 1_000);
    const { redlock } = other('prefixed', { keyPrefix: 'app:' });
    expect(await redlock.inspect('r')).to.include({ resource: 'r', state: 'held' });
  });

  it('is refused after close', async () => {
    const { redlock } = fakeCluster(1);
    await redlock.close({ releaseHeld: true });
    expect((await rejection(redlock.inspect('r'))).code).to.equal('CLOSED');
  });
});
