/** Waiting at the door of a lock that several may hold: how the head comes in, what keeps others out, and how it leaves. */
import { expect } from 'chai';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import { WATCH_MS } from '../../lib/protocol/lua/waiting.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { settle } from '../support/fake-time.js';
import { SharedBench, type Wanted } from '../support/shared-bench.js';

const SIZES = [1, 2, 3, 5];
/** Who looks again draws from 1 to this beyond the instant. */
const SOON_MS = 5;

/** What is held, by two, and what the one at the door wants. */
const DOORS: readonly (readonly [string, Wanted, Wanted])[] = [
  ['a writer', 'read', 'write'],
  ['one that wants both permits', [1, 2], [2, 2]],
];

for (const nodes of SIZES) {
  const all = (name: string): string[] => Array.from({ length: nodes }, () => name);

  describe(`turnstile: at the door, N=${nodes}`, () => {
    for (const [who, held, wanted] of DOORS) {
      it(`${who} gets a push when the last holder leaves, and is let in without time passing`, async () => {
        const bench = new SharedBench(nodes);
        const { g, h, a } = await bench.ask({ g: held, h: held, a: wanted });
        expect(bench.watched).to.deep.equal(all('a'));
        const claims = bench.claimsOf('a', bench.masters[0]);
        await bench.releases(g);
        expect(bench.claimsOf('a', bench.masters[0])).to.equal(claims); // it could not succeed, and is told nothing
        const nowMs = bench.time.now();
        await bench.releases(h);
        expect([bench.order.join(''), bench.time.now()]).to.deep.equal(['gha', nowMs]);
        expect(bench.claimsOf('a', bench.masters[0])).to.equal(claims + 1);
        expect(bench.watched).to.deep.equal(all(''));
        await bench.releases(a);
        await bench.expectNothingLeft();
      });

      it(`${who} is passed by no newcomer, whether that waits or not`, async () => {
        const bench = new SharedBench(nodes);
        const { g, h, a } = await bench.ask({ g: held, h: held, a: wanted });
        await bench.releases(g);
        const once = await bench.asks('b', held, { waitMs: 0 });
        const c = await bench.asks('c', held);
        await bench.time.advance(3_000);
        expect([bench.order.join(''), once.code]).to.deep.equal(['gh', 'LOCK_TAKEN']);
        await bench.releases(h);
        expect(bench.order.join('')).to.equal('gha');
        await bench.releases(a);
        expect(bench.order.join('')).to.equal('ghac');
        await bench.releases(c);
        await bench.expectNothingLeft();
      });
    }

    it('pushes that are lost: it looks again by its time, within half of its watch', async () => {
      const bench = new SharedBench(nodes);
      const [h, a] = [await bench.asks('h', 'read'), await bench.asks('a', 'write')];
      for (const master of bench.masters) master.deliversPushes = false;
      await bench.time.advance(100);
      await bench.releases(h);
      expect(a.lease).to.equal(undefined);
      await bench.time.advance(WATCH_MS / 2 + SOON_MS);
      expect(a.lease?.status).to.equal('held');
    });

    it('it is watched for at every instant, by two claims a second', async () => {
      const bench = new SharedBench(nodes);
      const { h, a } = await bench.ask({ h: 'read', a: 'write' });
      const claims = bench.claimsOf('a', bench.masters[0]);
      for (let ms = 0; ms < 4_000; ms += 10) {
        await bench.time.advance(10);
        expect(bench.watched, `after ${ms} ms`).to.deep.equal(all('a'));
      }
      expect(bench.claimsOf('a', bench.masters[0]) - claims).to.be.within(7, 8);
      for (const waiter of [h, a]) await bench.releases(waiter);
      await bench.expectNothingLeft();
    });

    it('the holder is dead: it comes in as its ttl runs out, and not before', async () => {
      const bench = new SharedBench(nodes);
      const startedAtMs = bench.time.now();
      await bench.asks('h', 'write', { ttlMs: 1_300 });
      const a = await bench.asks('a', 'read');
      await bench.time.advance(startedAtMs + 1_299 - bench.time.now());
      expect(a.lease).to.equal(undefined);
      await bench.time.advance(1 + SOON_MS);
      expect(a.lease?.status).to.equal('held');
    });

    it('one that is watched for is dead: the next one comes in once that watch is over', async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: 'read' });
      for (const master of bench.masters) {
        const endsMs = Math.floor(master.micros() / 1_000) + WATCH_MS;
        master.setFields('r', { watch: `${tokenFrom('dead', '1')}|${endsMs}|0 w` });
      }
      const [a, startedAtMs] = [await bench.asks('a', 'read'), bench.time.now()];
      await bench.time.advance(WATCH_MS - 2);
      expect(a.lease).to.equal(undefined);
      await bench.time.advance(WATCH_MS / 2 + SOON_MS);
      expect([a.lease?.status, bench.time.now() - startedAtMs]).to.deep.equal(['held', 1.5 * WATCH_MS + 3]);
      for (const waiter of [h, a]) await bench.releases(waiter);
      await bench.expectNothingLeft();
    });
  });

  describe(`turnstile: leaving, N=${nodes}`, () => {
    for (const [why, code] of [
      ['abort', 'ABORTED'],
      ['close', 'CLOSED'],
      ['the end of its wait', 'LOCK_TAKEN'],
    ] as const) {
      for (const [place, name] of [
        ['the head', 'a'],
        ['one behind it', 'b'],
      ] as const) {
        it(`${place}, by ${why}: nobody is watched for in its place but the next head, and the order goes on`, async () => {
          const bench = new SharedBench(nodes);
          const abort = new AbortController();
          const options = why === 'abort' ? { signal: abort.signal } : why === 'close' ? {} : { waitMs: 400 };
          const h = await bench.asks('h', 'read');
          const a = await bench.asks('a', 'write', name === 'a' ? options : {});
          const b = await bench.asks('b', 'write', name === 'b' ? options : {});
          const c = await bench.asks('c', 'write');
          const gone = name === 'a' ? a : b;
          if (why === 'abort') abort.abort();
          else if (why === 'close') void gone.redlock.close();
          else await bench.time.advance(400);
          await settle();
          const [next, last] = name === 'a' ? (['b', b] as const) : (['a', a] as const);
          expect([gone.code, bench.heads, bench.watched]).to.deep.equal([code, all(next), all(next)]);
          expect(bench.queueAt(bench.masters[0])).to.deep.equal(['c']);
          await bench.releases(h);
          for (const waiter of [last, c]) await bench.releases(waiter);
          expect(bench.order.join('')).to.equal(`h${next}c`);
          await bench.expectNothingLeft();
        });
      }
    }

    it('while its claim is on its way: what comes of that is given back, and the next one comes in', async () => {
      const bench = new SharedBench(nodes);
      const abort = new AbortController();
      const h = await bench.asks('h', 'write');
      const a = await bench.asks('a', 'write', { signal: abort.signal });
      const b = await bench.asks('b', 'write');
      for (const master of bench.masters) master.latencyMs = 5;
      const released = h.lease?.release();
      await bench.time.advance(7); // it was told, and has claimed
      abort.abort();
      await bench.time.advance(60);
      await released;
      expect([a.code, bench.order.join('')]).to.deep.equal(['ABORTED', 'hb']);
      for (const master of bench.masters) master.latencyMs = 0;
      await bench.releases(b);
      await bench.expectNothingLeft();
    });
  });
}

