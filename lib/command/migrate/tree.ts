/**
 * The syntax tree of one file, with parents. It reads the trees of @babel/parser 7 and 8, which differ in the fields of types:
 * so it goes through all fields, and code that looks into types takes both forms.
 */
import type { Comment, Node } from '@babel/types';

/** A node of one of these types. */
export type NodeOf<Type extends Node['type']> = Extract<Node, { readonly type: Type }>;

/** A call, with or without `?.`. */
export type Call = NodeOf<'CallExpression' | 'OptionalCallExpression'>;

/** `a.b` or `a?.b`. */
export type Member = NodeOf<'MemberExpression' | 'OptionalMemberExpression'>;

/** A function whose body is at the place where it is used. */
export type InlineFunction = NodeOf<'ArrowFunctionExpression' | 'FunctionExpression'>;

const NO_CHILDREN = new Set(['loc', 'extra', 'leadingComments', 'innerComments', 'trailingComments']);

export class Tree {
  readonly source: string;
  /** Parents before their children, in the order of the text. */
  readonly nodes: readonly Node[];
  readonly comments: readonly Comment[];
  readonly #parents = new Map<Node, Node>();

  constructor(source: string, root: Node, comments: readonly Comment[]) {
    this.source = source;
    this.comments = comments;
    const nodes: Node[] = [];
    const open: Node[] = [root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      nodes.push(node);
      const children = childrenOf(node);
      for (const child of children) this.#parents.set(child, node);
      open.push(...children.toReversed());
    }
    this.nodes = nodes;
  }

  parentOf(node: Node): Node | undefined {
    return this.#parents.get(node);
  }

  /** From its parent up to the root. */
  *ancestorsOf(node: Node): Generator<Node> {
    for (let above = this.parentOf(node); above !== undefined; above = this.parentOf(above)) yield above;
  }

  textOf(node: Node): string {
    return this.source.slice(startOf(node), endOf(node));
  }
}

function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node).flatMap(([name, value]: [string, unknown]) => {
    if (NO_CHILDREN.has(name)) return [];
    return (Array.isArray(value) ? value : [value]).filter(isNode);
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export function startOf(node: Node): number {
  return node.start ?? 0; // nodes of a parser have both; those that are built have none
}

export function endOf(node: Node): number {
  return node.end ?? 0;
}

/** Without parentheses, `!`, `as T` and the like, which change no value. */
export function bare(node: Node): Node {
  switch (node.type) {
    case 'ParenthesizedExpression':
    case 'TSNonNullExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSTypeAssertion':
      return bare(node.expression);
    default:
      return node;
  }
}

/** Its text has parentheses around it, which are no part of the node. */
export function isParenthesized(node: Node): boolean {
  return node.extra?.['parenthesized'] === true;
}

export function isCall(node: Node): node is Call {
  return node.type === 'CallExpression' || node.type === 'OptionalCallExpression';
}

export function isMember(node: Node): node is Member {
  return node.type === 'MemberExpression' || node.type === 'OptionalMemberExpression';
}

export function isInlineFunction(node: Node | undefined): node is InlineFunction {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
}

/** The name behind the point; undefined for `a[b]`. */
export function memberName(node: Member): string | undefined {
  return !node.computed && node.property.type === 'Identifier' ? node.property.name : undefined;
}

/** Like `memberName`, with the name of a private field: `#name`. */
export function fieldName(node: Member): string | undefined {
  return node.property.type === 'PrivateName' ? `#${node.property.id.name}` : memberName(node);
}

/** A call of a method: what it is called on, and the method's name. */
export function methodOf(
  call: Call,
): { readonly object: Node; readonly name: string; readonly callee: Member } | undefined {
  const { callee } = call;
  if (!isMember(callee)) return undefined;
  const name = memberName(callee);
  return name === undefined ? undefined : { object: callee.object, name, callee };
}

/** Reading it twice has no other effect than reading it once: `lock`, `this.lock`, `a.b.c`. */
export function isPath(node: Node): boolean {
  if (node.type === 'Identifier' || node.type === 'ThisExpression') return true;
  return node.type === 'MemberExpression' && fieldName(node) !== undefined && isPath(node.object);
}
