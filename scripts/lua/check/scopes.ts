/** Which names a file of Lua declares, and which it uses: what the rules ask. */
import {
  type Expression,
  type Identifier,
  type LuaFunction,
  type Node,
  parse,
  type Statement,
} from '../tree.js';

export interface Declared {
  readonly name: string;
  readonly line: number;
  readonly kind: 'local' | 'parameter' | 'function' | 'loop variable';
  /** It is declared at the top of the file, where other files see it. */
  readonly isOuter: boolean;
  isUsed: boolean;
}

export interface Body {
  readonly name: string;
  readonly line: number;
  /** Without functions within it. */
  readonly lines: number;
  readonly depth: number;
}

export interface Findings {
  readonly declared: readonly Declared[];
  /** Names of other files, and the lines where they are used first. */
  readonly free: ReadonlyMap<string, number>;
  /** Variables that hide another of the same function, and the lines. */
  readonly hiding: readonly (readonly [name: string, line: number])[];
  /** Functions, and the file itself. */
  readonly bodies: readonly Body[];
  /** It does something as it stands there, beside declaring. */
  readonly isActing: boolean;
}

type Scope = Map<string, Declared>;

export function findingsIn(text: string): Findings {
  const reader = new Reader();
  const body = parse(text);
  reader.file(body, text.split('\n').filter((line) => /^\s*(?!--)\S/.test(line)).length);
  const isActing = body.some(({ type }) => type !== 'LocalStatement' && type !== 'FunctionDeclaration');
  const { bodies, declared, free, hiding } = reader;
  return { bodies, declared, free, hiding, isActing };
}

/** What a function is known by as it is read. */
interface Reading {
  readonly scopes: Scope[];
  depth: number;
  deepest: number;
  /** Lines of functions within it. */
  inner: number;
}

class Reader {
  readonly declared: Declared[] = [];
  readonly free = new Map<string, number>();
  readonly hiding: (readonly [string, number])[] = [];
  readonly bodies: Body[] = [];
  readonly #functions: Reading[] = [];

  file(body: readonly Statement[], lines: number): void {
    const reading = this.#within(() => this.#block(body));
    this.bodies.push({ name: 'the file', line: 1, lines: lines - reading.inner, depth: reading.deepest });
  }

  #within(read: () => void): Reading {
    const reading: Reading = { scopes: [], depth: 0, deepest: 0, inner: 0 };
    this.#functions.push(reading);
    read();
    this.#functions.pop();
    return reading;
  }

  #block(body: readonly Statement[], declare: () => void = () => undefined): void {
    const reading = this.#here();
    reading.scopes.push(new Map());
    reading.deepest = Math.max(reading.deepest, ++reading.depth - 1);
    declare();
    for (const statement of body) this.#statement(statement);
    reading.depth--;
    reading.scopes.pop();
  }

  #here(): Reading {
    const reading = this.#functions.at(-1);
    if (reading === undefined) throw new Error('outside of the file');
    return reading;
  }

  #declare({ loc, name }: Identifier, kind: Declared['kind']): void {
    const { scopes } = this.#here();
    const line = loc?.start.line ?? 0;
    if (name !== '_' && scopes.some((scope) => scope.has(name))) this.hiding.push([name, line]);
    const isOuter = this.#functions.length === 1 && scopes.length === 1;
    const declared: Declared = { name, line, kind, isOuter, isUsed: name === '_' };
    scopes.at(-1)?.set(name, declared);
    this.declared.push(declared);
  }

  #use({ loc, name }: Identifier): void {
    for (const { scopes } of this.#functions.toReversed()) {
      const found = scopes
        .toReversed()
        .find((scope) => scope.has(name))
        ?.get(name);
      if (found === undefined) continue;
      found.isUsed = true;
      return;
    }
    if (!this.free.has(name)) this.free.set(name, loc?.start.line ?? 0);
  }

  #statement(node: Statement): void {
    switch (node.type) {
      case 'LocalStatement':
        this.#all(node.init);
        for (const one of node.variables) if (one.type === 'Identifier') this.#declare(one, 'local');
        return;
      case 'AssignmentStatement':
        this.#all(node.init);
        return this.#all(node.variables);
      case 'FunctionDeclaration':
        if (node.identifier?.type === 'Identifier') this.#declare(node.identifier, 'function');
        return this.#function(node);
      case 'CallStatement':
        return this.#expression(node.expression);
      case 'IfStatement':
        for (const { body, condition } of node.clauses) {
          if (condition !== undefined) this.#expression(condition);
          this.#block(body);
        }
        return;
      case 'WhileStatement':
        this.#expression(node.condition);
        return this.#block(node.body);
      case 'ForNumericStatement':
        this.#all([node.start, node.end, ...(node.step === null ? [] : [node.step])]);
        return this.#block(node.body, () => this.#declare(node.variable, 'loop variable'));
      case 'ForGenericStatement':
        this.#all(node.iterators);
        return this.#block(node.body, () => {
          for (const one of node.variables) this.#declare(one, 'loop variable');
        });
      case 'DoStatement':
        return this.#block(node.body);
      case 'ReturnStatement':
        return this.#all(node.arguments);
      case 'BreakStatement':
        return undefined;
      default:
        return undefined;
    }
  }

  #function(node: LuaFunction): void {
    const reading = this.#within(() =>
      this.#block(node.body, () => {
        for (const one of node.parameters) if (one.type === 'Identifier') this.#declare(one, 'parameter');
      }),
    );
    const lines = linesOf(node);
    this.#here().inner += lines;
    const name = node.identifier?.type === 'Identifier' ? node.identifier.name : 'a function';
    const line = node.loc?.start.line ?? 0;
    this.bodies.push({ name, line, lines: lines - reading.inner, depth: reading.deepest });
  }

  #all(nodes: readonly Expression[]): void {
    for (const node of nodes) this.#expression(node);
  }

  #expression(node: Expression): void {
    switch (node.type) {
      case 'Identifier':
        return this.#use(node);
      case 'FunctionDeclaration':
        return this.#function(node);
      case 'CallExpression':
        this.#expression(node.base);
        return this.#all(node.arguments);
      case 'MemberExpression':
        return this.#expression(node.base);
      case 'IndexExpression':
        return this.#all([node.base, node.index]);
      case 'LogicalExpression':
      case 'BinaryExpression':
        return this.#all([node.left, node.right]);
      case 'UnaryExpression':
        return this.#expression(node.argument);
      case 'TableConstructorExpression':
        for (const field of node.fields) {
          if (field.type === 'TableKey') this.#expression(field.key);
          this.#expression(field.value);
        }
        return;
      default:
        return undefined;
    }
  }
}

function linesOf({ loc }: Node): number {
  return loc === undefined ? 0 : loc.end.line - loc.start.line + 1;
}
