/** A request to the dashboard and its answer, whichever server they belong to. */
import type { IncomingMessage } from 'node:http';

export interface Asked {
  readonly method: string;
  /** Below the place where the dashboard is mounted, with its leading slash. */
  readonly path: string;
  /** As the browser sees it, without its query. */
  readonly wholePath: string;
  readonly query: URLSearchParams;
  /** By its name in lower case. */
  header(name: string): string | undefined;
  /** The address of whoever is connected, if the server gives it. */
  readonly from: string | undefined;
  /** What the server has. */
  readonly original: IncomingMessage | Request;
  /** The body, read as JSON. @throws Error: it is too long, or no JSON */
  json(): Promise<unknown>;
}

/** A stream of events: lines of text, until either side ends it. */
export interface EventSink {
  /** Whether the other side keeps up. */
  readonly isReady: boolean;
  send(text: string): void;
  end(): void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** In place of the body: begins the stream. @returns what ends it */
  readonly stream?: (sink: EventSink) => () => void;
}

/** The longest body, in bytes. */
export const MOST_BODY = 16_384;

/** Neither a frame nor a script from elsewhere, nor anything inline; nothing is sent elsewhere. */
const SAFE: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function answer(
  status: number,
  type: string,
  body: string | Uint8Array,
  more: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { ...SAFE, 'content-type': type, 'cache-control': 'no-store', ...more },
    body,
  };
}

export function json(status: number, value: unknown): Answer {
  return answer(status, 'application/json; charset=utf-8', JSON.stringify(value));
}

/** An answer that says in words why there is no other. */
export function refusal(status: number, error: string): Answer {
  return json(status, { error });
}

export function streamed(stream: (sink: EventSink) => () => void): Answer {
  // a proxy in between must not keep events back
  return { ...answer(200, 'text/event-stream; charset=utf-8', '', { 'x-accel-buffering': 'no' }), stream };
}
