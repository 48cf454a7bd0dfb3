/**
 * Which values of a file are a Redlock or a Lock. Followed are: variables, parameters and fields of `this` with the type
 * `Redlock` or `Lock`; variables and fields of `this` whose values in the file are all of one kind, null and undefined aside;
 * `new Redlock`; what `await redlock.acquire(…)` returns; and the parameter of a function within
 * `redlock.acquire(…).then(…)`.
 */
import type { Identifier, Node } from '@babel/types';
import type { Kind, Origins } from './origins.js';
import type { Binding, Scopes } from '../scopes.js';
import {
  bare,
  fieldName,
  isCall,
  isInlineFunction,
  isMember,
  type Member,
  methodOf,
  type Tree,
} from '../tree.js';

/** What a value was seen to be: a kind, something else, now one and now the other, or nothing yet (null, undefined). */
type Seen = Kind | 'else' | 'mixed' | 'nothing';

/** What is written about one field of a class. */
interface Field {
  readonly types: Node[];
  readonly values: Node[];
}

const GRANTING = new Set(['acquire', 'lock', 'acquireWithOptions', 'lockWithOptions', 'extend']);

export class Kinds {
  readonly #tree: Tree;
  readonly #scopes: Scopes;
  readonly #origins: Origins;
  readonly #ofBindings = new Map<Binding, Seen>();
  readonly #ofFields = new Map<Field, Seen>();
  readonly #fields = new Map<Node, Map<string, Field>>();

  constructor(tree: Tree, scopes: Scopes, origins: Origins) {
    this.#tree = tree;
    this.#scopes = scopes;
    this.#origins = origins;
    for (const node of tree.nodes) this.#noteField(node);
  }

