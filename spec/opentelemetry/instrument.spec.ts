/** `quorate/opentelemetry` with the real SDK: which spans and metrics come out. */
import { readFileSync } from 'node:fs';
import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import {
  type CollectionResult,
  DataPointType,
  MeterProvider,
  MetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { instrument, type InstrumentOptions } from '../../lib/opentelemetry/index.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

interface Point {
  readonly attributes: Attributes;
  readonly value: unknown;
}

interface Instrumented extends Bench {
  readonly stop: () => void;
  spans(): readonly ReadableSpan[];
  /** The points of a metric, by what is observed: a number, or a histogram. */
  points(name: string): Promise<readonly Point[]>;
  collected(): Promise<CollectionResult>;
}

/** Channels are the process's: what is instrumented here ends with each spec. */
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const PROCESS = { host: 'db-1', pid: 4711, version: '1.2.3', startedAtMs: 0 };

function setUp(
  nodes = 3,
  options: RedlockOptions = {},
  given: InstrumentOptions = {},
  isNamed = false,
): Instrumented {
  const bench = fakeCluster(nodes, options, isNamed ? { process: PROCESS } : {});
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const reader = new Reader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const stop = instrument(bench.redlock, { tracerProvider, meterProvider, ...given });
  stops.push(stop);
  const points = async (name: string): Promise<readonly Point[]> => {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
  };
  return {
    ...bench,
    stop,
    spans: () => exporter.getFinishedSpans(),
    points,
    collected: () => reader.collect(),
  };
}

/** The sum of a counter's points. */
async function total(bench: Instrumented, name: string): Promise<number> {
  return (await bench.points(name)).reduce((sum, { value }) => sum + Number(value), 0);
}

function takenByAnother({ masters }: Bench): void {
  for (const master of masters) master.set('r', 'another', 600_000);
}

describe('spans', () => {
  it('acquire, extend by the holder, and release; renewals have none', async () => {
    const bench = setUp(3, { ttlMs: 3_000 });
    const lease = await bench.redlock.acquire('r', { renew: true });
    await bench.time.advance(2_000);
    await lease.extend();
    await lease.release();
    const spans = bench.spans();
    expect(spans.map(({ name }) => name)).to.deep.equal([
      ...['quorate acquire', 'quorate extend', 'quorate release'],
    ]);
    expect(spans[0]?.attributes).to.deep.equal({
      ...{ 'quorate.lock.kind': 'mutex', 'quorate.lock.resources': 1, 'quorate.operation': 'acquire' },
      ...{ 'quorate.attempts': 1, 'quorate.waited': false, 'quorate.local': false },
      ...{ 'quorate.tally.nodes': 3, 'quorate.tally.granted': 2 },
    });
    for (const { status } of spans) expect(status.code).to.equal(SpanStatusCode.UNSET);
  });

  it('a lock that is taken is no error; an outage is, with the exception', async () => {
    const bench = setUp();
    takenByAnother(bench);
    expect(await bench.redlock.tryAcquire('r')).to.equal(null);
    await rejection(bench.redlock.acquire('r', { waitMs: 0 }));
    for (const master of bench.masters) master.cut();
    const error = await rejection(bench.redlock.acquire('s', { waitMs: 0 }));
    const [tried, taken, failed] = bench.spans();
    for (const one of [tried, taken])
      expect([one?.attributes['error.type'], one?.status.code, one?.events.length]).to.deep.equal([
        ...['LOCK_TAKEN', SpanStatusCode.UNSET, 0],
      ]);
    expect(failed?.attributes['error.type']).to.equal('NO_QUORUM');
    expect(failed?.status).to.deep.equal({ code: SpanStatusCode.ERROR, message: error.message });
    expect(failed?.events.map(({ name }) => name)).to.deep.equal(['exception']);
  });

  it('the holder by its label, if the lock is taken and it is known', async () => {
    const bench = setUp(3, {}, {}, true);
    await bench.other('holder', { label: 'api-3' }).redlock.acquire('r');
    await bench.time.advance(1);
    expect(await bench.redlock.tryAcquire('r'), 'it begins the look-up').to.equal(null);
    await rejection(bench.redlock.acquire('r', { waitMs: 0 }));
    expect(await bench.redlock.tryAcquire('r')).to.equal(null);
    await bench.redlock.acquire('s');
    expect(bench.spans().map(({ attributes }) => attributes['quorate.held_by'])).to.deep.equal([
      ...[undefined, 'api-3', 'api-3', undefined],
    ]);
  });

  it('no name and no token, unless a function makes a label of the names', async () => {
    const plain = setUp();
    await plain.redlock.using('invoice:42', () => undefined);
    expect(JSON.stringify(plain.spans().map(({ attributes, name }) => [name, attributes]))).to.not.contain(
      '42',
    );
    const labelled = setUp(3, {}, { resourceLabel: ([name]) => name?.split(':')[0] });
    await labelled.redlock.using('invoice:42', () => undefined);
    const [span] = labelled.spans();
    expect([span?.name, span?.attributes['quorate.lock.label']]).to.deep.equal([
      ...['quorate acquire invoice', 'invoice'],
    ]);
    for (const { attributes, name } of labelled.spans())
      for (const token of labelled.random.tokens)
        expect(JSON.stringify([name, attributes])).to.not.contain(token);
  });

  it('of this instance alone, and none after the end', async () => {
    const bench = setUp();
    await bench.other().redlock.acquire('theirs');
    expect(bench.spans()).to.deep.equal([]);
    bench.stop();
    bench.stop();
    await bench.redlock.acquire('r');
    expect(bench.spans()).to.deep.equal([]);
    expect(bench.redlock.listenerCount('lost')).to.equal(0);
  });
});

describe('metrics', () => {
  it('durations of calls, of waits, of leases; in seconds', async () => {
    const bench = setUp(3, { fair: false });
    takenByAnother(bench);
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 2_000 }));
    await bench.time.advance(3_000);
    await failed;
    const lease = await bench.redlock.acquire('s');
    await bench.time.advance(4_000);
    await lease.release();
    const calls = await bench.points('quorate.acquire.duration');
    expect(calls.map(({ attributes, value }) => [attributes['error.type'], sumOf(value)])).to.deep.equal([
      ...[
        ['LOCK_TAKEN', 2],
        [undefined, 0],
      ],
    ]);
    expect((await bench.points('quorate.wait.duration')).map(({ value }) => sumOf(value))).to.deep.equal([2]);
    const [held] = await bench.points('quorate.hold.duration');
    expect([held?.attributes['quorate.lease.end'], sumOf(held?.value)]).to.deep.equal(['released', 4]);
  });

  it('grants, and refusals by code', async () => {
    const bench = setUp();
    await bench.redlock.acquire('a');
    await bench.redlock.semaphore('b', 2).acquire();
    takenByAnother(bench);
    await bench.redlock.tryAcquire('r');
    for (const master of bench.masters) master.cut();
    await rejection(bench.redlock.acquire('c', { waitMs: 0 }));
    expect(await total(bench, 'quorate.grants')).to.equal(2);
    const refusals = await bench.points('quorate.refusals');
    expect(refusals.map(({ attributes, value }) => [attributes['error.type'], value])).to.deep.equal([
      ...[
        ['LOCK_TAKEN', 1],
        ['NO_QUORUM', 1],
      ],
    ]);
  });

  it('renewals, those that failed, and the lease that was lost by it', async () => {
    const bench = setUp(3, { ttlMs: 3_000 });
    await bench.redlock.acquire('r', { renew: true });
    await bench.time.advance(1_500);
    for (const master of bench.masters) master.cut();
    await bench.time.advance(5_000);
    const renewals = await bench.points('quorate.renewals');
    const [well, failed] = renewals.map(({ value }) => Number(value));
    expect([well, (failed ?? 0) > 1]).to.deep.equal([1, true]);
    expect(renewals[1]?.attributes).to.include({ 'error.type': 'NO_QUORUM', 'quorate.operation': 'renewal' });
    expect(await total(bench, 'quorate.leases.lost')).to.equal(1);
    const [held] = await bench.points('quorate.hold.duration');
    expect(held?.attributes['quorate.lease.end']).to.equal('lost');
  });

  it('leaderships of lead, and what ended them where something was wrong', async () => {
    const bench = setUp(3, { ttlMs: 3_000 });
    const controller = new AbortController();
    const leading = bench.redlock
      .election('boss')
      .lead(
        ({ signal }) =>
          new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
        { signal: controller.signal },
      );
    await bench.time.advance(2_000);
    for (const master of bench.masters) master.set('boss', 'another', 4_000);
    await bench.time.advance(10_000);
    controller.abort();
    await leading;
    const points = await bench.points('quorate.lead.duration');
    expect(points.map(({ attributes }) => attributes['error.type'])).to.deep.equal(['LOCK_LOST', undefined]);
    expect(sumOf(points[1]?.value)).to.be.within(5, 10);
  });

  it('how things stand: leases, waiters, and each master', async () => {
    const bench = setUp(3, { fair: false, nodeTimeoutMs: 50 });
    await bench.redlock.acquire('a');
    takenByAnother(bench);
    const waiting = rejection(bench.redlock.acquire('r', { waitMs: 5_000 }));
    await bench.time.advance(500);
    bench.masters[2]?.cut();
    for (const [name, value] of [
      ['quorate.leases.held', 1],
      ['quorate.waiters', 1],
      ['quorate.calls', 1],
      ['quorate.undos.owed', 0],
    ] as const)
      expect((await bench.points(name)).map((point) => point.value)).to.deep.equal([value]);
    const up = await bench.points('quorate.node.up');
    expect(up.map(({ attributes, value }) => [attributes['quorate.node'], value])).to.deep.equal([
      ...[
        ['m1', 1],
        ['m2', 1],
        ['m3', 0],
      ],
    ]);
    expect((await bench.points('quorate.node.calls')).every(({ value }) => Number(value) > 0)).to.equal(true);
    const trips = await bench.points('quorate.node.round_trip');
    expect(
      trips.map(({ attributes }) => attributes['quorate.node']),
      'none without a connection',
    ).to.deep.equal(['m1', 'm2']);
    expect((await bench.points('quorate.node.quarantine')).map(({ value }) => value)).to.deep.equal([
      0, 0, 0,
    ]);
    await bench.time.advance(6_000);
    await waiting;
  });

  it('10,000 names: a point each for what happened, and no more', async () => {
    const bench = setUp(1);
    for (let i = 0; i < 10_000; i++) await (await bench.redlock.acquire(`user:${i}`)).release();
    for (const name of ['quorate.acquire.duration', 'quorate.grants', 'quorate.hold.duration'])
      expect((await bench.points(name)).length).to.equal(1);
  });

  it('a label function that gives names: 100 of them, and then `other`', async () => {
    const bench = setUp(1, {}, { resourceLabel: ([name]) => name });
    for (let i = 0; i < 300; i++) await bench.redlock.acquire(`user:${i}`);
    const points = await bench.points('quorate.grants');
    expect(points.length).to.equal(101);
    expect(points.find(({ attributes }) => attributes['quorate.lock.label'] === 'other')?.value).to.equal(
      200,
    );
  });

  it('a label function that throws, or gives no text: no label, and nothing fails', async () => {
    for (const resourceLabel of [
      () => {
        throw new Error('mine');
      },
      () => 5 as unknown as string, // what untyped callers may give
    ]) {
      const bench = setUp(1, {}, { resourceLabel });
      await bench.redlock.acquire('r');
      const [point] = await bench.points('quorate.grants');
      expect(point?.attributes).to.deep.equal({
        'quorate.lock.kind': 'mutex',
        'quorate.operation': 'acquire',
      });
    }
  });

  it('attributes of all, for several instances in one process', async () => {
    const bench = setUp(1, {}, { attributes: { 'quorate.instance': 'billing' } });
    await bench.redlock.acquire('r');
    for (const name of ['quorate.grants', 'quorate.leases.held', 'quorate.node.up'])
      expect((await bench.points(name))[0]?.attributes).to.include({ 'quorate.instance': 'billing' });
    expect(bench.spans()[0]?.attributes).to.include({ 'quorate.instance': 'billing' });
  });

  it('the document lists each of them with its kind and unit, and none that there is not', async () => {
    const bench = setUp(3, { ttlMs: 3_000, fair: false });
    takenByAnother(bench);
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 100 }));
    await bench.time.advance(500);
    await failed;
    await bench.redlock.acquire('s', { renew: true });
    const over = new AbortController();
    await bench.redlock.election('t').lead(() => over.abort(), { signal: over.signal });
    await bench.time.advance(2_000);
    for (const master of bench.masters) master.cut();
    await bench.time.advance(4_000);
    for (const master of bench.masters) master.become('ready'); // without a connection, there is no round trip
    const { resourceMetrics } = await bench.collected();
    const found = resourceMetrics.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .map((metric) => {
        const kind = metric.dataPointType === DataPointType.HISTOGRAM ? 'histogram' : 'number';
        return `${metric.descriptor.name} ${kind} ${metric.descriptor.unit}`;
      });
    const text = readFileSync(new URL('../../docs/OBSERVABILITY.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `(quorate\.[\w.]+)` +\| ([\w -]+?) +\| `([^`]+)` +\|/gm)];
    const listed = rows.map(
      ([, name, kind, unit]) => `${name} ${kind === 'histogram' ? kind : 'number'} ${unit}`,
    );
    expect(listed.sort()).to.deep.equal(found.sort());
  });
});

describe('instrument', () => {
  for (const [options, name] of [
    [{ resourceLabel: 'invoice' }, 'resourceLabel'],
    [{ labels: true }, 'labels'],
  ] as const) {
    it(`${name}: refused, by name`, () => {
      const error = thrown(() => instrument(fakeCluster(1).redlock, options as unknown as InstrumentOptions));
      expect([error.code, error.message.includes(name)]).to.deep.equal(['INVALID_ARGUMENT', true]);
    });
  }

  it('without providers, the global ones: nothing comes of it, and nothing fails', async () => {
    const { redlock } = fakeCluster(1);
    const stop = instrument(redlock);
    await redlock.using('r', () => undefined);
    stop();
  });
});

function sumOf(value: unknown): number | undefined {
  return (value as { readonly sum?: number } | undefined)?.sum; // of a histogram
}
