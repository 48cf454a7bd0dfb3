/** `extend` and `release` of a Redlock or a Lock, and the fields of a Lock. */
import type { Node } from '@babel/types';
import {
  type Call,
  endOf,
  isCall,
  isInlineFunction,
  type Member,
  memberName,
  methodOf,
  type NodeOf,
  startOf,
} from '../tree.js';
import { argumentsOf, CALLBACK, type Context, pathText } from './context.js';

const EXTENDED = 'extend resolves with nothing: it extends the lease itself';
const RELEASED = 'release resolves with nothing';

/** `lock.extend(ttl)`. */
export function rewriteExtend(call: Call, callee: Member, context: Context): void {
  const { findings, release } = context;
  const [, extra] = call.arguments;
  if (extra !== undefined && release === 4) return findings.hold(call, CALLBACK);
  if (extra !== undefined) return findings.left(call, 'extend takes the ttl only');
  settleExtension(call, pathText(callee.object, context), context);
}

/** `redlock.extend(lock, ttl)`. */
export function rewriteExtendBy(call: Call, context: Context): void {
  const { edits, findings, release } = context;
  const given = argumentsOf(call, context);
  if (given === undefined) return;
  const [lock, ttl, extra] = given;
  if (extra !== undefined && release === 4) return findings.hold(call, CALLBACK);
  if (extra !== undefined) return findings.left(call, 'extend takes the ttl only: lock.extend(ttlMs)');
  const text = pathText(lock, context);
  if (text === undefined || ttl === undefined) return findings.left(call, 'it is lock.extend(ttlMs) now');
  edits.replace(startOf(call), startOf(ttl), `${text}.extend(`);
  settleExtension(call, text, context);
}

/** `lock.unlock()` and `lock.release()`. */
export function rewriteRelease(call: Call, callee: Member, context: Context): void {
  const { edits, findings } = context;
  if (call.arguments.length > 0) return findings.hold(call, CALLBACK);
  if (isAssigned(call, context)) return findings.left(call, RELEASED);
  if (memberName(callee) === 'unlock')
    edits.replace(startOf(callee.property), endOf(callee.property), 'release');
}

/** `redlock.unlock(lock)` and `redlock.release(lock)`. */
export function rewriteReleaseBy(call: Call, context: Context): void {
  const { edits, findings, release } = context;
  const [lock, extra] = call.arguments;
  if (extra !== undefined && release === 4) return findings.hold(call, CALLBACK);
  const text = pathText(lock, context);
  if (extra !== undefined || text === undefined) return findings.left(call, 'it is lock.release() now');
  if (isAssigned(call, context)) return findings.left(call, RELEASED);
  edits.replace(startOf(call), endOf(call), `${text}.release()`);
}

/** A field of a Lock that is read or written. */
export function rewriteField(member: Member, { edits, findings, release }: Context): void {
  const name = memberName(member) ?? '';
  const renamed = name === 'value' ? 'token' : name === 'resource' && release === 4 ? 'resources' : undefined;
  if (renamed !== undefined) edits.replace(startOf(member.property), endOf(member.property), renamed);
  else if (name === 'expiration')
    findings.left(
      member,
      'a lease has no expiration: remainingMs() is how long it is valid yet, and status whether it is held',
    );
  else if (name !== 'resources') findings.left(member, `a lease has no ${name || 'such field'}`);
}

/** Takes the assignment of an extended lock apart: the old variable has the extended lease. */
function settleExtension(call: Call, lock: string | undefined, context: Context): void {
  const { tree, findings } = context;
  const above = tree.parentOf(call);
  const isAwaited = above?.type === 'AwaitExpression';
  const value = isAwaited ? above : call;
  const use = tree.parentOf(value);
  switch (use?.type) {
    case 'ExpressionStatement':
    case 'UnaryExpression':
      return;
    case 'AssignmentExpression':
    case 'VariableDeclarator':
      if (isAwaited && lock !== undefined && assignAfter(use, value, lock, context)) return;
      return findings.left(call, EXTENDED);
    case 'MemberExpression':
    case 'OptionalMemberExpression':
      if (takesNothing(use, context)) return;
      return findings.left(call, EXTENDED);
    case 'ArrowFunctionExpression':
    case 'ReturnStatement':
      return findings.look(call, EXTENDED);
    default:
      return findings.left(call, EXTENDED);
  }
}

/** `b = await a.extend(ttl)` becomes `await a.extend(ttl); b = a`. @returns whether it could be written */
function assignAfter(
  use: NodeOf<'AssignmentExpression' | 'VariableDeclarator'>,
  value: Node,
  lock: string,
  context: Context,
): boolean {
  const { tree, edits } = context;
  const statement = tree.parentOf(use);
  if (statement === undefined) return false;
  if (use.type === 'AssignmentExpression') {
    const target = pathText(use.left, context);
    if (target === undefined || use.operator !== '=' || statement.type !== 'ExpressionStatement')
      return false;
    if (target !== lock && !isInBlock(statement, context)) return false;
    edits.replace(startOf(use), startOf(value), '');
    if (target === lock) return true;
    edits.insert(endOf(statement), `${lineStart(statement, context)}${target} = ${lock};`);
    return true;
  }
  const isAlone = statement.type === 'VariableDeclaration' && statement.declarations.length === 1;
  if (!isAlone || use.id.type !== 'Identifier' || !isInBlock(statement, context)) return false;
  edits.replace(startOf(statement), startOf(value), '');
  edits.insert(
    endOf(statement),
    `${lineStart(statement, context)}${statement.kind} ${use.id.name} = ${lock};`,
  );
  return true;
}

function isInBlock(statement: Node, { tree }: Context): boolean {
  return ['BlockStatement', 'Program', 'SwitchCase', 'StaticBlock'].includes(
    tree.parentOf(statement)?.type ?? '',
  );
}

/** A new line with the indentation of the statement. */
function lineStart(statement: Node, { tree }: Context): string {
  const before = tree.source.slice(0, startOf(statement));
  return /(?:^|\r?\n)[ \t]*$/.exec(before)?.[0].replace(/^(?!\r?\n)/, '\n') ?? ' ';
}

/** `.catch(…)`, `.finally(…)`, and `.then(…)` with a function without parameters. */
function takesNothing(member: Member, { tree }: Context): boolean {
  const chained = tree.parentOf(member);
  if (chained === undefined || !isCall(chained) || chained.callee !== member) return false;
  const { name } = methodOf(chained) ?? {};
  if (name === 'catch' || name === 'finally') return tree.parentOf(chained)?.type !== 'VariableDeclarator';
  const [taker] = chained.arguments;
  return name === 'then' && isInlineFunction(taker) && taker.params.length === 0;
}

function isAssigned(call: Call, { tree }: Context): boolean {
  const above = tree.parentOf(call);
  const use = above?.type === 'AwaitExpression' ? tree.parentOf(above) : above;
  return use?.type === 'VariableDeclarator' || use?.type === 'AssignmentExpression';
}
