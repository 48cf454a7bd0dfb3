/** Makes spans and metrics from what an instance reports: its tracing channels, its events and its counts. */
import { type Attributes, metrics, type MeterProvider, trace, type TracerProvider } from '@opentelemetry/api';
import { checkNames } from '../input/option-names.js';
import type { Redlock } from '../redlock.js';
import { invalidArgument } from '../runtime/errors.js';
import { Labels, type ResourceLabel } from './labels.js';
import { measure } from './metrics.js';
import { traceSpans } from './spans.js';

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** The provider for spans. @default the global provider */
  readonly tracerProvider?: TracerProvider | undefined;
  /** The provider for metrics. @default the global provider */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Makes the label of resources, the attribute `quorate.lock.label`: for example, `([name]) => name?.split(':')[0]`. The names
   * themselves are no attributes: there may be many, and they may be personal data. The label has at most 100 values; further
   * ones become `other`.
   *
   * @default undefined: no label
   */
  readonly resourceLabel?: ResourceLabel | undefined;
  /** Attributes for all spans and metrics: for example, the instance's name if a process has several. @default none */
  readonly attributes?: Attributes | undefined;
}

const NAMES = ['tracerProvider', 'meterProvider', 'resourceLabel', 'attributes'];
const SCOPE = 'quorate';

/**
 * Makes spans and metrics of an instance from now on. docs/OBSERVABILITY.md lists them.
 *
 * @returns a function that stops this
 * @throws RedlockError `INVALID_ARGUMENT`
 *
 * @example
 * ```ts
 * const stop = instrument(redlock, { resourceLabel: ([name]) => name?.split(':')[0] });
 * await redlock.using('invoice:42', async () => bill(42)); // a span, and metrics, of the label `invoice`
 * stop();
 * ```
 */
export function instrument(redlock: Redlock, options: InstrumentOptions = {}): () => void {
  checkNames('options', options, NAMES);
  const { attributes = {}, meterProvider, resourceLabel, tracerProvider } = options;
  if (resourceLabel !== undefined && typeof resourceLabel !== 'function')
    throw invalidArgument('resourceLabel', resourceLabel, 'a function');
  const labels = new Labels(resourceLabel, attributes);
  const ends = [
    traceSpans(redlock, (tracerProvider ?? trace).getTracer(SCOPE), labels),
    measure(redlock, (meterProvider ?? metrics).getMeter(SCOPE), labels),
  ];
  return () => {
    for (const end of ends.splice(0)) end();
  };
}
