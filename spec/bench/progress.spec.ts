import { expect } from 'chai';
import { Progress } from '../../bench/progress.js';

const STEPS = [
  { name: 'sequential', estimateMs: 100_000 },
  { name: 'memory', estimateMs: 100_000 },
];

describe('bench: progress', () => {
  let nowMs = 0;
  let lines: string[] = [];
  const start = (everyMs = 0): Progress => {
    nowMs = 0;
    lines = [];
    return new Progress(
      STEPS,
      (line) => lines.push(line),
      everyMs,
      () => nowMs,
    );
  };

  it('names the scenario, how many there are, the round, and the time left', () => {
    const progress = start();
    progress.next();
    expect(lines.at(-1)).to.match(/^\[1\/2\] sequential: begins; about 3 min left$/);
    progress.next();
    progress.tell('round 1 of 9', 0.5);
    expect(lines.at(-1)).to.match(/^\[2\/2\] memory: round 1 of 9; about \d+ s left$/);
  });

  it('the time left follows how the estimates have held: half as fast, twice as long', () => {
    const progress = start();
    progress.next();
    nowMs = 200_000;
    progress.next();
    expect(lines.at(-1)).to.include('about 3 min left');
    nowMs = 400_000;
    progress.tell('end', 1);
    expect(lines.at(-1)).to.include('about 0 s left');
  });

  it('says no more than a line in each interval, but always the beginning of a scenario', () => {
    const progress = start(1_000);
    progress.next();
    nowMs = 500;
    progress.tell('too soon', 0.1);
    expect(lines).to.have.length(1);
    nowMs = 1_500;
    progress.tell('now', 0.2);
    progress.next();
    expect(lines).to.have.length(3);
  });
});
