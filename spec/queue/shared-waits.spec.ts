/** Waiting for a lock that several may hold, as its users see it: who comes in, when, and what that costs (protocol C5). */
import { expect } from 'chai';
import { markerKey } from '../../lib/protocol/keys.js';
import { FRESH_MS, RESERVE_MS } from '../../lib/protocol/lua/waiting.js';
import { LONGEST_LIFE_MS } from '../../lib/queue/queue-place.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { kindOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { SharedBench, type SharedOptions, type Waiter, type Wanted } from '../support/shared-bench.js';

const SIZES = [1, 3, 5];
/** Who looks again draws from 1 to this beyond the instant. */
const SOON_MS = 5;
/** The first looks this often. */
const POLL_MS = 2_000;
const WAIT_MS = 400;
const ONE: Wanted = [1, 2];
const FAILURES = ['dead', 'frozen', 'restarted without data'] as const;

/** Who waits, what another holds meanwhile, and what it wants. */
const WAITS: readonly (readonly [string, Wanted, Wanted])[] = [
  ['a writer', 'read', 'write'],
  ['a reader', 'write', 'read'],
  ['who wants a permit', [1, 1], [1, 1]],
  ['who wants both permits', ONE, [2, 2]],
];

/** What keeps out whoever wants that. */
const exclusive = (wanted: Wanted): Wanted => (wanted === 'read' ? 'write' : wanted);

/** Ways to leave before one's turn, and the error that comes of each. */
const EXITS = [
  ['its signal', 'ABORTED'],
  ['close', 'CLOSED'],
  ['the end of its wait', 'LOCK_TAKEN'],
] as const;

interface Exit {
  /** What it asks with. */
  readonly options: SharedOptions;
  leave(bench: SharedBench, waiter: Waiter): Promise<void>;
}

function exit(how: (typeof EXITS)[number][0]): Exit {
  const abort = new AbortController();
  const ways = {
    'its signal': { signal: abort.signal },
    close: {},
    'the end of its wait': { waitMs: WAIT_MS },
  };
  return {
    options: ways[how],
    async leave({ time }, { redlock }) {
      if (how === 'its signal') abort.abort();
      else if (how === 'close') void redlock.close();
      else await time.advance(WAIT_MS);
      await settle();
    },
  };
}

/** How long until it is in. */
async function cameInMs({ time }: SharedBench, waiter: Waiter): Promise<number> {
  const startMs = time.now();
  while (waiter.lease === undefined && time.now() - startMs < 20_000) await time.advance(1);
  return time.now() - startMs;
}

