import { expect } from 'chai';
import { checkOneSlot, hashTag } from '../../lib/protocol/keys.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

describe('hash slots: one slot per call where a master is a Redis Cluster', () => {
  const tags: [string, string][] = [
    ['invoice:42', 'invoice:42'],
    ['{account}:1', 'account'],
    ['a{b}c{d}', 'b'],
    ['a{}b', 'a{}b'],
    ['a{}{b}', 'a{}{b}'],
    ['a{{b}}', '{b'],
    ['a}b{c}', 'c'],
    ['a{b', 'a{b'],
    ['a}b', 'a}b'],
    ['', ''],
  ];
  for (const [key, tag] of tags) {
    it(`the hash tag of ${JSON.stringify(key)} is ${JSON.stringify(tag)}`, () => {
      expect(hashTag(key)).to.equal(tag);
    });
  }

  const cluster = { name: 'c', isCluster: true, keyPrefix: '' };
  const single = { name: 's', isCluster: false, keyPrefix: '' };

  it('takes any keys where no master is a cluster', () => {
    expect(() => checkOneSlot(['a', 'b'], [single])).to.not.throw();
  });

  it('takes keys with a tag in common', () => {
    expect(() => checkOneSlot(['{a}1', '{a}2'], [single, cluster])).to.not.throw();
  });

  it('refuses keys of several hash slots, naming them and the cluster', () => {
    const error = thrown(() => checkOneSlot(['{a}1', '{b}2'], [single, cluster]));
    expect(error.code).to.equal('INVALID_ARGUMENT');
    expect(error.message).to.contain('{a}1').and.contain('{b}2').and.contain('slot of c');
  });

  it("counts the client's own prefix: a tag in it covers all, an empty one in it takes one away", () => {
    expect(() => checkOneSlot(['a', 'b'], [{ ...cluster, keyPrefix: '{app}:' }])).to.not.throw();
    expect(thrown(() => checkOneSlot(['{a}1', '{a}2'], [{ ...cluster, keyPrefix: '{}' }])).code).to.equal(
      'INVALID_ARGUMENT',
    );
  });

  it('sends nothing for a call that it refuses, and takes the option keyPrefix into account', async () => {
    const { redlock, masters, other } = fakeCluster(3, {}, { isCluster: true });
    expect((await rejection(redlock.acquire(['a', 'b']))).code).to.equal('INVALID_ARGUMENT');
    expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    const lease = await other('tagged', { keyPrefix: '{app}:' }).redlock.acquire(['a', 'b']);
    expect(lease.status).to.equal('held');
  });

  it('a single resource needs no tag', async () => {
    const { redlock } = fakeCluster(1, {}, { isCluster: true });
    expect((await redlock.acquire('a')).status).to.equal('held');
  });
});
