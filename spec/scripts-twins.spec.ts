/**
 * The same random commands on a real server and on the twins, replies and keys compared after each.
 *
 * The twin's clock is the server's: after the server has run a command, what it read from its clock is taken from what it
 * wrote or answered, and given to the twin as its next readings. Where a reading leaves no trace, it made no difference, and
 * the twin gets the time of just before. Times left are compared by their millions of ms, since the server's count down.
 */
import { expect } from 'chai';
import { FLOOR_LEAD_US } from '../lib/lua.js';
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  EXTEND,
  INSPECT,
  RELEASE,
  type Script,
  UNDO,
  VOUCH,
} from '../lib/scripts.js';
import { FOREIGN } from '../lib/testing/twins.js';
import { FakeMaster } from './support/fake-master.js';
import { FakeTime } from './support/fake-time.js';
import { oneServer, putData } from './support/server.js';

const SEEDS = 60;
const STEPS = 80;
const LOCKS = ['a', 'b', 'c'];
const COUNTERS = ['fa', 'fb', 'fc'];
const MARKER = 'm';
const KEYS = [...LOCKS, ...COUNTERS, MARKER];
/** Far enough apart to be told by their millions. */
const TTLS = [1_000_000, 2_000_000, 3_000_000];
const COUNTER_TTLS = [7_000_000, 9_000_000];
const PERIODS = [50_000_000, 90_000_000];
const CASES = [CLAIM, CLAIM, CLAIM, ACCEPT, ACCEPT, UNDO, RELEASE, EXTEND, EXTEND, VOUCH, BOOTSTRAP, INSPECT];

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Which of the keys are what. */
  readonly counters: readonly string[];
  readonly marker: string | undefined;
  readonly period: number;
}

type Content = string | typeof FOREIGN | undefined;

interface Entry {
  readonly content: Content;
  /** As PTTL gives it. */
  readonly ms: number;
}

type Snapshot = ReadonlyMap<string, Entry>;

