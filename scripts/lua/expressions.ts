/** Expressions of Lua as expressions of JavaScript. */
import { BUILTINS, LIBRARIES, MOST_ARGUMENTS } from './calls.js';
import { Frame, type Kind, type SharedNames, type Variable } from './names.js';
import { translate } from './patterns.js';
import {
  type Binary,
  type Call,
  type Expression,
  type Identifier,
  type LuaFunction,
  type Member,
  assignedIn,
  refuse,
  type Statement,
  type TableOf,
  type Unary,
} from './tree.js';

/** A piece of JavaScript, and what is known of its value. */
export interface Code {
  readonly code: string;
  readonly kind: Kind;
}

const COMPARISONS: Readonly<Record<string, string>> = {
  '<': 'less',
  '<=': 'atMost',
  '>': 'more',
  '>=': 'atLeast',
};
const ARITHMETIC = new Set(['+', '-', '*', '/']);
/** Kinds of values that count as true. */
const TRUE_KINDS = new Set<Kind>(['number', 'string', 'table', 'function']);
const NAME = /^[\w$]+$/;

export abstract class Expressions {
  protected readonly shared: SharedNames;
  /** The commands that the masters in memory have. */
  readonly #commands: ReadonlySet<string>;
  protected frame = new Frame(undefined, undefined);

  constructor(shared: SharedNames, commands: ReadonlySet<string>) {
    this.shared = shared;
    this.#commands = commands;
  }

  protected abstract block(body: readonly Statement[]): string;

  /** One value. */
  value(node: Expression): Code {
    const made = this.values(node);
    return made.kind === 'many' ? { code: `lua.one(${made.code})`, kind: 'any' } : made;
  }

  /** As many values as it has. */
  values(node: Expression): Code {
    switch (node.type) {
      case 'StringLiteral':
        return { code: JSON.stringify(node.value), kind: 'string' };
      case 'NumericLiteral':
        return { code: String(node.value), kind: 'number' };
      case 'BooleanLiteral':
        return { code: String(node.value), kind: 'boolean' };
      case 'NilLiteral':
        return { code: 'undefined', kind: 'any' };
      case 'VarargLiteral':
        if (!this.frame.hasRest) refuse(node, '... outside of its function');
        return { code: 'rest', kind: 'many' };
      case 'Identifier':
        return this.#name(node);
      case 'FunctionDeclaration':
        return { code: this.#within(node).code, kind: 'function' };
      case 'TableConstructorExpression':
        return this.#table(node);
      case 'MemberExpression':
        return this.#member(node);
      case 'IndexExpression':
        return {
          code: `lua.index(${this.value(node.base).code}, ${this.value(node.index).code})`,
          kind: 'any',
        };
      case 'LogicalExpression':
        return this.#logical(node);
      case 'BinaryExpression':
        return this.#binary(node);
      case 'UnaryExpression':
        return this.#unary(node);
      case 'CallExpression':
        return this.#call(node);
      default:
        return refuse(node, `${(node as Expression).type} is not supported`);
    }
  }

  /** Arguments, or the fields of a list: the last of them may be several values. */
  list(nodes: readonly Expression[]): string {
    const parts = nodes.map((node, i) => {
      if (i < nodes.length - 1) return this.value(node).code;
      const { code, kind } = this.values(node);
      if (kind !== 'many') return code;
      return code === 'rest' ? '...rest' : `...lua.all(${code})`;
    });
    return parts.join(', ');
  }

  /** What `if` asks. */
  condition(node: Expression): string {
    if (node.type === 'LogicalExpression') {
      const operator = node.operator === 'and' ? '&&' : '||';
      return `(${this.condition(node.left)} ${operator} ${this.condition(node.right)})`;
    }
    const { code, kind } = this.value(node);
    return kind === 'boolean' ? code : `lua.is(${code})`;
  }

  number(node: Expression): string {
    const { code, kind } = this.value(node);
    return kind === 'number' ? code : `lua.num(${code})`;
  }

  /**
   * A function: one of the module, if it uses no variables of the functions around it.
   * @returns what stands for it there, or its text here
   */
  protected function(node: LuaFunction, name: string): Variable | (Code & { readonly returns: Kind }) {
    const alone = this.#compiled(node, undefined);
    if (!alone.isCapturing) return this.shared.function(name, alone.text, alone.returns);
    return this.#within(node);
  }

  #within(node: LuaFunction): Code & { readonly returns: Kind } {
    const { returns, text } = this.#compiled(node, this.frame);
    return { code: `function ${text}`, kind: 'function', returns };
  }

