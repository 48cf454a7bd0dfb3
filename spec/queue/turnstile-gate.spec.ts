/** Waiting at the gate of a lock that several may hold: who is the head, and in which order heads follow each other. */
import { expect } from 'chai';
import { RESERVE_MS } from '../../lib/protocol/lua/waiting.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { kindOf, plainScope, tokenOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { queueAs } from '../support/queue-bench.js';
import { GATE, SharedBench, type Wanted } from '../support/shared-bench.js';
import { reserving } from '../support/looks.js';

const SIZES = [1, 2, 3, 5];

describe('turnstile: at the gate', () => {
  for (const nodes of SIZES) {
    const all = (name: string): string[] => Array.from({ length: nodes }, () => name);

    it(`N=${nodes}: readers come in together, writers alone, all in the order in which they asked`, async () => {
      const bench = new SharedBench(nodes);
      const { order } = bench;
      const { h, a, b, c, d, e } = await bench.ask({
        ...{ h: 'write', a: 'read', b: 'read', c: 'write', d: 'read', e: 'write' },
      } as const);
      expect([order.join(''), bench.heads, bench.queueAt(bench.masters[0]).join('')]).to.deep.equal([
        'h',
        all('a'),
        'bcde',
      ]);
      await bench.releases(h);
      expect([order.join(''), bench.heads]).to.deep.equal(['hab', all('c')]);
      await bench.releases(a);
      expect(order.join('')).to.equal('hab'); // one reader is left
      await bench.releases(b);
      expect([order.join(''), bench.heads]).to.deep.equal(['habc', all('d')]);
      await bench.releases(c);
      expect([order.join(''), bench.heads]).to.deep.equal(['habcd', all('e')]);
      await bench.releases(d);
      expect(order.join('')).to.equal('habcde');
      await bench.releases(e);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: one that wants two permits is passed by none that wants one`, async () => {
      const bench = new SharedBench(nodes);
      const { order } = bench;
      const one: Wanted = [1, 2];
      const { g, h, a, b, c } = await bench.ask({ g: one, h: one, a: [2, 2], b: one, c: one });
      expect(order.join('')).to.equal('gh');
      await bench.releases(g); // there is room for b, and not for a
      await bench.time.advance(5_000);
      expect(order.join('')).to.equal('gh');
      await bench.releases(h);
      expect(order.join('')).to.equal('gha');
      await bench.releases(a);
      expect(order.join('')).to.equal('ghabc');
      for (const waiter of [b, c]) await bench.releases(waiter);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: only the head claims, and waiters behind it ask nothing of the lock`, async () => {
      const bench = new SharedBench(nodes);
      const { h, a, b } = await bench.ask({ h: 'write', a: 'write', b: 'read' });
      const [first] = bench.masters;
      const before = bench.claimsOf('a', first);
      await bench.time.advance(3_000);
      expect(bench.claimsOf('a', first) - before).to.be.within(5, 7); // twice a second
      expect(bench.claimsOf('b', first)).to.equal(1); // it was refused, and stands in the queue since
      for (const waiter of [h, a, b]) await bench.releases(waiter);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: a head that died without a claim keeps the next one back for the time of a reservation`, async () => {
      const bench = new SharedBench(nodes);
      const dead = tokenFrom('dead', '1');
      const { h } = await bench.ask({ h: 'write' });
      for (const master of bench.masters) await queueAs(master, dead, 1, GATE); // it hears, and does nothing
      await bench.asks('a', 'write');
      const startedAtMs = bench.time.now();
      await bench.time.advance(RESERVE_MS - 2);
      expect(bench.heads).to.deep.equal(all(''));
      await bench.time.advance(RESERVE_MS);
      expect([bench.heads, bench.watched]).to.deep.equal([all('a'), all('a')]);
      expect(bench.time.now() - startedAtMs).to.be.below(2 * RESERVE_MS);
      await bench.releases(h);
      expect(bench.order).to.deep.equal(['h', 'a']);
    });

    it(`N=${nodes}: one that died behind the head is passed over as it leaves`, async () => {
      const bench = new SharedBench(nodes);
      const dead = tokenFrom('dead', '1');
      const { h, a } = await bench.ask({ h: 'write', a: 'write' });
      const place = reserving(plainScope(GATE), dead, 1, 60_000).command; // and nobody hears what is told to it
      for (const master of bench.masters) await master.call(place);
      await bench.asks('b', 'write');
      await bench.releases(h);
      await bench.releases(a);
      expect(bench.order).to.deep.equal(['h', 'a', 'b']);
    });
  }

  for (const nodes of [3, 5]) {
    it(`N=${nodes}: the waiter with a quorum of the gate is the head, whatever the other masters say`, async () => {
      const bench = new SharedBench(nodes);
      const other = tokenFrom('other', '1');
      const { h } = await bench.ask({ h: 'write' });
      for (const master of bench.masters.slice(quorumOf(nodes))) master.set(GATE, other, 60_000);
      await bench.asks('a', 'write');
      const heads = bench.heads.filter((name) => name === 'a');
      expect(heads).to.have.length(quorumOf(nodes));
      await bench.releases(h);
      expect(bench.order).to.deep.equal(['h', 'a']);
    });

    it(`N=${nodes}: where masters see them in another order the earlier ticket is the head`, async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: 'write' });
      const late = bench.masters.slice(1).map((master) => holdBackPlaces(master, 'z'));
      await bench.asks('z', 'write'); // it is known at the first master only
      const later = bench.masters.slice(quorumOf(nodes)).map((master) => holdBackPlaces(master, 'a'));
      await bench.asks('a', 'write'); // of equal tickets it would be the first, by its name
      expect(bench.heads.slice(0, 2)).to.deep.equal(['z', 'a']);
      for (const arrive of [...late, ...later]) arrive();
      await settle();
      expect(bench.heads.slice(0, 2)).to.deep.equal(['z', 'z']);
      await bench.releases(h);
      expect(bench.order).to.deep.equal(['h', 'z']);
    });
  }
});

/** What that client asks of the gate's queue stays on its way until the returned function is called. */
function holdBackPlaces(master: FakeMaster, client: string): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  const beginning = tokenFrom(client, '').split(':')[0] ?? '';
  master.call = (command) =>
    kindOf(command) === 'queue' && tokenOf(command).startsWith(beginning)
      ? new Promise((resolve) => late.push(() => resolve(send(command))))
      : send(command);
  return () => {
    master.call = send;
    for (const run of late.splice(0)) run();
  };
}
