/**
 * Steps at the bounds of queues, on a real server and in memory, with the same end: who is handed the lock, who is dropped,
 * and who is told. Random calls of all scripts are in in-memory.spec.ts.
 *
 * Both clocks stand still at the same instant while a script runs. Times left are compared by their millions of ms, since the
 * server's count down; what lives for a few seconds only is kept for longer after it was compared.
 */
import { expect } from 'chai';
import { pushChannel } from '../../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US } from '../../../lib/protocol/lua/stored.js';
import { RELEASE, type Script, UNDO } from '../../../lib/protocol/lua/scripts.js';
import {
  FRESH_MS,
  GONE_MS,
  MAX_DROPPED,
  MOST_LEFT,
  TIDIED,
  TIDY_MS,
} from '../../../lib/protocol/lua/waiting.js';
import { WRONG_TYPE, type Fields, type Member } from '../../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import type { LoneEntry } from '../../support/lone-entries.js';
import { lookBy, yieldBy } from '../../support/looks.js';
import { atInstant, oneListener, oneServer } from '../../support/server.js';

/** Stands for the instant of the command, as a proposal. */
const NOW = 'now';

const LOCKS = ['a', 'b', 'c'];
const COUNTERS = ['fa', 'fb', 'fc'];
const QUEUES = ['qa', 'qb', 'qc'];
const TURNS = ['ta', 'tb', 'tc'];
const TERMS = ['sa', 'sb', 'sc'];
const MARKER = 'm';
/** What looks and yields are about. */
const LOOKED = ['a', 'qa', 'ta', 'sa', 'fa'];
const KEYS = [...LOCKS, ...COUNTERS, ...QUEUES, ...TURNS, ...TERMS, MARKER];
/** Three clients of ours with two tokens each, of which one is dead; and a foreign client. */
const OURS = ['ann', 'ben', 'cat'].flatMap((name) => [tokenFrom(name, '1'), tokenFrom(name, '2')]);
const ALIVE = OURS.slice(0, 4).map(pushChannel);
const TICKETS = [1_790_000_000_000_001, 1_790_000_000_000_002, 1_790_000_000_000_003, 2 ** 53 - 1];
/** Far enough apart to be told by their millions. */
const TTLS = [1_000_000, 2_000_000, 3_000_000];
/** Also with what is ahead of the clock, and with as much again, not near a whole million. */
const COUNTER_TTLS = [7_250_000, 9_250_000];

type Content = string | typeof WRONG_TYPE | readonly Member[] | Fields | undefined;

interface Entry {
  readonly content: Content;
  /** As PTTL gives it. */
  readonly ms: number;
}

type Snapshot = ReadonlyMap<string, Entry>;

describe('queues: step by step, the same in memory as on the server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  before(() => listener.listenTo(...ALIVE));

  /** What the server and the master in memory answer, while the clocks of both stand still at that instant. */
  async function both(
    fake: FakeMaster,
    us: number,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<readonly [real: unknown, found: unknown]> {
    const real = await server.run(atInstant(script, us), keys, ...args);
    fake.clockAheadUs += us - fake.micros();
    const found = await fake.call({
      name: 'eval',
      args: [script.source, String(keys.length), ...keys, ...args],
    });
    return [real, found];
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
    | readonly [script: Script, ...args: (string | number)[]]
    /** From the instant of the step. */
    | ((us: number) => LoneEntry);

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
    const compare = async (replies: readonly unknown[], isUndo = false): Promise<void> => {
      const [real, found] = replies;
      expect(coarse(found, isUndo)).to.deep.equal(coarse(real, isUndo));
      const after = await snapshot();
      expect(KEYS.map((key) => fakeState(fake, key))).to.deep.equal(KEYS.map((key) => show(after.get(key))));
      expect(heard.splice(0)).to.deep.equal(await listener.heard());
      await keep(fake, after);
    };
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
      if (typeof step === 'function') {
        const { args, replyIn, script } = step(us);
        const [real, found] = await both(fake, us, script, LOOKED, args.map(String));
        await compare([replyIn(real), replyIn(found)]);
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
      const isPlain = args.length === 1; // a release or an undo without looks and counter
      const keys = isPlain ? LOOKED.slice(0, 3) : LOOKED;
      const filled = args.map((arg) => (arg === NOW ? String(us) : String(arg)));
      await compare(await both(fake, us, script, keys, filled), script === UNDO);
    }
  }

  afterEach(() => server.redis.call('ACL', 'SETUSER', 'default', '+publish'));

  /** Asks for a reservation. */
  const queue =
    (token: string | undefined, i: number): Step =>
    () =>
      lookBy(token ?? '', { ticket: TICKETS[i] ?? 0, lifeMs: TTLS[0] ?? 0 });
  /** Asks for the vote. */
  const look = (token: string | undefined, ticket: number): Step => {
    const [ttlMs = 0, lifeMs = 0] = TTLS;
    const terms = { ticket, lifeMs, ttlMs, sentAtMs: 7, counterMs: COUNTER_TTLS[0] ?? 0 };
    return (proposal) => lookBy(token ?? '', { ...terms, proposal });
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
      const lastToCome: Step = () => lookBy(ben ?? '', { ticket: 2 ** 53 - 1, lifeMs: TTLS[0] ?? 0 });
      return expectAlike('+publish', [
        ...([queue(dead, 2), queue(ann, 0), 'line up the dead', lastToCome] as const),
        ...([leave, leave, leave, leave] as const),
        ...(['line up the dead', 'drop the lock', lastToCome, lastToCome, lastToCome] as const),
        ...(['line up the dead', [script, ben ?? ''], queue(ann, 0), [script, ann ?? '']] as const),
      ]);
    });

    it(`${script.name}: likewise where they are handed the lock directly; those that are gone lose their looks`, () => {
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

  it('far more looks than places: all are dropped, and written again by looks', () => {
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
      ...([() => yieldBy(ben ?? '', yielded), [UNDO, ben ?? ''], queue(dead, 2)] as const),
      ...([[UNDO, dead ?? '', NOW], look(ben, 1), look(ann, 0), [RELEASE, ben ?? '', NOW]] as const),
      ...([look(dead, 2), look(ben, 3), [UNDO, dead ?? '', NOW]] as const),
    ]);
  });

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
});

/** The reply, with times left by their millions. */
function coarse(reply: unknown, isUndo: boolean): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, amount, ...rest] = reply as readonly unknown[];
  const isTimeLeft = isUndo || code === 0 || code === 4;
  return [code, isTimeLeft ? millions(Number(amount)) : amount, ...rest];
}

/** Those of a counter that is centuries ahead are all alike. */
function millions(ms: number): number {
  return ms < 0 ? ms : ms > 1e9 ? Infinity : Math.ceil(ms / 1e6);
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
