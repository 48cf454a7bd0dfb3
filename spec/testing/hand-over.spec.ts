/** Direct hand-over by one master in memory (protocol C3): which looks it answers with a vote, and what takes that away. */
import { expect } from 'chai';
import { pushChannel } from '../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, COUNTER_LIFE_MS } from '../../lib/protocol/lua/stored.js';
import { ENTRY } from '../../lib/protocol/lua/entries.js';
import { RELEASE } from '../../lib/protocol/lua/scripts.js';
import { FRESH_MS, GONE_MS, RESERVE_MS, TIDY_MS } from '../../lib/protocol/lua/waiting.js';
import { countedFor } from '../support/fence-blocks.js';
import { type LoneEntry, loneEntry } from '../support/lone-entries.js';
import { lookBy, yieldBy } from '../support/looks.js';
import { markedFor } from '../support/marks.js';
import { MemoryServer } from '../../lib/testing/master/server.js';
import { tokenFrom } from '../simulation/world/seeded.js';

const [LOCK, MARKER] = ['invoice', 'marker'];
const QUEUE = [LOCK, 'queue', 'turn', 'looks', 'counter'];
const [ANN, BEN] = [tokenFrom('ann', '1'), tokenFrom('ben', '1')];
const START_US = 1_790_000_000_000_000;
const [TTL_MS, GUARD_MS, QUARANTINED_MS, LIFE_MS] = [30_000, 100, 5, 60_000];

/** A master where Ann holds the lock, and Ben listens. */
class Stand {
  us = START_US;
  readonly heard: string[] = [];
  readonly server = new MemoryServer('m1', { micros: () => this.us, trueMs: () => this.us / 1_000 });

  constructor() {
    this.server.channels.subscribe(pushChannel(BEN), (text) => this.heard.push(text));
    this.server.set(LOCK, ANN, TTL_MS);
  }

  run(
    { args, script }: Pick<LoneEntry, 'args' | 'script'>,
    keys: readonly string[],
    replyIn = (reply: unknown): unknown => reply,
  ): unknown {
    let answer: unknown;
    const all = [script.source, String(keys.length), ...keys, ...args.map(String)];
    this.server.receive({ name: 'eval', args: all }, (error, reply) => (answer = error ?? reply));
    return replyIn(answer);
  }

  /** An entry as the only one of a batch. */
  runLone(entry: LoneEntry, keys: readonly string[]): unknown {
    return this.run(entry, keys, entry.replyIn);
  }

  /** Ben looks. @param guardMs  −1: no guard */
  look(guardMs = -1): unknown {
    const terms = { lifeMs: LIFE_MS, sentAtMs: 7, ttlMs: TTL_MS, counterMs: COUNTER_LIFE_MS, guardMs };
    const keys = guardMs < 0 ? QUEUE : [...QUEUE, MARKER];
    return this.runLone(lookBy(BEN, { ...terms, ticket: this.us, proposal: this.us }), keys);
  }

  /** Ann lets go. @returns how the lock is handed over: `v` directly, `g` by reservation */
  release(proposal = this.us): string | undefined {
    this.run({ script: RELEASE, args: [ANN, proposal] }, QUEUE);
    return this.heard.at(-1)?.split(' ')[0];
  }

  get serial(): number {
    return Number(this.heard.at(-1)?.split(' ')[1]);
  }

  pass(us: number): void {
    this.us += us;
  }
}