for (const nodes of SIZES) {
  describe(`shared waits, N=${nodes}: the order`, () => {
    it('readers come in together, writers alone, all in the order in which they asked', async () => {
      const bench = new SharedBench(nodes);
      const wanted = { h: 'write', a: 'read', b: 'read', c: 'write', d: 'read', e: 'write' } as const;
      const { h, a, b, c, d, e } = await bench.ask(wanted);
      const nowMs = bench.time.now();
      expect([bench.came, bench.queues]).to.deep.equal(['h', bench.everywhere('abcde')]);
      await bench.releases(h);
      expect([bench.came, bench.queues]).to.deep.equal(['hab', bench.everywhere('cde')]);
      await bench.releases(a);
      expect(bench.came).to.equal('hab'); // one reader is left
      await bench.releases(b);
      expect(bench.came).to.equal('habc');
      await bench.releases(c);
      expect(bench.came).to.equal('habcd');
      await bench.releases(d);
      expect([bench.came, bench.time.now()]).to.deep.equal(['habcde', nowMs]);
      await bench.releases(e);
      await bench.expectNothingLeft();
    });

    it('a writer that waits is passed by no later reader, whether that waits or tries', async () => {
      const bench = new SharedBench(nodes);
      const { h, a } = await bench.ask({ h: 'read', a: 'write' });
      expect(await bench.tries('t', 'read')).to.equal('LOCK_TAKEN');
      const { c } = await bench.ask({ c: 'read' });
      await bench.time.advance(8_000);
      expect(await bench.tries('t', 'read')).to.equal('LOCK_TAKEN');
      expect(bench.came).to.equal('h');
      await bench.releases(h);
      expect(bench.came).to.equal('ha');
      await bench.releases(a);
      expect(bench.came).to.equal('hac');
      await bench.releases(c);
      await bench.expectNothingLeft();
    });

    it('permits go to who asked first, without time passing, and none to a try', async () => {
      const bench = new SharedBench(nodes);
      const { g, h, a, b, c } = await bench.ask({ g: ONE, h: ONE, a: ONE, b: ONE, c: ONE });
      expect(await bench.tries('t', ONE)).to.equal('LOCK_TAKEN');
      const nowMs = bench.time.now();
      for (const [leaving, came] of [
        [g, 'gha'],
        [h, 'ghab'],
        [a, 'ghabc'],
      ] as const) {
        await bench.releases(leaving);
        expect(bench.came).to.equal(came);
      }
      expect(bench.time.now()).to.equal(nowMs);
      await bench.releases(b, c);
      await bench.expectNothingLeft();
    });

    it('who wants two permits is passed by none that wants one', async () => {
      const bench = new SharedBench(nodes);
      const { g, h, a, b, c } = await bench.ask({ g: ONE, h: ONE, a: [2, 2], b: ONE, c: ONE });
      await bench.releases(g); // there is room for b, and not for a
      expect(await bench.tries('t', ONE)).to.equal('LOCK_TAKEN');
      await bench.time.advance(8_000);
      expect(bench.came).to.equal('gh');
      await bench.releases(h);
      expect(bench.came).to.equal('gha');
      await bench.releases(a);
      expect(bench.came).to.equal('ghabc');
      await bench.releases(b, c);
      await bench.expectNothingLeft();
    });

    it('a writer that is downgraded lets in at once the readers in front of the next writer', async () => {
      const bench = new SharedBench(nodes);
      const wanted = { h: 'write', a: 'read', b: 'read', c: 'write', d: 'read' } as const;
      const { h, a, b, c, d } = await bench.ask(wanted);
      const nowMs = bench.time.now();
      await bench.downgrades(h);
      expect([bench.came, bench.time.now()]).to.deep.equal(['hab', nowMs]);
      await bench.releases(h, a, b, c, d);
      expect(bench.came).to.equal('habcd');
      await bench.expectNothingLeft();
    });

    it('another number of permits: WRONG_KIND at the end of its wait, and who waits behind it is not held up after that', async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: [1, 1] });
      const odd = await bench.asks('o', ONE, { waitMs: WAIT_MS });
      const { b } = await bench.ask({ b: [1, 1] });
      await bench.time.advance(WAIT_MS + SOON_MS);
      expect([odd.code, bench.queues]).to.deep.equal(['WRONG_KIND', bench.everywhere('b')]);
      await bench.releases(h, b);
      await bench.expectNothingLeft();
    });

    it('another number of permits fits when all of the first number have left', async () => {
      const bench = new SharedBench(nodes);
      const { h, o, b } = await bench.ask({ h: [1, 1], o: ONE, b: [1, 1] });
      await bench.releases(h);
      expect(bench.came).to.equal('ho');
      await bench.releases(o);
      expect(bench.came).to.equal('hob');
      await bench.releases(b);
      await bench.expectNothingLeft();
    });
  });

  describe(`shared waits, N=${nodes}: what they cost`, () => {
    it('readers beside readers, while nobody waits: one claim a master', async () => {
      const bench = new SharedBench(nodes);
      const { a, b, c } = await bench.ask({ a: 'read', b: 'read', c: 'read' });
      expect(bench.voted).to.deep.equal(bench.everywhere('abc'));
      const kinds = bench.masters.map(({ sent }) => sent.map(({ kind }) => kind));
      expect(kinds).to.deep.equal(bench.everywhere(['rw-claim', 'rw-claim', 'rw-claim']));
      await bench.releases(a, b, c);
      await bench.expectNothingLeft();
    });

    for (const [who, held, wanted] of WAITS) {
      const claim = typeof wanted === 'string' ? 'rw-claim' : 'permit-claim';
      const calls = [claim, 'queue'];

      it(`${who} is in after ${calls.length} calls to each master`, async () => {
        const bench = new SharedBench(nodes);
        const { h, a } = await bench.ask({ h: held, a: wanted });
        await bench.releases(h);
        expect(a.lease?.status).to.equal('held');
        const kinds = bench.masters.map((master) => bench.sentBy('a', master).map(({ kind }) => kind));
        expect(kinds[0]).to.deep.equal(calls);
        // a claim that is refused by the first masters is taken back at the others
        expect(kinds.map((sent) => sent.filter((kind) => kind !== 'leave'))).to.deep.equal(
          bench.everywhere(calls),
        );
        await bench.releases(a);
        await bench.expectNothingLeft();
      });

      it(`${who} is first: it looks every 2 s, those behind it more rarely, and nobody claims`, async () => {
        const bench = new SharedBench(nodes);
        const { h } = await bench.ask({ h: held });
        const behind = exclusive(held);
        const { a, b, c, d } = await bench.ask({ a: wanted, b: behind, c: behind, d: behind });
        bench.forgetSent();
        await bench.time.advance(10_000);
        for (const master of bench.masters) {
          const looks = ['h', 'a', 'b', 'c', 'd'].map((name) => bench.sentBy(name, master).length);
          expect(looks).to.deep.equal([0, 5, 2, 1, 1]);
          const kinds = new Set(master.sent.map(({ kind }) => kind));
          expect([...kinds].sort()).to.deep.equal(['hello', 'queue']); // the push connections are checked now and then
        }
        await bench.releases(h, a);
        for (const waiter of [b, c, d]) await bench.releases(waiter);
        await bench.expectNothingLeft();
      });
    }

    it('nobody waits: a claim and a release name the lock and its queue, a writer its counter; a try names all', async () => {
      const bench = new SharedBench(nodes);
      const names = (name: string): readonly number[] =>
        bench.sentBy(name, bench.m1).map(({ keys }) => keys.filter((key) => key !== markerKey('')).length);
      const { a, b } = await bench.ask({ a: 'read', b: [1, 3] });
      expect([a.lease?.status, b.code]).to.deep.equal(['held', 'WRONG_KIND']);
      await bench.releases(a);
      expect(names('a')).to.deep.equal([2, 2]);
      const c = await bench.asks('c', 'read', { waitMs: 0 });
      await bench.releases(c);
      expect(names('c')).to.deep.equal([4, 2]);
      await bench.releases(await bench.asks('d', 'read', { fair: false }));
      expect(names('d')).to.deep.equal([4, 2]);
      await bench.releases(await bench.asks('e', [2, 3]));
      expect(names('e')).to.deep.equal([2, 2]);
      await bench.expectNothingLeft();
    });

    it('a holder that met nobody ends with its release: the first waiter looks soon, and lets others in', async () => {
      const bench = new SharedBench(nodes);
      const { h, a, b, c } = await bench.ask({ h: 'write', a: 'read', b: 'read', c: 'write' });
      let released = 0;
      for (const master of bench.masters) {
        const call = master.call.bind(master);
        master.call = (command) => {
          const isAgain = kindOf(command) === 'leave' && ++released > nodes;
          return isAgain ? new Promise(() => undefined) : call(command);
        };
      }
      await bench.releases(h);
      await bench.time.advance(SOON_MS);
      expect(bench.order.slice(1)).to.have.members(['a', 'b']);
      expect([a.lease?.status, b.lease?.status, c.lease]).to.deep.equal(['held', 'held', undefined]);
      expect(released).to.equal(2 * nodes);
    });

    it('votes that are only reserved, as the caller wants it: one more claim', async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: 'write' });
      const a = await bench.asks('a', 'write', { handOver: 'reserve' });
      await bench.releases(h);
      const kinds = bench.sentBy('a', bench.m1).map(({ kind }) => kind);
      expect([bench.came, kinds]).to.deep.equal(['ha', ['rw-claim', 'queue', 'rw-claim']]);
      await bench.releases(a);
      await bench.expectNothingLeft();
    });
  });

  describe(`shared waits, N=${nodes}: leaving`, () => {
    for (const [how, code] of EXITS) {
      for (const [place, name] of [
        ['the first', 'a'],
        ['one behind it', 'b'],
      ] as const) {
        it(`${place}, by ${how}: no place is left, and the order goes on`, async () => {
          const bench = new SharedBench(nodes);
          const { options, leave } = exit(how);
          const h = await bench.asks('h', 'read');
          const a = await bench.asks('a', 'write', name === 'a' ? options : {});
          const b = await bench.asks('b', 'write', name === 'b' ? options : {});
          const c = await bench.asks('c', 'write');
          const [gone, stays, next] = name === 'a' ? ([a, b, 'b'] as const) : ([b, a, 'a'] as const);
          await leave(bench, gone);
          expect([gone.code, bench.queues]).to.deep.equal([code, bench.everywhere(`${next}c`)]);
          await bench.releases(h, stays, c);
          expect(bench.came).to.equal(`h${next}c`);
          await bench.expectNothingLeft();
        });
      }

      for (const [who, held, wanted, behind] of [
        ['a writer', 'read', 'write', 'read'],
        ['who wants two permits', [1, 3], [3, 3], [1, 3]],
      ] as const) {
        it(`${who}, by ${how}: those behind it come in at once beside the holder`, async () => {
          const bench = new SharedBench(nodes);
          const { options, leave } = exit(how);
          const h = await bench.asks('h', held);
          const a = await bench.asks('a', wanted, options);
          const { b, c } = await bench.ask({ b: behind, c: behind });
          await leave(bench, a);
          expect([a.code, bench.came]).to.deep.equal([code, 'hbc']);
          await bench.releases(h, b, c);
          await bench.expectNothingLeft();
        });
      }
    }

    for (const [who, held, wanted] of WAITS) {
      it(`${who}, as its vote is on its way: the next one comes in`, async () => {
        const bench = new SharedBench(nodes);
        const abort = new AbortController();
        const h = await bench.asks('h', held);
        const a = await bench.asks('a', wanted, { signal: abort.signal });
        const { b } = await bench.ask({ b: exclusive(wanted) });
        for (const master of bench.masters) master.deliversPushes = false;
        await bench.releases(h);
        expect([bench.came, bench.voted]).to.deep.equal(['h', bench.everywhere('a')]);
        for (const master of bench.masters) master.deliversPushes = true;
        abort.abort();
        await settle();
        expect([a.code, bench.came]).to.deep.equal(['ABORTED', 'hb']);
        await bench.releases(b);
        await bench.expectNothingLeft();
      });

      it(`${who}, and what takes its place back is lost: a vote that comes later is declined, and the next one comes in at once`, async () => {
        const bench = new SharedBench(nodes);
        const abort = new AbortController();
        const h = await bench.asks('h', held);
        await bench.asks('a', wanted, { signal: abort.signal });
        const { b } = await bench.ask({ b: exclusive(wanted) });
        bench.delays('a', 'leave');
        abort.abort();
        await settle();
        const nowMs = bench.time.now();
        await bench.releases(h);
        expect([bench.came, bench.time.now()]).to.deep.equal(['hb', nowMs]);
        const [declined] = bench.sentBy('a', bench.m1).slice(-1);
        expect([declined?.kind, declined?.args.place?.split('|').slice(1)]).to.deep.equal([
          'yield',
          ['0', '0'],
        ]);
        await bench.releases(b);
        await bench.expectNothingLeft(LONGEST_LIFE_MS);
      });
    }

    it('who is in leaves no place: nobody in front of the next one is dead', async () => {
      const bench = new SharedBench(nodes);
      const { h, a, b } = await bench.ask({ h: 'write', a: 'read', b: 'write' });
      await bench.releases(h);
      expect(bench.queues).to.deep.equal(bench.everywhere('b'));
      await bench.releases(a, b);
      await bench.expectNothingLeft();
    });
  });

  describe(`shared waits, N=${nodes}: who dies`, () => {
    for (const [who, held, wanted] of WAITS.slice(0, 3)) {
      it(`the holder: ${who} comes in as the ttl runs out, and not before`, async () => {
        const bench = new SharedBench(nodes);
        const startMs = bench.time.now();
        await bench.asks('h', held, { ttlMs: 1_300 });
        const { a } = await bench.ask({ a: wanted });
        await cameInMs(bench, a);
        expect(bench.time.now() - startMs).to.be.within(1_300, 1_300 + SOON_MS);
      });

      for (const [how, ms] of [
        ['gone', 0],
        ['half-open', 3_000],
      ] as const) {
        it(`the first, ${how}: ${who} behind it comes in ${ms} ms after the holder has left`, async () => {
          const bench = new SharedBench(nodes);
          const { h } = await bench.ask({ h: held });
          await bench.asks('d', exclusive(wanted), { ttlMs: 3_000 });
          const { a } = await bench.ask({ a: wanted });
          bench.dies('d', how);
          await bench.releases(h);
          expect(await cameInMs(bench, a)).to.be.within(ms, ms && ms + SOON_MS);
          await bench.releases(a);
          await bench.expectNothingLeft(LONGEST_LIFE_MS);
        });
      }
    }

    it('the first, half-open for longer than a look is fresh: it costs a reservation, and not its ttl', async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: 'write' });
      await bench.asks('d', 'write');
      const { a } = await bench.ask({ a: 'write' });
      bench.dies('d', 'half-open');
      await bench.time.advance(FRESH_MS + 1);
      await bench.releases(h);
      expect(await cameInMs(bench, a)).to.be.within(RESERVE_MS, RESERVE_MS + SOON_MS);
      await bench.releases(a);
      await bench.expectNothingLeft(LONGEST_LIFE_MS);
    });

    for (const how of ['gone', 'half-open'] as const) {
      it(`a writer that waits, ${how}: once its last look is not fresh, readers come in beside one who reads on`, async () => {
        const bench = new SharedBench(nodes);
        const { h, d, a, b } = await bench.ask({ h: 'read', d: 'write', a: 'read', b: 'read' });
        bench.dies('d', how);
        expect(await cameInMs(bench, a)).to.be.within(FRESH_MS - SOON_MS, FRESH_MS + POLL_MS);
        expect([b.lease?.status, d.lease]).to.deep.equal(['held', undefined]);
        await bench.releases(h, a, b);
        await bench.expectNothingLeft(LONGEST_LIFE_MS);
      });
    }

    it('a writer that was only stopped keeps its ticket: it stops later readers again, and is the next to come in', async () => {
      const bench = new SharedBench(nodes);
      const { h, d, a } = await bench.ask({ h: 'read', d: 'write', a: 'read' });
      bench.dies('d', 'half-open');
      await cameInMs(bench, a);
      bench.revives('d');
      await bench.time.advance(2 * POLL_MS);
      const { b } = await bench.ask({ b: 'read' });
      await bench.releases(h, a);
      expect(bench.came).to.equal('had');
      await bench.releases(d, b);
      expect(bench.came).to.equal('hadb');
      await bench.expectNothingLeft();
    });

    it('a writer that 500 readers wait for: all come in as its ttl runs out, by two looks', async () => {
      const bench = new SharedBench(nodes);
      await bench.asks('h', 'write', { ttlMs: 1_300 });
      for (let i = 0; i < 500; i++) await bench.asks(`r${i}_`, 'read');
      bench.forgetSent();
      await bench.time.advance(1_300);
      const looks = bench.m1.sent.filter(({ kind }) => kind === 'queue');
      expect([bench.order.length, looks.length]).to.deep.equal([501, 2]);
    });
  });

  describe(`shared waits, N=${nodes}: what does not arrive`, () => {
    for (const [who, held, wanted] of WAITS) {
      it(`pushes are lost: ${who} looks again by its time`, async () => {
        const bench = new SharedBench(nodes);
        const { h, a } = await bench.ask({ h: held, a: wanted });
        for (const master of bench.masters) master.deliversPushes = false;
        await bench.time.advance(100);
        await bench.releases(h);
        expect(a.lease).to.equal(undefined);
        expect(await cameInMs(bench, a)).to.be.below(POLL_MS);
        await bench.releases(a);
        await bench.expectNothingLeft();
      });

      it(`pushes are refused: ${who} leaves the queue, and tries by itself`, async () => {
        const bench = new SharedBench(nodes);
        const { h, a } = await bench.ask({ h: held, a: wanted });
        for (const master of bench.masters) {
          master.opensLines = false;
          for (const connection of master.connections) connection.lose('NOPERM no channels', true);
        }
        await settle();
        expect(bench.queues).to.deep.equal(bench.everywhere(''));
        await bench.time.advance(1_000);
        await bench.releases(h);
        expect(await cameInMs(bench, a)).to.be.below(1_000);
        await bench.releases(a);
        await bench.expectNothingLeft();
      });
    }

    for (const [who, held, wanted] of WAITS.slice(0, 2)) {
      it(`time: ${who} whose votes are over when it reads of them claims`, async () => {
        const bench = new SharedBench(nodes);
        const { h } = await bench.ask({ h: held });
        const a = await bench.asks('a', wanted, { ttlMs: 500 });
        for (const master of bench.masters) {
          const call = master.call.bind(master);
          master.call = (command) => {
            const reply = call(command);
            if (kindOf(command) === 'leave' && master === bench.masters.at(-1)) bench.time.stall(500);
            return reply;
          };
        }
        await bench.releases(h);
        const kinds = bench.sentBy('a', bench.m1).map(({ kind }) => kind);
        expect([a.lease?.status, kinds]).to.deep.equal(['held', ['rw-claim', 'queue', 'rw-claim']]);
      });
    }
  });
}

