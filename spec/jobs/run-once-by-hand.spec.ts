/** `once` by itself: what it makes of a record, and what it writes. Instants are in ms after the masters' clocks. */
import { expect } from 'chai';
import { runOnceOf } from '../../lib/jobs/run-once.js';
import type { JobResult } from '../../lib/jobs/public.js';
import { NOTE_READ, NOTE_WRITE } from '../../lib/protocol/lua/scripts.js';
import { BACK_US } from '../../lib/protocol/lua/stored.js';
import type { Request } from '../../lib/protocol/request.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { answered, FakeCoordination } from '../support/fake-coordination.js';
import { rejection } from '../support/rejection.js';

const NOW_MS = 1_790_000_001_000;
const FOR_MS = 5_000;
const SKEW_MS = BACK_US / 1_000;

interface Known {
  /** When it may be run again; undefined without a record. */
  readonly notBeforeMs?: number;
  /** What the first master, or all, may have forgotten ends here; undefined for nothing. */
  readonly forgottenMs?: number;
  readonly isForgottenByAll?: boolean;
}

interface Called {
  readonly result: Promise<JobResult<string>>;
  readonly written: string[];
}

/** Three masters that answer in one turn. */
function called({ notBeforeMs, forgottenMs, isForgottenByAll = false }: Known): Called {
  const coordination = new FakeCoordination(3);
  const written: string[] = [];
  const isThere = notBeforeMs === undefined ? 0 : 1;
  const text = notBeforeMs === undefined ? '' : `1|77|d|${NOW_MS + notBeforeMs}`;
  const read = (sinceMs: number): unknown => [1, 9_000, NOW_MS * 1_000, sinceMs, 0, isThere, isThere, text];
  const survey = ({ command }: Request): Promise<unknown> => {
    const name = scriptOf(command)?.name;
    if (name === NOTE_WRITE.name) written.push(command.args.find((arg) => arg.startsWith('1|')) ?? '');
    const since = forgottenMs === undefined ? 0 : NOW_MS + forgottenMs;
    const replies =
      name === NOTE_READ.name
        ? [read(since), read(isForgottenByAll ? since : 0), read(0)]
        : [1, 2, 3].map(() => [1, 0, 0]);
    return Promise.resolve(replies.map(answered));
  };
  Object.assign(coordination.coordinator, { survey });
  const result = runOnceOf(coordination, 'o', FOR_MS, () => 'value', {});
  return { result, written };
}

const RUN = { executed: true, value: 'value' };
const NOT_RUN = { executed: false, reason: 'done' };

describe('once: its record', () => {
  it('is asked whether it is done: until the very instant that it names', async () => {
    for (const [notBeforeMs, expected] of [
      [1, NOT_RUN],
      [0, RUN],
      [undefined, RUN],
    ] as const)
      expect(await called(notBeforeMs === undefined ? {} : { notBeforeMs }).result).to.deep.equal(expected);
  });

  it('that some masters have forgotten is written again, as it is; any other is not', async () => {
    for (const [known, expected] of [
      [{ notBeforeMs: 9, forgottenMs: 0 }, [`1|77|d|${NOW_MS + 9}`]],
      [{ notBeforeMs: 9 }, []],
    ] as const) {
      const { result, written } = called(known);
      expect([await result, written]).to.deep.equal([NOT_RUN, expected]);
    }
  });

  it('keeps its tick, and says when it may be run again', async () => {
    for (const [known, tick] of [
      [{ notBeforeMs: 0 }, 77],
      [{}, 0],
    ] as const) {
      const { result, written } = called(known);
      await result;
      expect(written).to.deep.equal([`1|${tick}|d|${NOW_MS + FOR_MS}`]);
    }
  });

  it('that may be forgotten: QUARANTINED until the span is over, and not a moment longer', async () => {
    const lastMs = -FOR_MS - SKEW_MS;
    const forgotten = { isForgottenByAll: true, forgottenMs: lastMs };
    expect(await called(forgotten).result).to.deep.equal(RUN);
    const error = await rejection(called({ ...forgotten, forgottenMs: lastMs + 1 }).result);
    expect(error).to.include({ code: 'QUARANTINED', remainingMs: 1 });
  });
});
