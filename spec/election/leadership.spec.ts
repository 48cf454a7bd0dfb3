/** A leadership by itself: when its value is written, and what is sent as it ends. */
import { expect } from 'chai';
import { Leadership } from '../../lib/election/leadership.js';
import { resolveElection } from '../../lib/election/options.js';
import { NOTE_DROP, NOTE_WRITE, RELEASE } from '../../lib/protocol/lua/scripts.js';
import type { SurveyAnswer } from '../../lib/quorum/survey.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { answered, FakeCoordination, SILENT } from '../support/fake-coordination.js';
import { rejection } from '../support/rejection.js';

/** Of the lease: 3 s. */
const [REWRITE_MS, SOON_MS] = [1_000, 250];
const TAKEN = answered([1, 0, 0]);
const GONE = answered(1);

interface Bench extends FakeCoordination {
  readonly leadership: Leadership;
  /** When the value was written. */
  readonly writes: number[];
  /** What was sent otherwise. */
  readonly others: string[];
}

/** @param answer  of each master to the nth write */
function bench(answer: (nth: number) => SurveyAnswer = () => TAKEN): Bench {
  const coordination = new FakeCoordination(3);
  const [writes, others]: [number[], string[]] = [[], []];
  coordination.answers = ({ command }) => {
    const name = scriptOf(command)?.name;
    if (name !== NOTE_WRITE.name) others.push(name ?? '');
    else writes.push(coordination.time.now() - 1_000);
    const look = name === NOTE_WRITE.name ? answer(writes.length) : GONE;
    return [look, look, look];
  };
  const { lease, terms } = coordination;
  const notes = coordination.notesOf('boss');
  const call = resolveElection({}, terms);
  const leadership = new Leadership(coordination, lease, notes, call, 'a');
  return Object.assign(coordination, { leadership, writes, others });
}

describe('leadership: its value', () => {
  it('is written anew after a third of the ttl', async () => {
    const { leadership, time, writes } = bench();
    await leadership.write();
    await time.advance(2 * REWRITE_MS);
    expect(writes).to.deep.equal([0, REWRITE_MS, 2 * REWRITE_MS]);
  });

  it('is written anew sooner while no quorum has taken it', async () => {
    const { leadership, time, writes } = bench((nth) => (nth === 3 ? TAKEN : SILENT));
    await leadership.write();
    await time.advance(2 * SOON_MS + REWRITE_MS);
    expect(writes).to.deep.equal([0, SOON_MS, 2 * SOON_MS, 2 * SOON_MS + REWRITE_MS]);
  });

  it('is not written once the lease is lost, and no timer is set any more', async () => {
    const { lease, leadership, time, writes } = bench();
    await leadership.write();
    lease.lose();
    await time.advance(2 * REWRITE_MS);
    expect([writes, time.pending]).to.deep.equal([[0], 0]);
    await leadership.write();
    expect(time.pending).to.equal(0);
  });

  it('proclaim: nothing is written, and the value stays, where the lease is not held', async () => {
    const { lease, leadership, writes } = bench();
    lease.lose();
    expect(await rejection(leadership.proclaim('b'))).to.include({ code: 'LOCK_LOST' });
    expect([writes, leadership.value]).to.deep.equal([[], 'a']);
  });

  it('proclaim: why it leads no longer is the error, and not that no quorum took the value', async () => {
    for (const [isLost, code] of [
      [true, 'LOCK_LOST'],
      [false, 'NO_QUORUM'],
    ] as const) {
      const one = bench(() => {
        if (isLost) one.lease.lose();
        return SILENT;
      });
      expect((await rejection(one.leadership.proclaim('b'))).code).to.equal(code);
    }
  });
});

describe('leadership: its end', () => {
  it('resign gives the lease back, and drops the value; a second call gives votes back that may be left', async () => {
    const { lease, leadership, others, time } = bench();
    await leadership.write();
    await leadership.resign();
    expect([lease.isReleased, time.pending, others]).to.deep.equal([true, 0, [NOTE_DROP.name]]);
    others.length = 0;
    await leadership.resign();
    expect(others).to.deep.equal([RELEASE.name, NOTE_DROP.name]);
  });

  it('one that was lost before its value was written can resign', async () => {
    const { lease, leadership, others } = bench();
    lease.lose();
    await leadership.release();
    expect(others).to.deep.equal([NOTE_DROP.name]);
  });

  it('its lease is known to onlookers, and nothing else has one', () => {
    const { lease, leadership } = bench();
    expect(Leadership.leaseOf(leadership)).to.equal(lease);
    expect(Leadership.leaseOf({} as Leadership)).to.equal(undefined);
  });
});
