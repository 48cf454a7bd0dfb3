/**
 * A program whose locks Prometheus can watch: its metrics are on http://127.0.0.1:9464/metrics.
 *
 *   QUORATE_NODES=redis://a:6379,redis://b:6379,redis://c:6379 node --import tsx examples/prometheus/main.ts
 *   prometheus --config.file=examples/prometheus/prometheus.yml
 */
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { Redlock } from '../../lib/index.js';
import { instrument } from '../../lib/opentelemetry/index.js';
import { work } from './work.js';

const urls = (process.env['QUORATE_NODES'] ?? 'redis://127.0.0.1:6379').split(',');
const port = Number(process.env['METRICS_PORT'] ?? 9_464);

const exporter = new PrometheusExporter({ host: '127.0.0.1', port });
const meterProvider = new MeterProvider({ readers: [exporter] });
await using redlock = Redlock.connect(urls, { ttlMs: 3_000, waitMs: 500, maxWaiters: 50 });
instrument(redlock, { meterProvider, resourceLabel: ([name]) => name?.split(':')[0] });

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
console.log(`metrics on http://127.0.0.1:${port}/metrics`);
await work(redlock, stopping.signal);
await meterProvider.shutdown();