describe('shared waits: masters that know of waiters in different orders', () => {
  for (const nodes of [3, 5]) {
    for (const [who, held, wanted] of WAITS) {
      it(`N=${nodes}, ${who}: votes go from the later ticket to the earlier one, without time passing`, async () => {
        const bench = new SharedBench(nodes);
        const { h } = await bench.ask({ h: held });
        const arrive = [
          bench.delays('z', 'queue', bench.masters.slice(1)),
          bench.delays('a', 'queue', bench.masters.slice(quorumOf(nodes))),
        ];
        const { z, a } = await bench.ask({ z: exclusive(wanted), a: wanted }); // of equal tickets, a would be the first
        expect(bench.queues.slice(0, 2)).to.deep.equal(['za', 'a']);
        const nowMs = bench.time.now();
        await bench.releases(h);
        expect([bench.came, ...bench.voted.slice(0, 2)]).to.deep.equal(['h', 'z', 'a']);
        for (const run of arrive) run();
        await settle();
        expect([bench.came, bench.voted, bench.time.now()]).to.deep.equal([
          'hz',
          bench.everywhere('z'),
          nowMs,
        ]);
        await bench.releases(z);
        expect(bench.came).to.equal('hza');
        await bench.releases(a);
        await bench.expectNothingLeft();
      });
    }

    it(`N=${nodes}: a writer and two readers have some votes each: the readers yield to the writer, which asked first`, async () => {
      const bench = new SharedBench(nodes);
      const { h } = await bench.ask({ h: 'write' });
      const [m1, m2, m3, ...others] = bench.masters as [FakeMaster, FakeMaster, FakeMaster, ...FakeMaster[]];
      const arrive = [
        bench.delays('w', 'queue', [m2, m3, ...others]),
        bench.delays('x', 'queue', [m1, m3, ...others.slice(1)]),
        bench.delays('y', 'queue', [m1, m2, ...others.slice(0, 1)]),
      ];
      const { w, x, y } = await bench.ask({ w: 'write', x: 'read', y: 'read' });
      await bench.releases(h);
      expect([bench.came, ...bench.voted]).to.deep.equal([
        'h',
        'w',
        'x',
        'y',
        ...['x', 'y'].slice(0, nodes - 3),
      ]);
      for (const run of arrive) run();
      await settle();
      expect([bench.came, bench.voted]).to.deep.equal(['hw', bench.everywhere('w')]);
      await bench.releases(w);
      await bench.time.advance(SOON_MS); // where they yielded, they look again
      expect(bench.order).to.have.members(['h', 'w', 'x', 'y']);
      await bench.releases(x, y);
      await bench.expectNothingLeft();
    });

    it(`N=${nodes}: two permits are let go in another order at the first master: both waiters come in`, async () => {
      const bench = new SharedBench(nodes);
      const { g, h, a, b } = await bench.ask({ g: ONE, h: ONE, a: ONE, b: ONE });
      const arrive = [
        bench.delays('g', 'leave', bench.masters.slice(1)),
        bench.delays('h', 'leave', bench.masters.slice(0, 1)),
      ];
      // each master gives the first one the permit that is free there
      const released = [h.lease?.release(), g.lease?.release()];
      await settle();
      for (const run of arrive) run();
      for (const one of released) await one;
      await bench.time.advance(POLL_MS);
      expect(bench.came).to.equal('ghab');
      await bench.releases(a, b);
      await bench.expectNothingLeft();
    });

    for (const [who, held, wanted] of WAITS.slice(0, 3)) {
      it(`N=${nodes}: the lone vote of ${who} rests for a holder that renews, and that has it again a renewal later`, async () => {
        const bench = new SharedBench(nodes);
        const h = await bench.asks('h', held, { ttlMs: 10_000, renew: true });
        const { a } = await bench.ask({ a: wanted });
        bench.m1.forget();
        await bench.time.advance(POLL_MS + SOON_MS);
        expect(bench.voted).to.deep.equal(['a', ...bench.everywhere('h').slice(1)]);
        await bench.time.advance((10_000 / 3) * (17 / 16) + 800);
        expect([h.lease?.status, bench.voted]).to.deep.equal(['held', bench.everywhere('h')]);
        await bench.releases(h);
        expect(bench.came).to.equal('ha');
        await bench.releases(a);
        await bench.expectNothingLeft();
      });
    }
  }
});

