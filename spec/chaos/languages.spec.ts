/**
 * Programs in other languages and quorate take one plain lock by turns, while masters are killed, frozen and cut off: exclusion
 * is counted. Whoever polls fastest would come most often, and the slowest hardly ever: pauses between turns let everyone come,
 * longer ones of those that have had their turn. It ends when everyone has had its turns, and no time decides that.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redlock, RedlockError } from '../../lib/index.js';
import { fencesOf, grantsOf, type Holding, overlaps } from '../support/holdings.js';
import { type Language, LanguageProgram, nowMs, PYTHON_LOCK, REDLOCKS } from '../support/language-program.js';
import { needs } from '../support/parts.js';
import { eventually } from '../support/real.js';
import { type ChaosMaster, type ChaosMasters, startChaosMasters } from './kit/masters.js';

const KEY = 'invoice:42';
/** Of the votes that are left behind on a frozen master, too. */
const TTL_MS = 2_000;
const HOLD_MS = 30;
const QUORATE_HOLD_MS = 3;
/** Between two turns of one. */
const PAUSE_MS = { least: 100, most: 500 };
/** By this factor, the pause after a turn is longer while others have not had theirs in this round. */
const ROOM = 5;

interface Fault {
  /**
   * The minority of five. Those that ask one master after the other wait longest for a silent one, with the votes that they
   * have: behind silent masters in the middle, the slowest would wait for half a minute.
   */
  readonly struck: readonly number[];
  readonly begin: (master: ChaosMaster) => Promise<void>;
  readonly end: (master: ChaosMaster) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  { struck: [2, 3], begin: (master) => master.kill(), end: (master) => master.restart('kept') },
  { struck: [0, 1], begin: (master) => master.freeze(), end: (master) => master.thaw() },
  { struck: [4, 0], begin: async (master) => master.cut(), end: (master) => master.heal() },
];

/** Everyone who takes the lock by turns, until it is over. */
class Contest {
  readonly holdings: Holding[] = [];
  readonly #programs: readonly LanguageProgram[];
  readonly #quorates: ReadonlyMap<string, Redlock>;
  #isOver = false;
  /** Those that have had no turn in this round. */
  #late = (): readonly string[] => [];

