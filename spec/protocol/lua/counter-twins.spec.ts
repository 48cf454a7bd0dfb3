/**
 * Random claims and acceptances on a real server and on the twins, alone and in batches, with fencing tokens and counters
 * that are at their bounds more often than not; replies and keys are compared after each. Every step begins with what is
 * drawn for it. The server's clock stands still in the script, at the time that the twin has. Times left of keys are
 * compared by their millions of ms, since the server's count down.
 */
import { expect } from 'chai';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../../lib/protocol/lua/fence-bounds.js';
import { ACCEPT, BATCH, CLAIM, ENTRY } from '../../../lib/protocol/lua/scripts.js';
import { RW_ACCEPT, RW_CLAIM, SHARED_BATCH, SHARED_ENTRY } from '../../../lib/protocol/lua/shared-scripts.js';
import type { Script } from '../../../lib/redis/script.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import { Draw } from '../../support/draw.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import { atInstant, oneServer, putData, type Server } from '../../support/server.js';

const SEEDS = 20;
const STEPS = 150;
const [LOCKS, COUNTERS, MARKER] = [['a', 'b'], ['fa', 'fb'], 'm'] as const;
const KEYS = [...LOCKS, ...COUNTERS, MARKER];
/** In ms, so that a sum of them is not near a whole million. */
const [TTL_MS, LIFE_MS, OLD_MS, GUARD_MS] = [1_250_000, 7_250_000, 3_250_000, 50_000_000];
const ODD = ['text', '', '-5', '1e3', ' 7', '0x10', LAST_FENCE, LAST_FENCE + 1, '9'.repeat(30)].map(String);

/** What a key holds before the script runs: a text, `A_LIST`, or `A_WRITER`. */
type Content = string | undefined;
const [A_LIST, A_WRITER] = ['a list', 'a writer'];

interface Step {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly before: ReadonlyMap<string, Content>;
}

