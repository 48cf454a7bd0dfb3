/**
 * The same random commands on a real server and on the twins of the scripts of read-write locks and semaphores; replies,
 * keys and pushes are compared after each, instants by their millions of ms. Then the twin takes over what the server has,
 * since its clock stands still while the server's goes on.
 */
import { expect } from 'chai';
import { pushChannel } from '../../../lib/protocol/keys.js';
import { LAST_FENCE } from '../../../lib/protocol/lua/fence-bounds.js';
import {
  LEAVE,
  RW_ACCEPT,
  RW_CLAIM,
  RW_EXTEND,
  SEM_CLAIM,
  SEM_EXTEND,
  SEM_ALIGN,
  SURVEY_SHARED,
} from '../../../lib/protocol/lua/shared-scripts.js';
import type { Script } from '../../../lib/redis/script.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { Draw } from '../../support/draw.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import { oneListener, oneServer, putData } from '../../support/server.js';

const SEEDS = 60;
const STEPS = 80;
const [LOCK, COUNTER, MARKER] = ['a', 'fa', 'm'] as const;
const KEYS = [LOCK, COUNTER, MARKER];
const TOKENS = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1'));
const WATCHERS = ['', tokenFrom('zoe', '3'), tokenFrom('abe', '4'), tokenFrom('eve', '5')];
const TTLS = [1_000_000, 2_000_000, 3_000_000];
const PERIODS = [50_000_000, 90_000_000];
const SLOTS = ['0', '1', '0,1', '1,2', '2'];
/** Counts that one fence can follow, or none. */
const LAST = [LAST_FENCE - 1, LAST_FENCE, LAST_FENCE + 1].map(String);
/** What a watch may be for: so many of so many permits. */
const WANTS = ['1/3', '2/3', '1/2'];
const CASES = [
  ...[RW_CLAIM, RW_CLAIM, RW_CLAIM, RW_ACCEPT, RW_EXTEND, RW_EXTEND, LEAVE, LEAVE, SURVEY_SHARED],
  ...[SEM_CLAIM, SEM_CLAIM, SEM_CLAIM, SEM_ALIGN, SEM_ALIGN, SEM_EXTEND, SEM_EXTEND, LEAVE, LEAVE],
];
/** What is 10 000 s apart is told apart, and no less. */
const CLOCK_STEP_US = 1e10;

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