  constructor({ list, urls }: ChaosMasters, languages: readonly Language[]) {
    const ports = list.map(({ port }) => port);
    this.#programs = languages.map((language) => new LanguageProgram(language, { ports, ttlMs: TTL_MS }));
    this.#quorates = new Map(
      (['ioredis', 'redis'] as const).map((client) => [
        `quorate on ${client}`,
        Redlock.connect(urls, { client, ttlMs: TTL_MS }),
      ]),
    );
  }

  /** Until the deed is done. */
  async during(deed: () => Promise<void>): Promise<void> {
    const turns = Promise.all([
      ...this.#programs.map((program) => this.#turnsOf(() => program.turn(KEY, HOLD_MS))),
      ...[...this.#quorates].map(([who, redlock]) => this.#turnsOf(() => turnOf(who, redlock))),
    ]);
    const done = deed().finally(() => (this.#isOver = true));
    await Promise.all([turns, done]);
  }

  /** Everyone has had another turn. */
  async round(): Promise<void> {
    const before = grantsOf(this.holdings);
    this.#late = () => {
      const now = grantsOf(this.holdings);
      return this.#names.filter((who) => (now.get(who) ?? 0) === (before.get(who) ?? 0));
    };
    await eventually(() => this.#isOver || this.#late().length === 0);
  }

  /** An instance has noticed that no quorum answers. */
  async outage(): Promise<void> {
    const [redlock] = this.#quorates.values();
    await eventually(async () => this.#isOver || (await redlock?.inspect(KEY))?.state === 'unknown');
  }

  /** As a title has it. */
  get text(): string {
    const grants = [...grantsOf(this.holdings)].map(([who, count]) => `${who} ${count}`);
    return `${overlaps(this.holdings).length} overlaps in ${this.holdings.length} grants: ${grants.join(', ')}`;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#programs.map((program) => program.kill()));
    await Promise.all([...this.#quorates.values()].map((redlock) => redlock.close({ drainMs: 0 })));
  }

  get #names(): readonly string[] {
    return [...this.#programs.map(({ name }) => name), ...this.#quorates.keys()];
  }

  async #turnsOf(turn: () => Promise<Holding | undefined>): Promise<void> {
    while (!this.#isOver) {
      const holding = await turn();
      if (holding !== undefined) this.holdings.push(holding);
      const late = this.#late();
      const leavesRoom = holding !== undefined && late.length > 0 && !late.includes(holding.who);
      const ms = PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least);
      await pause(leavesRoom ? ROOM * ms : ms);
    }
  }
}

/** @returns undefined if the wait ended without a lease */
async function turnOf(who: string, redlock: Redlock): Promise<Holding | undefined> {
  const lease = await redlock.acquire(KEY).catch((error: unknown) => {
    if (error instanceof RedlockError) return undefined;
    throw error;
  });
  if (lease === undefined) return undefined;
  const fromMs = nowMs();
  const validUntilMs = fromMs + lease.remainingMs();
  await pause(QUORATE_HOLD_MS);
  const holding = { who, fromMs, untilMs: Math.min(nowMs(), validUntilMs) };
  await lease.release();
  return lease.fence === undefined ? holding : { ...holding, fence: lease.fence };
}

async function all(masters: readonly ChaosMaster[], deed: Fault['begin']): Promise<void> {
  await Promise.all(masters.map((master) => deed(master)));
}

describe('other languages beside quorate on one plain key, under faults', function () {
  let masters: ChaosMasters;
  let contest: Contest;
  before(function () {
    needs(this, ...REDLOCKS.map(({ part }) => part), '/proc');
  });
  afterEach(async () => {
    await contest.end();
    await masters.stop();
  });

  function judge(context: Mocha.Context): void {
    const { holdings, text } = contest;
    if (context.test !== undefined) context.test.title += ` — ${text}`;
    expect(overlaps(holdings), text).to.deep.equal([]);
    const fences = fencesOf(holdings);
    expect(fences).to.deep.equal([...new Set(fences)].sort((a, b) => a - b));
  }

  it('N=5, two masters killed, frozen, cut off, and back: everyone has turns throughout', async function () {
    masters = await startChaosMasters(5);
    contest = new Contest(masters, REDLOCKS);
    await contest.during(async () => {
      for (const { struck, begin, end } of FAULTS) {
        await contest.round();
        const minority = masters.list.filter((_, i) => struck.includes(i));
        await all(minority, begin);
        await contest.round();
        await all(minority, end);
      }
      await contest.round();
    });
    judge(this);
  });

  it('N=1, the lock of redis-py; the master killed, frozen, cut off, and back: everyone has turns in between', async function () {
    masters = await startChaosMasters(1);
    contest = new Contest(masters, [PYTHON_LOCK, ...REDLOCKS]);
    await contest.during(async () => {
      for (const { begin, end } of FAULTS) {
        await contest.round();
        await all(masters.list, begin);
        await contest.outage();
        await all(masters.list, end);
      }
      await contest.round();
    });
    judge(this);
  });
});

describe('the judge of exclusion', () => {
  const held = (who: string, fromMs: number, untilMs: number): Holding => ({ who, fromMs, untilMs });

  it('counts each holding that begins within an earlier one, in whatever order they are known', () => {
    const holdings = [held('c', 8, 9), held('a', 0, 10), held('b', 2, 3), held('d', 10, 12)];
    expect(overlaps(holdings)).to.deep.equal(['a and b for 8.0 ms', 'a and c for 2.0 ms']);
  });

  it('fences are in the order of the grants', () => {
    const holdings = [{ ...held('a', 5, 6), fence: 2 }, held('b', 3, 4), { ...held('a', 1, 2), fence: 3 }];
    expect(fencesOf(holdings)).to.deep.equal([3, 2]);
  });

  it('a holding without a sure moment does not count', () => {
    expect(overlaps([held('a', 0, 10), held('b', 5, 4)])).to.deep.equal([]);
  });
});