describe('direct hand-over: a master in memory', () => {
  it('a fresh look is handed the vote for its full ttl, with a token that was counted', () => {
    const stand = new Stand();
    stand.look();
    stand.pass(2_000_000);
    expect(stand.release()).to.equal('v');
    const span = TTL_MS + 2_000;
    expect(stand.heard).to.deep.equal([`v ${stand.us} 7 ${span} ${stand.us} ${BEN} ${LOCK}`]);
    expect(stand.server.get(LOCK)).to.equal(markedFor(BEN));
    expect(stand.server.pttl(LOCK)).to.equal(TTL_MS);
    expect(stand.server.get('counter')).to.equal(countedFor(stand.us));
  });

  it('a look is fresh for 5 s, and no longer: then the vote is reserved', () => {
    for (const [us, how] of [
      [FRESH_MS * 1_000, 'v'],
      [FRESH_MS * 1_000 + 1, 'g'],
    ] as const) {
      const stand = new Stand();
      stand.look();
      stand.server.expire('looks', LIFE_MS); // as by the look of another waiter
      stand.pass(us);
      expect(stand.release(), `${us} µs`).to.equal(how);
      expect(stand.server.pttl(LOCK)).to.equal(how === 'v' ? TTL_MS : RESERVE_MS);
    }
  });

  it('a look under the guard counts for the process that answered it: another one only reserves', () => {
    for (const [restarts, how] of [
      [false, 'v'],
      [true, 'g'],
    ] as const) {
      const stand = new Stand();
      const sinceMs = START_US / 1_000 - 10 * GUARD_MS;
      stand.server.set(MARKER, `1|${stand.server.runId}|${sinceMs}|${GUARD_MS}`);
      stand.look(GUARD_MS);
      stand.server.save();
      if (restarts) stand.server.start('old');
      stand.server.channels.subscribe(pushChannel(BEN), (text) => stand.heard.push(text));
      expect(stand.release()).to.equal(how);
    }
  });

  it('a proposal below the end of the last quarantine is not counted: the vote is reserved', () => {
    for (const [aheadUs, how] of [
      [0, 'v'],
      [-1, 'g'],
    ] as const) {
      const stand = new Stand();
      const sinceMs = START_US / 1_000 - GUARD_MS - QUARANTINED_MS;
      stand.server.set(MARKER, `1|${stand.server.runId}|${sinceMs}|${GUARD_MS}`);
      stand.look(GUARD_MS);
      const endUs = (sinceMs + GUARD_MS) * 1_000;
      expect(stand.release(endUs + aheadUs), `${aheadUs} µs`).to.equal(how);
    }
  });

  it('a proposal of more than 20 ms before the look is not counted: it may be older than the attempt', () => {
    for (const [aheadUs, how] of [
      [-AHEAD_US, 'v'],
      [-AHEAD_US - 1, 'g'],
    ] as const) {
      const stand = new Stand();
      stand.look();
      expect(stand.release(stand.us + aheadUs), `${aheadUs} µs`).to.equal(how);
    }
  });

  it('a proposal that is not near the clock is not counted', () => {
    for (const aheadUs of [AHEAD_US + 1, -BACK_US - 1]) {
      const stand = new Stand();
      stand.look();
      stand.pass(2_000_000);
      expect(stand.release(stand.us + aheadUs), `${aheadUs} µs`).to.equal('g');
    }
  });

  it('a yield takes only the hand-over that it names, and only while its owner has not touched it', () => {
    const stand = new Stand();
    stand.look();
    stand.release();
    const { serial } = stand;
    const yieldIt = (named: number): unknown =>
      stand.runLone(yieldBy(BEN, { serial: named, ticket: 1, lifeMs: 0, proposal: stand.us }), QUEUE);
    expect(yieldIt(serial - 1)).to.equal(0);
    expect(stand.server.get(LOCK)).to.equal(markedFor(BEN));
    const extension = loneEntry(ENTRY.extend, BEN, { ttl: TTL_MS, create: '0' });
    expect(stand.runLone(extension, [LOCK])).to.deep.equal([1, 0, 0]);
    expect(yieldIt(serial)).to.equal(0);
    expect(stand.server.get(LOCK)).to.equal(BEN);
  });

  it('a look that finds the own vote lengthens the key by its full ttl', () => {
    const stand = new Stand();
    stand.look();
    stand.release();
    stand.pass(1_000_000);
    expect(stand.server.pttl(LOCK)).to.equal(TTL_MS - 1_000);
    stand.look();
    expect(stand.server.pttl(LOCK)).to.equal(TTL_MS);
  });

  it('a look drops places of those that are gone, at most once in 3 s', () => {
    const stand = new Stand();
    const lineUp = (token: string): void => {
      stand.server.addMember('queue', token, 1);
      stand.server.setFields('looks', { [token]: String(stand.us - GONE_MS * 1_000 - 1) });
    };
    const waiting = (): unknown => {
      stand.look();
      const members = stand.server.members('queue');
      return typeof members === 'symbol' ? members : members.map(({ name }) => name);
    };
    const [cat, dan] = [tokenFrom('cat', '1'), tokenFrom('dan', '1')];
    lineUp(cat);
    expect(waiting()).to.deep.equal([BEN]);
    lineUp(dan);
    stand.pass(TIDY_MS * 1_000 - 1);
    expect(waiting()).to.deep.equal([dan, BEN]);
    stand.pass(1);
    expect(waiting()).to.deep.equal([BEN]);
  });
});
