/** The dashboard on a server whose handlers take a `Request` and return a `Response`. */
import { belowPath } from './node-http.js';
import { type Answer, type Asked, type EventSink, MOST_BODY } from './request.js';

/** Such a server does not say from where a request comes, so only a token or `authorize` lets it in. */
export function askedIn(request: Request, basePath: string): Asked | undefined {
  const { pathname, searchParams } = new URL(request.url);
  const below = belowPath(pathname, basePath);
  if (below === undefined) return undefined;
  return {
    method: request.method,
    path: below,
    wholePath: pathname,
    query: searchParams,
    header: (name) => request.headers.get(name) ?? undefined,
    from: undefined,
    original: request,
    json: async () => {
      const text = await request.text();
      if (text.length > MOST_BODY) throw new Error('the body is too long');
      return JSON.parse(text) as unknown;
    },
  };
}

/** @param opened  gets what ends a stream; what it returns is called at the stream's end */
export function responseOf(
  { body, headers, status, stream }: Answer,
  opened: (end: () => void) => () => void,
): Response {
  if (stream === undefined)
    return new Response(status === 304 || status === 302 ? null : new Uint8Array(Buffer.from(body)), {
      status,
      headers: { ...headers },
    });
  let end = (): void => undefined;
  let isOver = false;
  const events = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const sink: EventSink = {
        get isReady() {
          return !isOver && (controller.desiredSize ?? 0) > 0;
        },
        send: (text) => controller.enqueue(Buffer.from(text)),
        end: () => {
          if (!isOver) controller.close();
          isOver = true;
        },
      };
      const stop = stream(sink);
      const closed = opened(stop);
      end = () => {
        closed();
        stop();
      };
    },
    cancel: () => {
      isOver = true;
      end();
    },
  });
  return new Response(events, { status, headers: { ...headers } });
}