describe('shared waits: a minority of masters', () => {
  for (const nodes of [3, 5]) {
    const spare = nodes - quorumOf(nodes);

    /** Those masters fail. */
    const fail = (masters: readonly FakeMaster[], how: (typeof FAILURES)[number]): void => {
      for (const master of masters) {
        if (how === 'frozen') master.manner = 'freeze';
        else master.cut();
        if (how !== 'restarted without data') continue;
        master.restart('lost');
        for (const connection of master.connections) connection.lose();
        master.become('ready');
      }
    };

    for (const how of FAILURES) {
      for (const when of ['from the beginning', 'while they wait'] as const) {
        for (const [what, all] of [
          ['readers and writers', { h: 'read', a: 'write', b: 'read', c: 'write' }],
          ['permits', { h: [1, 1], a: [1, 1], b: [1, 1], c: [1, 1] }],
        ] as const) {
          it(`N=${nodes}, ${spare} ${how} ${when}: ${what} in their order, and nothing is left`, async () => {
            const bench = new SharedBench(nodes);
            const minority = bench.masters.slice(0, spare);
            if (when === 'from the beginning') fail(minority, how);
            const waiters: Waiter[] = [];
            for (const [name, wanted] of Object.entries<Wanted>(all)) {
              waiters.push(await bench.asks(name, wanted));
              await bench.time.advance(100);
            }
            if (when === 'while they wait') fail(minority, how);
            await bench.time.advance(2_000);
            expect(bench.came).to.equal('h');
            for (const [i, waiter] of waiters.entries()) {
              const released = waiter.lease?.release();
              await bench.time.advance(200);
              await released;
              expect(bench.came).to.equal('habc'.slice(0, i + 2));
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
      expect([b.code, ...bench.queues.slice(0, spare)]).to.deep.equal([
        'ABORTED',
        ...minority.map(() => 'ab'),
      ]);
      for (const master of minority) master.become('ready');
      await bench.time.advance(5_000); // the place itself would be there for a minute
      expect(bench.queues).to.deep.equal(bench.everywhere('a'));
    });

    it(`N=${nodes}, one more dead while they wait: NO_QUORUM at the end of a wait, and nothing is left`, async () => {
      const bench = new SharedBench(nodes);
      const abort = new AbortController();
      await bench.asks('h', 'write', { ttlMs: 30_000 });
      const a = await bench.asks('a', 'write', { waitMs: 3_000 });
      const b = await bench.asks('b', 'write', { signal: abort.signal });
      const away = bench.masters.slice(0, spare + 1);
      for (const master of away) {
        master.cut();
        for (const connection of master.connections) connection.lose();
      }
      await bench.time.advance(3_200);
      abort.abort();
      await settle();
      expect([a.code, b.code, bench.came]).to.deep.equal(['NO_QUORUM', 'ABORTED', 'h']);
      for (const master of away) master.become('ready');
      await bench.time.advance(5_000);
      expect(bench.queues).to.deep.equal(bench.everywhere(''));
      await bench.time.advance(25_000); // the holder's ttl
      await bench.expectNothingLeft(LONGEST_LIFE_MS);
    });

    it(`N=${nodes}: the lock is something else at one master, and the others go on`, async () => {
      for (const [, held, wanted] of WAITS.slice(0, 3)) {
        const bench = new SharedBench(nodes);
        bench.m1.setForeign('r');
        const { h, a, b } = await bench.ask({ h: held, a: wanted, b: held });
        await bench.time.advance(3_000);
        await bench.releases(h, a, b);
        expect(bench.came).to.equal('hab');
      }
    });
  }

  it('N=3: the claim of one for whom a permit was reserved leaves the place also where another holds on to the permit', async () => {
    const bench = new SharedBench(3);
    const { h } = await bench.ask({ h: [1, 1] });
    const lost = bench.delays('h', 'leave', [bench.m1]);
    const a = await bench.asks('a', [1, 1], { handOver: 'reserve' });
    await bench.releases(h);
    expect([bench.came, bench.queues]).to.deep.equal(['ha', ['', '', '']]);
    lost();
    await bench.releases(a);
    await bench.expectNothingLeft();
  });

  it('N=3, releases cross: two masters hand over different permits, a claim agrees on one, and all come in', async () => {
    const bench = new SharedBench(3);
    const [m1, m2, m3] = bench.masters as [FakeMaster, FakeMaster, FakeMaster];
    const { h, o } = await bench.ask({ h: [1, 2], o: [1, 2] });
    const { a, b } = await bench.ask({ a: [1, 2], b: [1, 2] });
    const lost = [bench.delays('h', 'leave', [m1, m3]), bench.delays('o', 'leave', [m2, m3])];
    const released = [h, o].map(async ({ lease }) => lease?.release());
    await settle();
    for (const arrives of lost) arrives();
    await Promise.all(released);
    await bench.time.advance(3_000);
    expect(bench.came.split('')).to.have.members(['a', 'b', 'h', 'o']);
    expect(bench.claimsOf('a', m1)).to.be.above(1);
    await bench.releases(a, b);
    await bench.expectNothingLeft();
  });

  it('N=3, one gives a place two minutes after its waiter has come and gone: it is taken back', async () => {
    const bench = new SharedBench(3);
    const last = bench.masters[2] as FakeMaster;
    const { h } = await bench.ask({ h: 'write' });
    const call = last.call.bind(last);
    last.call = (command) => {
      if (kindOf(command) === 'queue') last.manner = 'freeze';
      return call(command);
    };
    const { a } = await bench.ask({ a: 'write' });
    last.become('lost');
    last.setFields('r', {
      [tokenFrom('other', '1')]: `w|${Math.floor(last.micros() / 1_000) + 600_000}|`,
    });
    last.expire('r', 600_000);
    await bench.releases(h, a);
    expect(bench.came).to.equal('ha');
    await bench.time.advance(120_000);
    last.become('ready');
    last.thaw();
    await bench.time.advance(1_000);
    expect(bench.queues).to.deep.equal(['', '', '']);
  });

  it('N=3: one undo follows the request for a place that a master has not answered, and no other comes after it', async () => {
    const bench = new SharedBench(3);
    const last = bench.masters[2] as FakeMaster;
    const { h } = await bench.ask({ h: 'write' });
    bench.forgetSent();
    const call = last.call.bind(last);
    last.call = (command) => {
      if (kindOf(command) === 'queue') last.manner = 'freeze';
      return call(command);
    };
    const abort = new AbortController();
    await bench.asks('a', 'write', { signal: abort.signal });
    abort.abort();
    await settle();
    const kinds = (): string[] => bench.sentBy('a', last).map(({ kind }) => kind);
    const sent = ['rw-claim', 'leave', 'queue', 'leave'];
    expect(kinds()).to.deep.equal(sent);
    last.thaw();
    await bench.time.advance(1_000);
    expect(kinds()).to.deep.equal(sent);
    await bench.releases(h);
    await bench.expectNothingLeft();
  });
});
