/** What the parts share that rewrite one file to quorate's own API. */
import type { Node } from '@babel/types';
import type { Edits } from '../edits.js';
import type { Findings } from '../findings.js';
import type { Scopes } from '../scopes.js';
import type { Release } from '../specifiers.js';
import { type Call, isPath, type Tree } from '../tree.js';
import type { Kinds } from './kinds.js';
import type { Origins } from './origins.js';
import { type Retries, settingsIn, unknownIn, type Wait, waitIn } from './settings.js';

export interface Context {
  readonly tree: Tree;
  readonly scopes: Scopes;
  readonly origins: Origins;
  readonly kinds: Kinds;
  readonly edits: Edits;
  readonly findings: Findings;
  /** The API that the file has so far. */
  readonly release: Release;
  /** The settings of the instance whose calls these are, where the file shows them. */
  readonly retries: Retries | undefined;
}

export const CALLBACK = 'callbacks, where quorate has promises only';

/** What a path is written as, or `lock!`; undefined for what has to be evaluated once only. */
export function pathText(node: Node | undefined, { tree }: Context): string | undefined {
  if (node === undefined) return undefined;
  const path = node.type === 'TSNonNullExpression' ? node.expression : node;
  return isPath(path) ? tree.textOf(node) : undefined;
}

/** The arguments of a call; undefined, and a finding, if some of them are spread. */
export function argumentsOf(call: Call, { findings }: Context): readonly Node[] | undefined {
  if (!call.arguments.some(({ type }) => type === 'SpreadElement')) return call.arguments;
  findings.left(call, 'the arguments are spread: write the ttl as { ttlMs }');
  return undefined;
}

/** The settings of one call as `waitMs`. @returns a reason, where they cannot be */
export function waitOfCall(settings: Node | undefined, context: Context): Wait | string | undefined {
  if (settings === undefined) return undefined;
  const read = settingsIn(settings);
  if (typeof read === 'string') return read;
  const [unknown] = unknownIn(read, []);
  if (unknown !== undefined) return `a call takes no ${unknown}`;
  return waitIn(read, context.retries, context.tree);
}

export const OPEN_WAIT =
  'waitMs is 0 for one attempt and Infinity for a wait without end; retryCount was 0 and −1';