describe('scripts: the twins do the same as the server', () => {
  const server = oneServer();
  const seen = new Map<string, number>();

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${STEPS} random commands, replies and keys compared after each`, async () => {
      const draw = new Draw(seed * 7_919);
      const fake = new FakeMaster('fake', new FakeTime());
      fake.runId = server.runId;
      for (let step = 0; step < STEPS; step++) {
        const nowUs = await server.micros();
        if (draw.below(3) === 0) {
          await disturb(draw, fake, nowUs);
          continue;
        }
        const before = await snapshot();
        const call = drawCall(draw, nowUs, before);
        const real = await server.run(call.script, call.keys, ...call.args);
        const after = await snapshot();
        fake.readings.push(...readings(call, real, before, after, nowUs));
        const { script, keys, args } = call;
        const twin = await fake.call({
          name: 'eval',
          args: [script.source, String(keys.length), ...keys, ...args],
        });
        fake.readings.length = 0;
        const title = `step ${step}: ${script.name} ${keys.join()} ${args.join()}`;
        expect(coarse(script, twin), title).to.deep.equal(coarse(script, real));
        expect(
          KEYS.map((key) => fakeState(fake, key)),
          title,
        ).to.deep.equal(KEYS.map((key) => show(after.get(key))));
        note(script, real);
      }
    });
  }

  it('a counter that holds nothing is not lifted', async () => {
    for (const script of [RELEASE, UNDO]) {
      const fake = new FakeMaster('fake', new FakeTime());
      fake.set('fa', '');
      await server.redis.set('fa', '');
      await server.run(script, ['a', 'fa'], 'one', '7');
      await fake.call({ name: 'eval', args: [script.source, '2', 'a', 'fa', 'one', '7'] });
      expect([await server.redis.get('fa'), fake.value('fa')]).to.deep.equal(['', '']);
    }
  });

  it('that met every code of every script', () => {
    const wanted = [
      ...['claim 1', 'claim 0', 'claim 2', 'claim -1', 'claim -2'],
      ...['accept 1', 'accept 3', 'accept 0', 'accept 2', 'accept -1', 'accept -2'],
      ...['extend 1', 'extend 0', 'extend 2', 'extend -1', 'extend -2'],
      ...['vouch 1', 'vouch -1', 'vouch -2', 'bootstrap 1', 'bootstrap 0', 'bootstrap -1', 'bootstrap -2'],
      ...['inspect 0', 'inspect 1', 'inspect 2', 'undo 0', 'undo 1', 'undo 2', 'release 0', 'release 1'],
    ];
    expect([...seen.keys()]).to.include.members(wanted);
  });

  function note({ name }: Script, reply: unknown): void {
    const code = `${name} ${String(Array.isArray(reply) ? reply[0] : reply)}`;
    seen.set(code, (seen.get(code) ?? 0) + 1);
  }

  /** Everything that is on the server, in one round trip. */
  async function snapshot(): Promise<Snapshot> {
    const pipeline = server.redis.pipeline();
    for (const key of KEYS) pipeline.get(key).pttl(key);
    const replies = (await pipeline.exec()) ?? [];
    return new Map(
      KEYS.map((key, i): [string, Entry] => {
        const [error, text] = replies[2 * i] ?? [];
        const content = error === null ? (typeof text === 'string' ? text : undefined) : FOREIGN;
        return [key, { content, ms: Number(replies[2 * i + 1]?.[1]) }];
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
    const counter = draw.pick(COUNTERS);
    const period = draw.pick(PERIODS);
    switch (draw.below(12)) {
      case 0: {
        const args = [lock, 'two', 'PX', String(draw.pick(TTLS)), 'NX'];
        const real: unknown = await redis.call('SET', ...args);
        expect(await fake.call({ name: 'set', args })).to.equal(real);
        return;
      }
      case 1:
        return put(lock, draw.pick(['one', 'two']), draw.pick([undefined, ...TTLS]));
      case 2:
      case 3:
        return put(counter, String(draw.pick([0, 7, nowUs - 5, nowUs + 7e6, 2 ** 51 + 1])), 7_000_000);
      case 4:
        return put(
          counter,
          draw.pick(['text', '', '-5', '1.5', '1e3', '007', '7 ', '0x10']),
          draw.pick([undefined, 1e6]),
        );
      case 5:
      case 6: {
        const key = draw.pick([lock, counter, counter, MARKER]);
        await drop(key);
        if (draw.below(2) > 0) return;
        await putData(redis, key, draw.pick(['list', 'hash'] as const));
        fake.setForeign(key);
        return;
      }
      case 7:
        return put(
          MARKER,
          `1|${server.runId}|${draw.pick([0, nowMs - 10_000_000, nowMs - 70_000_000])}|${period}`,
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
  const token = draw.pick(['one', 'one', 'two']);
  const ttl = String(draw.pick(TTLS));
  const counterTtl = isFenced ? String(draw.pick(COUNTER_TTLS)) : '0';
  const counts = COUNTERS.map((key) => Math.floor(Number(textOf(before, key)) || 0));
  const highest = Math.max(0, ...counts);
  const fence = String(
    Math.max(1, draw.pick([highest, highest + 1, highest - 1, 8, nowUs + 9e6, nowUs - 9e6])),
  );
  const floor = String(draw.pick([0, nowUs - 1e6, nowUs + FLOOR_LEAD_US / 2, nowUs + 9e6]));
  const all = [...locks, ...counters, ...(marker === undefined ? [] : [marker])];
  const withSeen = { keys: isFenced ? [...locks, ...own] : locks, args: isFenced ? [token, fence] : [token] };
  const guard = String(period);
  switch (script) {
    case CLAIM:
      return { script, keys: all, args: [token, ttl, counterTtl, floor, guard], counters, marker, period };
    case ACCEPT:
      return { script, keys: all, args: [token, fence, counterTtl, guard], counters, marker, period };
    case EXTEND: {
      const args = [token, ttl, String(draw.below(2)), counterTtl, fence, guard];
      return { script, keys: all, args, counters, marker, period };
    }
    case UNDO:
    case RELEASE:
      return { script, ...withSeen, counters: [], marker: undefined, period: -1 };
    case INSPECT:
      return { script, keys: locks.slice(0, 1), args: [], counters: [], marker: undefined, period: -1 };
    case VOUCH: {
      const of = draw.pick(PERIODS);
      return { script, keys: [MARKER], args: [String(of)], counters: [], marker: MARKER, period: of };
    }
    default: {
      const [of, force] = [draw.pick([0, ...PERIODS]), draw.below(2)];
      const args = [String(force === 0 && of === 0 ? PERIODS[0] : of), String(force)];
      return { script, keys: [MARKER], args, counters: [], marker: MARKER, period: Number(args[0]) };
    }
  }
}

/** What the server read from its clock, in order. */
function readings(
  { script, args, counters, marker, period }: Call,
  reply: unknown,
  before: Snapshot,
  after: Snapshot,
  nowUs: number,
): number[] {
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
  const fence = script === ACCEPT ? args[1] : script === EXTEND ? args[4] : undefined;
  for (const key of counters) {
    const content = before.get(key)?.content;
    if (content !== undefined && content !== '0') continue; // a 0 is as good as missing
    const now = textOf(after, key);
    if (script === CLAIM) found.push(us > 0 ? us : nowUs);
    else found.push(now !== undefined && now !== fence ? Number(now) : nowUs);
  }
  return found;
}

/** The reply, with times left by their millions. */
function coarse({ name }: Script, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, amount, ...rest] = reply as unknown[];
  const isTimeLeft = name === 'undo' || name === 'inspect' || code === 0;
  return [code, isTimeLeft ? millions(Number(amount)) : amount, ...rest];
}

function millions(ms: number): number {
  return ms < 0 ? ms : Math.ceil(ms / 1e6);
}

function textOf(of: Snapshot, key: string): string | undefined {
  const content = of.get(key)?.content;
  return typeof content === 'string' ? content : undefined;
}

function show({ content, ms }: Entry = { content: undefined, ms: -2 }): string {
  const text = content === FOREIGN ? '(data)' : content === undefined ? 'none' : JSON.stringify(content);
  return `${text} ${millions(ms)}`;
}

function fakeState(fake: FakeMaster, key: string): string {
  return show({ content: fake.get(key), ms: fake.pttl(key) });
}

/** A small generator, so that a failure can be repeated by its seed. */
class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T; // an index below its length
  }
}
