/** Direct hand-over by one master in memory (protocol C3): which looks it answers with a vote, and what takes that away. */
import { expect } from 'chai';
import { pushChannel } from '../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, COUNTER_LIFE_MS } from '../../lib/protocol/lua/fence-bounds.js';
import { EXTEND, QUEUE, RELEASE, type Script, YIELD } from '../../lib/protocol/lua/scripts.js';
import { FRESH_MS, GONE_MS, RESERVE_MS, TIDY_MS } from '../../lib/protocol/lua/waiting.js';
import { markedFor } from '../support/marks.js';
import { MemoryServer } from '../../lib/testing/master/server.js';
import { tokenFrom } from '../simulation/world/seeded.js';

const [LOCK, MARKER] = ['invoice', 'marker'];
const LINE = [LOCK, 'queue', 'turn', 'terms', 'counter'];
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

  run({ source }: Script, keys: readonly string[], ...args: readonly (string | number)[]): unknown {
    let answer: unknown;
    const all = [source, String(keys.length), ...keys, ...args.map(String)];
    this.server.receive({ name: 'eval', args: all }, (error, reply) => (answer = error ?? reply));
    return answer;
  }

  /** Ben looks. @param guardMs  −1: no guard */
  look(guardMs = -1): unknown {
    const place = `${this.us}|${LIFE_MS}|7`;
    const keys = guardMs < 0 ? LINE : [...LINE, MARKER];
    return this.run(QUEUE, keys, BEN, place, TTL_MS, COUNTER_LIFE_MS, this.us, guardMs);
  }

  /** Ann lets go. @returns how the lock is handed over: `v` directly, `g` by reservation */
  release(proposal = this.us): string | undefined {
    this.run(RELEASE, LINE, ANN, proposal);
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
    expect(stand.server.get('counter')).to.equal(String(stand.us));
  });

  it('a look is fresh for 5 s, and no longer: then the vote is reserved', () => {
    for (const [us, how] of [
      [FRESH_MS * 1_000, 'v'],
      [FRESH_MS * 1_000 + 1, 'g'],
    ] as const) {
      const stand = new Stand();
      stand.look();
      stand.server.expire('terms', LIFE_MS); // as by the look of another waiter
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
    const yieldIt = (named: number): unknown => stand.run(YIELD, LINE, BEN, `${named}|1|0`, stand.us);
    expect(yieldIt(serial - 1)).to.equal(0);
    expect(stand.server.get(LOCK)).to.equal(markedFor(BEN));
    expect(stand.run(EXTEND, [LOCK], BEN, TTL_MS, '0', -1)).to.deep.equal([1, 0, 0]);
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
      stand.server.setFields('terms', { [token]: String(stand.us - GONE_MS * 1_000 - 1) });
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
