/**
 * The same random commands on a real server and on the twins; replies, keys and pushes compared after each.
 *
 * Both clocks stand still at the same instant while a command runs, so that looks, serials and fencing tokens are the same,
 * and can be at their very bounds. Times left are compared by their millions of ms, since the server's count down; what
 * lives for a few seconds only, as a reservation and the terms of looks, is kept for longer after it was compared, since the
 * twin's time stands still.
 */
import { expect } from 'chai';
import { pushChannel } from '../../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../../lib/protocol/lua/fence-bounds.js';
import { GONE_MS, MOST_LEFT, TIDIED, TIDY_MS } from '../../../lib/protocol/lua/gone.js';
import { FRESH_MS, MAX_DROPPED } from '../../../lib/protocol/lua/queue.js';
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  EXTEND,
  INSPECT,
  QUEUE,
  RELEASE,
  type Script,
  UNDO,
  VOUCH,
  YIELD,
} from '../../../lib/protocol/lua/scripts.js';
import { WRONG_TYPE, type Fields, type Member } from '../../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { AT_REST, RESERVED_MARK, tokenIn } from '../../../lib/runtime/random.js';
import { Draw } from '../../support/draw.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import { lookArgs, yieldArgs } from '../../support/looks.js';
import { atInstant, oneListener, oneServer, putData } from '../../support/server.js';

/** Stands for the instant of the command, as a proposal. */
const NOW = 'now';

const SEEDS = 80;
const STEPS = 80;
const LOCKS = ['a', 'b', 'c'];
const COUNTERS = ['fa', 'fb', 'fc'];
const QUEUES = ['qa', 'qb', 'qc'];
const TURNS = ['ta', 'tb', 'tc'];
const TERMS = ['sa', 'sb', 'sc'];
const MARKER = 'm';
const KEYS = [...LOCKS, ...COUNTERS, ...QUEUES, ...TURNS, ...TERMS, MARKER];
/** Three clients of ours with two tokens each, of which one is dead; and a foreign client. */
const OURS = ['ann', 'ben', 'cat'].flatMap((name) => [tokenFrom(name, '1'), tokenFrom(name, '2')]);
const ALIVE = OURS.slice(0, 4).map(pushChannel);
const TOKENS = [...OURS, 'foreign-client'];
const TICKETS = [1_790_000_000_000_001, 1_790_000_000_000_002, 1_790_000_000_000_003, 2 ** 53 - 1];
/** Far enough apart to be told by their millions. */
const TTLS = [1_000_000, 2_000_000, 3_000_000];
/** Also with what is ahead of the clock, and with as much again, not near a whole million. */
const COUNTER_TTLS = [7_250_000, 9_250_000];
const PERIODS = [50_000_000, 90_000_000];
/** Counts that one fence can follow, or none. */
const LAST = [LAST_FENCE - 1, LAST_FENCE, LAST_FENCE + 1];
const CASES = [
  ...[CLAIM, CLAIM, CLAIM, CLAIM, ACCEPT, ACCEPT, ACCEPT, UNDO, UNDO],
  ...[RELEASE, RELEASE, RELEASE, EXTEND, EXTEND, EXTEND],
  ...[QUEUE, QUEUE, QUEUE, QUEUE, QUEUE, QUEUE, YIELD, YIELD, VOUCH, BOOTSTRAP, INSPECT],
];

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

type Content = string | typeof WRONG_TYPE | readonly Member[] | Fields | undefined;

interface Entry {
  readonly content: Content;
  /** As PTTL gives it. */
  readonly ms: number;
}

type Snapshot = ReadonlyMap<string, Entry>;

