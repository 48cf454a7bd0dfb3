/** The dashboard on a server of `node:http`, and on what is built on it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, type Asked, type EventSink, MOST_BODY } from './request.js';

/** What Express and others add. */
type Mounted = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };

export function askedBy(request: IncomingMessage, basePath: string): Asked | undefined {
  const mounted: Mounted = request;
  const { path, query } = parted(request.url ?? '/');
  const below = belowPath(path, basePath);
  if (below === undefined) return undefined;
  return {
    method: request.method ?? 'GET',
    path: below,
    wholePath: parted(mounted.originalUrl ?? request.url ?? '/').path,
    query: new URLSearchParams(query),
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    from: request.socket.remoteAddress,
    original: request,
    json: async () => parsed(mounted.body ?? (await bodyOf(request))),
  };
}

function parted(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** The path below the place of the dashboard; undefined for one elsewhere. */
export function belowPath(path: string, basePath: string): string | undefined {
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return undefined;
  return path.slice(basePath.length);
}

/** It may have been read before: by Express's `json()`, or by Nest. */
function parsed(body: unknown): unknown {
  return typeof body === 'string' ? (JSON.parse(body) as unknown) : body;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BODY) throw new Error('the body is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** @returns what ends a stream */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers, status, stream }: Answer,
): (() => void) | undefined {
  response.writeHead(status, { ...headers });
  if (stream === undefined) {
    response.end(request.method === 'HEAD' ? undefined : body);
    return undefined;
  }
  response.flushHeaders();
  const sink: EventSink = {
    get isReady() {
      return !response.writableNeedDrain;
    },
    send: (text) => void response.write(text),
    end: () => void response.end(),
  };
  const end = stream(sink);
  response.once('close', end);
  return end;
}
