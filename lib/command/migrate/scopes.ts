/** Which declaration a name in a file refers to: names of values and of types, by the scopes of the language. */
import type { Identifier, Node } from '@babel/types';
import type { Tree } from './tree.js';

/** A name that the file declares. */
export interface Binding {
  readonly name: string;
  /** The name in its declaration. */
  readonly id: Identifier;
  /** The declarator, function, class, clause or specifier that declares it. */
  readonly by: Node;
  /** Where the name is used. */
  readonly references: Identifier[];
}

interface Scope {
  readonly isOfFunction: boolean;
  readonly parent: Scope | undefined;
  readonly names: Map<string, Binding>;
}

const OF_FUNCTIONS = new Set<Node['type']>([
  ...(['Program', 'FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'] as const),
  ...(['ObjectMethod', 'ClassMethod', 'ClassPrivateMethod', 'StaticBlock', 'TSModuleBlock'] as const),
  // their parameters are names as well, which hide others
  ...(['TSDeclareFunction', 'TSDeclareMethod', 'TSFunctionType', 'TSConstructorType'] as const),
  ...(['TSMethodSignature', 'TSCallSignatureDeclaration', 'TSConstructSignatureDeclaration'] as const),
]);
const OF_BLOCKS = new Set<Node['type']>([
  ...(['BlockStatement', 'ForStatement', 'ForInStatement', 'ForOfStatement', 'SwitchStatement'] as const),
  ...(['CatchClause', 'ClassDeclaration', 'ClassExpression'] as const),
]);

export class Scopes {
  readonly bindings: Binding[] = [];
  readonly #tree: Tree;
  readonly #scopes = new Map<Node, Scope>();
  readonly #ofIdentifiers = new Map<Identifier, Binding>();

  constructor(tree: Tree) {
    this.#tree = tree;
    for (const node of tree.nodes) this.#openScope(node);
    for (const node of tree.nodes) this.#declare(node);
    for (const node of tree.nodes) if (node.type === 'Identifier') this.#refer(node);
  }

  /** Of a name where it is declared or used; undefined for names that the file does not declare. */
  bindingOf(identifier: Identifier): Binding | undefined {
    return this.#ofIdentifiers.get(identifier);
  }

  /** Whether the file declares the name anywhere. */
  declares(name: string): boolean {
    return this.bindings.some((binding) => binding.name === name);
  }

  #openScope(node: Node): void {
    const isOfFunction = OF_FUNCTIONS.has(node.type);
    if (!isOfFunction && !OF_BLOCKS.has(node.type)) return;
    this.#scopes.set(node, { isOfFunction, parent: this.#around(node), names: new Map() });
  }

  #around(node: Node): Scope | undefined {
    for (const above of this.#tree.ancestorsOf(node)) {
      const scope = this.#scopes.get(above);
      if (scope !== undefined) return scope;
    }
    return undefined;
  }

  #declare(node: Node): void {
    const own = this.#scopes.get(node);
    const around = this.#around(node);
    if ('params' in node && own?.isOfFunction === true) {
      for (const param of node.params) this.#bindAll(param, node, own);
    } else if ('parameters' in node && own?.isOfFunction === true) {
      for (const param of listOf(node.parameters)) this.#bindAll(param, node, own);
    }
    switch (node.type) {
      case 'VariableDeclarator': {
        const declaration = this.#tree.parentOf(node);
        const isVar = declaration?.type === 'VariableDeclaration' && declaration.kind === 'var';
        this.#bindAll(node.id, node, isVar ? functionScope(around) : around);
        break;
      }
      case 'FunctionExpression':
      case 'ClassExpression':
        if (node.id) this.#bindAll(node.id, node, own);
        break;
      case 'CatchClause':
        if (node.param) this.#bindAll(node.param, node, own);
        break;
      case 'FunctionDeclaration':
      case 'ClassDeclaration':
      case 'TSDeclareFunction':
      case 'TSEnumDeclaration':
      case 'TSInterfaceDeclaration':
      case 'TSTypeAliasDeclaration':
      case 'TSImportEqualsDeclaration':
        if (node.id) this.#bindAll(node.id, node, around);
        break;
      case 'ImportSpecifier':
      case 'ImportDefaultSpecifier':
      case 'ImportNamespaceSpecifier':
        this.#bindAll(node.local, node, around);
        break;
      default:
        break;
    }
  }

  #bindAll(pattern: Node, by: Node, scope: Scope | undefined): void {
    if (scope === undefined) return;
    for (const id of namesIn(pattern)) {
      const binding = scope.names.get(id.name) ?? { name: id.name, id, by, references: [] };
      if (binding.id === id) this.bindings.push(binding);
      scope.names.set(id.name, binding);
      this.#ofIdentifiers.set(id, binding);
    }
  }

  #refer(identifier: Identifier): void {
    const parent = this.#tree.parentOf(identifier);
    if (this.#ofIdentifiers.has(identifier) || parent === undefined || !isReference(identifier, parent))
      return;
    for (let scope = this.#around(identifier); scope !== undefined; scope = scope.parent) {
      const binding = scope.names.get(identifier.name);
      if (binding === undefined) continue;
      binding.references.push(identifier);
      this.#ofIdentifiers.set(identifier, binding);
      return;
    }
  }
}

function listOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? (value as readonly Node[]) : []; // parameters of a type, in the trees of @babel/parser 7
}

function functionScope(scope: Scope | undefined): Scope | undefined {
  return scope === undefined || scope.isOfFunction ? scope : functionScope(scope.parent);
}

/** The names that a pattern declares. */
function namesIn(pattern: Node): readonly Identifier[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        namesIn(property.type === 'RestElement' ? property.argument : property.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : namesIn(element)));
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'RestElement':
      return namesIn(pattern.argument);
    case 'TSParameterProperty':
      return namesIn(pattern.parameter);
    default:
      return [];
  }
}

/** Whether it refers to a value or a type, and is not the name of a property, a label or the like. */
function isReference(identifier: Identifier, parent: Node): boolean {
  switch (parent.type) {
    case 'MemberExpression':
    case 'OptionalMemberExpression':
      return parent.object === identifier || parent.computed;
    case 'ObjectProperty':
    case 'ClassProperty':
    case 'ClassAccessorProperty':
      return parent.key !== identifier || parent.computed;
    case 'ObjectMethod':
    case 'ClassMethod':
    case 'TSDeclareMethod':
    case 'TSPropertySignature':
    case 'TSMethodSignature':
      return parent.computed;
    case 'TSQualifiedName':
      return parent.left === identifier;
    case 'ExportSpecifier':
      return parent.local === identifier;
    case 'ImportSpecifier':
    case 'ExportNamespaceSpecifier':
    case 'LabeledStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
    case 'MetaProperty':
    case 'PrivateName':
    case 'TSEnumMember':
    case 'TSImportType':
    case 'TSNamedTupleMember':
    case 'ImportAttribute':
      return false;
    default:
      return true;
  }
}
