/** What is answered to which request. */
import type { AccessTerms } from './access.js';
import { enter, enterPage, refuseForgery, refuseOtherSite } from './access.js';
import { type Act, offered } from '../actions.js';
import { assetAt, isAsset } from '../assets.js';
import { EventStream, type Setting, snapshotSoon } from './events.js';
import type { Poller } from '../poller.js';
import type { ActionName, DashboardAction } from '../public.js';
import { type Answer, answer, type Asked, json, refusal, streamed } from './request.js';
import { viewOf } from '../view.js';

/** How many may look at a time. */
const MOST_VIEWERS = 100;

export interface RouteParts {
  readonly poller: Poller;
  readonly access: AccessTerms;
  readonly actions: Partial<Record<ActionName, Act>>;
  readonly isReadOnly: boolean;
  readonly keyPrefix: string;
  /** Reports an action that was tried. */
  readonly report: (action: DashboardAction) => void;
}

/** The answer to a request; without one, the path belongs to somebody else. */
export async function route(parts: RouteParts, asked: Asked): Promise<Answer | undefined> {
  if (asked.path === '' || isAsset(asked.path)) return page(parts, asked);
  if (!/^\/api\/(?:snapshot|events|actions)$/.test(asked.path)) return undefined;
  const refused = refuseOtherSite(asked);
  if (refused !== undefined) return refused;
  const entry = await enter(asked, parts.access);
  if ('refused' in entry) return entry.refused;
  if (asked.path === '/api/actions') return act(parts, asked, entry.by);
  if (asked.method !== 'GET') return notAllowed('GET');
  if (parts.poller.viewers >= MOST_VIEWERS) return refusal(503, `${MOST_VIEWERS} others look already`);
  const view = viewOf(asked.query);
  const setting = settingOf(parts);
  if (asked.path === '/api/snapshot') return json(200, await snapshotSoon(parts.poller, view, setting));
  return streamed((sink) => {
    const stream = new EventStream(parts.poller, view, setting, sink);
    return () => stream.end();
  });
}

function settingOf({ actions, isReadOnly, keyPrefix }: RouteParts): Setting {
  return { keyPrefix, actions: offered(isReadOnly ? {} : actions) };
}

async function page({ access }: RouteParts, asked: Asked): Promise<Answer> {
  if (asked.method !== 'GET' && asked.method !== 'HEAD') return notAllowed('GET, HEAD');
  const entry = await enterPage(asked, access);
  if ('refused' in entry) return entry.refused;
  // what the page names is beside it only below a path that ends with a slash
  if ((asked.path === '' || asked.path === '/') && !asked.wholePath.endsWith('/')) {
    const last = asked.wholePath.slice(asked.wholePath.lastIndexOf('/') + 1);
    return answer(302, 'text/plain; charset=utf-8', '', { location: `./${last}/` });
  }
  const asset = await assetAt(asked.path);
  if (asset === undefined)
    return refusal(
      404,
      'the file is not there: sources need npm run build, and a bundle must leave quorate out',
    );
  const caching = { 'cache-control': 'no-cache', etag: asset.tag };
  if (asked.header('if-none-match') === asset.tag) return answer(304, asset.type, '', caching);
  return answer(200, asset.type, asset.bytes, caching);
}

/** The most letters of a lock's name. */
const LONGEST_NAME = 4_096;

async function act(parts: RouteParts, asked: Asked, by: string): Promise<Answer> {
  if (asked.method !== 'POST') return notAllowed('POST');
  const forged = refuseForgery(asked);
  if (forged !== undefined) return forged;
  if (parts.isReadOnly) return refusal(403, 'this dashboard is read-only');
  const order = orderIn(await asked.json().catch(() => undefined));
  if (order === undefined) return refusal(400, 'an action is {"action":…,"name":…,"confirm":…}');
  const { action, confirm, name } = order;
  const work = parts.actions[action];
  if (work === undefined) return refusal(404, `this instance offers no ${action}`);
  if (confirm !== name) return refusal(400, 'the name was not typed as it is');
  const result = await work(name).catch((error: unknown) => ({
    done: false,
    outcome: error instanceof Error ? error.message : 'it failed',
  }));
  parts.report({ action, name, by, from: asked.from, ...result });
  return json(result.done ? 200 : 409, result);
}

interface Order {
  readonly action: ActionName;
  readonly name: string;
  readonly confirm: unknown;
}

function orderIn(body: unknown): Order | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { action, confirm, name } = body as Readonly<Record<string, unknown>>; // checked here
  if (action !== 'free' && action !== 'steal' && action !== 'depose') return undefined;
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME) return undefined;
  return { action, confirm, name };
}

function notAllowed(methods: string): Answer {
  return { ...refusal(405, `use ${methods}`), headers: { ...refusal(405, '').headers, allow: methods } };
}
