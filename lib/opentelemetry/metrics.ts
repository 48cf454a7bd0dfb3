/** Metrics: durations as histograms, events as counters, the present state as observed values. */
import type { Attributes, BatchObservableResult, Meter, Observable } from '@opentelemetry/api';
import type { RedlockStats } from '../instance-stats.js';
import type { Redlock } from '../redlock.js';
import type { LostEvent, ReleasedEvent } from '../telemetry/events.js';
import type { Labels } from './labels.js';
import { codeOf, outcomeOf, subscribe } from './messages.js';

/** Bounds of the buckets, in seconds: a round trip, a wait, the life of a job. */
const CALL_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const HOLD_S = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600];

const seconds = (ms: number): number => ms / 1_000;

/** Empty for a call that succeeded. */
function errorType(code: string | undefined): Attributes {
  return code === undefined ? {} : { 'error.type': code };
}

/** Measures operations, one by one. */
function countOperations(redlock: Redlock, meter: Meter, labels: Labels): readonly (() => void)[] {
  const duration = (name: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: bounds } });
  const acquireTime = duration('quorate.acquire.duration', 'Calls for a lease, from call to end', CALL_S);
  const waitTime = duration('quorate.wait.duration', 'Calls that were not granted at once', CALL_S);
  const holdTime = duration('quorate.hold.duration', 'Leases, from grant to end', HOLD_S);
  const leadTime = duration('quorate.lead.duration', 'Leaderships, while their routine runs', HOLD_S);
  const counter = (name: string, description: string, unit: string) =>
    meter.createCounter(name, { description, unit });
  const grants = counter('quorate.grants', 'Leases that were granted', '{lease}');
  const refusals = counter('quorate.refusals', 'Calls that ended without a lease', '{call}');
  const renewals = counter('quorate.renewals', 'Extensions of leases, by renewal or call', '{extension}');
  const held = (event: LostEvent | ReleasedEvent, end: string): void =>
    holdTime.record(seconds(event.heldMs), labels.attributes(event, { 'quorate.lease.end': end }));
  const onLost = (event: LostEvent): void => held(event, 'lost');
  const onReleased = (event: ReleasedEvent): void =>
    held(event, event.how === 'released' ? 'released' : 'given_away');
  redlock.on('lost', onLost).on('released', onReleased);
  return [
    () => void redlock.off('lost', onLost).off('released', onReleased),
    subscribe(redlock, 'acquire', {
      onEnd: (message) => {
        const { code } = outcomeOf(message);
        const attributes = labels.attributes(message, {
          'quorate.operation': message.by,
          ...errorType(code),
        });
        acquireTime.record(seconds(message.elapsedMs), attributes);
        if (message.waited) waitTime.record(seconds(message.elapsedMs), attributes);
        (code === undefined ? grants : refusals).add(1, attributes);
      },
    }),
    subscribe(redlock, 'lead', {
      onEnd: (message) => {
        const { code = codeOf(message.reason) } = outcomeOf(message);
        leadTime.record(seconds(message.elapsedMs), labels.attributes(message, errorType(code)));
      },
    }),
    subscribe(redlock, 'extend', {
      onEnd: (message) => {
        if (message.error === undefined && message.result === undefined) return; // given back meanwhile
        const { code } = outcomeOf(message);
        renewals.add(1, labels.attributes(message, { 'quorate.operation': message.by, ...errorType(code) }));
      },
    }),
  ];
}

type Reading = (stats: RedlockStats) => number;
type NodeReading = (node: RedlockStats['nodes'][number]) => number | undefined;

/** Observes the present state, read from `redlock.stats()` as metrics are collected. */
function observeState(redlock: Redlock, meter: Meter, labels: Labels): () => void {
  const whole: [Observable, Reading][] = [];
  const nodes: [Observable, NodeReading][] = [];
  const gauge = (name: string, description: string, unit: string, read: Reading): void =>
    void whole.push([meter.createObservableUpDownCounter(name, { description, unit }), read]);
  gauge('quorate.leases.held', 'Leases that are held', '{lease}', ({ held }) => held);
  gauge('quorate.calls', 'Calls for a lease that are under way', '{call}', ({ calls }) => calls);
  gauge('quorate.waiters', 'Calls that wait for others', '{call}', ({ waiting }) => waiting);
  gauge('quorate.undos.owed', 'Undos without confirmation', '{undo}', ({ owedUndos }) => owedUndos);
  // observed, so that the series exists before the first loss: an alert does not notice a series that begins with 1
  const lost = { description: 'Leases that were lost', unit: '{lease}' };
  whole.push([meter.createObservableCounter('quorate.leases.lost', lost), ({ counts }) => counts.lost]);
  const node = (instrument: Observable, read: NodeReading): void => void nodes.push([instrument, read]);
  const total = (name: string, description: string, unit: string, read: NodeReading): void =>
    node(meter.createObservableCounter(name, { description, unit }), read);
  const state = (name: string, description: string, unit: string, read: NodeReading): void =>
    node(meter.createObservableGauge(name, { description, unit }), read);
  total('quorate.node.calls', 'Calls that a master was sent', '{call}', ({ calls }) => calls);
  total('quorate.node.requests', 'Requests in those calls', '{request}', ({ requests }) => requests);
  state('quorate.node.up', '1 while a master is connected and answers', '{node}', (one) =>
    Number(one.state === 'ready'),
  );
  state('quorate.node.round_trip', "A master's round trip", 's', ({ roundTripMs }) =>
    roundTripMs === undefined ? undefined : seconds(roundTripMs),
  );
  state('quorate.node.quarantine', 'For how long a master abstains', 's', ({ quarantinedMs }) =>
    seconds(quarantinedMs),
  );
  const observe = (result: BatchObservableResult): void => {
    const stats = redlock.stats();
    for (const [instrument, read] of whole) result.observe(instrument, read(stats), labels.common);
    for (const [instrument, read] of nodes) {
      for (const one of stats.nodes) {
        const value = read(one);
        const attributes = { ...labels.common, 'quorate.node': one.node };
        if (value !== undefined) result.observe(instrument, value, attributes);
      }
    }
  };
  const observed = [...whole, ...nodes].map(([instrument]) => instrument);
  meter.addBatchObservableCallback(observe, observed);
  return () => meter.removeBatchObservableCallback(observe, observed);
}

/** @returns a function that ends it */
export function measure(redlock: Redlock, meter: Meter, labels: Labels): () => void {
  const ends = [...countOperations(redlock, meter, labels), observeState(redlock, meter, labels)];
  return () => {
    for (const end of ends) end();
  };
}