  /** Of the value of an expression. */
  of(node: Node): Kind | undefined {
    return kindIn(this.#see(node));
  }

  /** Whether it is of a kind at times only, so that it is not followed. */
  isMixed(node: Node): boolean {
    return this.#see(node) === 'mixed';
  }

  /** Of what the promise resolves with that an expression returns. */
  promisedBy(node: Node): Kind | undefined {
    return kindIn(this.#seePromised(bare(node)));
  }

  isClass(node: Node): boolean {
    return node.type === 'Identifier' && this.#origins.meaningOf(this.#scopes.bindingOf(node)) === 'class';
  }

  /** Of a type, as in an annotation. */
  ofType(type: Node): Kind | undefined {
    switch (type.type) {
      case 'TSTypeAnnotation':
      case 'TSParenthesizedType':
        return this.ofType(type.typeAnnotation);
      case 'TSUnionType': {
        const kinds = type.types.filter((one) => !isEmptyType(one)).map((one) => this.ofType(one));
        return kinds.every((kind) => kind === kinds[0]) ? kinds[0] : undefined;
      }
      case 'TSImportType':
        return this.#origins.kindOfImport(type);
      case 'TSTypeReference': {
        const { typeName } = type;
        if (typeName.type === 'TSQualifiedName')
          return this.isClass(typeName.left) && typeName.right.name === 'Lock' ? 'lock' : undefined;
        return typeName.type === 'Identifier' ? this.#ofTypeName(typeName) : undefined;
      }
      default:
        return undefined;
    }
  }

  #ofTypeName(name: Identifier): Kind | undefined {
    const meaning = this.#origins.meaningOf(this.#scopes.bindingOf(name));
    if (meaning === 'class') return 'redlock';
    return meaning === 'lock' ? 'lock' : undefined;
  }

  #see(node: Node): Seen {
    if (node.type === 'TSAsExpression' || node.type === 'TSTypeAssertion') {
      const kind = this.ofType(node.typeAnnotation);
      if (kind !== undefined) return kind;
    }
    const value = bare(node);
    switch (value.type) {
      case 'NullLiteral':
        return 'nothing';
      case 'Identifier':
        return this.#seeName(value);
      case 'NewExpression':
        return this.isClass(value.callee) ? 'redlock' : 'else';
      case 'AwaitExpression':
        return this.#seePromised(bare(value.argument));
      case 'AssignmentExpression':
        return this.#see(value.right);
      case 'LogicalExpression':
        return combined([this.#see(value.left), this.#see(value.right)]);
      case 'ConditionalExpression':
        return combined([this.#see(value.consequent), this.#see(value.alternate)]);
      default:
        return isMember(value) ? this.#seeMember(value) : 'else';
    }
  }

  #seePromised(promise: Node): Seen {
    const { object, name } = (isCall(promise) ? methodOf(promise) : undefined) ?? {};
    if (object === undefined || name === undefined || !GRANTING.has(name)) return 'else';
    const seen = this.#see(object);
    if (seen === 'redlock' || (seen === 'lock' && name === 'extend')) return 'lock';
    return seen === 'nothing' ? seen : 'else';
  }

  #seeName(name: Identifier): Seen {
    const binding = this.#scopes.bindingOf(name);
    if (binding === undefined) return name.name === 'undefined' ? 'nothing' : 'else';
    const seen = this.#ofBindings.get(binding);
    if (seen !== undefined) return seen;
    this.#ofBindings.set(binding, 'nothing'); // as long as its own values are looked at, which may use it
    const found = this.#seeBinding(binding);
    this.#ofBindings.set(binding, found);
    return found;
  }

  #seeBinding({ id, by, references }: Binding): Seen {
    if (saysMore(id.typeAnnotation)) return this.ofType(id.typeAnnotation) ?? 'else';
    if (isInlineFunction(by)) return this.#isGranted(id, by) ? 'lock' : 'else';
    if (by.type !== 'VariableDeclarator' || by.id !== id) return 'else';
    const declared = by.init ? [by.init] : [];
    const assigned = references.flatMap((reference) => {
      const parent = this.#tree.parentOf(reference);
      return parent?.type === 'AssignmentExpression' && parent.left === reference ? [parent.right] : [];
    });
    return combined([...declared, ...assigned].map((value) => this.#see(value)));
  }

  /** The parameter of a function that `.then` calls with a lock. */
  #isGranted(id: Identifier, by: Node): boolean {
    const parent = this.#tree.parentOf(by);
    if (!isInlineFunction(by) || by.params[0] !== id || parent === undefined || !isCall(parent)) return false;
    const { object, name } = methodOf(parent) ?? {};
    if (object === undefined || name !== 'then' || parent.arguments[0] !== by) return false;
    return this.#seePromised(bare(object)) === 'lock';
  }

  #seeMember(member: Member): Seen {
    const field = this.#fieldOf(member);
    if (field === undefined) return 'else';
    const seen = this.#ofFields.get(field);
    if (seen !== undefined) return seen;
    this.#ofFields.set(field, 'nothing');
    const { types, values } = field;
    const found =
      types.length > 0
        ? combined(types.map((type) => this.ofType(type) ?? 'else'))
        : combined(values.map((value) => this.#see(value)));
    this.#ofFields.set(field, found);
    return found;
  }

  #noteField(node: Node): void {
    switch (node.type) {
      case 'ClassProperty':
      case 'ClassAccessorProperty':
      case 'ClassPrivateProperty': {
        const name = node.key.type === 'PrivateName' ? `#${node.key.id.name}` : nameOf(node.key);
        const type = 'typeAnnotation' in node ? node.typeAnnotation : undefined;
        this.#note(this.#classAround(node), name, type, node.value);
        break;
      }
      case 'TSParameterProperty': {
        const { parameter } = node;
        const id = parameter.type === 'AssignmentPattern' ? parameter.left : parameter;
        if (id.type === 'Identifier')
          this.#note(this.#classAround(node), id.name, id.typeAnnotation, undefined);
        break;
      }
      case 'AssignmentExpression': {
        const { left } = node;
        if (isMember(left) && left.object.type === 'ThisExpression')
          this.#note(this.#classAround(left), fieldName(left), undefined, node.right);
        break;
      }
      default:
        break;
    }
  }

  #note(
    owner: Node | undefined,
    name: string | undefined,
    type: Node | null | undefined,
    value: Node | null | undefined,
  ): void {
    if (owner === undefined || name === undefined) return;
    const fields = this.#fields.get(owner) ?? new Map<string, Field>();
    this.#fields.set(owner, fields);
    const field = fields.get(name) ?? { types: [], values: [] };
    fields.set(name, field);
    if (saysMore(type)) field.types.push(type);
    if (value) field.values.push(value);
  }

  #fieldOf(member: Member): Field | undefined {
    const name = fieldName(member);
    if (member.object.type !== 'ThisExpression' || name === undefined) return undefined;
    const owner = this.#classAround(member);
    return owner === undefined ? undefined : this.#fields.get(owner)?.get(name);
  }

  /** The class whose objects `this` means there. */
  #classAround(node: Node): Node | undefined {
    for (const above of this.#tree.ancestorsOf(node)) {
      switch (above.type) {
        case 'ClassDeclaration':
        case 'ClassExpression':
          return above;
        case 'FunctionDeclaration':
        case 'FunctionExpression':
        case 'ObjectMethod':
          return undefined;
        default:
          break;
      }
    }
    return undefined;
  }
}

/** Whether there is a type, and it is not `any`. */
function saysMore(type: Node | null | undefined): type is Node {
  if (!type) return false;
  return type.type !== 'TSTypeAnnotation' || type.typeAnnotation.type !== 'TSAnyKeyword';
}

function nameOf(key: Node): string | undefined {
  return key.type === 'Identifier' ? key.name : undefined;
}

function isEmptyType({ type }: Node): boolean {
  return type === 'TSNullKeyword' || type === 'TSUndefinedKeyword';
}

function kindIn(seen: Seen): Kind | undefined {
  return seen === 'redlock' || seen === 'lock' ? seen : undefined;
}

function combined(all: readonly Seen[]): Seen {
  const [first = 'nothing', ...others] = all.filter((seen) => seen !== 'nothing');
  return others.every((seen) => seen === first) ? first : 'mixed';
}