describe('scripts: the twins do the same as the server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const seen = new Set<string>();
  before(() => listener.listenTo(...ALIVE));

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${STEPS} random commands, replies and keys compared after each`, async () => {
      const draw = new Draw(seed * 7_919);
      const fake = new FakeMaster('fake', new FakeTime());
      fake.runId = server.runId;
      const heard: string[] = [];
      for (const channel of new Set(ALIVE))
        fake.channels.subscribe(channel, (text) => heard.push(`${channel} ${text}`));
      for (let step = 0; step < STEPS; step++) {
        const nowUs = await server.micros();
        if (draw.below(3) === 0) {
          await disturb(draw, fake, nowUs);
          continue;
        }
        const before = await snapshot();
        const call = drawCall(draw, nowUs, before);
        const { args, keys, script } = call;
        const [real, twin] = await both(fake, nowUs, script, keys, args);
        const after = await snapshot();
        const title = `step ${step}: ${script.name} ${keys.join()} ${args.join()}`;
        expect(coarse(script, twin), title).to.deep.equal(coarse(script, real));
        expect(
          KEYS.map((key) => fakeState(fake, key)),
          title,
        ).to.deep.equal(KEYS.map((key) => show(after.get(key))));
        const pushes = await listener.heard();
        expect(heard.splice(0), title).to.deep.equal(pushes);
        for (const push of pushes) seen.add(`push ${push.split(' ')[1]}`);
        note(script, real);
        await keep(fake, after);
      }
    });
  }

  /** What the server and the twin answer, while the clocks of both stand still at that instant. */
  async function both(
    fake: FakeMaster,
    us: number,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<readonly [real: unknown, twin: unknown]> {
    const real = await server.run(atInstant(script, us), keys, ...args);
    fake.clockAheadUs += us - fake.micros();
    const twin = await fake.call({
      name: 'eval',
      args: [script.source, String(keys.length), ...keys, ...args],
    });
    return [real, twin];
  }

  /** What the look of that token has left: so many µs ago, and the end of a quarantine. */
  interface Left {
    readonly token: string;
    readonly agoUs: number;
    readonly leastAgoUs: number;
    readonly counterMs: number;
  }
  /** When the queue was tidied last, and from where it is next. */
  interface Tidied {
    readonly tidiedAgoUs: number;
    readonly from: number;
  }
  type Step =
    | Tidied
    | 'drop the lock'
    | 'line up the dead'
    | Left
    | readonly [script: Script, ...args: (string | number)[]];

  /** More than one call may drop, of several clients, before the tickets of this spec and behind all but the last. */
  async function lineUpDead(fake: FakeMaster): Promise<void> {
    for (let i = 0; i < 2 * MAX_DROPPED + 3; i++) {
      const ticket = i < MAX_DROPPED + 2 ? i : 2 ** 53 - 5_000 + i;
      fake.addMember('qa', tokenFrom(`d${i % 7}`, String(i)), ticket);
    }
    fake.expire('qa', TTLS[0] ?? 0);
    const members = fake.members('qa');
    if (members === WRONG_TYPE) throw new Error('it holds those who wait');
    await server.redis.zadd('qa', ...members.flatMap(({ name, score }) => [score, name]));
    await server.redis.pexpire('qa', TTLS[0] ?? 0);
  }

  /** The same steps on both, by users with that right: replies, keys and pushes. */
  async function expectAlike(right: '+publish' | '-publish', steps: readonly Step[]): Promise<void> {
    const fake = new FakeMaster('fake', new FakeTime());
    const heard: string[] = [];
    for (const channel of new Set(ALIVE))
      fake.channels.subscribe(channel, (text) => heard.push(`${channel} ${text}`));
    fake.mayPublish = right === '+publish';
    await listener.heard();
    await server.redis.call('ACL', 'SETUSER', 'default', right);
    const us = await server.micros();
    for (const step of steps) {
      if (step === 'drop the lock') {
        await server.redis.del('a');
        fake.delete('a');
        continue;
      }
      if (step === 'line up the dead') {
        await lineUpDead(fake);
        continue;
      }
      if ('tidiedAgoUs' in step) {
        const tidied = `${us - step.tidiedAgoUs}|${step.from}`;
        await server.redis.hset('sa', TIDIED, tidied);
        fake.setFields('sa', { [TIDIED]: tidied });
        continue;
      }
      if ('token' in step) {
        const { agoUs, counterMs, leastAgoUs, token } = step;
        const left = [us - agoUs, 7, TTLS[0], counterMs, '', us - leastAgoUs].join('|');
        await server.redis.hset('sa', token, left);
        fake.setFields('sa', { [token]: left });
        continue;
      }
      const [script, ...args] = step;
      const isPlain = args.length === 1; // a release or an undo without terms and counter
      const keys = ['a', 'qa', 'ta', ...(isPlain ? [] : ['sa', 'fa'])];
      const filled = args.map((arg) => (arg === NOW ? String(us) : String(arg)));
      const [real, twin] = await both(fake, us, script, keys, filled);
      expect(coarse(script, twin)).to.deep.equal(coarse(script, real));
      const after = await snapshot();
      expect(KEYS.map((key) => fakeState(fake, key))).to.deep.equal(KEYS.map((key) => show(after.get(key))));
      expect(heard.splice(0)).to.deep.equal(await listener.heard());
      await keep(fake, after);
    }
  }

  afterEach(() => server.redis.call('ACL', 'SETUSER', 'default', '+publish'));

  /** Asks for a reservation. */
  const queue = (token: string | undefined, i: number): Step => [
    QUEUE,
    ...lookArgs(token ?? '', { ticket: TICKETS[i] ?? 0, lifeMs: TTLS[0] ?? 0 }),
  ];
  /** Asks for the vote. */
  const look = (token: string | undefined, ticket: number): Step => {
    const [ttlMs = 0, lifeMs = 0] = TTLS;
    const [who = '', place = '', ttl = ''] = lookArgs(token ?? '', { ticket, lifeMs, ttlMs, sentAtMs: 7 });
    return [QUEUE, who, place, ttl, COUNTER_TTLS[0] ?? 0, NOW, -1];
  };
  const [ann, , ben, , dead] = OURS;

  it('one that asks keeps its place though no push reaches it, also as the next', () =>
    expectAlike('+publish', [
      ...([queue(ben, 2), queue(ann, 0), 'drop the lock', queue(dead, 1), queue(dead, 1)] as const),
      ...([
        'drop the lock',
        look(ben, 3),
        look(ann, 1),
        'drop the lock',
        look(dead, 2),
        look(dead, 2),
      ] as const),
    ]));

  for (const script of [RELEASE, UNDO]) {
    it(`${script.name}: more of the dead than one call may drop go in several, before and behind one that lives`, () => {
      const leave: Step = [script, dead ?? ''];
      const lastToCome: Step = [QUEUE, ...lookArgs(ben ?? '', { ticket: 2 ** 53 - 1, lifeMs: TTLS[0] ?? 0 })];
      return expectAlike('+publish', [
        ...([queue(dead, 2), queue(ann, 0), 'line up the dead', lastToCome] as const),
        ...([leave, leave, leave, leave] as const),
        ...(['line up the dead', 'drop the lock', lastToCome, lastToCome, lastToCome] as const),
        ...(['line up the dead', [script, ben ?? ''], queue(ann, 0), [script, ann ?? '']] as const),
      ]);
    });

    it(`${script.name}: likewise where they are handed the lock directly; those that are gone lose their terms`, () => {
      const leave: Step = [script, dead ?? '', NOW];
      const others = [dead, tokenFrom('d1', '0'), tokenFrom('d2', '0')].map((token, i) => look(token, i + 1));
      return expectAlike('+publish', [
        ...([look(dead, 2), look(ann, 0), ...others, 'line up the dead', look(ben, 2 ** 53 - 1)] as const),
        ...([leave, leave, leave, leave] as const),
        ...(['line up the dead', 'drop the lock', look(ben, 2 ** 53 - 1), look(ben, 2 ** 53 - 1)] as const),
        ...([[script, ben ?? '', NOW], look(ann, 0), [script, ann ?? '', NOW]] as const),
      ]);
    });
  }

  const [goneUs, tidyUs] = [GONE_MS * 1_000, TIDY_MS * 1_000];
  for (const ago of [0, 1]) {
    it(`${ago} µs more than it takes to be gone, and one less than until it is tidied: who is dropped, and told`, () => {
      const gone = (token: string | undefined, agoUs: number): Step => ({
        ...{ token: token ?? '', agoUs, leastAgoUs: 0, counterMs: 0 },
      });
      const [hears] = ALIVE;
      expect(hears).to.equal(pushChannel(ann ?? ''));
      return expectAlike('+publish', [
        ...([queue(dead, 2), queue(ann, 0), queue(OURS[1], 1), look(ben, 3)] as const),
        ...([gone(ann, goneUs + ago), gone(OURS[1], goneUs + ago), look(ben, 3)] as const),
        ...([gone(ann, goneUs + ago), { tidiedAgoUs: tidyUs - 1, from: 0 }, look(ben, 3)] as const),
        ...([{ tidiedAgoUs: tidyUs, from: 1 }, gone(OURS[1], goneUs + ago), look(ben, 3)] as const),
        ...([
          { tidiedAgoUs: -tidyUs, from: 0 },
          queue(ann, 0),
          gone(ann, tidyUs + ago),
          look(ben, 3),
        ] as const),
        ...([gone(ann, goneUs + ago), [RELEASE, dead ?? '', NOW], look(ann, 0)] as const),
      ]);
    });
  }

  it('more places than are gone through at a time: it goes on from there, and begins again', () => {
    const lastToCome = look(ben, 2 ** 53 - 1);
    const again: Step = { tidiedAgoUs: tidyUs, from: 500 };
    return expectAlike('+publish', [
      ...([queue(dead, 2), queue(ann, 0), 'line up the dead', lastToCome, again, lastToCome] as const),
      ...([{ ...again, from: 5_000 }, lastToCome, { ...again, from: 0 }, lastToCome] as const),
    ]);
  });

  it('far more terms than places: all are dropped, and written again by looks', () => {
    const left = Array.from({ length: MOST_LEFT + 4 }, (_, i) => tokenFrom('gone', String(i)));
    const terms = left.map((token) => ({ token, agoUs: 0, leastAgoUs: 0, counterMs: 0 }));
    const again: Step = { tidiedAgoUs: tidyUs, from: 0 };
    return expectAlike('+publish', [
      ...([queue(dead, 2), look(ann, 1), look(ben, 3)] as const),
      ...([
        ...terms.slice(0, MOST_LEFT),
        again,
        look(ben, 3),
        ...terms,
        again,
        look(ben, 3),
        look(ann, 1),
      ] as const),
    ]);
  });

  const freshUs = FRESH_MS * 1_000;
  for (const [agoUs, leastAgoUs, counterMs] of [
    ...[freshUs, freshUs + 1, 0, -1].map((ago) => [ago, 1e6, 0] as const),
    ...[freshUs, freshUs + 1, 0, -1, -AHEAD_US].map((ago) => [ago, 1e6, 7_250_000] as const),
    ...[0, -1].map((least) => [BACK_US, least, 7_250_000] as const),
  ]) {
    it(`a look of ${agoUs} µs before, a quarantine that ended ${leastAgoUs} µs before, counters of ${counterMs} ms`, () =>
      expectAlike('+publish', [
        ...([queue(dead, 1), queue(ann, 0), { token: ann ?? '', agoUs, leastAgoUs, counterMs }] as const),
        ...([[RELEASE, dead ?? '', NOW]] as const),
      ]));
  }

  it('a user that may not publish: waiters stay, and a request to queue gets the vote', () => {
    const yielded = { serial: 1, ticket: TICKETS[1] ?? 0, lifeMs: 1e6 };
    return expectAlike('-publish', [
      ...([queue(ben, 1), queue(ann, 0), queue(dead, 2), [RELEASE, ben ?? ''], queue(ben, 1)] as const),
      ...([[YIELD, ...yieldArgs(ben ?? '', yielded)], [UNDO, ben ?? ''], queue(dead, 2)] as const),
      ...([[UNDO, dead ?? '', NOW], look(ben, 1), look(ann, 0), [RELEASE, ben ?? '', NOW]] as const),
      ...([look(dead, 2), look(ben, 3), [UNDO, dead ?? '', NOW]] as const),
    ]);
  });

  it('that met every code of every script', () => {
    const wanted = [
      ...['claim 1', 'claim 0', 'claim 2', 'claim -1', 'claim -2'],
      ...['accept 1', 'accept 3', 'accept 0', 'accept 2', 'accept -1', 'accept -2'],
      ...['extend 1', 'extend 0', 'extend 2', 'extend -1', 'extend -2'],
      ...['vouch 1', 'vouch -1', 'vouch -2', 'bootstrap 1', 'bootstrap 0', 'bootstrap -1', 'bootstrap -2'],
      ...['inspect 0', 'inspect 1', 'inspect 2', 'undo 0', 'undo 1', 'undo 2', 'release 0', 'release 1'],
      ...['queue 6', 'queue 1', 'queue 0', 'queue 2', 'queue 4', 'queue -1', 'queue -2'],
      ...['yield 0', 'yield 1', 'push v', 'push g', 'push w', 'push i', 'push h'],
    ];
    expect(wanted.filter((one) => !seen.has(one))).to.deep.equal([]);
  });

  function note({ name }: Script, reply: unknown): void {
    seen.add(`${name} ${String(Array.isArray(reply) ? reply[0] : reply)}`);
  }

  /** What lives for seconds only does not run out while the spec runs. */
  async function keep(fake: FakeMaster, after: Snapshot): Promise<void> {
    for (const [key, { ms }] of after) {
      if (ms < 0 || ms > FRESH_MS) continue;
      await server.redis.pexpire(key, TTLS[0] ?? 0);
      fake.expire(key, TTLS[0] ?? 0);
    }
  }

  /** Everything that is on the server, in one round trip. */
  async function snapshot(): Promise<Snapshot> {
    const pipeline = server.redis.pipeline();
    for (const key of KEYS) pipeline.get(key).zrange(key, '0', '-1', 'WITHSCORES').hgetall(key).pttl(key);
    const replies = (await pipeline.exec()) ?? [];
    return new Map(
      KEYS.map((key, i): [string, Entry] => {
        const [text, members, fields, ms] = replies.slice(4 * i, 4 * i + 4).map(([, reply]) => reply);
        const isOfTerms = TERMS.includes(key);
        return [key, { content: contentOf(text, members, isOfTerms ? fields : undefined), ms: Number(ms) }];
      }),
    );
  }

  /** What others do: claim by hand, put data or odd texts there, delete it, lose everything, run on in another process. */
  async function disturb(draw: Draw, fake: FakeMaster, nowUs: number): Promise<void> {
    const { redis } = server;
    const put = async (key: string, text: string, ttlMs?: number): Promise<void> => {
      await (ttlMs === undefined ? redis.set(key, text) : redis.set(key, text, 'PX', ttlMs));
      fake.set(key, text, ttlMs ?? 'none');
    };
    const drop = async (key: string): Promise<void> => {
      await redis.del(key);
      fake.delete(key);
    };
    const nowMs = Math.floor(nowUs / 1_000);
    const lock = draw.pick(LOCKS);
    const [queue, turn, terms] = [draw.pick(QUEUES), draw.pick(TURNS), draw.pick(TERMS)];
    const counter = draw.pick(COUNTERS);
    const period = draw.pick(PERIODS);
    switch (draw.below(17)) {
      case 0: {
        const args = [lock, draw.pick(TOKENS), 'PX', String(draw.pick(TTLS)), 'NX'];
        const real: unknown = await redis.call('SET', ...args);
        expect(await fake.call({ name: 'set', args })).to.equal(real);
        return;
      }
      case 1:
        return put(
          lock,
          draw.below(4) === 0 ? AT_REST : draw.pick(TOKENS) + draw.pick(['', '', RESERVED_MARK]),
          draw.pick([undefined, ...TTLS]),
        );
      case 2:
      case 3: {
        const near =
          nowUs + draw.pick([-2 * BACK_US, -BACK_US, -1_000, 0, AHEAD_US / 2, AHEAD_US, 7_000_000]);
        return put(counter, String(draw.pick([0, 7, near, near, near, ...LAST])), 7_000_000);
      }
      case 4:
        return put(
          counter,
          draw.pick(['text', '', '-5', '1.5', '1e3', '007', '7 ', '0x10']),
          draw.pick([undefined, 1e6]),
        );
      case 5:
      case 6: {
        const key = draw.pick([lock, lock, lock, counter, counter, queue, turn, terms, MARKER]);
        await drop(key);
        if (draw.below(2) > 0) return;
        await putData(redis, key, key === terms ? 'list' : draw.pick(['list', 'hash'] as const));
        fake.setForeign(key);
        return;
      }
      case 7:
        return put(
          MARKER,
          `1|${server.runId}|${draw.pick([0, nowMs - 10_000_000, nowMs - 70_000_000, nowMs - period - 400])}|${period}`,
        );
      case 8:
        return put(
          MARKER,
          `1|${draw.pick(['other', server.runId])}|${nowMs + draw.pick([-5e6, 5e6])}|${period}`,
        );
      case 9:
        return put(MARKER, draw.pick([`2|${server.runId}|0|${period}`, '1|id|0|', 'text', '1|id|-5|7', '']));
      case 10:
        return drop(MARKER);
      case 11:
      case 12:
        return drop(lock);
      case 13: {
        const text = draw.pick([
          'text',
          '',
          '7',
          '0||',
          `7|${draw.pick(OURS)}|1`,
          `${nowUs + 9e6}|x|7`,
          '7|x|',
        ]);
        return put(turn, text, TTLS.at(-1)); // as long as any queue
      }
      case 14:
      case 15: {
        if (fake.fields(terms) === WRONG_TYPE) return;
        const waiters = fake.members(QUEUES[TERMS.indexOf(terms)] ?? '');
        const [first] = waiters === WRONG_TYPE ? [] : waiters;
        const token = draw.pick([first?.name ?? draw.pick(OURS), draw.pick(OURS), TIDIED]);
        const left = token === TIDIED ? drawTidied(draw, nowUs) : drawTerms(draw, nowUs);
        await redis.hset(terms, token, left);
        await redis.pexpire(terms, TTLS[0] ?? 0);
        fake.setFields(terms, { [token]: left });
        return fake.expire(terms, TTLS[0] ?? 0);
      }
      default:
        for (const key of draw.below(4) === 0 ? KEYS : COUNTERS) await drop(key);
    }
  }
});

function drawCall(draw: Draw, nowUs: number, before: Snapshot): Call {
  const script = draw.pick(CASES);
  const call = (keys: readonly string[], ...args: readonly string[]): Call => ({ script, keys, args });
  const chosen = LOCKS.map((_, i) => i).filter(() => draw.below(2) === 0);
  const places = chosen.length === 0 ? [draw.below(LOCKS.length)] : chosen;
  if (draw.below(2) === 0) places.reverse();
  const locks = places.map((i) => LOCKS[i] ?? '');
  const own = places.map((i) => COUNTERS[i] ?? '');
  const isFenced = script === ACCEPT || draw.below(3) > 0;
  const counters = isFenced ? own : [];
  const period = draw.pick([-1, -1, 0, 0, ...PERIODS]);
  const marker = period < 0 ? undefined : MARKER;
  const token = draw.pick(TOKENS);
  const ttl = String(draw.pick(TTLS));
  const counterTtl = isFenced ? String(draw.pick(COUNTER_TTLS)) : '0';
  const counts = COUNTERS.map((key) => Math.floor(Number(textOf(before, key)) || 0));
  const highest = Math.max(0, ...counts);
  const off = draw.pick([-1, 0, 0, 1]);
  const near = nowUs + draw.pick([-BACK_US, -BACK_US, -BACK_US / 2, 0, 0, -AHEAD_US / 2, AHEAD_US]) + off;
  const far = nowUs + Number(counterTtl) * 1_000 + off;
  const drawn = draw.pick([highest + off, highest + off, near, near, far, 8, nowUs + 9e6, nowUs - 9e6]);
  const fence = String(Math.min(Math.max(1, drawn), LAST_FENCE));
  const proposal = String(draw.pick([0, near, near, near, highest + off, nowUs + 9e6, nowUs - 9e6]));
  const all = [...locks, ...counters, ...(marker === undefined ? [] : [marker])];
  const waited = [...locks, ...[QUEUES, TURNS].flatMap((list) => places.map((i) => list[i] ?? ''))];
  const guard = String(period);
  switch (script) {
    case CLAIM: {
      const args = [token, ttl, counterTtl, proposal, guard];
      if (draw.below(2) === 0) return call(all, ...args);
      return call([...waited, ...all.slice(locks.length)], ...args, '1');
    }
    case ACCEPT:
      return call(all, token, fence, counterTtl, guard);
    case EXTEND:
      return call(
        marker === undefined ? locks : [...locks, marker],
        ...[token, ttl, String(draw.below(2)), guard],
      );
    case UNDO:
    case RELEASE: {
      const holder = draw.pick([token, tokenIn(textOf(before, locks[0] ?? '') ?? token)]);
      if (draw.below(3) === 0) return call(waited, holder);
      return call([...waited, ...places.map((i) => TERMS[i] ?? ''), ...own], holder, proposal);
    }
    case INSPECT:
      return call([LOCKS, QUEUES, TERMS].map((list) => list[places[0] ?? 0] ?? ''));
    case QUEUE:
    case YIELD: {
      const keys = [LOCKS, QUEUES, TURNS, TERMS, COUNTERS].map((list) => list[places[0] ?? 0] ?? '');
      const [serial = '', named = ''] = (textOf(before, keys[2] ?? '') ?? '').split('|');
      const ticket = String(draw.pick(TICKETS));
      if (script === YIELD) {
        const life = String(draw.pick([0, ...TTLS]));
        const rest = draw.below(2) === 0 ? [] : ['1'];
        const place = [draw.pick([serial, serial, serial, '7']), ticket, life, ...rest].join('|');
        return call(keys, draw.pick([named, named, token]), place, proposal);
      }
      const place = [ticket, draw.pick(TTLS), draw.below(1_000)].join('|');
      const args = [draw.pick(OURS), place, draw.pick(['0', ttl, ttl]), counterTtl, proposal, guard];
      return call(marker === undefined ? keys : [...keys, marker], ...args);
    }
    case VOUCH:
      return call([MARKER], String(draw.pick(PERIODS)));
    default: {
      const [of, force] = [draw.pick([0, ...PERIODS]), draw.below(2)];
      return call([MARKER], String(force === 0 && of === 0 ? PERIODS[0] : of), String(force));
    }
  }
}

/** The reply, with times left by their millions. */
function coarse({ name }: Script, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, amount, ...rest] = reply as readonly unknown[];
  const isTimeLeft = name === 'undo' || name === 'inspect' || code === 0 || code === 4;
  return [code, isTimeLeft ? millions(Number(amount)) : amount, ...rest];
}

/** Those of a counter that is centuries ahead are all alike. */
function millions(ms: number): number {
  return ms < 0 ? ms : ms > 1e9 ? Infinity : Math.ceil(ms / 1e6);
}

function textOf(of: Snapshot, key: string): string | undefined {
  const content = of.get(key)?.content;
  return typeof content === 'string' ? content : undefined;
}

/** @param text  of GET, @param members of ZRANGE, @param fields of HGETALL; undefined where the key is of another type */
function contentOf(text: unknown, members: unknown, fields: unknown): Content {
  if (typeof text === 'string') return text;
  if (text === null) return undefined;
  if (typeof fields === 'object' && fields !== null && !(fields instanceof Error)) {
    return new Map(Object.entries(fields).map(([name, value]) => [name, String(value)]));
  }
  if (!Array.isArray(members)) return WRONG_TYPE;
  const parts = members.map(String);
  return parts.flatMap((name, i) => (i % 2 === 0 ? [{ name, score: Number(parts[i + 1]) }] : []));
}

function show({ content, ms }: Entry = { content: undefined, ms: -2 }): string {
  if (content === WRONG_TYPE) return `(data) ${millions(ms)}`;
  const shown = content instanceof Map ? [...content].toSorted(([a], [b]) => (a < b ? -1 : 1)) : content;
  return `${shown === undefined ? 'none' : JSON.stringify(shown)} ${millions(ms)}`;
}

function fakeState(fake: FakeMaster, key: string): string {
  const ms = fake.pttl(key);
  const text = fake.get(key);
  if (text !== WRONG_TYPE) return show({ content: text, ms });
  const members = fake.members(key);
  return show({ content: members === WRONG_TYPE ? fake.fields(key) : members, ms });
}

/** What a look has left, at any of the bounds, or what cannot be read. */
function drawTidied(draw: Draw, nowUs: number): string {
  const agoMs = draw.pick([-TIDY_MS, 0, TIDY_MS - 1_000, TIDY_MS + 1_000, TIDY_MS + 1_000]);
  return draw.pick([`${nowUs - agoMs * 1_000}|${draw.below(3)}`, 'text']);
}

function drawTerms(draw: Draw, nowUs: number): string {
  const freshUs = FRESH_MS * 1_000;
  const goneUs = GONE_MS * 1_000;
  const ages = [0, 1, 10_000, BACK_US, freshUs - 50_000, freshUs + 1, goneUs - 1e6, goneUs + 1e6, -1, -1e6];
  const look = nowUs - draw.pick(ages);
  const [ttl, life] = [draw.pick(TTLS), draw.pick([0, ...COUNTER_TTLS])];
  const run = draw.pick(['', '', 'other']);
  const least = draw.pick([0, 0, nowUs - 5_000, nowUs + 1e6]);
  const terms = [look, draw.below(1_000), ttl, life, run, least].join('|');
  return draw.pick([terms, terms, terms, terms, String(look), 'text', `${terms}|7`]);
}
