/**
 * Names: which variable of JavaScript stands for which of Lua.
 *
 * All scripts become one module. What a script declares at its top level is a variable of that module, set anew whenever
 * the script runs: one script runs at a time, so they share those of one name. A function that uses nothing but such
 * variables stands in the module once, however many scripts have it.
 */

/** What is known of an expression; `many`: a call that may return several values, as an array. */
export type Kind = 'any' | 'number' | 'string' | 'boolean' | 'table' | 'function' | 'many';

export interface Variable {
  readonly id: string;
  /** It is one of the module's. */
  readonly isShared: boolean;
  /** It may not be assigned to: a function, or what a loop counts. */
  readonly isFixed: boolean;
  /** What it returns, if it is a function. */
  readonly returns?: Kind;
  /** What it always is. */
  readonly kind?: Kind;
}

/** Names that mean something else in JavaScript, or to the module. */
const TAKEN_NAMES = new Set(
  'arguments await break case catch class const continue debugger default delete enum eval export extends false finally for function if import in instanceof let lua library new null redis rest return static super switch this throw try typeof undefined var void while with yield Math KEYS ARGV calls programs run'.split(
    ' ',
  ),
);

/** One function of Lua, or the script itself, while it is compiled. */
export class Frame {
  readonly parent: Frame | undefined;
  readonly hasRest: boolean;
  /** It uses variables of the functions around it. */
  isCapturing = false;
  /** Loops that are open: what is declared within is no variable of the module. */
  loops = 0;
  /** Names that are assigned to in it: of others it is known what they are. */
  readonly assigned: ReadonlySet<string>;
  /** Kinds of what it returns. */
  readonly returned: Kind[] = [];
  readonly temporaries: string[] = [];
  readonly #scopes = [new Map<string, Variable>()];
  readonly #counts: Map<string, number>;

  /** @param outer  whose names must not be hidden */
  constructor(
    parent: Frame | undefined,
    outer: Frame | undefined,
    { assigned = new Set(), hasRest = false }: { assigned?: ReadonlySet<string>; hasRest?: boolean } = {},
  ) {
    this.parent = parent;
    this.assigned = assigned;
    this.hasRest = hasRest;
    this.#counts = new Map(outer === undefined ? [] : outer.#counts);
  }

  get isScript(): boolean {
    return this.parent === undefined;
  }

  within<T>(compile: () => T): T {
    this.#scopes.push(new Map());
    const made = compile();
    this.#scopes.pop();
    return made;
  }

  declare(name: string, variable: Variable): Variable {
    this.#scopes.at(-1)?.set(name, variable);
    return variable;
  }

  /** A variable of this function. */
  declareOwn(name: string, known: Partial<Pick<Variable, 'isFixed' | 'kind' | 'returns'>> = {}): Variable {
    return this.declare(name, { id: this.#unused(name), isShared: false, isFixed: false, ...known });
  }

  temporary(): string {
    const id = this.#unused('t$');
    this.temporaries.push(id);
    return id;
  }

  /** For a part of a statement. */
  unused(name: string): string {
    return this.#unused(name);
  }

  find(name: string): Variable | undefined {
    for (const scope of this.#scopes.toReversed()) if (scope.has(name)) return scope.get(name);
    const found = this.parent?.find(name);
    if (found !== undefined && !found.isShared) this.isCapturing = true;
    return found;
  }

  #unused(name: string): string {
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    const id = TAKEN_NAMES.has(name) ? `${name}_` : name;
    return count === 0 ? id : `${id}$${count}`;
  }
}

/** What all scripts share: variables, functions and patterns of the module. */
export class SharedNames {
  readonly variables: string[] = [];
  /** Each with its text. */
  readonly functions = new Map<string, string>();
  readonly patterns = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  readonly #used = new Set<string>();
  #declared = new Map<string, number>();

  /** Another script begins: it may use the variables of those before it. */
  begin(): void {
    this.#declared = new Map();
  }

  variable(name: string): Variable {
    const count = this.#declared.get(name) ?? 0;
    this.#declared.set(name, count + 1);
    const key = `variable ${name} ${count}`;
    const isNew = !this.#ids.has(key);
    const id = this.#id(key, name);
    if (isNew) this.variables.push(id);
    return { id, isShared: true, isFixed: false };
  }

  /** @param text  its parameters and its body */
  function(name: string, text: string, returns: Kind): Variable {
    const id = this.#id(`function ${name} ${text}`, name);
    this.functions.set(id, text);
    return { id, isShared: true, isFixed: true, returns };
  }

  /** @param expression  with its flags */
  pattern(expression: string): string {
    const id = this.patterns.get(expression) ?? `$${this.patterns.size + 1}`;
    this.patterns.set(expression, id);
    return id;
  }

  #id(key: string, name: string): string {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    let id = `$${name}`;
    for (let n = 1; this.#used.has(id); n++) id = `$${name}$${n}`;
    this.#used.add(id);
    this.#ids.set(key, id);
    return id;
  }
}
