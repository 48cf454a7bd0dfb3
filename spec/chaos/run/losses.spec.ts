import { expect } from 'chai';
import { judge } from './checker.js';
import type { ClientEvent, ConductorEvent } from './history.js';
import { fault, life, modelOf } from './histories.js';
import { BESIDE } from './options.js';
import { summarize, textReport } from './summary.js';

const LOST_T = 20_000;

interface Terms {
  readonly t?: number;
  readonly keys?: readonly string[];
  readonly renew?: boolean;
  readonly until?: number;
  readonly code?: string;
}

/** A lease that was held for long, renewed, and is lost. */
function losing({ t = 1_000, keys = ['k1'], renew = true, until = LOST_T, code = 'LOCK_LOST' }: Terms = {}) {
  const id = 'c1.1/1';
  const all: ClientEvent[] = [
    { e: 'ask', t: t - 10, op: 1, how: 'acquire', keys, boundMs: 1_000 },
    { e: 'got', t, op: 1, lease: id, keys, fence: 10, until: t + 900, renew, ttlMs: 1_000 },
    ...(until > t + 900 ? [{ e: 'more', t: until - 500, lease: id, until } as const] : []),
    { e: 'lost', t: Math.min(LOST_T, until), lease: id, code },
    { e: 'release', t: LOST_T + 1, lease: id, boundMs: 100 },
    { e: 'released', t: LOST_T + 2, lease: id },
  ];
  return all;
}

/** What allowed the loss, or `violation`. */
function found(events: readonly ClientEvent[], ...faults: readonly ConductorEvent[][]): string {
  const run = modelOf({ 'c1.1': life(events) }, faults.flat());
  const { violations, allowed } = judge(run);
  const lost = violations.filter(({ kind }) => kind === 'lost');
  expect(Object.values(allowed).length + lost.length, 'each loss is counted once').to.equal(1);
  return Object.keys(allowed)[0] ?? 'violation';
}

const struck = (target: string, kind: 'kill' | 'freeze' | 'pause' | 'crash', fromT: number, toT: number) =>
  fault(target, kind, [fromT, fromT + 1, toT - 1, toT]);

describe('chaos run: losses', () => {
  it('nothing was struck, or one master of three long after the last one: a violation', () => {
    expect(found(losing())).to.equal('violation');
    expect(found(losing(), struck('m1', 'freeze', 18_000, 19_500))).to.equal('violation');
    const inTurn = [struck('m2', 'kill', 10_000, 14_000), struck('m1', 'freeze', 18_000, 19_500)];
    expect(found(losing(), ...inTurn)).to.equal('violation');
  });

  it('not renewed, told to end, or a lock of another kind', () => {
    expect(found(losing({ renew: false, until: 1_900 }))).to.equal('not renewed: its ttl ran out');
    expect(found(losing({ code: 'ABORTED' }))).to.equal('told to end (ABORTED)');
  });

  it('a majority, and by which faults', () => {
    const both = [struck('m1', 'freeze', 18_000, 19_900), struck('m2', 'kill', 19_000, 19_900)];
    expect(found(losing(), ...both)).to.equal('a majority was struck: freeze, kill');
  });

  it('its process was stopped, or stood still by itself, or with all proxies', () => {
    expect(found(losing(), struck('c1', 'pause', 18_500, 19_900))).to.equal(
      'its process was paused or starved',
    );
    expect(found(losing(), struck('c2', 'pause', 18_500, 19_900))).to.equal('violation');
    const still = { e: 'still', t: 19_800, byMs: 600 } as const;
    const text = 'its process stood still: by its own work, or by the machine';
    expect(found([still, ...losing()])).to.equal(text);
    expect(found(losing(), [still])).to.equal(text);
    expect(found(losing(), [{ ...still, t: 15_000 }]), 'long before').to.equal('violation');
  });

  it('minorities that follow each other within a renewal and two seconds, and one before it was whole', () => {
    const close = [struck('m2', 'kill', 14_000, 17_500), struck('m1', 'freeze', 19_000, 19_900)];
    expect(found(losing(), ...close)).to.equal('minorities too close to each other: freeze');
    expect(found(losing({ t: 17_800 }), struck('m1', 'freeze', 19_000, 19_900))).to.equal(
      'a minority struck before it was whole: freeze',
    );
  });

  it('a minority beside a vote that no client lets rest', () => {
    const freeze = struck('m1', 'freeze', 18_000, 19_900);
    expect(found(losing({ keys: [BESIDE] }), freeze)).to.equal(
      'beside the vote of another library, a minority struck: freeze',
    );
    expect(found(losing(), freeze, struck('c2', 'crash', 16_000, 16_500))).to.equal(
      'beside the vote of a client (crash), a minority struck: freeze',
    );
  });

  it('the report has a line of them', () => {
    const run = modelOf({ 'c1.1': life(losing({ renew: false, until: 1_900 })) });
    expect(textReport(run, summarize(run, judge(run)), '')).to.match(
      /lost, and why it may +not renewed: its ttl ran out 1\n/,
    );
  });
});