  #compiled(
    node: LuaFunction,
    outer: Frame | undefined,
  ): { readonly text: string; readonly isCapturing: boolean; readonly returns: Kind } {
    const around = this.frame;
    const hasRest = node.parameters.some(({ type }) => type === 'VarargLiteral');
    const frame = new Frame(around, outer, { assigned: assignedIn(node.body), hasRest });
    this.frame = frame;
    const parameters = node.parameters.map((one) =>
      one.type === 'Identifier' ? frame.declareOwn(one.name).id : '...rest',
    );
    const body = this.block(node.body);
    this.frame = around;
    const text = `(${parameters.join(', ')}) {\n${declared(frame)}${body}}`;
    const isEnding = node.body.at(-1)?.type === 'ReturnStatement';
    return { text, isCapturing: frame.isCapturing, returns: common(frame.returned, isEnding) };
  }

  #name(node: Identifier): Code {
    const found = this.frame.find(node.name) ?? refuse(node, `${node.name} is no local variable`);
    return { code: found.id, kind: found.returns === undefined ? (found.kind ?? 'any') : 'function' };
  }

  #table({ fields }: TableOf): Code {
    const listed = fields.filter(({ type }) => type === 'TableValue').map(({ value }) => value);
    const named = fields.flatMap((field) => {
      if (field.type === 'TableValue') return [];
      const key = field.type === 'TableKey' ? this.value(field.key).code : JSON.stringify(field.key.name);
      return [`[${key}, ${this.value(field.value).code}]`];
    });
    return { code: `lua.table(${[`[${this.list(listed)}]`, ...named].join(', ')})`, kind: 'table' };
  }

  /** A function of a library as a value, or a field. */
  #member(node: Member): Code {
    if (node.indexer !== '.') refuse(node, 'methods are not supported');
    const builtin = BUILTINS[this.#libraryName(node) ?? ''];
    if (builtin !== undefined) return { code: builtin.code, kind: 'function' };
    return {
      code: `lua.index(${this.value(node.base).code}, ${JSON.stringify(node.identifier.name)})`,
      kind: 'any',
    };
  }

  /** As `string.match`; undefined for a field of a variable. */
  #libraryName({ base, identifier }: Member): string | undefined {
    if (base.type !== 'Identifier' || !LIBRARIES.has(base.name)) return undefined;
    return this.frame.find(base.name) === undefined ? `${base.name}.${identifier.name}` : undefined;
  }

  #logical(node: Binary): Code {
    const { left, right } = node;
    const chosen = node.operator === 'or' ? this.#choice(left, right) : undefined;
    if (chosen !== undefined) return chosen;
    const [first, second] = [this.value(left), this.value(right)];
    const isAnd = node.operator === 'and';
    if (first.kind === 'boolean') {
      const kind = second.kind === 'boolean' ? 'boolean' : 'any';
      return { code: `(${first.code} ${isAnd ? '&&' : '||'} ${second.code})`, kind };
    }
    const held = NAME.test(first.code) ? first.code : this.frame.temporary();
    const asked = held === first.code ? held : `${held} = ${first.code}`;
    const [yes, no] = isAnd ? [second.code, held] : [held, second.code];
    return { code: `(lua.is(${asked}) ? ${yes} : ${no})`, kind: 'any' };
  }

  /** `a and b or c` where b counts as true. */
  #choice(left: Expression, right: Expression): Code | undefined {
    if (left.type !== 'LogicalExpression' || left.operator !== 'and') return undefined;
    const yes = this.value(left.right);
    if (!TRUE_KINDS.has(yes.kind)) return undefined;
    const no = this.value(right);
    const kind = yes.kind === no.kind ? yes.kind : 'any';
    return { code: `(${this.condition(left.left)} ? ${yes.code} : ${no.code})`, kind };
  }

  #binary(node: Binary): Code {
    const { left, operator, right } = node;
    if (ARITHMETIC.has(operator))
      return { code: `(${this.number(left)} ${operator} ${this.number(right)})`, kind: 'number' };
    const [first, second] = [this.value(left), this.value(right)];
    if (operator === '==' || operator === '~=') {
      const sign = operator === '==' ? '===' : '!==';
      return { code: `(${first.code} ${sign} ${second.code})`, kind: 'boolean' };
    }
    if (operator === '..') return { code: `(${textOf(first)} + ${textOf(second)})`, kind: 'string' };
    const compare = COMPARISONS[operator] ?? refuse(node, `${operator} is not supported`);
    if (first.kind === 'number' && second.kind === 'number')
      return { code: `(${first.code} ${operator} ${second.code})`, kind: 'boolean' };
    return { code: `lua.${compare}(${first.code}, ${second.code})`, kind: 'boolean' };
  }

  #unary(node: Unary): Code {
    const { argument, operator } = node;
    if (operator === 'not') return { code: `!${this.condition(argument)}`, kind: 'boolean' };
    if (operator === '-') return { code: `(-${this.number(argument)})`, kind: 'number' };
    if (operator === '#') return { code: `lua.length(${this.value(argument).code})`, kind: 'number' };
    return refuse(node, `${operator} is not supported`);
  }

  #call(node: Call): Code {
    const made = this.#called(node);
    return node.inParens === true && made.kind === 'many'
      ? { code: `lua.one(${made.code})`, kind: 'any' }
      : made;
  }

  #called(node: Call): Code {
    const { base } = node;
    if (base.type === 'Identifier') {
      const variable = this.frame.find(base.name);
      if (variable === undefined) return this.#builtin(node, base.name);
      return { code: `${variable.id}(${this.list(node.arguments)})`, kind: variable.returns ?? 'many' };
    }
    const name = base.type === 'MemberExpression' ? this.#libraryName(base) : undefined;
    if (name !== undefined) return this.#builtin(node, name);
    return { code: `${this.value(base).code}(${this.list(node.arguments)})`, kind: 'many' };
  }

  #builtin(node: Call, name: string): Code {
    if (name === 'redis.call' || name === 'redis.pcall') return this.#redis(node, name);
    if (name === 'string.format') return this.#format(node);
    if (name === 'string.find') return this.#find(node);
    if (name === 'string.match' || name === 'string.gsub') return this.#matching(node, name);
    const builtin = BUILTINS[name] ?? refuse(node, `${name} is not supported`);
    const { code, returns, takes } = builtin;
    if (node.arguments.length > (MOST_ARGUMENTS[name] ?? Infinity))
      refuse(node, `${name} with so many arguments`);
    const args =
      takes === 'numbers'
        ? node.arguments.map((one) => this.number(one)).join(', ')
        : this.list(node.arguments);
    return { code: `${code}(${args})`, kind: returns };
  }

  #redis(node: Call, name: 'redis.call' | 'redis.pcall'): Code {
    const [command, ...args] = node.arguments;
    if (command?.type !== 'StringLiteral') {
      const code = `calls.named(${this.list(node.arguments)})`;
      return { code: name === 'redis.call' ? `calls.must(${code})` : code, kind: 'any' };
    }
    const word = String(command.value);
    if (!this.#commands.has(word)) refuse(node, `the masters in memory do not have the command ${word}`);
    const code = `redis.${word}(${this.list(args)})`;
    return { code: name === 'redis.call' ? `calls.must(${code})` : code, kind: 'any' };
  }

  #format(node: Call): Code {
    const [format, number, ...more] = node.arguments;
    if (
      format?.type !== 'StringLiteral' ||
      format.value !== '%.0f' ||
      number === undefined ||
      more.length > 0
    )
      return refuse(node, "string.format takes '%.0f' and a number here");
    return { code: `library.fixed(${this.value(number).code})`, kind: 'string' };
  }

  #find(node: Call): Code {
    const [text, wanted, from, isPlain, ...more] = node.arguments;
    const isWhole = from?.type === 'NumericLiteral' && from.value === 1;
    const isAsIs = isPlain?.type === 'BooleanLiteral' && isPlain.value === true;
    if (text === undefined || wanted === undefined || !isWhole || !isAsIs || more.length > 0)
      return refuse(node, 'string.find takes a text, 1 and true here');
    return { code: `library.find(${this.value(text).code}, ${this.value(wanted).code})`, kind: 'many' };
  }

  #matching(node: Call, name: string): Code {
    const [text, pattern, replacement, ...more] = node.arguments;
    if (text === undefined || pattern === undefined || more.length > 0)
      return refuse(node, `${name} as it is called`);
    if (name === 'string.match') {
      if (replacement !== undefined) refuse(node, 'string.match from a place on');
      const { captures, id } = this.pattern(pattern);
      const kind = captures > 1 ? 'many' : 'any';
      return { code: `library.match(${this.value(text).code}, ${id})`, kind };
    }
    if (replacement?.type !== 'StringLiteral' || String(replacement.value).includes('%'))
      return refuse(node, 'string.gsub takes a text without % as the replacement here');
    const { id } = this.pattern(pattern, 'g');
    const args = [this.value(text).code, id, JSON.stringify(replacement.value)];
    return { code: `library.gsub(${args.join(', ')})`, kind: 'many' };
  }

  /** Patterns are translated here, so each has to stand there as it is. */
  protected pattern(node: Expression, flags = ''): { readonly id: string; readonly captures: number } {
    if (node.type !== 'StringLiteral') return refuse(node, 'a pattern that is worked out');
    const { captures, source } = translate(String(node.value));
    return { captures, id: this.shared.pattern(`/${source}/${flags}s`) };
  }
}

function textOf({ code, kind }: Code): string {
  return kind === 'string' ? code : `lua.text(${code})`;
}

/** What is known of a function's value. Where it ends without a `return`, that is nil. */
function common(kinds: readonly Kind[], isEnding: boolean): Kind {
  const [first = 'any'] = kinds;
  if (kinds.includes('many')) return 'many';
  return isEnding && kinds.every((kind) => kind === first) ? first : 'any';
}

export function declared({ temporaries }: Frame): string {
  return temporaries.length === 0 ? '' : `let ${temporaries.join(', ')};\n`;
}
