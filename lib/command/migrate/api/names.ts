/** The names that come from redlock, wherever the file uses them: the class, the types, and the classes of errors. */
import type { Identifier, Node } from '@babel/types';
import { endOf, isMember, memberName, type NodeOf, startOf } from '../tree.js';
import { type Context, pathText } from './context.js';

/** What the imports need, after the uses. */
export interface Needs {
  /** `RedlockError` is used. */
  readonly error: boolean;
  /** The name of a lease's type, where it is used without a name of its own. */
  readonly lease: boolean;
}

const ERROR = 'RedlockError';
const CONDITIONS = {
  taken: (value: string): string => `${ERROR}.is(${value}) && ${value}.code === 'LOCK_TAKEN'`,
  failed: (value: string): string => `${ERROR}.is(${value}) && ${value}.code !== 'INVALID_ARGUMENT'`,
};
const ERROR_NAMES = new Set(['ResourceLockedError', 'ExecutionError', 'LockError']);
/** In the trees of @babel/parser 7 and 8. */
const HEIRS = new Set<string>([
  ...['ClassDeclaration', 'ClassExpression', 'TSClassImplements', 'TSInterfaceHeritage'],
  ...['TSExpressionWithTypeArguments'],
]);
const UNPLAIN = 'an error of redlock in another place than behind instanceof';

export function rewriteNames(context: Context): Needs {
  const { origins, findings, scopes } = context;
  const classes = origins.of('class').flatMap(({ references }) => references);
  let error = false;
  let lease = false;
  for (const reference of classes) {
    const use = rewriteClass(reference, context);
    error ||= use === 'error';
    lease ||= use === 'lease';
  }
  for (const meaning of ['taken', 'failed'] as const)
    for (const reference of origins.of(meaning).flatMap(({ references }) => references))
      error = rewriteCheck(reference, meaning, context) || error;
  for (const binding of origins.of('lock'))
    for (const reference of binding.references) rewriteLock(reference, context);
  for (const node of context.tree.nodes) findErrorNames(node, context);
  const clash = [...(error ? [ERROR] : []), ...(lease ? ['Lease'] : [])].find((name) =>
    scopes.declares(name),
  );
  const [first] = classes;
  if (clash !== undefined && first !== undefined) findings.hold(first, `the file has another ${clash}`);
  return { error, lease };
}

/** Whether types that are named `Lock` become `Lease`: not where the name is taken, or an alias. */
export function isRenamed(local: string, { scopes }: Context): boolean {
  return local === 'Lock' && !scopes.declares('Lease');
}

function rewriteClass(reference: Identifier, context: Context): 'error' | 'lease' | undefined {
  const { tree, findings, edits } = context;
  const parent = tree.parentOf(reference);
  if (HEIRS.has(parent?.type ?? ''))
    findings.hold(reference, 'a class or interface of yours extends Redlock');
  switch (parent?.type) {
    case 'ExportSpecifier':
    case 'ExportDefaultDeclaration':
      findings.hold(reference, 'the class is exported to other files');
      return undefined;
    case 'AssignmentExpression':
      findings.hold(reference, 'the class is assigned to something else');
      return undefined;
    case 'TSQualifiedName':
      if (parent.right.name === 'Lock') {
        edits.replace(startOf(parent), endOf(parent), 'Lease');
        return 'lease';
      }
      findings.hold(parent, `${tree.textOf(parent)} has no counterpart`);
      return undefined;
    default:
      break;
  }
  if (parent === undefined || !isMember(parent) || parent.object !== reference) return undefined;
  if (memberName(parent) === 'LockError')
    return rewriteCheck(parent, 'failed', context) ? 'error' : undefined;
  findings.hold(parent, `${tree.textOf(parent)} has no counterpart`);
  return undefined;
}

/** `error instanceof ResourceLockedError`. @returns whether it was rewritten */
function rewriteCheck(named: Node, meaning: 'taken' | 'failed', context: Context): boolean {
  const { tree, edits, findings } = context;
  const check = tree.parentOf(named);
  const isCheck =
    check?.type === 'BinaryExpression' && check.operator === 'instanceof' && check.right === named;
  const value = isCheck ? pathText(check.left, context) : undefined;
  if (!isCheck || value === undefined) {
    findings.hold(named, UNPLAIN);
    return false;
  }
  const condition = CONDITIONS[meaning](value);
  const outer = tree.parentOf(check);
  const isMixed =
    outer?.type === 'LogicalExpression' && outer.operator !== '&&' && check.extra?.['parenthesized'] !== true;
  edits.replace(startOf(check), endOf(check), isMixed ? `(${condition})` : condition);
  findDetails(check.left, context);
  return true;
}

/** redlock's errors have their attempts as promises; quorate's have a number. */
function findDetails(error: Node, { tree, scopes, findings }: Context): void {
  const binding = error.type === 'Identifier' ? scopes.bindingOf(error) : undefined;
  for (const reference of binding?.references ?? []) {
    const member = tree.parentOf(reference);
    if (member !== undefined && isMember(member) && memberName(member) === 'attempts')
      findings.left(member, 'attempts is a number; tally has the outcome of each master');
  }
}

function rewriteLock(reference: Identifier, context: Context): void {
  const { tree, edits, findings } = context;
  const parent = tree.parentOf(reference);
  if (parent?.type !== 'TSTypeReference')
    return findings.hold(reference, 'Lock is a class in redlock, and quorate has an interface, Lease');
  if (isRenamed(reference.name, context)) edits.replace(startOf(reference), endOf(reference), 'Lease');
}

/** `error.name === 'LockError'`. */
function findErrorNames(node: Node, { tree, findings }: Context): void {
  if (node.type !== 'StringLiteral' || !ERROR_NAMES.has(node.value)) return;
  const parent = tree.parentOf(node);
  if (parent === undefined || !isComparison(parent)) return;
  findings.left(parent, 'quorate has one class of errors: RedlockError.is(error), then error.code');
}

function isComparison(node: Node): node is NodeOf<'BinaryExpression'> | NodeOf<'SwitchCase'> {
  return node.type === 'SwitchCase' || (node.type === 'BinaryExpression' && /^[!=]==?$/.test(node.operator));
}
