/**
 * The same random commands on a real server and on the twins; replies, keys and pushes compared after each.
 *
 * The twin's clock is the server's: after the server has run a command, what it read from its clock is taken from what it
 * wrote or answered, and given to the twin as its next readings. Where a reading leaves no trace, it made no difference, and
 * the twin gets the time of just before. For claims and acceptances, the server's clock stands still. Times left are compared by their millions of ms, since the server's count down; a
 * vote that is reserved is kept for longer after it was compared, since the twin's time stands still.
 */
import { expect } from 'chai';
import { pushChannel } from '../../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../../lib/protocol/lua/fence-bounds.js';
import { MAX_DROPPED, RESERVE_MS } from '../../../lib/protocol/lua/queue.js';
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
import { WRONG_TYPE, type Member } from '../../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { RESERVED_MARK } from '../../../lib/runtime/random.js';
import { Draw } from '../../support/draw.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import { atInstant, oneListener, oneServer, putData } from '../../support/server.js';

const SEEDS = 80;
const STEPS = 80;
const LOCKS = ['a', 'b', 'c'];
const COUNTERS = ['fa', 'fb', 'fc'];
const QUEUES = ['qa', 'qb', 'qc'];
const TURNS = ['ta', 'tb', 'tc'];
const MARKER = 'm';
const KEYS = [...LOCKS, ...COUNTERS, ...QUEUES, ...TURNS, MARKER];
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
  ...[RELEASE, RELEASE, RELEASE, EXTEND, EXTEND],
  ...[QUEUE, QUEUE, QUEUE, QUEUE, QUEUE, QUEUE, YIELD, YIELD, VOUCH, BOOTSTRAP, INSPECT],
];

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Which of the keys are what. */
  readonly marker: string | undefined;
  readonly period: number;
  /** The server's clock stands still, so that fencing tokens can be at its very bounds. */
  readonly isStopped: boolean;
}

