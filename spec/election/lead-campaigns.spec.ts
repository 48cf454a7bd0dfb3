/** Leading by itself: which campaigns follow each other, how soon, and what is told. */
import { tracingChannel } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { Lead, type Candidate } from '../../lib/election/lead.js';
import type { Leadership } from '../../lib/election/leadership.js';
import type { ElectionEvents, LeadRoutine } from '../../lib/election/public.js';
import type { LeadMessage } from '../../lib/telemetry/channels.js';
import { type NodeOutcome, RedlockError, type RedlockErrorCode } from '../../lib/runtime/errors.js';
import { EventHub } from '../../lib/runtime/event-hub.js';
import { Emitter } from '../../lib/runtime/listenable.js';
import { type Change, changesOf } from '../support/election-changes.js';
import { FakeCoordination } from '../support/fake-coordination.js';
import { settle } from '../support/fake-time.js';

const TTL_MS = 3_000;

interface Bench extends FakeCoordination {
  readonly changes: readonly Change[];
  /** When each campaign began. */
  readonly campaigns: number[];
  readonly controller: AbortController;
  /** How `lead` has ended: `over`, or its error. */
  readonly ends: unknown[];
}

const failure = (code: RedlockErrorCode): RedlockError => new RedlockError(code, `it is ${code}`);

/**
 * @param outcome  of the nth campaign: an error, or undefined for a leadership
 * @param signalOf  each leadership; by default, none is lost
 */
function leading(
  outcome: (nth: number) => Error | undefined,
  routine: LeadRoutine = () => undefined,
  signalOf: () => AbortSignal = () => new AbortController().signal,
): Bench {
  const coordination = new FakeCoordination(1);
  const [campaigns, ends]: [number[], unknown[]] = [[], []];
  const events = new EventHub<ElectionEvents>();
  const changes = changesOf(new Emitter(events, ['leading', 'ended', 'failed']));
  const controller = new AbortController();
  const candidate: Candidate = {
    ...{ name: 'boss', ttlMs: TTL_MS, value: '', signal: controller.signal },
    events,
    campaign: () => {
      const nth = campaigns.push(coordination.time.now());
      const error = outcome(nth);
      return error === undefined ? Promise.resolve(leadership(nth, signalOf())) : Promise.reject(error);
    },
  };
  new Lead(coordination, candidate, routine).run().then(
    () => ends.push('over'),
    (error: unknown) => ends.push(error),
  );
  return Object.assign(coordination, { changes, campaigns, controller, ends });
}

function leadership(fence: number, signal: AbortSignal): Leadership {
  const one = {
    fence,
    signal,
    run: (routine: () => unknown) => Promise.resolve(routine()),
  };
  return one as unknown as Leadership; // no more of it is used
}