describe('turnstile: a minority of masters', () => {
  for (const nodes of [3, 5]) {
    const spare = nodes - quorumOf(nodes);

    for (const what of ['dead', 'frozen', 'restarted without data'] as const) {
      for (const when of ['from the beginning', 'while they wait'] as const) {
        it(`N=${nodes}, ${spare} ${what} ${when}: all come in in their order, and nothing is left`, async () => {
          const bench = new SharedBench(nodes);
          const minority = bench.masters.slice(0, spare);
          const fail = (): void => {
            for (const master of minority) {
              if (what === 'frozen') master.manner = 'freeze';
              else master.cut();
              if (what !== 'restarted without data') continue;
              master.restart('lost');
              for (const connection of master.connections) connection.lose();
              master.become('ready');
            }
          };
          if (when === 'from the beginning') fail();
          const h = await bench.asks('h', 'read');
          await bench.time.advance(100);
          const waiters = [h];
          for (const [name, wanted] of [
            ['a', 'write'],
            ['b', 'read'],
            ['c', 'write'],
          ] as const) {
            waiters.push(await bench.asks(name, wanted));
            await bench.time.advance(100);
          }
          if (when === 'while they wait') fail();
          await bench.time.advance(2_000);
          expect(bench.order.join('')).to.equal('h');
          for (const [i, waiter] of waiters.entries()) {
            const released = waiter.lease?.release();
            await bench.time.advance(200);
            await released;
            expect(bench.order.join('')).to.equal('habc'.slice(0, i + 2));
          }
          for (const master of minority) {
            master.thaw();
            master.become('ready');
          }
          await bench.time.advance(65_000); // what is owed to them is sent once they are back
          await bench.expectNothingLeft();
        });
      }
    }

    it(`N=${nodes}, ${spare} away as one leaves: its place there is taken back once they are back`, async () => {
      const bench = new SharedBench(nodes);
      const abort = new AbortController();
      const minority = bench.masters.slice(0, spare);
      await bench.ask({ h: 'write', a: 'write' });
      const b = await bench.asks('b', 'write', { signal: abort.signal });
      for (const master of minority) master.cut();
      abort.abort();
      await settle();
      expect([b.code, bench.queueAt(minority[0]).join()]).to.deep.equal(['ABORTED', 'b']);
      for (const master of minority) master.become('ready');
      await bench.time.advance(5_000); // the place itself would be there for a minute
      for (const master of bench.masters) expect(bench.queueAt(master)).to.deep.equal([]);
    });

    it(`N=${nodes}, one more dead while they wait: NO_QUORUM at the end of a wait, and nothing is left`, async () => {
      const bench = new SharedBench(nodes);
      const abort = new AbortController();
      await bench.asks('h', 'write', { ttlMs: 30_000 });
      const a = await bench.asks('a', 'write', { waitMs: 3_000 });
      const b = await bench.asks('b', 'write', { signal: abort.signal });
      const away = bench.masters.slice(0, spare + 1);
      for (const master of away) master.cut();
      for (const master of away) for (const connection of master.connections) connection.lose();
      await bench.time.advance(3_200);
      abort.abort();
      await settle();
      expect([a.code, b.code, bench.order.join('')]).to.deep.equal(['NO_QUORUM', 'ABORTED', 'h']);
      for (const master of away) master.become('ready');
      await bench.time.advance(5_000);
      for (const master of bench.masters) expect(bench.queueAt(master)).to.deep.equal([]);
      await bench.time.advance(25_000); // the holder's ttl
      await bench.expectNothingLeft(LONGEST_LIFE_MS);
    });
  }
});
