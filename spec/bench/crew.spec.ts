import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Team, Trouble, Worker } from '../../bench/crew.js';

/** Answers `kinds` and `tally`, refuses `take`, hangs at `settle`, ends at `sent`, and has a loose end at `refusal`. */
const STUB = `
process.on('unhandledRejection', (error) => process.send({ uncaught: String(error) }));
process.on('message', ({ id, order }) => {
  if (order.kind === 'kinds') process.send({ id, answer: process.pid });
  if (order.kind === 'tally') process.send({ id, answer: process.argv.slice(2) });
  if (order.kind === 'take') process.send({ id, error: 'no' });
  if (order.kind === 'sent') process.exit(3);
  if (order.kind === 'refusal') {
    Promise.reject(new Error('loose'));
    setImmediate(() => process.send({ id, answer: undefined }));
  }
});
process.on('disconnect', () => process.exit());
process.send({ id: 0 });
`;

async function rejection(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('it resolved, and should have rejected');
}

describe('bench: workers', () => {
  let folder = '';
  let file = '';
  const uncaught: string[] = [];
  const note = (what: string): void => void uncaught.push(what);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quorate-crew-'));
    file = join(folder, 'worker.mjs');
    await writeFile(file, STUB);
  });
  after(() => rm(folder, { recursive: true }));

  it('an error there is trouble here, and the worker goes on', async () => {
    const worker = await Worker.start('quorate', file, note);
    const error = await rejection(worker.order({ kind: 'take', session: 'x' }));
    expect(error).to.be.instanceOf(Trouble).with.property('message', 'no');
    expect(worker.isAlive).to.equal(true);
    await worker.stop();
  });

  it('one that hangs is killed at its cap, and says so from then on', async () => {
    const worker = await Worker.start('quorate', file, note);
    const pid = Number(await worker.order({ kind: 'kinds' }));
    const error = await rejection(
      worker.order({ kind: 'settle', session: 'x' }, { capMs: 200, durationMs: 50 }),
    );
    expect(error).to.be.instanceOf(Trouble).with.property('message', 'hangs (> 0.2 s)');
    await worker.stop();
    expect(() => process.kill(pid, 0)).to.throw(/ESRCH/);
    expect(await rejection(worker.order({ kind: 'kinds' }))).to.be.instanceOf(Trouble);
  });

  it('one that ends is trouble for what waited', async () => {
    const worker = await Worker.start('quorate', file, note);
    const error = await rejection(worker.order({ kind: 'sent', session: 'x' }));
    expect(error)
      .to.be.instanceOf(Trouble)
      .with.property('message')
      .that.matches(/ended \(3\)/);
    expect(worker.isAlive).to.equal(false);
  });

  it('an unhandled rejection there is reported', async () => {
    const worker = await Worker.start('quorate', file, note);
    await worker.order({ kind: 'refusal', session: 'x', waitMs: 1 });
    expect(uncaught).to.deep.equal(['Error: loose']);
    await worker.stop();
  });

  it('is told its contender and its client: ioredis unless the team has another one', async () => {
    const argsOf = async (team: Team): Promise<unknown> => {
      const worker = await team.worker('quorate');
      const args = await worker.order({ kind: 'tally', session: 'x' });
      await team.stop();
      return args;
    };
    expect(await argsOf(new Team(file, note))).to.deep.equal(['quorate', 'ioredis']);
    expect(await argsOf(new Team(file, note, { client: 'redis' }))).to.deep.equal(['quorate', 'redis']);
  });

  it('a team starts anew what hung, and keeps what lives', async () => {
    const team = new Team(file, () => undefined);
    const first = await team.worker('quorate');
    expect(await team.worker('quorate')).to.equal(first);
    expect(await team.worker('quorate', 1)).to.not.equal(first);
    await rejection(first.order({ kind: 'settle', session: 'x' }, { capMs: 100 }));
    expect(await team.worker('quorate')).to.not.equal(first);
    await team.stop();
  });
});
