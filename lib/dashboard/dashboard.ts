/** A page that shows the locks of an instance's masters, as a handler for any server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NO_OPTIONS } from '../input/options.js';
import { ENVIRONMENT, type Redlock } from '../redlock.js';
import { invalidArgument } from '../runtime/errors.js';
import { EventHub } from '../runtime/event-hub.js';
import { Emitter, type Listener } from '../runtime/listenable.js';
import { actionsOver } from './actions.js';
import { askedIn, responseOf } from './http/fetch.js';
import { MasterReader } from './master-reader.js';
import { askedBy, respond } from './http/node-http.js';
import { type DashboardOptions, resolveDashboard } from './options.js';
import { Poller } from './poller.js';
import type { DashboardAction } from './public.js';
import { type Answer, type Asked, refusal } from './http/request.js';
import { route, type RouteParts } from './http/routes.js';
import { Ticks } from './ticks.js';
import { globbed } from './view.js';

/** The events of a dashboard, by name. */
export interface DashboardEvents {
  /** Somebody has taken a lock away, or tried to. */
  readonly action: DashboardAction;
}

/**
 * A dashboard: a handler for `node:http`, Express and Nest, `fetch` for servers that work with `Request` and `Response`, and the
 * event `action`.
 */
export interface Dashboard {
  /** Answers a request. One for another path goes on to `next`, or is answered with 404. */
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** Answers a request of a server that works with `Request` and `Response`. It needs `token` or `authorize`. */
  fetch(request: Request): Promise<Response>;
  /** Calls the listener with each action, whether it succeeded or not. @throws RedlockError `INVALID_ARGUMENT` */
  on<Name extends keyof DashboardEvents>(event: Name, listener: Listener<DashboardEvents[Name]>): Dashboard;
  /** Stops calling the listener. */
  off<Name extends keyof DashboardEvents>(event: Name, listener: Listener<DashboardEvents[Name]>): Dashboard;
  /** Ends all streams and asks the masters nothing more. The instance stays open. */
  close(): void;
}

/**
 * Makes a dashboard over the masters of an instance: docs/DASHBOARD.md. It asks the masters only while somebody looks, and as much
 * for one as for many. Without `token` or `authorize`, it answers only requests from this machine to `localhost`.
 *
 * @throws RedlockError `INVALID_ARGUMENT`
 *
 * @example
 * ```ts
 * const locksPage = dashboard(redlock, { readOnly: true });
 * server.on('request', locksPage);
 * ```
 */
export function dashboard(redlock: Redlock, options: DashboardOptions = NO_OPTIONS): Dashboard {
  if (typeof redlock !== 'object' || redlock === null || !(ENVIRONMENT in redlock))
    throw invalidArgument('redlock', redlock, 'an instance of Redlock');
  const terms = resolveDashboard(options);
  const events = new EventHub<DashboardEvents>();
  const emitter = new Emitter(events, ['action']);
  const { transports, clock, timers } = redlock[ENVIRONMENT];
  const { keyPrefix } = redlock.options;
  const ticks = new Ticks();
  const poller = new Poller({
    ...{ clock, timers, keyPrefix, isWanted: globbed(terms.names) },
    readers: transports.map((transport) => new MasterReader(transport, { keyPrefix, clock, timers })),
    diagnose: async (signal) => (await redlock.diagnose({ driftOverMs: 0, signal })).findings,
    nextTick: (schedule, afterMs) => ticks.next(schedule, afterMs),
  });
  const report = (action: DashboardAction): void => {
    events.tell('action', { ...action });
    terms.log(lineFor(action));
  };
  const parts: RouteParts = {
    ...{ poller, keyPrefix, report, isReadOnly: terms.readOnly },
    access: { token: terms.token, authorize: terms.authorize },
    actions: actionsOver({ redlock, transports, keyPrefix }, terms.graceMs),
  };
  return handlerOf(parts, terms.basePath, emitter);
}

function handlerOf(parts: RouteParts, basePath: string, emitter: Emitter<DashboardEvents>): Dashboard {
  /** What ends each stream. */
  const streams = new Set<() => void>();
  const opened = (end: () => void): (() => void) => {
    streams.add(end);
    return () => void streams.delete(end);
  };
  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    next: ((error?: unknown) => void) | undefined,
  ): Promise<void> => {
    const answer = await answerTo(parts, askedBy(request, basePath));
    if (answer === undefined && next !== undefined) return next();
    const end = respond(request, response, answer ?? NOT_FOUND);
    if (end !== undefined) response.once('close', opened(end));
  };
  const handler = (...given: Parameters<Dashboard>): void => {
    const [request, response, next] = given;
    void handle(request, response, next);
  };
  const page: Dashboard = Object.assign(handler, {
    fetch: async (request: Request) =>
      responseOf((await answerTo(parts, askedIn(request, basePath))) ?? NOT_FOUND, opened),
    on: <Name extends keyof DashboardEvents>(name: Name, listener: Listener<DashboardEvents[Name]>) => {
      emitter.on(name, listener);
      return page;
    },
    off: <Name extends keyof DashboardEvents>(name: Name, listener: Listener<DashboardEvents[Name]>) => {
      emitter.off(name, listener);
      return page;
    },
    close: () => {
      for (const end of streams) end();
      parts.poller.close();
    },
  });
  return page;
}

const NOT_FOUND = refusal(404, 'there is nothing at this path');

/** Never rejects. */
async function answerTo(parts: RouteParts, asked: Asked | undefined): Promise<Answer | undefined> {
  if (asked === undefined) return undefined;
  try {
    return await route(parts, asked);
  } catch {
    return refusal(500, 'the dashboard failed'); // of what, is for the log of whoever mounted it: authorize may throw
  }
}

/** One line, whatever the name is. */
function lineFor({ action, by, done, from, name, outcome }: DashboardAction): string {
  const who = from === undefined ? JSON.stringify(by) : `${JSON.stringify(by)} from ${from}`;
  const end = done ? outcome : `refused: ${outcome}`;
  return `quorate dashboard: ${action} ${JSON.stringify(name)} by ${who}: ${end}`.replace(
    /[\r\n\u2028\u2029]/g,
    ' ',
  );
}
