import { expect } from 'chai';
import { sentUs, toStepRow } from '../../bench/scenarios/steps.js';

const row = (name: string, usec: number): string =>
  `cmdstat_${name}:calls=10,usec=${usec},usec_per_call=1.00,rejected_calls=0,failed_calls=0`;

describe("bench: the masters' own time", () => {
  it('scripts contain what they call: that is not added to them', () => {
    expect(
      sentUs(['# Commandstats', row('set', 40), row('evalsha', 100), row('get', 9)].join('\r\n')),
    ).to.equal(100);
    expect(sentUs([row('eval', 7), row('evalsha', 100)].join('\r\n'))).to.equal(107);
  });

  it('without any script, all counts that a contender sent', () => {
    expect(sentUs([row('set', 40), row('get', 2)].join('\r\n'))).to.equal(42);
  });

  it("the bench's own looks, and what connects a client, are not counted", () => {
    const others = ['info', 'config|resetstat', 'ping', 'hello', 'client|setinfo', 'script|load'];
    expect(sentUs(others.map((name) => row(name, 5)).join('\r\n'))).to.equal(0);
  });

  it('beside this library without a queue: both steps, round by round', () => {
    const fair = { name: 'quorate', acquireUs: [40, 90], releaseUs: [10, 10], trouble: undefined } as const;
    const unfair = { ...fair, name: 'quorate-unfair', acquireUs: [30, 190] } as const;
    const copy = (track: typeof fair | typeof unfair) => ({
      ...track,
      acquireUs: [...track.acquireUs],
      releaseUs: [...track.releaseUs],
    });
    const all = [copy(fair), copy(unfair)];
    expect(toStepRow(copy(fair), all)).to.deep.include({
      bothUs: { median: 75, min: 50, max: 100 },
      toUnfair: { median: 0.875, min: 0.5, max: 1.25 },
    });
    expect(toStepRow(copy(fair), [copy(fair)])).to.not.have.property('toUnfair');
  });
});
