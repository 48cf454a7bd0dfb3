/** The options of a dashboard. */
import { checkNames } from '../input/option-names.js';
import { invalidArgument, RedlockError } from '../runtime/errors.js';
import type { Authorize } from './http/access.js';

/** Options of `dashboard`. */
export interface DashboardOptions {
  /** Whether locks can only be looked at. @default false */
  readonly readOnly?: boolean | undefined;
  /**
   * A secret that lets in from any machine; the page asks for it. From 16 to 200 visible characters. @default none: only
   * requests from this machine to `localhost` are let in, unless there is `authorize`
   */
  readonly token?: string | undefined;
  /**
   * Decides by your own rules who is let in: returns a name, which is logged with what this person does, or nothing. Called
   * with each request of the page: the one of `node:http`, with what your middleware has added, or that of `fetch`. With a
   * token as well, either lets in. @default none
   */
  readonly authorize?: Authorize | undefined;
  /**
   * The path that the dashboard is mounted at, such as `/locks`, if the server leaves it in the request's URL. Express and Nest
   * take it off; Fastify and Hono do not. @default ''
   */
  readonly basePath?: string | undefined;
  /** Which locks are shown: names that match a pattern with `*` and `?`. @default '*' */
  readonly names?: string | undefined;
  /** How long a holder has to stop when its lock is stolen, or a leader when it is deposed. Milliseconds. @default 5_000 */
  readonly graceMs?: number | undefined;
  /** Gets a line for each action, with who did it. @default to standard error */
  readonly log?: ((line: string) => void) | undefined;
}

/** The same, filled in. */
export interface ResolvedDashboard {
  readonly readOnly: boolean;
  readonly token: string | undefined;
  readonly authorize: Authorize | undefined;
  readonly basePath: string;
  readonly names: string;
  readonly graceMs: number;
  readonly log: (line: string) => void;
}

const NAMES = ['readOnly', 'token', 'authorize', 'basePath', 'names', 'graceMs', 'log'];
const GRACE_MS = 5_000;
const TOKEN = /^[!-~]{16,200}$/;

/** @throws RedlockError `INVALID_ARGUMENT` */
export function resolveDashboard(given: DashboardOptions): ResolvedDashboard {
  checkNames('options', given, NAMES);
  const { authorize, token } = given;
  const { basePath = '', graceMs = GRACE_MS, log = toStandardError, names = '*', readOnly = false } = given;
  if (typeof readOnly !== 'boolean') throw invalidArgument('readOnly', readOnly, 'true or false');
  if (token !== undefined && (typeof token !== 'string' || !TOKEN.test(token)))
    throw new RedlockError(
      'INVALID_ARGUMENT',
      'token must have from 16 to 200 visible characters, without spaces',
    );
  if (authorize !== undefined && typeof authorize !== 'function')
    throw invalidArgument('authorize', authorize, 'a function');
  if (typeof basePath !== 'string' || !/^(?:\/[^/?#]+)*$/.test(basePath))
    throw invalidArgument('basePath', basePath, 'a path such as /locks, or empty');
  if (typeof names !== 'string' || names === '') throw invalidArgument('names', names, 'a pattern such as *');
  if (!Number.isSafeInteger(graceMs) || graceMs < 0)
    throw invalidArgument('graceMs', graceMs, 'a whole number of milliseconds from 0 on');
  if (typeof log !== 'function') throw invalidArgument('log', log, 'a function');
  return Object.freeze({ readOnly, token, authorize, basePath, names, graceMs, log });
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}
