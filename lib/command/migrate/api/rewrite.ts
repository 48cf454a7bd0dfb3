/**
 * Rewrites one file to quorate's own API. If something in it has no counterpart there, nothing in it is rewritten: then the
 * file keeps the API that it has, from a face, and works as before.
 */
import { Edits } from '../edits.js';
import { type Finding, Findings } from '../findings.js';
import type { Edit } from '../edits.js';
import { Scopes } from '../scopes.js';
import type { Release, Specifier } from '../specifiers.js';
import { type Call, isCall, isMember, type Member, memberName, methodOf, type Tree } from '../tree.js';
import { rewriteAcquire, rewriteUsing } from './acquisition.js';
import { CALLBACK, type Context } from './context.js';
import { findEscapes } from './escapes.js';
import { rewriteImports } from './imports.js';
import { retriesIn, rewriteInstances } from './instances.js';
import { Kinds } from './kinds.js';
import { rewriteExtend, rewriteExtendBy, rewriteField, rewriteRelease, rewriteReleaseBy } from './leases.js';
import { rewriteNames } from './names.js';
import { originsOf } from './origins.js';
import { findUntraced } from './untraced.js';

/** What came of a file. */
export interface Rewriting {
  /** Undefined if the file keeps the API that it has. */
  readonly edits: readonly Edit[] | undefined;
  readonly findings: readonly Finding[];
}

const LISTENING = new Set(['on', 'once', 'addListener', 'prependListener', 'off', 'removeListener']);

/** @param release  the API of the module that a specifier names */
export function rewriteToApi(
  tree: Tree,
  specifiers: readonly Specifier[],
  release: (specifier: Specifier) => Release,
): Rewriting {
  const scopes = new Scopes(tree);
  const findings = new Findings();
  const edits = new Edits();
  const releases = new Set(specifiers.map(release));
  const [specifier] = specifiers;
  const origins = originsOf(specifiers, release, { tree, scopes, findings });
  const kinds = new Kinds(tree, scopes, origins);
  if (specifier !== undefined) {
    const own = releases.has(5) ? 5 : 4;
    const retries = retriesIn({ tree, kinds, scopes });
    const context = { tree, scopes, origins, kinds, edits, findings, release: own, retries } as const;
    if (releases.size > 1) findings.hold(specifier.literal, 'the file has redlock 4 and 5 together');
    rewriteInstances(context);
    for (const node of tree.nodes) {
      if (isCall(node)) rewriteCall(node, context);
      else if (isMember(node)) rewriteMember(node, context);
    }
    findEscapes(context);
    rewriteImports(rewriteNames(context), context);
  }
  const hasClass = origins.of('class').length > 0;
  findUntraced({ tree, kinds, findings, isImporting: specifier !== undefined, hasClass });
  const all = findings.all();
  const held = all.filter(({ weight }) => weight === 'hold');
  return held.length > 0 ? { edits: undefined, findings: held } : { edits: edits.sorted(), findings: all };
}

function rewriteCall(call: Call, context: Context): void {
  const { object, name, callee } = methodOf(call) ?? {};
  if (object === undefined || name === undefined || callee === undefined) return;
  const kind = context.kinds.of(object);
  if (kind === 'redlock') rewriteRedlockCall(call, name, callee, context);
  if (kind === 'lock') rewriteLockCall(call, name, callee, context);
}

function rewriteRedlockCall(call: Call, name: string, callee: Member, context: Context): void {
  const { findings, edits } = context;
  switch (name) {
    case 'acquire':
    case 'lock':
      return rewriteAcquire(call, callee, context);
    case 'using':
      return rewriteUsing(call, context);
    case 'extend':
      return rewriteExtendBy(call, context);
    case 'release':
    case 'unlock':
      return rewriteReleaseBy(call, context);
    case 'quit':
      if (call.arguments.length > 0) return findings.hold(call, CALLBACK);
      edits.replace(callee.property.start ?? 0, callee.property.end ?? 0, 'close');
      return findings.look(call, 'close does not close the clients: quit them yourself');
    case 'acquireWithOptions':
    case 'lockWithOptions':
    case 'disposer':
      return findings.hold(call, `${name} has no counterpart of that form`);
    default:
      return LISTENING.has(name)
        ? findings.left(
            call,
            'other events: a failed call rejects, and nodeDown reports a master that does not answer',
          )
        : findings.left(call, `quorate has no ${name}`);
  }
}

function rewriteLockCall(call: Call, name: string, callee: Member, context: Context): void {
  switch (name) {
    case 'release':
    case 'unlock':
      return rewriteRelease(call, callee, context);
    case 'extend':
      return rewriteExtend(call, callee, context);
    default:
      return context.findings.left(call, `a lease has no ${name}`);
  }
}

/** A field that is read or written: calls of methods are rewritten by themselves. */
function rewriteMember(member: Member, context: Context): void {
  const { tree, kinds, findings } = context;
  const parent = tree.parentOf(member);
  if (parent !== undefined && isCall(parent) && parent.callee === member) return;
  const kind = kinds.of(member.object);
  if (kind === 'lock') rewriteField(member, context);
  if (kind === 'redlock')
    findings.left(
      member,
      `${memberName(member) ?? 'this'} of a Redlock is another in quorate, or is missing there`,
    );
}
