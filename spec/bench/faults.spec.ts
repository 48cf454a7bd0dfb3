/** Floors under faults, over real masters: one whose masters do not answer says so in words, and goes on when they are back. */
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { startMasters, type Masters } from '../../scripts/masters.js';
import type { Session } from '../../bench/contenders/contender.js';
import { floorOf } from '../../bench/contenders/floor.js';
import type { ContenderName } from '../../bench/contenders/index.js';
import { compileWorker, Team } from '../../bench/crew.js';
import { PLANS } from '../../bench/plan.js';
import { toText } from '../../bench/report/text.js';
import { measureFaults } from '../../bench/scenarios/faults.js';
import { results } from './report-results.js';

const LIMIT_MS = 200;
const LIMIT_TEXT = 'no answer within 0.2 s';

async function failure(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'it resolved, and should have rejected',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

describe('bench: floors under faults', function () {
  let masters: Masters;
  let lookers: Redis[] = [];
  const sessions: Session[] = [];

  before(async () => {
    masters = await startMasters(5);
    lookers = masters.urls.slice(0, 3).map((url) => new Redis(url));
    for (const looker of lookers) looker.on('error', () => undefined); // masters are killed here
  });
  after(async () => {
    for (const looker of lookers) looker.disconnect();
    await masters.stop();
  });

  afterEach(async () => {
    await Promise.all(sessions.splice(0).map((session) => session.close()));
  });

  const locks = async (resource: string): Promise<number[]> =>
    Promise.all(lookers.map((looker) => looker.exists(resource)));

  /** The floor that waits for all, over three masters. */
  async function open(limitMs: number): Promise<Session> {
    const session = await floorOf((nodes) => nodes).open(masters.urls.slice(0, 3));
    sessions.push(session);
    session.limit?.(limitMs);
    return session;
  }

  /** While the first of the three is frozen; resolves when all have answered what they were sent. */
  async function withoutFirst(session: Session, step: () => Promise<unknown>): Promise<string> {
    const [frozen] = masters.list;
    await frozen?.freeze();
    let text: string;
    try {
      text = await failure(step());
    } finally {
      await frozen?.thaw();
    }
    await session.settled();
    return text;
  }

  it('N = 3: a claim that one master does not answer fails at its limit, and what it took is given back', async () => {
    const session = await open(LIMIT_MS);
    expect(await withoutFirst(session, () => session.acquire('claim'))).to.equal(LIMIT_TEXT);
    expect(await locks('claim')).to.deep.equal([0, 0, 0]);
  });

  it('N = 3: so does a release, and the lock is gone when the master is back', async () => {
    const session = await open(LIMIT_MS);
    const held = await session.acquire('release');
    expect(await withoutFirst(session, async () => session.release(held))).to.equal(LIMIT_TEXT);
    expect(await locks('release')).to.deep.equal([0, 0, 0]);
  });

  it('N = 3: a claim that is refused before its limit gives back what it took as well', async () => {
    const session = await open(30_000);
    await lookers[1]?.set('refused', 'of somebody else');
    expect(await withoutFirst(session, () => session.acquire('refused'))).to.equal('no quorum');
    expect(await locks('refused')).to.deep.equal([0, 1, 0]);
  });

  it('the table says it in words, beside the rate with all masters up', async () => {
    const contenders: readonly ContenderName[] = ['floor-quorum', 'floor-all'];
    const team = new Team(await compileWorker(), () => undefined);
    try {
      const plan = PLANS.smoke;
      const faults = await measureFaults({
        team,
        masters: masters.list,
        plan,
        contenders,
        client: 'ioredis',
        tell: () => undefined,
      });
      const text = toText(results({ faults }));
      // a busy machine may not answer in time with all masters up, either
      const silence = 'no answer within 0\\.4 s';
      const rate = `([\\d,]+|\\d\\S* \\(\\S+\\))(, \\d+ failed: ${silence})?`;
      expect(text).to.match(new RegExp(`plain ioredis, quorum( +(${rate}|${silence})){5}\\n`));
      expect(text).to.match(new RegExp(`plain ioredis, all +(${rate}|${silence})( +${silence}){4}\\n`));
    } finally {
      await team.stop();
    }
  });
});
