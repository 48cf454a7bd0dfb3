/** Statements of Lua as statements of JavaScript. */
import { type Code, declared, Expressions } from './expressions.js';
import { Frame, type Kind, type Variable } from './names.js';
import {
  type Assigning,
  type Expression,
  type GenericFor,
  type LuaFunction,
  type NumericFor,
  parse,
  refuse,
  type Statement,
} from './tree.js';

export class Compiler extends Expressions {
  /** @returns the body of the function that runs the script */
  script(source: string): string {
    this.shared.begin();
    this.frame = new Frame(undefined, undefined);
    for (const name of ['KEYS', 'ARGV'])
      this.frame.declare(name, { id: name, isShared: true, isFixed: true });
    const body = this.block(parse(source));
    return `${declared(this.frame)}${body}`;
  }

  protected block(body: readonly Statement[]): string {
    return this.frame.within(() => body.map((statement) => this.#statement(statement)).join(''));
  }

  #statement(node: Statement): string {
    switch (node.type) {
      case 'LocalStatement':
        return this.#local(node);
      case 'AssignmentStatement':
        return this.#assignment(node);
      case 'FunctionDeclaration':
        return this.#declaration(node);
      case 'CallStatement':
        return `${this.values(node.expression).code};\n`;
      case 'IfStatement':
        return `${node.clauses.map((clause) => this.#clause(clause)).join(' else ')}\n`;
      case 'DoStatement':
        return `{\n${this.block(node.body)}}\n`;
      case 'WhileStatement': {
        const condition = this.condition(node.condition);
        return `while (${condition}) {\n${this.#loop(() => this.block(node.body))}}\n`;
      }
      case 'ForNumericStatement':
        return this.#loop(() => this.#numericFor(node));
      case 'ForGenericStatement':
        return this.#genericFor(node);
      case 'BreakStatement':
        return 'break;\n';
      case 'ReturnStatement':
        return this.#return(node.arguments);
      default:
        return refuse(node, `${(node as Statement).type} is not supported`);
    }
  }

  #clause({
    body,
    condition,
  }: {
    readonly condition?: Expression;
    readonly body: readonly Statement[];
  }): string {
    const asked = condition === undefined ? '' : `if (${this.condition(condition)}) `;
    return `${asked}{\n${this.block(body)}}`;
  }

  #loop<T>(compile: () => T): T {
    this.frame.loops++;
    const made = compile();
    this.frame.loops--;
    return made;
  }

  #return(values: readonly Expression[]): string {
    const [first] = values;
    if (first === undefined) {
      this.frame.returned.push('any');
      return 'return;\n';
    }
    if (values.length > 1) {
      this.frame.returned.push('many');
      return `return [${this.list(values)}];\n`;
    }
    const { code, kind } = this.values(first);
    this.frame.returned.push(kind);
    return `return ${code};\n`;
  }

  #declaration(node: LuaFunction): string {
    const { identifier } = node;
    if (!node.isLocal || identifier?.type !== 'Identifier')
      return refuse(node, 'a function that is not local');
    const made = this.function(node, identifier.name);
    if ('id' in made) {
      this.frame.declare(identifier.name, made);
      return '';
    }
    const { id } = this.frame.declareOwn(identifier.name, { isFixed: true, returns: made.returns });
    return `const ${id} = ${made.code};\n`;
  }

  #local({ init, variables }: Assigning): string {
    const names = variables.map((one) => (one.type === 'Identifier' ? one.name : refuse(one, 'no name')));
    const [before, values, kinds] = this.#worked(init, names.length);
    const made = names.map((name, i) => this.#declared(name, kinds[i]));
    const isShared = made.some((one) => one.isShared);
    const parts = made.map(({ id }, i) =>
      isShared || values[i] !== undefined ? `${id} = ${values[i]}` : id,
    );
    return `${before}${isShared ? '' : 'let '}${parts.join(isShared ? '; ' : ', ')};\n`;
  }

  /** What the script declares outside of loops is the module's. */
  #declared(name: string, kind: Kind = 'any'): Variable {
    const { frame } = this;
    if (!frame.isScript && !frame.assigned.has(name)) return frame.declareOwn(name, { kind });
    if (!frame.isScript || frame.loops > 0) return frame.declareOwn(name);
    return frame.declare(name, this.shared.variable(name));
  }

  #assignment({ init, variables }: Assigning): string {
    const [target, ...more] = variables;
    const [value] = init;
    if (target !== undefined && more.length === 0 && value !== undefined && init.length === 1)
      return this.#set(target, this.value(value).code);
    const [before, values] = this.#worked(init, variables.length);
    const held = values.map(() => this.frame.temporary());
    const kept = held.map((id, i) => `${id} = ${values[i]};\n`).join('');
    const set = variables.map((one, i) => this.#set(one, held[i] ?? 'undefined'));
    return `${before}${kept}${set.join('')}`;
  }

  #set(target: Expression, value: string): string {
    if (target.type === 'Identifier') {
      const found = this.frame.find(target.name) ?? refuse(target, `${target.name} is no local variable`);
      if (found.isFixed) refuse(target, `${target.name} cannot be set`);
      return `${found.id} = ${value};\n`;
    }
    if (target.type === 'IndexExpression')
      return `lua.put(${this.value(target.base).code}, ${this.value(target.index).code}, ${value});\n`;
    if (target.type !== 'MemberExpression') return refuse(target, 'it cannot be set');
    return `lua.put(${this.value(target.base).code}, ${JSON.stringify(target.identifier.name)}, ${value});\n`;
  }

  /** @returns what comes before, an expression for each of so many values (undefined is one that is missing), and their kinds */
  #worked(
    nodes: readonly Expression[],
    wanted: number,
  ): readonly [before: string, values: readonly (string | undefined)[], kinds: readonly Kind[]] {
    const codes: Code[] = nodes.map((node, i) =>
      i < nodes.length - 1 ? this.value(node) : this.values(node),
    );
    const last = codes.at(-1);
    if (codes.length > wanted) refuse(nodes[0] ?? {}, 'more values than variables');
    const missing = Array.from({ length: wanted - codes.length }, () => undefined);
    const kinds = codes.map(({ kind }) => (kind === 'many' ? 'any' : kind));
    if (last?.kind !== 'many') return ['', [...codes.map(({ code }) => code), ...missing], kinds];
    const before = codes.slice(0, -1).map(({ code }) => code);
    if (missing.length === 0) return ['', [...before, `lua.one(${last.code})`], kinds];
    const held = this.frame.temporary();
    const rest = [undefined, ...missing].map((_, i) => `${held}[${i}]`);
    const [first, ...others] = [...before, ...rest];
    // what comes first is worked out first
    const all = last.code === 'rest' ? 'rest' : `lua.all(${last.code})`;
    if (before.length === 0) return [`${held} = ${all};\n`, [first, ...others], kinds];
    const kept = before.map(() => this.frame.temporary());
    const steps = [...before.map((code, i) => `${kept[i]} = ${code};\n`), `${held} = ${all};\n`];
    return [steps.join(''), [...kept, ...rest], kinds];
  }

  #numericFor({ body, end, start, step, variable }: NumericFor): string {
    if (step !== null && step.type !== 'NumericLiteral') refuse(step, 'a step that is worked out');
    const [from, to, by] = [this.number(start), this.number(end), step === null ? 1 : Number(step.value)];
    if (by <= 0) refuse(start, 'a loop that counts down');
    return this.frame.within(() => {
      const { id } = this.frame.declareOwn(variable.name, { isFixed: true, kind: 'number' });
      const last = this.frame.unused('end$');
      return `for (let ${id} = ${from}, ${last} = ${to}; ${id} <= ${last}; ${id} += ${by}) {\n${this.block(body)}}\n`;
    });
  }

  #genericFor({ body, iterators, variables }: GenericFor): string {
    const [call] = iterators;
    if (call?.type !== 'CallExpression') return refuse(variables[0] ?? {}, 'an iterator of its own');
    const made = iteratorOf(call.base);
    const [over, pattern] = call.arguments;
    if (over === undefined || this.frame.find(made.split('.')[0] ?? '') !== undefined)
      return refuse(call, 'an iterator of its own');
    const table = this.value(over).code;
    return this.#loop(() =>
      this.frame.within(() => {
        const ids = variables.map(({ name }) => this.frame.declareOwn(name, { isFixed: true }).id);
        if (made === 'ipairs') return this.#inOrder(table, ids, body);
        if (made === 'pairs')
          return `for (const [${ids.join(', ')}] of library.pairs(${table})) {\n${this.block(body)}}\n`;
        if (made !== 'string.gmatch' || pattern === undefined) return refuse(call, `${made} as an iterator`);
        const { id } = this.pattern(pattern, 'g');
        return `for (const [${ids.join(', ')}] of library.gmatch(${table}, ${id})) {\n${this.block(body)}}\n`;
      }),
    );
  }

  #inOrder(table: string, ids: readonly string[], body: readonly Statement[]): string {
    const over = this.frame.unused('list$');
    const [place = '', value = this.frame.unused('value$')] = ids;
    const next = `(${value} = lua.index(${over}, ${place})) !== undefined`;
    return `for (let ${over} = ${table}, ${place} = 1, ${value}; ${next}; ${place}++) {\n${this.block(body)}}\n`;
  }
}

function iteratorOf(base: Expression): string {
  if (base.type === 'Identifier') return base.name;
  if (base.type !== 'MemberExpression' || base.base.type !== 'Identifier')
    return refuse(base, 'an iterator of its own');
  return `${base.base.name}.${base.identifier.name}`;
}