describe('counters: the twins do the same as the server', () => {
  const server = oneServer();
  const met = new Set<string>();

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${STEPS} random claims and acceptances, each from a state of its own`, async () => {
      const draw = new Draw(seed * 6_173);
      const fake = new FakeMaster('fake', new FakeTime());
      fake.runId = server.runId;
      for (let i = 0; i < STEPS; i++) {
        const nowUs = await server.micros();
        fake.clockAheadUs += nowUs - fake.micros();
        const step = drawStep(draw, nowUs, server.runId);
        const { script, keys, args, before } = step;
        await put(server, fake, before);
        const real = await server.run(atInstant(script, nowUs), keys, ...args);
        const twin = await fake.call({
          name: 'eval',
          args: [script.source, String(keys.length), ...keys, ...args],
        });
        const title = `step ${i}: ${script.name} ${keys.join()} ${args.join(' ')} at ${nowUs}, ${[...before].join(' ')}`;
        expect(twin, title).to.deep.equal(real);
        const states = await Promise.all(KEYS.map((key) => realState(server, key)));
        expect(
          KEYS.map((key) => fakeState(fake, key)),
          title,
        ).to.deep.equal(states);
        met.add(`${script.name} ${codeOf(real)}`);
      }
    });
  }

  it('that met every reply', () => {
    const codes = ['1', '2', '-1'];
    const wanted = [
      ...['claim short', 'rw-claim 1', 'rw-claim 2', ...codes.map((code) => `claim ${code}`)],
      ...['accept 3', 'rw-accept 3', ...codes.flatMap((code) => [`accept ${code}`, `rw-accept ${code}`])],
      ...['shared-batch 1', 'shared-batch short', 'shared-batch 2', 'shared-batch 3', 'shared-batch -1'],
      ...['batch short', 'batch 1', 'batch 2', 'batch 3', 'batch -1'],
    ];
    expect(wanted.filter((one) => !met.has(one))).to.deep.equal([]);
  });
});

function codeOf(reply: unknown): string {
  const [first] = Array.isArray(reply) ? (reply as unknown[]) : [reply];
  const code = Array.isArray(first) ? (first as unknown[])[0] : first;
  return Math.abs(Number(code)) > 9 ? 'short' : String(code);
}

function drawStep(draw: Draw, nowUs: number, runId: string): Step {
  const isAcceptance = draw.below(2) === 0;
  const isOfWriter = draw.below(4) === 0;
  const n = isOfWriter || draw.below(3) > 0 ? 1 : 2;
  const guardMs = draw.pick([-1, 0, GUARD_MS, GUARD_MS]);
  const off = draw.pick([-1, 0, 0, 1]);
  // the end of the last quarantine, in whole ms
  const leastMs = Math.floor(nowUs / 1_000) - draw.pick([-7, 0, 400, 900]);
  const bound = draw.pick([
    ...[nowUs - BACK_US, nowUs - BACK_US, nowUs, nowUs + AHEAD_US, nowUs + LIFE_MS * 1_000],
    ...[leastMs * 1_000, leastMs * 1_000, nowUs + 1, LAST_FENCE],
  ]);
  const fence = bound + off;
  const counts = COUNTERS.map(() => {
    const around = fence + draw.pick([-1, -1, 0, 1, -BACK_US, 7_000_000]);
    return draw.pick([
      undefined,
      '0',
      '007',
      `0${around}`,
      String(around),
      String(around),
      draw.pick(ODD),
      A_LIST,
    ]);
  });
  const isHeld = isAcceptance || draw.below(4) === 0;
  const lock = isOfWriter ? A_WRITER : 'mine';
  const before = new Map<string, Content>([
    ...LOCKS.map((key) => [key, isHeld ? lock : undefined] as const),
    ...COUNTERS.map((key, i) => [key, counts[i]] as const),
    [MARKER, guardMs > 0 ? `1|${runId}|${leastMs - GUARD_MS}|${GUARD_MS}` : undefined],
  ]);
  const keys = [...LOCKS.slice(0, n), ...COUNTERS.slice(0, n), ...(guardMs < 0 ? [] : [MARKER])];
  const proposal = draw.below(8) === 0 ? 0 : fence;
  const call = isAcceptance
    ? acceptance(isOfWriter, draw.below(2) === 0 ? n : 0, fence, guardMs)
    : claim(isOfWriter, draw.below(2) === 0 ? n : 0, proposal, guardMs);
  return { ...call, keys, before };
}

/** @param ofBatch  how many resources its entry in a batch has; 0 if it is sent alone */
function claim(
  isOfWriter: boolean,
  ofBatch: number,
  proposal: number,
  guardMs: number,
): Pick<Step, 'script' | 'args'> {
  const fenced = [LIFE_MS, proposal];
  if (isOfWriter && ofBatch > 0) {
    const args = [guardMs, SHARED_ENTRY.claim, 1, 1, 'w', TTL_MS, ...fenced, '', 'mine'];
    return { script: SHARED_BATCH, args: args.map(String) };
  }
  if (isOfWriter)
    return { script: RW_CLAIM, args: ['mine', 'w', TTL_MS, '', 1, ...fenced, guardMs].map(String) };
  if (ofBatch === 0) return { script: CLAIM, args: ['mine', TTL_MS, ...fenced, guardMs].map(String) };
  return { script: BATCH, args: [guardMs, ENTRY.claim, 1, ofBatch, TTL_MS, ...fenced, 'mine'].map(String) };
}

function acceptance(
  isOfWriter: boolean,
  ofBatch: number,
  fence: number,
  guardMs: number,
): Pick<Step, 'script' | 'args'> {
  const alone = ['mine', fence, LIFE_MS, guardMs].map(String);
  if (isOfWriter && ofBatch > 0) {
    const args = [guardMs, SHARED_ENTRY.accept, 1, 1, LIFE_MS, 'mine', fence];
    return { script: SHARED_BATCH, args: args.map(String) };
  }
  if (isOfWriter) return { script: RW_ACCEPT, args: alone };
  if (ofBatch === 0) return { script: ACCEPT, args: alone };
  return { script: BATCH, args: [guardMs, ENTRY.accept, 1, ofBatch, LIFE_MS, 'mine', fence].map(String) };
}

/** The same on both sides, and nothing else. */
async function put(server: Server, fake: FakeMaster, before: ReadonlyMap<string, Content>): Promise<void> {
  await server.redis.flushall();
  fake.clear();
  for (const [key, content] of before) {
    if (content === undefined) continue;
    if (content === A_WRITER) {
      const fields = { kind: 'rw1', mine: `w|${Math.floor(fake.micros() / 1_000) + OLD_MS}|` };
      await server.redis.hset(key, fields);
      fake.setFields(key, fields);
    } else if (content === A_LIST) {
      await putData(server.redis, key, 'list');
      fake.set(key, WRONG_TYPE);
    } else {
      await server.redis.set(key, content);
      fake.set(key, content, 'none');
    }
    if (key === MARKER) continue;
    await server.redis.pexpire(key, OLD_MS);
    fake.expire(key, OLD_MS);
  }
}

async function realState(server: Server, key: string): Promise<string> {
  const type = await server.redis.type(key);
  const text = type === 'string' ? await server.redis.get(key) : type;
  const fields = type === 'hash' ? await server.redis.hgetall(key) : undefined;
  return show(fields?.['mine'] ?? text, await server.redis.pttl(key));
}

function fakeState(fake: FakeMaster, key: string): string {
  const text = fake.get(key);
  const fields = text === WRONG_TYPE ? fake.fields(key) : undefined;
  const member = fields === undefined || fields === WRONG_TYPE ? undefined : fields.get('mine');
  return show(member ?? (text === WRONG_TYPE ? 'list' : (text ?? 'none')), fake.pttl(key));
}

/** Those of a counter that is centuries ahead are all alike. */
function show(text: string | null, ms: number): string {
  const millions = ms < 0 ? ms : ms > 1e9 ? Infinity : Math.ceil(ms / 1e6);
  return `${JSON.stringify(text)} ${millions}`;
}
