import { expect } from 'chai';
import { homeMasterOf } from '../../lib/coordinator/home-master.js';
import { Node } from '../../lib/node/node.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

function environment(count: number): { masters: FakeMaster[]; nodes: Node[] } {
  const time = new FakeTime();
  const masters = Array.from({ length: count }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  return { masters, nodes: masters.map((master, i) => new Node(master, i, time)) };
}

describe('the home master', () => {
  it('N=1: there is nothing to choose', () => {
    expect(homeMasterOf(environment(1).nodes, 'r')).to.equal(undefined);
  });

  for (const nodes of [2, 3, 5, 7]) {
    it(`N=${nodes}: the same for the same resource, in any instance; resources are spread evenly`, () => {
      const [one, other] = [environment(nodes).nodes, environment(nodes).nodes];
      const counts = new Map<string, number>();
      for (let i = 0; i < 1_000; i++) {
        const name = homeMasterOf(one, `resource:${i}`)?.name ?? '';
        expect(homeMasterOf(other, `resource:${i}`)?.name).to.equal(name);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      expect(counts.size).to.equal(nodes);
      for (const count of counts.values()) expect(count).to.be.within(700 / nodes, 1_300 / nodes);
    });

    it(`N=${nodes}: what is silent or lost is passed over, for the next one in a circle; none is healthy: none`, () => {
      const { masters, nodes: list } = environment(nodes);
      const first = homeMasterOf(list, 'r')?.index ?? 0;
      for (let step = 0; step < nodes; step++) {
        const at = (first + step) % nodes;
        expect(homeMasterOf(list, 'r')?.index).to.equal(at);
        if (step % 2 === 0) list[at]?.markSilent();
        else masters[at]?.become('lost');
      }
      expect(homeMasterOf(list, 'r')).to.equal(undefined);
    });
  }

  it('the hash is FNV-1a, which does not change from version to version: old and new clients meet', () => {
    const { nodes } = environment(5);
    const homes = ['', 'a', 'foobar', 'invoice:42'].map((key) => homeMasterOf(nodes, key)?.index);
    // 0x811c9dc5, 0xe40c292c, 0xbf9cf968 (from the FNV test suite), modulo 5
    expect(homes.slice(0, 3)).to.deep.equal([0x811c9dc5 % 5, 0xe40c292c % 5, 0xbf9cf968 % 5]);
  });
});
