/** What cannot be followed, and looks like a Redlock or a Lock: it is named to the user, and never rewritten. */
import type { Node } from '@babel/types';
import type { Findings } from '../findings.js';
import { bare, type Call, isCall, isMember, memberName, methodOf, type Tree } from '../tree.js';
import type { Kinds } from './kinds.js';

/** The file in which it is looked for. */
export interface Place {
  readonly tree: Tree;
  readonly kinds: Kinds;
  readonly findings: Findings;
  /** Whether the file imports redlock: then names such as `lock` concern it. */
  readonly isImporting: boolean;
  /** Whether the file imports the class: then calls of the old form do, whatever they are called on. */
  readonly hasClass: boolean;
}

/** A name such as `redlock`, `this.redlockClient` or `redlock()`. */
const LIKE_REDLOCK = /redlock/i;
const LIKE_LOCK = /lock$/i;
/** Of redlock alone. */
const OLD_CALLS = new Set(['lock', 'unlock', 'lockWithOptions', 'acquireWithOptions', 'disposer', 'quit']);
/** In quorate, they take options in second place. */
const BOTH_CALLS = new Set(['acquire', 'using', 'extend']);
/** Those with a ttl: another library's call of this name and form is rare. */
const TIMED_CALLS = new Set([
  'acquire',
  'lock',
  'using',
  'lockWithOptions',
  'acquireWithOptions',
  'disposer',
]);

export function findUntraced(place: Place): void {
  const { tree, kinds, findings, isImporting } = place;
  for (const node of tree.nodes) {
    if (isCall(node)) findCall(node, place);
    else if (isImporting && isMember(node) && memberName(node) === 'expiration') {
      const { object } = node;
      const text = tree.textOf(object);
      if (kinds.of(object) === undefined && LIKE_LOCK.test(lastName(object)))
        findings.left(node, `${text} could not be followed to a Lock: a lease has remainingMs()`);
    }
  }
}

function findCall(call: Call, place: Place): void {
  const { tree, kinds, findings, isImporting, hasClass } = place;
  const { object, name } = methodOf(call) ?? {};
  if (object === undefined || name === undefined || kinds.isClass(object)) return;
  if (kinds.of(object) !== undefined) return;
  const text = tree.textOf(object);
  const left = (why: string): void => findings.left(call, `${text} ${why}: ${name} is left as it is`);
  const isOld = OLD_CALLS.has(name) || (BOTH_CALLS.has(name) && isOldForm(call)) || isOldEvent(call, name);
  if (kinds.isMixed(object)) {
    if (isOld || name === 'extend') left('is a Redlock or a Lock at times only');
  } else if (LIKE_REDLOCK.test(lastName(object))) {
    if (isOld) left('could not be followed to a Redlock of this file');
  } else if (isImporting && LIKE_LOCK.test(lastName(object)) && isOldOnLock(call, name, tree)) {
    left('could not be followed to a Lock of this file');
  } else if (hasClass && ((TIMED_CALLS.has(name) && isOldForm(call)) || isClientError(call, name))) {
    left('could not be followed to a Redlock of this file');
  }
}

function isOldForm({ arguments: [, second] }: Call): boolean {
  if (second === undefined) return false;
  const { type } = bare(second);
  return type !== 'ObjectExpression' && !/Function/.test(type);
}

/** An extension whose result is not used is the same in quorate. */
function isOldOnLock(call: Call, name: string, tree: Tree): boolean {
  if (name !== 'extend') return name === 'unlock';
  const above = tree.parentOf(call);
  return above?.type !== 'AwaitExpression' || tree.parentOf(above)?.type !== 'ExpressionStatement';
}

function isOldEvent(call: Call, name: string): boolean {
  return isClientError(call, name) || eventOf(call, name) === 'error';
}

function isClientError(call: Call, name: string): boolean {
  return eventOf(call, name) === 'clientError';
}

function eventOf({ arguments: [event] }: Call, name: string): string | undefined {
  const isListening = ['on', 'once', 'addListener'].includes(name);
  return isListening && event?.type === 'StringLiteral' ? event.value : undefined;
}

/** `redlock` of `this.redlock`, of `this.redlock!` and of `redlock()`. */
function lastName(node: Node): string {
  const value = bare(node);
  if (value.type === 'Identifier') return value.name;
  if (isMember(value)) return memberName(value) ?? '';
  return isCall(value) ? lastName(value.callee) : '';
}
