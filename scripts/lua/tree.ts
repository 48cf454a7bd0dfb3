/** The tree of a Lua program, as luaparse gives it: the kinds of nodes that the compiler knows. */
import luaparse from 'luaparse';
import { toBytes } from '../../lib/testing/master/lua.js';

export interface Node {
  readonly loc?: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

export interface Identifier extends Node {
  readonly type: 'Identifier';
  readonly name: string;
}

export interface Call extends Node {
  readonly type: 'CallExpression';
  readonly base: Expression;
  readonly arguments: readonly Expression[];
  /** `(f())`: the first of what it returns. */
  readonly inParens?: boolean;
}

export interface Member extends Node {
  readonly type: 'MemberExpression';
  readonly indexer: '.' | ':';
  readonly base: Expression;
  readonly identifier: Identifier;
}

interface Index extends Node {
  readonly type: 'IndexExpression';
  readonly base: Expression;
  readonly index: Expression;
}

export interface LuaFunction extends Node {
  readonly type: 'FunctionDeclaration';
  /** null where it is an expression. */
  readonly identifier: Expression | null;
  readonly isLocal: boolean;
  readonly parameters: readonly (Identifier | Vararg)[];
  readonly body: readonly Statement[];
}

interface Vararg extends Node {
  readonly type: 'VarargLiteral';
}

interface Literal extends Node {
  readonly type: 'StringLiteral' | 'NumericLiteral' | 'BooleanLiteral' | 'NilLiteral';
  readonly value: string | number | boolean | null;
}

export interface Binary extends Node {
  readonly type: 'LogicalExpression' | 'BinaryExpression';
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
}

export interface Unary extends Node {
  readonly type: 'UnaryExpression';
  readonly operator: string;
  readonly argument: Expression;
}

export type Field =
  | { readonly type: 'TableValue'; readonly value: Expression }
  | { readonly type: 'TableKey'; readonly key: Expression; readonly value: Expression }
  | { readonly type: 'TableKeyString'; readonly key: Identifier; readonly value: Expression };

export interface TableOf extends Node {
  readonly type: 'TableConstructorExpression';
  readonly fields: readonly Field[];
}

export type Expression =
  Identifier | Call | Member | Index | LuaFunction | Vararg | Literal | Binary | Unary | TableOf;

interface Clause extends Node {
  readonly type: 'IfClause' | 'ElseifClause' | 'ElseClause';
  readonly condition?: Expression;
  readonly body: readonly Statement[];
}

export interface Assigning extends Node {
  readonly type: 'LocalStatement' | 'AssignmentStatement';
  readonly variables: readonly Expression[];
  readonly init: readonly Expression[];
}

export interface NumericFor extends Node {
  readonly type: 'ForNumericStatement';
  readonly variable: Identifier;
  readonly start: Expression;
  readonly end: Expression;
  readonly step: Expression | null;
  readonly body: readonly Statement[];
}

export interface GenericFor extends Node {
  readonly type: 'ForGenericStatement';
  readonly variables: readonly Identifier[];
  readonly iterators: readonly Expression[];
  readonly body: readonly Statement[];
}

export type Statement =
  | Assigning
  | LuaFunction
  | NumericFor
  | GenericFor
  | ({ readonly type: 'CallStatement'; readonly expression: Expression } & Node)
  | ({ readonly type: 'IfStatement'; readonly clauses: readonly Clause[] } & Node)
  | ({
      readonly type: 'WhileStatement';
      readonly condition: Expression;
      readonly body: readonly Statement[];
    } & Node)
  | ({ readonly type: 'DoStatement'; readonly body: readonly Statement[] } & Node)
  | ({ readonly type: 'ReturnStatement'; readonly arguments: readonly Expression[] } & Node)
  | ({ readonly type: 'BreakStatement' } & Node);

export function parse(source: string): readonly Statement[] {
  const options = {
    luaVersion: '5.1',
    comments: false,
    locations: true,
    encodingMode: 'pseudo-latin1',
  } as const;
  const chunk = luaparse.parse(toBytes(source), options) as { readonly body: readonly Statement[] }; // it has no types
  return chunk.body;
}

/** The names of variables that are assigned to, in these statements and all functions within them. */
export function assignedIn(nodes: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(nodes)) for (const node of nodes) assignedIn(node, found);
  else if (typeof nodes === 'object' && nodes !== null) {
    const { type, variables } = nodes as Partial<Assigning>; // or another node, which has no such variables
    const targets = type === 'AssignmentStatement' ? (variables ?? []) : [];
    for (const target of targets) if (target.type === 'Identifier') found.add(target.name);
    for (const [name, part] of Object.entries(nodes)) if (name !== 'loc') assignedIn(part, found);
  }
  return found;
}

/** What Lua has and this compiler does not know fails the build: nothing is left out in silence. */
export function refuse(node: object, what: string): never {
  const { loc } = node as Node; // where it was found, which each node knows
  throw new Error(`line ${loc?.start.line ?? '?'}: ${what}`);
}
