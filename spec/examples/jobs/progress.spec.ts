import { expect } from 'chai';
import { type SinonFakeTimers, useFakeTimers } from 'sinon';
import { type Counts, Progress } from '../../../examples/jobs/progress.js';

describe('example jobs: progress', () => {
  let clock: SinonFakeTimers;
  beforeEach(() => {
    clock = useFakeTimers();
  });
  afterEach(() => clock.restore());

  /** Everything that is written while the workers start for 5 s, then two jobs are done within 2 s. */
  function written(isTTY: boolean): string {
    const parts: string[] = [];
    const output = { isTTY, columns: 80, write: (text: string): boolean => parts.push(text) > 0 };
    let counts: Counts = { done: 0, jobs: 2, elapsedMs: undefined };
    const progress = new Progress(output, () => counts);
    progress.say('2 jobs');
    clock.tick(5_000);
    for (const done of [1, 2]) {
      counts = { done, jobs: 2, elapsedMs: done * 1_000 };
      clock.tick(1_000);
    }
    progress.end();
    return parts.join('');
  }

  it('without a terminal: says once that the workers start, then a line a second', () => {
    expect(written(false).split('\n')).to.deep.equal([
      '2 jobs',
      '  the workers start',
      '  1.0 s  1 of 2 jobs done',
      '  2.0 s  2 of 2 jobs done',
      '',
    ]);
  });

  it('on a terminal: one line that is written over, and gone at the end', () => {
    const text = written(true);
    expect(text.split('\n')).to.have.length(2); // what was said stays, the rest is one line
    expect(text.endsWith('\r\u001b[K')).to.equal(true);
    expect(text).to.include('the workers start').and.include('2 of 2 jobs done');
  });
});
