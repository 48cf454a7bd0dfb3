/**
 * Spans: one for each call for a lease, `extend` and `release`, a child of what is active as it begins. Renewals have none:
 * there are many of them, and metrics count them.
 *
 * A lock that others hold is no error: such a span has the code as its `error.type`, and its status stays unset. So does
 * one that its own caller ended.
 */
import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { Redlock } from '../redlock.js';
import type { AcquireMessage, ExtendMessage, ReleaseMessage } from '../telemetry/channels.js';
import type { Labels } from './labels.js';
import { outcomeOf, subscribe } from './messages.js';

type Message = AcquireMessage | ExtendMessage | ReleaseMessage;

/** What ends a call without anything being wrong. */
const NO_FAILURES = ['LOCK_TAKEN', 'ABORTED'];

class Spans {
  readonly #tracer: Tracer;
  readonly #labels: Labels;
  readonly #open = new WeakMap<Message, Span>();

  constructor(tracer: Tracer, labels: Labels) {
    this.#tracer = tracer;
    this.#labels = labels;
  }

  start(name: string, message: Message, more: Attributes): void {
    const label = this.#labels.label(message.resources);
    const attributes = this.#labels.attributes(message, {
      'quorate.lock.resources': message.resources.length,
      ...more,
    });
    const title = label === undefined ? `quorate ${name}` : `quorate ${name} ${label}`;
    this.#open.set(message, this.#tracer.startSpan(title, { kind: SpanKind.CLIENT, attributes }));
  }

  end(message: Message, more: Attributes): void {
    const span = this.#open.get(message);
    if (span === undefined) return; // it began before anybody listened
    const granted = message.tally.filter(({ outcome }) => outcome === 'granted').length;
    span.setAttributes({
      'quorate.tally.granted': granted,
      'quorate.tally.nodes': message.tally.length,
      ...more,
    });
    const { code, error } = outcomeOf(message);
    if (code !== undefined) span.setAttribute('error.type', code);
    if (error !== undefined && !NO_FAILURES.includes(code ?? '')) {
      span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    }
    span.end();
  }
}

function holder({ heldBy }: AcquireMessage): Attributes {
  return heldBy?.label === undefined ? {} : { 'quorate.held_by': heldBy.label };
}

/** @returns a function that ends it */
export function traceSpans(redlock: Redlock, tracer: Tracer, labels: Labels): () => void {
  const spans = new Spans(tracer, labels);
  const ends = [
    subscribe(redlock, 'acquire', {
      onStart: (message) => spans.start('acquire', message, { 'quorate.operation': message.by }),
      onEnd: (message) =>
        spans.end(message, {
          'quorate.attempts': message.attempts,
          'quorate.waited': message.waited,
          'quorate.local': message.local,
          ...holder(message),
        }),
    }),
    subscribe(redlock, 'extend', {
      onStart: (message) => {
        if (message.by === 'extend') spans.start('extend', message, {});
      },
      onEnd: (message) => spans.end(message, {}),
    }),
    subscribe(redlock, 'release', {
      onStart: (message) => spans.start('release', message, {}),
      onEnd: (message) => spans.end(message, {}),
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
