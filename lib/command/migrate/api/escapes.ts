/** Where a Redlock or a Lock leaves the code that can be followed: what gets it has to use quorate's API, too. */
import type { Node } from '@babel/types';
import { isCall, methodOf } from '../tree.js';
import type { Context } from './context.js';
import type { Kind } from './origins.js';

const NOUNS: Readonly<Record<Kind, string>> = { redlock: 'the Redlock', lock: 'the lock' };
/** Methods of a Redlock that take a Lock. */
const TAKERS = new Set(['extend', 'release', 'unlock']);

export function findEscapes(context: Context): void {
  const { tree, kinds, findings } = context;
  for (const node of tree.nodes) {
    if (!canBeValue(node)) continue;
    const parent = tree.parentOf(node);
    if (parent === undefined || !leaves(node, parent, context)) continue;
    const kind = kinds.of(node);
    if (kind !== undefined)
      findings.look(node, `${NOUNS[kind]} goes elsewhere from here, where it has quorate’s API now`);
  }
  findExports(context);
}

function canBeValue({ type }: Node): boolean {
  return ['Identifier', 'MemberExpression', 'NewExpression', 'AwaitExpression'].includes(type);
}

function leaves(node: Node, parent: Node, context: Context): boolean {
  switch (parent.type) {
    case 'CallExpression':
    case 'OptionalCallExpression':
    case 'NewExpression':
      return parent.callee !== node && !isTaken(parent, context);
    case 'ReturnStatement':
    case 'ExportDefaultDeclaration':
    case 'ExportSpecifier':
    case 'YieldExpression':
      return true;
    case 'ArrowFunctionExpression':
      return parent.body === node;
    case 'ArrayExpression':
      return true;
    case 'ObjectProperty':
      return parent.value === node && context.tree.parentOf(parent)?.type === 'ObjectExpression';
    case 'AssignmentExpression':
      return parent.right === node && context.kinds.of(parent.left) === undefined;
    case 'ClassProperty': {
      const { value, typeAnnotation } = parent;
      return (
        value === node &&
        Boolean(typeAnnotation) &&
        context.kinds.ofType(typeAnnotation ?? node) === undefined
      );
    }
    case 'VariableDeclarator':
      if (parent.init !== node || context.kinds.of(node) === undefined) return false;
      if (parent.id.type === 'ObjectPattern')
        context.findings.left(parent, 'it is taken apart here: the methods of quorate need their object');
      return parent.id.type === 'Identifier' && context.kinds.of(parent.id) === undefined;
    default:
      return false;
  }
}

function isTaken(call: Node, { kinds }: Context): boolean {
  const { object, name } = (isCall(call) ? methodOf(call) : undefined) ?? {};
  return object !== undefined && name !== undefined && TAKERS.has(name) && kinds.of(object) === 'redlock';
}

/** `export const redlock = …`. */
function findExports({ tree, kinds, findings }: Context): void {
  for (const node of tree.nodes) {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration?.type !== 'VariableDeclaration') continue;
    for (const { id, init } of node.declaration.declarations) {
      const kind = init && id.type === 'Identifier' ? kinds.of(id) : undefined;
      if (kind !== undefined)
        findings.look(id, `${NOUNS[kind]} goes elsewhere from here, where it has quorate’s API now`);
    }
  }
}