describe('lead: its campaigns', () => {
  it('one that fails is told, and followed by another', async () => {
    const error = failure('NO_QUORUM');
    const { changes, controller, time } = leading((nth) => (nth === 1 ? error : undefined));
    await time.advance(1_000);
    controller.abort();
    expect(changes.slice(0, 2)).to.deep.equal([
      { state: 'failed', error },
      { state: 'leading', fence: 2 },
    ]);
  });

  it('one that no other can better ends it: its error is told to whoever called, and nobody else', async () => {
    for (const error of [failure('CLOSED'), failure('WRONG_KIND'), new TypeError('a bug')]) {
      const { begun, changes, ends } = leading(() => error);
      await settle();
      expect([ends, changes, begun.size]).to.deep.equal([[error], [], 0]);
    }
  });

  it('one that met wrong masters ends it only if they are too many for a quorum, and stay as they are', async () => {
    const node = 'm';
    const refused: NodeOutcome = { node, outcome: 'refused' };
    const data: NodeOutcome = { ...refused, wrongKind: true };
    const silent: NodeOutcome = { node, outcome: 'unknown', cause: new Error('no reply within 200 ms') };
    const denied: NodeOutcome = { ...silent, cause: new Error('NOPERM no rights') };
    const replica: NodeOutcome = { ...silent, cause: new Error('READONLY it is a replica yet') };
    const cases: readonly (readonly [RedlockErrorCode, boolean, readonly NodeOutcome[]])[] = [
      ['WRONG_KIND', true, [data]],
      ['WRONG_KIND', true, [data, data, refused]],
      ['WRONG_KIND', false, [data, refused, refused]],
      ['MISCONFIGURED', true, [denied, denied, silent]],
      ['MISCONFIGURED', true, [denied, data, silent]],
      ['MISCONFIGURED', false, [denied, silent, refused]],
      ['MISCONFIGURED', false, [replica, replica, denied]],
      ['MISCONFIGURED', true, [denied, denied, refused, refused]],
      ['NO_QUORUM', false, [denied, denied, silent]],
    ];
    for (const [code, isOver, tally] of cases) {
      const error = new RedlockError(code, 'it failed', { tally });
      const { changes, controller, ends } = leading((nth) => (nth === 1 ? error : failure('ABORTED')));
      await settle();
      const what = `${code} ${tally.map(({ outcome }) => outcome).join(' ')}`;
      expect([ends, changes], what).to.deep.equal(
        isOver ? [[error], []] : [[], [{ state: 'failed', error }]],
      );
      controller.abort();
    }
  });

  it('one that the signal ended ends it without an error', async () => {
    const { begun, changes, ends } = leading(() => failure('ABORTED'));
    await settle();
    expect([ends, changes, begun.size]).to.deep.equal([['over'], [], 0]);
  });

  it('leaderships that end soon follow each other at growing distances; one that has lasted a ttl begins anew', async () => {
    let lastsMs = 0;
    const { campaigns, controller, time } = leading(
      () => undefined,
      () =>
        lastsMs === 0
          ? undefined
          : new Promise((resolve) => void time.wait(lastsMs, () => resolve(undefined))),
    );
    while (campaigns.length < 5) await time.advance(1);
    const distances = campaigns.slice(1).map((ms, i) => ms - (campaigns[i] ?? 0));
    const [first = 0] = distances;
    expect(distances).to.deep.equal(distances.toSorted((a, b) => a - b));
    expect(distances.at(-1)).to.be.above(2 * first);
    for (const [ms, isAnew] of [
      [TTL_MS, true],
      [TTL_MS - 1, false],
    ] as const) {
      const before = campaigns.length;
      lastsMs = ms;
      while (campaigns.length < before + 2) await time.advance(1);
      const [from = 0, to = 0] = campaigns.slice(-2);
      expect(to - from - ms === first).to.equal(isAnew);
    }
    controller.abort();
  });

  it('one that is lost, or was as it began: the routine is told to stop, and why', async () => {
    for (const isLostBefore of [true, false]) {
      const lost = new AbortController();
      const reason = failure('LOCK_LOST');
      if (isLostBefore) lost.abort(reason);
      const seen: unknown[] = [];
      const routine: LeadRoutine = ({ signal }) => {
        if (!isLostBefore) lost.abort(reason);
        seen.push(signal.reason);
      };
      const { changes, controller } = leading(
        (nth) => (nth === 1 ? undefined : failure('ABORTED')),
        routine,
        () => lost.signal,
      );
      await settle();
      expect([seen, changes[1]]).to.deep.equal([
        [reason],
        { state: 'ended', fence: 1, reason, error: undefined },
      ]);
      controller.abort();
    }
  });

  it('tracers are told a reason only of one that was ended from outside', async () => {
    const told: LeadMessage[] = [];
    const onEnd = (message: unknown): void => void told.push(message as LeadMessage); // as it is documented
    const channel = tracingChannel('quorate:lead');
    channel.subscribe({ asyncEnd: onEnd } as Parameters<typeof channel.subscribe>[0]); // only the end
    const { controller, time } = leading(
      () => undefined,
      () => new Promise((resolve) => void time.wait(10, () => resolve(undefined))),
    );
    await time.advance(10);
    controller.abort('enough');
    await time.advance(1_000);
    channel.unsubscribe({ asyncEnd: onEnd } as Parameters<typeof channel.subscribe>[0]);
    expect(told.map((message) => 'reason' in message)).to.deep.equal([false]);
  });
});