type Content = string | typeof WRONG_TYPE | readonly Member[] | undefined;

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
        const script = call.isStopped ? atInstant(call.script, nowUs) : call.script;
        const real = await server.run(script, call.keys, ...call.args);
        const after = await snapshot();
        fake.readings.push(...readings(call, real, before, after, nowUs));
        const { keys, args } = call;
        const twin = await fake.call({
          name: 'eval',
          args: [call.script.source, String(keys.length), ...keys, ...args],
        });
        fake.readings.length = 0;
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
        await keepReserved(fake, after);
      }
    });
  }

  type Step = 'drop the lock' | 'line up the dead' | readonly [script: Script, ...args: (string | number)[]];

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

  /** The same steps on both, by users with that right: replies and keys, without times and serials. */
  async function expectAlike(right: '+publish' | '-publish', steps: readonly Step[]): Promise<void> {
    const keys = ['a', 'qa', 'ta'];
    const fake = new FakeMaster('fake', new FakeTime());
    for (const channel of new Set(ALIVE)) fake.channels.subscribe(channel, () => undefined);
    fake.mayPublish = right === '+publish';
    await server.redis.call('ACL', 'SETUSER', 'default', right);
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
      const [script, ...args] = step;
      const real = await server.run(script, keys, ...args);
      const { source } = script;
      const twin = await fake.call({ name: 'eval', args: [source, '3', ...keys, ...args.map(String)] });
      const codeAndRank = (reply: unknown): unknown => (Array.isArray(reply) ? [reply[0], reply[3]] : reply);
      expect(codeAndRank(twin)).to.deep.equal(codeAndRank(real));
      const after = await snapshot();
      const withoutSerial = (text: string): string => text.replace(/^"[1-9]\d*\|/, '"serial|');
      expect(keys.map((key) => withoutSerial(fakeState(fake, key)))).to.deep.equal(
        keys.map((key) => withoutSerial(show(after.get(key)))),
      );
    }
  }

  afterEach(() => server.redis.call('ACL', 'SETUSER', 'default', '+publish'));

  const queue = (token: string | undefined, i: number): Step => [
    QUEUE,
    token ?? '',
    TICKETS[i] ?? 0,
    TTLS[0] ?? 0,
    -1,
  ];
  const [ann, , ben, , dead] = OURS;

  it('one that asks keeps its place though no push reaches it, also as the next', () =>
    expectAlike('+publish', [queue(ben, 2), queue(ann, 0), 'drop the lock', queue(dead, 1), queue(dead, 1)]));

  for (const script of [RELEASE, UNDO]) {
    it(`${script.name}: more of the dead than one call may drop go in several, before and behind one that lives`, () => {
      const leave: Step = [script, dead ?? ''];
      const lastToCome: Step = [QUEUE, ben ?? '', 2 ** 53 - 1, TTLS[0] ?? 0, -1];
      return expectAlike('+publish', [
        ...([queue(dead, 2), queue(ann, 0), 'line up the dead', lastToCome] as const),
        ...([leave, leave, leave, leave] as const),
        ...(['line up the dead', 'drop the lock', lastToCome, lastToCome, lastToCome] as const),
        ...(['line up the dead', [script, ben ?? ''], queue(ann, 0), [script, ann ?? '']] as const),
      ]);
    });
  }

  it('a user that may not publish: waiters stay, and a request to queue gets the vote', () =>
    expectAlike('-publish', [
      queue(ben, 1),
      queue(ann, 0),
      queue(dead, 2),
      [RELEASE, ben ?? ''],
      queue(ben, 1),
      [YIELD, ben ?? '', 1, TICKETS[1] ?? 0, 1e6],
      [UNDO, ben ?? ''],
      queue(dead, 2),
    ]));

  it('that met every code of every script', () => {
    const wanted = [
      ...['claim 1', 'claim 0', 'claim 2', 'claim -1', 'claim -2'],
      ...['accept 1', 'accept 3', 'accept 0', 'accept 2', 'accept -1', 'accept -2'],
      ...['extend 1', 'extend 0', 'extend 2', 'extend -1', 'extend -2'],
      ...['vouch 1', 'vouch -1', 'vouch -2', 'bootstrap 1', 'bootstrap 0', 'bootstrap -1', 'bootstrap -2'],
      ...['inspect 0', 'inspect 1', 'inspect 2', 'undo 0', 'undo 1', 'undo 2', 'release 0', 'release 1'],
      ...['queue 1', 'queue 0', 'queue 2', 'queue 4', 'queue -1', 'queue -2', 'yield 0', 'yield 1'],
      ...['push g', 'push w', 'push i'],
    ];
    expect(wanted.filter((one) => !seen.has(one))).to.deep.equal([]);
  });

  function note({ name }: Script, reply: unknown): void {
    seen.add(`${name} ${String(Array.isArray(reply) ? reply[0] : reply)}`);
  }

  /** What is reserved for a second does not run out while the spec runs. */
  async function keepReserved(fake: FakeMaster, after: Snapshot): Promise<void> {
    for (const [key, { ms }] of after) {
      if (ms < 0 || ms > RESERVE_MS) continue;
      await server.redis.pexpire(key, TTLS[0] ?? 0);
      fake.expire(key, TTLS[0] ?? 0);
    }
  }

  /** Everything that is on the server, in one round trip. */
  async function snapshot(): Promise<Snapshot> {
    const pipeline = server.redis.pipeline();
    for (const key of KEYS) pipeline.get(key).zrange(key, '0', '-1', 'WITHSCORES').pttl(key);
    const replies = (await pipeline.exec()) ?? [];
    return new Map(
      KEYS.map((key, i): [string, Entry] => {
        const [text, members, ms] = replies.slice(3 * i, 3 * i + 3).map(([, reply]) => reply);
        return [key, { content: contentOf(text, members), ms: Number(ms) }];
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
    const [queue, turn] = [draw.pick(QUEUES), draw.pick(TURNS)];
    const counter = draw.pick(COUNTERS);
    const period = draw.pick(PERIODS);
    switch (draw.below(15)) {
      case 0: {
        const args = [lock, draw.pick(TOKENS), 'PX', String(draw.pick(TTLS)), 'NX'];
        const real: unknown = await redis.call('SET', ...args);
        expect(await fake.call({ name: 'set', args })).to.equal(real);
        return;
      }
      case 1:
        return put(
          lock,
          draw.pick(TOKENS) + draw.pick(['', '', RESERVED_MARK]),
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
        const key = draw.pick([lock, counter, counter, queue, turn, MARKER]);
        await drop(key);
        if (draw.below(2) > 0) return;
        await putData(redis, key, draw.pick(['list', 'hash'] as const));
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
        return put(turn, text, draw.pick(TTLS));
      }
      default:
        for (const key of draw.below(4) === 0 ? KEYS : COUNTERS) await drop(key);
    }
  }
});

function drawCall(draw: Draw, nowUs: number, before: Snapshot): Call {
  const script = draw.pick(CASES);
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
  const near = nowUs + draw.pick([-BACK_US, -BACK_US, -BACK_US / 2, 0, AHEAD_US]) + off;
  const far = nowUs + Number(counterTtl) * 1_000 + off;
  const drawn = draw.pick([highest + off, highest + off, near, near, far, 8, nowUs + 9e6, nowUs - 9e6]);
  const fence = String(Math.min(Math.max(1, drawn), LAST_FENCE));
  const proposal = String(draw.pick([0, near, near, near, highest + off, nowUs + 9e6, nowUs - 9e6]));
  const all = [...locks, ...counters, ...(marker === undefined ? [] : [marker])];
  const waited = [...locks, ...places.map((i) => QUEUES[i] ?? ''), ...places.map((i) => TURNS[i] ?? '')];
  const isStopped = script === CLAIM || script === ACCEPT;
  const guard = String(period);
  switch (script) {
    case CLAIM: {
      const args = [token, ttl, counterTtl, proposal, guard];
      if (draw.below(2) === 0) return { script, keys: all, args, marker, period, isStopped };
      const keys = [...waited, ...all.slice(locks.length)];
      return { script, keys, args: [...args, '1'], marker, period, isStopped };
    }
    case ACCEPT:
      return { script, keys: all, args: [token, fence, counterTtl, guard], marker, period, isStopped };
    case EXTEND: {
      const args = [token, ttl, String(draw.below(2)), guard];
      const keys = marker === undefined ? locks : [...locks, marker];
      return { script, keys, args, isStopped, marker, period };
    }
    case UNDO:
    case RELEASE:
      return { script, keys: waited, args: [token], isStopped, marker: undefined, period: -1 };
    case INSPECT:
      return {
        script,
        keys: [locks[0] ?? '', QUEUES[places[0] ?? 0] ?? ''],
        args: [],
        isStopped,
        marker: undefined,
        period: -1,
      };
    case QUEUE:
    case YIELD: {
      const [lock = '', queue = '', turn = ''] = [LOCKS, QUEUES, TURNS].map((list) => list[places[0] ?? 0]);
      const [serial = '', named = ''] = (textOf(before, turn) ?? '').split('|');
      const ticket = String(draw.pick(TICKETS));
      const life = String(draw.pick(TTLS));
      if (script === YIELD) {
        const args = [
          draw.pick([named, named, token]),
          draw.pick([serial, serial, serial, '7']),
          ticket,
          life,
        ];
        return { script, keys: [lock, queue, turn], args, isStopped, marker: undefined, period: -1 };
      }
      const keys = [lock, queue, turn, ...(marker === undefined ? [] : [marker])];
      return { script, keys, args: [draw.pick(OURS), ticket, life, guard], isStopped, marker, period };
    }
    case VOUCH: {
      const of = draw.pick(PERIODS);
      return { script, keys: [MARKER], args: [String(of)], isStopped, marker: MARKER, period: of };
    }
    default: {
      const [of, force] = [draw.pick([0, ...PERIODS]), draw.below(2)];
      const args = [String(force === 0 && of === 0 ? PERIODS[0] : of), String(force)];
      return { script, keys: [MARKER], args, isStopped, marker: MARKER, period: Number(args[0]) };
    }
  }
}

/** What the server read from its clock, in order. */
function readings(call: Call, reply: unknown, before: Snapshot, after: Snapshot, nowUs: number): number[] {
  const { script, isStopped, marker, period } = call;
  if (isStopped) return [nowUs, nowUs];
  const [code = 0, amount = 0, us = 0] = Array.isArray(reply) ? reply.map(Number) : [];
  const found: number[] = [];
  if (marker !== undefined && period > 0 && code !== -2) {
    const old = textOf(before, marker);
    const now = textOf(after, marker);
    const since = Number(now?.split('|')[2]);
    const isDeclared = script === BOOTSTRAP && code === 1;
    if (isDeclared) found.push((since + period) * 1_000);
    else if (code === -1) found.push((old === now ? since + period - amount : since) * 1_000);
    else found.push(nowUs);
  }
  if (script === QUEUE) found.push(us, code === 1 ? amount : serialAfter(call, 0, after, nowUs));
  if (script === YIELD) found.push(serialAfter(call, 0, after, nowUs));
  if (script === RELEASE || script === UNDO) found.push(...handedOver(call, before, after, nowUs));
  return found;
}

/** The serial of the grant that was made at that resource; any time where there was none. */
function serialAfter({ script, keys }: Call, i: number, after: Snapshot, nowUs: number): number {
  const n = script === QUEUE || script === YIELD ? 1 : numberOf(keys);
  return Number(/^(\d+)\|./.exec(textOf(after, keys[i + 2 * n] ?? '') ?? '')?.[1] ?? nowUs);
}

/** How many resources the keys of a release are about. */
function numberOf(keys: readonly string[]): number {
  return keys.filter((key) => LOCKS.includes(key)).length;
}

/** One reading for each resource that a release leaves free while somebody waits for it. */
function handedOver(call: Call, before: Snapshot, after: Snapshot, nowUs: number): number[] {
  const { args, keys } = call;
  const n = numberOf(keys);
  const [token = ''] = args;
  return Array.from({ length: n }, (_, i) => i)
    .filter((i) => {
      const [lock, queue, turn] = [0, 1, 2].map((part) => before.get(keys[i + part * n] ?? '')?.content);
      const others = Array.isArray(queue) ? queue.filter((one: Member) => one.name !== token) : [];
      const isLeftFree = lock === undefined || lock === token || lock === token + RESERVED_MARK;
      return turn !== undefined && isLeftFree && others.length > 0;
    })
    .map((i) => serialAfter(call, i, after, nowUs));
}

/** The reply, with times left by their millions. */
function coarse({ name }: Script, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, amount, ...rest] = reply as unknown[];
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

/** @param text  of GET, @param members of ZRANGE; undefined where the key is of another type */
function contentOf(text: unknown, members: unknown): Content {
  if (typeof text === 'string') return text;
  if (text === null) return undefined;
  if (!Array.isArray(members)) return WRONG_TYPE;
  const parts = members.map(String);
  return parts.flatMap((name, i) => (i % 2 === 0 ? [{ name, score: Number(parts[i + 1]) }] : []));
}

function show({ content, ms }: Entry = { content: undefined, ms: -2 }): string {
  const text = content === WRONG_TYPE ? '(data)' : content === undefined ? 'none' : JSON.stringify(content);
  return `${text} ${millions(ms)}`;
}

function fakeState(fake: FakeMaster, key: string): string {
  const text = fake.get(key);
  return show({ content: text === WRONG_TYPE ? fake.members(key) : text, ms: fake.pttl(key) });
}
