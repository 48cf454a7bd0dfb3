/** The scripts of notes on a real server: every documented reply. */
import { expect } from 'chai';
import { NOTE_DROP, NOTE_READ, NOTE_WRITE } from '../../../lib/protocol/lua/scripts.js';
import { sha1 } from '../../../lib/redis/script.js';
import { NO_RIGHT, noting, oneListener, oneServer, putData } from '../../support/server.js';

const [LOCK, NOTE, MARKER] = ['lock', 'note', 'marker'] as const;
const FENCE = 1_790_000_000_000_000;
const [TTL_MS, LIFE_MS] = [3_250_000, 4_250_000];
const CHANNEL = 'quorate:push:leader:lock';

describe('notes on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const { redis } = { redis: () => server.redis };
  const hold = (token = 'mine'): Promise<unknown> => redis().set(LOCK, token, 'PX', TTL_MS);
  const write = (seq: number, text: string, { token = 'mine', fence = FENCE } = {}): Promise<unknown> =>
    server.run(NOTE_WRITE, [LOCK, NOTE], token, fence, seq, LIFE_MS, text, CHANNEL);
  const read = (token = '-'): Promise<unknown> => server.run(NOTE_READ, [LOCK, NOTE], token, 0);
  const drop = (token = 'mine'): Promise<unknown> => server.run(NOTE_DROP, [LOCK, NOTE], token, CHANNEL);

  it('write: {1, us, 0}, and the note lives as long as the vote and so much longer', async () => {
    await hold();
    const [code, us, rest] = (await write(1, 'a|b\nc')) as number[];
    expect([code, rest]).to.deep.equal([1, 0]);
    expect(Number(us)).to.be.within((await server.micros()) - 60_000_000, await server.micros());
    expect(await redis().pttl(NOTE)).to.be.within(TTL_MS + LIFE_MS - 60_000, TTL_MS + LIFE_MS);
    expect(await redis().get(NOTE)).to.match(
      new RegExp(`^1\\|${sha1('mine')}\\|${FENCE}\\|1\\|\\d{13}\\|a\\|b\\nc$`),
    );
  });

  it('write: {1, us, 0} for the same note again, which lives longer then', async () => {
    await hold();
    await write(1, 'a');
    await redis().pexpire(NOTE, 60_000);
    expect(await write(1, 'a')).to.have.property('0', 1);
    expect(await redis().pttl(NOTE)).to.be.above(60_000);
  });

  it('write: {3, fence, seq} for an earlier one, and for another text with the same numbers', async () => {
    await hold();
    await write(5, 'a');
    expect(await write(4, 'a')).to.deep.equal([3, FENCE, 5]);
    expect(await write(5, 'b')).to.deep.equal([3, FENCE, 5]);
    expect(await write(9, 'b', { fence: FENCE - 1 })).to.deep.equal([3, FENCE, 5]);
    expect(await write(1, 'b', { fence: FENCE + 1 })).to.have.property('0', 1);
  });

  it('write: {0, ms, 0} without the vote, and {0, -2, 0} without any', async () => {
    expect(await write(1, 'a')).to.deep.equal([0, -2, 0]);
    for (const holder of ['other', 'mine!']) {
      await hold(holder);
      const [code, ms] = (await write(1, 'a')) as number[];
      expect(code).to.equal(0);
      expect(ms).to.be.within(TTL_MS - 60_000, TTL_MS);
    }
    expect(await redis().exists(NOTE)).to.equal(0);
  });

  it('write and read: {2, 0, 0} where a key holds something else', async () => {
    await putData(redis(), LOCK, 'list');
    expect([await write(1, 'a'), await read()]).to.deep.equal([
      [2, 0, 0],
      [2, 0, 0],
    ]);
    await hold();
    await putData(redis(), NOTE, 'hash');
    expect([await write(1, 'a'), await read()]).to.deep.equal([
      [2, 0, 0],
      [2, 0, 0],
    ]);
  });

  it('read: whose the vote is, and whether the note is the holder’s', async () => {
    await hold();
    await write(2, 'text');
    const seen = async (token?: string): Promise<unknown[]> => {
      const [vote, , , since, ...rest] = (await read(token)) as unknown[];
      return [vote, since, ...rest];
    };
    expect(await seen('mine')).to.deep.equal([1, 0, 1, FENCE, 2, 'text']);
    expect(await seen()).to.deep.equal([2, 0, 1, FENCE, 2, 'text']);
    await hold('next');
    expect(await seen('next')).to.deep.equal([1, 0, 0, FENCE, 2, 'text']);
    await redis().del(LOCK);
    expect(await seen()).to.deep.equal([0, 0, 0, FENCE, 2, 'text']);
    await redis().del(NOTE);
    expect(await seen()).to.deep.equal([0, 0, 0, 0, 0, '']);
  });

  it('read: what has another form is no note', async () => {
    for (const text of ['2|x|1|1|1|a', 'text', `1|ab|${'9'.repeat(30)}|1|1|a`]) {
      await redis().set(NOTE, text);
      expect(((await read()) as unknown[]).slice(4)).to.deep.equal([0, 0, 0, '']);
    }
  });

  it('read under a guard: {-1, ms, 0} in quarantine, then since when notes may be missing', async () => {
    await hold();
    await write(1, 'a');
    const guarded = (): Promise<unknown> => server.run(NOTE_READ, [LOCK, NOTE, MARKER], 'mine', 60_000);
    expect(await guarded()).to.deep.equal([-1, 60_000, 0]);
    const sinceMs = Math.floor((await server.micros()) / 1_000) - 70_000;
    await redis().set(MARKER, `1|${server.runId}|${sinceMs}|60000`);
    expect(await guarded()).to.have.property('3', 0); // the note was written after that
    await redis().del(NOTE);
    expect(await guarded()).to.have.property('3', sinceMs);
    expect(await server.run(NOTE_READ, [LOCK, NOTE, MARKER], 'mine', 50_000)).to.deep.equal([-2, 60_000, 0]);
  });

  it('drop: removes the note of that token and no other; 0 while it has the vote', async () => {
    await hold();
    await write(1, 'a');
    expect(await drop('other')).to.equal(1);
    expect(await redis().exists(NOTE)).to.equal(1);
    expect(await drop()).to.equal(0);
    expect(await redis().exists(NOTE, LOCK)).to.equal(1);
    await redis().del(LOCK);
    expect(await drop()).to.equal(1);
  });

  it('pushes each write and each removal, and works without the right to', async () => {
    await listener.listenTo(CHANNEL);
    await hold();
    await write(1, 'a');
    await write(1, 'a');
    await drop();
    const heard = (await listener.heard()).map((text) => text.replace(/\d+$/, 'N'));
    const written = `${CHANNEL} v ${FENCE} 1 N`;
    expect(heard).to.deep.equal([written, written, `${CHANNEL} r N`]);
    await server.without('publish', async () => expect(await write(2, 'b')).to.have.property('0', 1));
  });

  it('without the right to read the clock, nothing is written', async () => {
    await hold();
    const error = await server.without('time', () => write(1, 'a').catch(String));
    expect(error).to.match(NO_RIGHT);
    expect(await redis().exists(NOTE)).to.equal(0);
  });

  it('a vote with the mark of a hand-over counts as one without', async () => {
    await hold('mine+');
    expect(await write(1, 'a')).to.have.property('0', 1);
    const [vote, , , , ...rest] = (await read('mine')) as unknown[];
    expect([vote, ...rest]).to.deep.equal([1, 1, FENCE, 1, 'a']);
    expect(((await read()) as unknown[]).slice(4)).to.deep.equal([1, FENCE, 1, 'a']);
    expect(await drop()).to.equal(0);
  });

  it('write: a note outlives a vote without an expiry by just its time', async () => {
    await redis().set(LOCK, 'mine');
    const args = ['mine', FENCE, 1, LIFE_MS, 'a', CHANNEL];
    expect(await server.run(noting(NOTE_WRITE), [LOCK, NOTE], ...args)).to.have.property('0', 1);
    const [set = ''] = await redis().lrange('sets', 0, -1);
    expect(set.split(' ').slice(-2)).to.deep.equal(['PX', String(LIFE_MS)]);
  });

  it('read: numbers of up to 16 digits are ours', async () => {
    const [most, more] = ['1'.repeat(16), '1'.repeat(17)];
    const noteAt = async (numbers: readonly string[]): Promise<unknown[]> => {
      await redis().set(NOTE, ['1', 'ab', ...numbers, 'a'].join('|'));
      return ((await read()) as unknown[]).slice(5);
    };
    expect(await noteAt([most, most, most])).to.deep.equal([Number(most), Number(most), 'a']);
    for (const numbers of [
      [more, '1', '1'],
      ['1', more, '1'],
      ['1', '1', more],
    ])
      expect(await noteAt(numbers), numbers.join()).to.deep.equal([0, 0, '']);
  });

  it('read under a guard: since when notes may be missing, unless the note was written then or later', async () => {
    const sinceMs = Math.floor((await server.micros()) / 1_000) - 10_000;
    for (const period of [60_000, 1]) {
      await redis().set(MARKER, `1|${server.runId}|${sinceMs - period}|${period}`);
      for (const [fence, writtenMs, expected] of [
        [1, sinceMs - period + 1, 0],
        [1, sinceMs - period, 0],
        [1, sinceMs - period - 1, sinceMs - period],
        [FENCE, sinceMs - period - 1, sinceMs - period],
      ]) {
        await redis().set(NOTE, `1|ab|${fence}|1|${writtenMs}|a`);
        const told = await server.run(NOTE_READ, [LOCK, NOTE, MARKER], 'mine', period);
        expect(told, `${period} ${writtenMs}`).to.have.property('3', expected);
      }
    }
  });

  it('without a channel nobody is told', async () => {
    await listener.listenTo('', CHANNEL);
    await hold();
    await server.run(NOTE_WRITE, [LOCK, NOTE], 'mine', FENCE, 1, LIFE_MS, 'a', '');
    await server.run(NOTE_DROP, [LOCK, NOTE], 'mine', '');
    expect(await listener.heard()).to.deep.equal([]);
  });

  it('without the right to read a key it fails: nothing is said of vote and note', async () => {
    await hold();
    await write(1, 'a');
    for (const way of [() => write(2, 'b'), () => read('mine'), () => drop()]) {
      const error = await server.without('get', () => way().catch(String));
      expect(error).to.match(NO_RIGHT);
    }
    expect(await redis().exists(LOCK, NOTE)).to.equal(2);
  });
});