describe('read-write locks and semaphores: the twins do the same as the server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const seen = new Set<string>();
  const channels = [...new Set(WATCHERS.slice(1).map(pushChannel))];
  before(() => listener.listenTo(...channels));

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${STEPS} random commands, replies and keys compared after each`, async () => {
      const draw = new Draw(seed * 6_101);
      const fake = new FakeMaster('fake', new FakeTime());
      fake.runId = server.runId;
      const heard: string[] = [];
      for (const channel of channels)
        fake.channels.subscribe(channel, (text) => heard.push(`${channel} ${text}`));
      const isReadWrite = draw.below(2) === 0;
      for (let step = 0; step < STEPS; step++) {
        if (draw.below(4) === 0) await disturb(draw);
        if (!isReadWrite && draw.below(8) === 0) await crowd(draw);
        const nowUs = await takeOver(fake);
        const { script, keys, args } = drawCall(draw, isReadWrite, nowUs, writerAt(fake));
        const real = await server.run(script, keys, ...args);
        const twin = await fake.call({
          name: 'eval',
          args: [script.source, String(keys.length), ...keys, ...args],
        });
        const title = `step ${step}: ${script.name} ${keys.join()} ${args.join(' ')}`;
        expect(coarse(twin, nowUs), title).to.deep.equal(coarse(real, nowUs));
        const states = KEYS.map((key) => fakeState(fake, key, nowUs));
        expect(states, title).to.deep.equal(await Promise.all(KEYS.map((key) => realState(key, nowUs))));
        const pushes = await listener.heard();
        expect(heard.splice(0), title).to.deep.equal(pushes);
        if (pushes.length > 0) seen.add('push f');
        seen.add(`${script.name} ${String(Array.isArray(real) ? real[0] : real)}`);
      }
    });
  }

  it('that met every code of every script', () => {
    const wanted = [
      ...['rw-claim 1', 'rw-claim 0', 'rw-claim 2', 'rw-claim -1', 'rw-claim -2'],
      // 1 and 3 are rare here: counter-twins.spec.ts meets them
      ...['rw-accept 0', 'rw-accept 2', 'rw-extend 1', 'rw-extend 0', 'rw-extend 2'],
      ...['sem-claim 1', 'sem-claim 0', 'sem-claim 5', 'sem-claim 2', 'sem-claim -1', 'sem-claim -2'],
      ...['sem-settle 1', 'sem-settle 0', 'sem-settle 5', 'sem-settle 2'],
      ...['sem-extend 1', 'sem-extend 0', 'sem-extend 5', 'sem-extend 2', 'leave 1', 'leave 0'],
      ...['survey-members 0', 'survey-members 1', 'survey-members 2', 'push f'],
    ];
    expect([...seen]).to.include.members(wanted);
  });

  /** All permits are taken, each by another holder, and somebody watches for some. */
  async function crowd(draw: Draw): Promise<void> {
    const ends = Math.floor((await server.micros()) / 1_000) + 1_000_000;
    await server.redis.del(LOCK);
    await server.redis.hset(LOCK, {
      kind: 'sem1',
      watch: `${draw.pick(WATCHERS.slice(1))}|${ends}|0 ${draw.pick(WANTS)}`,
    });
    for (const slot of [0, 1, 2]) await server.redis.hset(LOCK, TOKENS[slot] ?? '', `${slot}|${ends}|3`);
    await server.redis.pexpire(LOCK, 1_000_000);
  }

  /** What others do: fields run out, data is put there, keys are lost. */
  async function disturb(draw: Draw): Promise<void> {
    const { redis } = server;
    const key = draw.pick([LOCK, LOCK, COUNTER, COUNTER, MARKER]);
    switch (draw.below(8)) {
      case 0:
      case 1:
      case 2: {
        if ((await redis.type(LOCK)) !== 'hash') return;
        const name = draw.pick(Object.keys(await redis.hgetall(LOCK)));
        const text = (await redis.hget(LOCK, name)) ?? '';
        await redis.hset(LOCK, name, text.replace(/\|\d+\|/, '|1|'));
        return;
      }
      case 3: {
        await redis.set(
          COUNTER,
          draw.pick(['0', '7', String(2 ** 51 + 1), 'text', ...LAST]),
          'PX',
          7_000_000,
        );
        return;
      }
      case 4:
        await redis.set(LOCK, draw.pick([...TOKENS, 'text']), 'PX', 1_000_000);
        return;
      case 5:
        await redis.del(key);
        await putData(redis, key, draw.pick(['list', 'hash'] as const));
        return;
      case 6:
        if ((await redis.type(LOCK)) === 'hash')
          await redis.hset(LOCK, draw.pick(['kind', 'odd']), draw.pick(['rw1', 'sem1', 'rw2']));
        return;
      default:
        await redis.del(key);
    }
  }

  /** The twin has what the server has, and its time. A watch is kept for longer than the spec takes. @returns the time */
  async function takeOver(fake: FakeMaster): Promise<number> {
    const { redis } = server;
    const nowUs = await server.micros();
    const text = (await redis.type(LOCK)) === 'hash' ? await redis.hget(LOCK, 'watch') : null;
    if (text !== null && !text.includes('|1|')) {
      await redis.hset(LOCK, 'watch', text.replace(/\|\d+\|/, `|${Math.floor(nowUs / 1_000) + 1_000_000}|`));
      await redis.pexpire(LOCK, 3_000_000);
    }
    fake.clear();
    fake.clockAheadUs = 0;
    fake.clockAheadUs = nowUs - fake.micros();
    for (const key of KEYS) {
      const type = await redis.type(key);
      const ms = await redis.pttl(key);
      if (type === 'none') continue;
      if (type === 'hash') fake.setFields(key, await redis.hgetall(key));
      else fake.set(key, type === 'string' ? ((await redis.get(key)) ?? '') : WRONG_TYPE);
      if (ms >= 0) fake.expire(key, ms);
    }
    return nowUs;
  }

  async function realState(key: string, nowUs: number): Promise<unknown> {
    const { redis } = server;
    const type = await redis.type(key);
    const ms = millions(await redis.pttl(key));
    if (type === 'hash') return [coarseFields(await redis.hgetall(key), nowUs), ms];
    if (type === 'string') return [coarseText((await redis.get(key)) ?? '', nowUs), ms];
    return [type === 'none' ? 'nothing' : 'something else', ms];
  }
});

function fakeState(fake: FakeMaster, key: string, nowUs: number): unknown {
  const ms = millions(fake.pttl(key));
  const fields = fake.fields(key);
  if (fields !== WRONG_TYPE && fields.size > 0) return [coarseFields(Object.fromEntries(fields), nowUs), ms];
  const text = fake.get(key);
  if (text === WRONG_TYPE) return ['something else', ms];
  return [text === undefined ? 'nothing' : coarseText(text, nowUs), ms];
}

function millions(ms: number): number {
  return ms < 0 ? ms : Math.round(ms / 1_000_000);
}

function coarseFields(fields: Readonly<Record<string, string>>, nowUs: number): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, coarseText(text, nowUs)]));
}

/** Instants in a text: those of fields and of counters, and the marker's. */
function coarseText(text: string, nowUs: number): string {
  const nowMs = Math.floor(nowUs / 1_000);
  return text
    .replace(/\d{15,}/g, (digits) => `${Math.floor(Number(digits) / CLOCK_STEP_US)}e10`)
    .replace(/\d{13}/g, (digits) => `in ${millions(Math.max(0, Number(digits) - nowMs))}`);
}

function coarse(reply: unknown, nowUs: number): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, x, y, ...more] = reply as unknown[];
  const short = (value: unknown): unknown =>
    typeof value === 'number' && value > 1_000 ? coarseText(String(value), nowUs) : value;
  const isTime = typeof x === 'number' && x > 1_000 && x < 1e9;
  const left = isTime ? millions(x) : typeof x === 'number' && code === 0 && x > 0 ? 0 : short(x);
  const flat = more.map((one) =>
    Array.isArray(one) ? one.map((text) => coarseText(String(text), nowUs)).sort() : one,
  );
  return [code, left, short(y), ...flat];
}

/** The token of the writer that is there. */
function writerAt(fake: FakeMaster): string | undefined {
  const fields = fake.fields(LOCK);
  return fields === WRONG_TYPE ? undefined : TOKENS.find((token) => fields.get(token)?.startsWith('w|'));
}

function drawCall(draw: Draw, isReadWrite: boolean, nowUs: number, writer: string | undefined): Call {
  const script = draw.pick(
    CASES.filter((one) => draw.below(8) === 0 || one.name.startsWith('rw') === isReadWrite || one === LEAVE),
  );
  const period = draw.pick([-1, -1, -1, -1, 0, 0, ...(draw.below(6) === 0 ? PERIODS : [])]);
  const marker = period < 0 ? [] : [MARKER];
  const guard = String(period);
  const token = draw.pick(TOKENS);
  const role = draw.pick(['r', 'r', 'w']);
  const isFenced = role === 'w' && draw.below(2) === 0;
  const counter = isFenced ? [COUNTER] : [];
  const life = isFenced ? '7000000' : '0';
  const ttl = String(draw.pick(TTLS));
  const watch = [draw.pick(WATCHERS), draw.pick(['0', '1'])];
  const permits = draw.pick(['3', '3', '3', '3', '2']);
  // at the very bounds: counter-twins.spec.ts
  const ahead = nowUs + 1e9;
  const fence = String(draw.pick([8, LAST_FENCE, ahead, ahead, ahead, ahead, nowUs + 5 * CLOCK_STEP_US]));
  const proposal = String(draw.pick([0, nowUs - 200_000, nowUs - 9e6, nowUs + CLOCK_STEP_US]));
  const create = draw.pick(['0', '1']);
  const slots = draw.pick(SLOTS);
  switch (script) {
    case RW_CLAIM:
      return {
        script,
        keys: [LOCK, ...counter, ...marker],
        args: [token, role, ttl, ...watch, life, proposal, guard],
      };
    case RW_ACCEPT:
      return {
        script,
        keys: [LOCK, COUNTER, ...marker],
        args: [draw.pick([token, writer ?? token]), fence, '7000000', guard],
      };
    case RW_EXTEND: {
      return { script, keys: [LOCK, ...marker], args: [token, role, ttl, create, guard] };
    }
    case SEM_CLAIM: {
      const args = [token, ttl, draw.pick(['1', '1', '2']), permits, ...watch, guard];
      return { script, keys: [LOCK, ...marker], args };
    }
    case SEM_ALIGN:
      return { script, keys: [LOCK, ...marker], args: [token, slots, permits, guard] };
    case SEM_EXTEND:
      return { script, keys: [LOCK, ...marker], args: [token, ttl, slots, permits, create, guard] };
    case LEAVE:
      return { script, keys: [LOCK], args: [draw.pick([...TOKENS, ...WATCHERS.slice(1)])] };
    default:
      return { script, keys: [LOCK, 'gate', 'queue'], args: [] };
  }
}
