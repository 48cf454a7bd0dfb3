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
  /** Where spans go. @default the global provider */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Where metrics go. @default the global provider */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Gives the label for resources in attributes, `quorate.lock.label`: for example, `([name]) => name?.split(':')[0]`. The names
   * themselves are not attributes: they may be many, and personal. The label has at most 100 values; later ones are `other`.
   *
   * @default undefined: no label
   */
  readonly resourceLabel?: ResourceLabel | undefined;
  /** Attributes of all spans and measurements: for example, which instance it is, if a process has several. @default none */
  readonly attributes?: Attributes | undefined;
}

const NAMES = ['tracerProvider', 'meterProvider', 'resourceLabel', 'attributes'];
const SCOPE = 'quorate';

/**
 * Makes spans and metrics of an instance from now on. Their names are in docs/OBSERVABILITY.md.
 *
 * @returns a function that ends it
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
