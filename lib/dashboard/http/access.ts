/**
 * Access control. Without a token and without a function of the caller's, only this machine is let in, by a name of its own: a
 * page of another site that has its name lead here (DNS rebinding) is refused by the Host header. Actions are refused to other sites
 * whatever the access: they need a header that no form can send, and JSON.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Answer, type Asked, refusal } from './request.js';

/** Decides whether a request is let in. */
export type Authorize = (
  request: IncomingMessage | Request,
) => string | false | null | undefined | Promise<string | false | null | undefined>;

export interface AccessTerms {
  readonly token: string | undefined;
  readonly authorize: Authorize | undefined;
}

/** A person's name, or the refusal. */
export type Entry = { readonly by: string } | { readonly refused: Answer };

/** The header of actions. */
const ACTION_HEADER = 'x-quorate-dashboard';

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];
const ELSEWHERE =
  'without a token or a function authorize, the dashboard answers only requests to localhost from this machine';

/** Whether the request may see the locks. */
export async function enter(asked: Asked, { authorize, token }: AccessTerms): Promise<Entry> {
  if (authorize !== undefined) {
    const by = await authorize(asked.original);
    if (typeof by === 'string' && by !== '') return { by };
    if (token === undefined) return { refused: refusal(403, 'this request is not let in') };
  }
  if (token !== undefined) {
    const [, given] = /^Bearer +(\S+) *$/i.exec(asked.header('authorization') ?? '') ?? [];
    if (given !== undefined && isSame(given, token)) return { by: 'token' };
    return { refused: refusal(401, given === undefined ? 'a token is needed' : 'this is not the token') };
  }
  return isLocal(asked) ? { by: 'local' } : { refused: refusal(403, ELSEWHERE) };
}

/** The page itself shows nothing before a token is given, so it needs none. */
export async function enterPage(asked: Asked, terms: AccessTerms): Promise<Entry> {
  const { authorize, token } = terms;
  if (token !== undefined) return { by: '' };
  if (authorize === undefined && !isLocal(asked)) return { refused: refusal(403, ELSEWHERE) };
  return authorize === undefined ? { by: 'local' } : enter(asked, terms);
}

/** Whether data was asked for by a page of another site. @returns the refusal */
export function refuseOtherSite(asked: Asked): Answer | undefined {
  return isFromOtherSite(asked) ? refusal(403, 'the request comes from another site') : undefined;
}

/** Whether an action was asked for by this page. @returns the refusal */
export function refuseForgery(asked: Asked): Answer | undefined {
  if (asked.header(ACTION_HEADER) === undefined)
    return refusal(403, `an action needs the header ${ACTION_HEADER}`);
  if (!/^application\/json\s*(?:;|$)/i.test(asked.header('content-type') ?? ''))
    return refusal(415, 'an action is asked for in JSON');
  return undefined;
}

/** Browsers say where a request comes from; other programs do not, and no other site directs them. */
function isFromOtherSite(asked: Asked): boolean {
  const site = asked.header('sec-fetch-site');
  if (site === 'same-origin' || site === 'none') return false;
  if (site !== undefined) return true;
  const origin = asked.header('origin');
  return origin !== undefined && hostOf(origin) !== asked.header('host')?.toLowerCase();
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}

/** Asked for by a name of this machine, from this machine, and not passed on by a proxy. */
function isLocal(asked: Asked): boolean {
  if (FORWARDED.some((name) => asked.header(name) !== undefined)) return false;
  return isLoopback(asked.from ?? '') && isLocalName(asked.header('host') ?? '');
}

/** Whether an address is one of this machine alone. */
function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return plain === '::1' || plain === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(plain);
}

function isLocalName(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.test(host);
}

/** In a time that says nothing about where they differ. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
