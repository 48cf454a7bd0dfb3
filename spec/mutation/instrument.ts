/**
 * Builds all mutants of a file into it. Each stands beside the right code, behind the question whether it is at work:
 * `mutant(17) ? wrong : right`. So one bundle has all of them, and which one is at work is decided as it runs.
 */
import ts from 'typescript5';
import { editsOf, placeholder, type Edit } from './lua-mutants.js';
import { brief, type Mutant } from './mutant.js';
import { type Change, changesTo } from './typescript-mutants.js';

export type Rules = 'typescript' | 'lua';

export interface Instrumented {
  readonly text: string;
  /** The first has the number that was asked for. */
  readonly mutants: readonly Mutant[];
}

interface Switch {
  readonly id: number;
  readonly text: string;
}

type Template = ts.TemplateExpression | ts.NoSubstitutionTemplateLiteral;

/** @param firstId  the number of its first mutant @param rules  which mutants are made */
export function instrument(
  file: string,
  contents: string,
  terms: { readonly firstId: number; readonly rules: Rules },
): Instrumented {
  const instrumenter = new Instrumenter(file, contents, terms.firstId);
  if (terms.rules === 'lua') instrumenter.changeTemplates();
  else for (const change of changesTo(instrumenter.source)) instrumenter.change(change);
  return { text: instrumenter.emit(instrumenter.source), mutants: instrumenter.mutants };
}

class Instrumenter {
  readonly source: ts.SourceFile;
  readonly mutants: Mutant[] = [];
  readonly #firstId: number;
  readonly #switches = new Map<ts.Node, Switch[]>();
  readonly #edits = new Map<Template, (Edit & { readonly id: number })[]>();
  readonly #seen = new Map<string, number>();

  constructor(file: string, contents: string, firstId: number) {
    this.source = ts.createSourceFile(file, contents, ts.ScriptTarget.ES2022, true);
    this.#firstId = firstId;
  }

  change({ node, text }: Change): void {
    const id = this.#add(node, node.getText(this.source), text);
    this.#switch(node, { id, text });
  }

  changeTemplates(): void {
    const visit = (node: ts.Node): void => {
      if (ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node))
        this.#changeTemplate(node);
      ts.forEachChild(node, visit);
    };
    visit(this.source);
  }

  /** The text of a node, with its mutants. */
  emit(node: ts.Node): string {
    const right =
      isTemplate(node) && this.#edits.has(node) ? this.#emitTemplate(node) : this.#emitChildren(node);
    const switches = this.#switches.get(node) ?? [];
    if (switches.length === 0) return right;
    if (ts.isStatement(node))
      return `{ ${switches.map(({ id, text }) => `if (__m(${id})) { ${text} } else `).join('')}{ ${right} } }`;
    return `(${switches.map(({ id, text }) => `__m(${id}) ? (${text}) : `).join('')}(${right}))`;
  }

  #emitChildren(node: ts.Node): string {
    const { text } = this.source;
    let emitted = '';
    let at = node.getStart(this.source);
    ts.forEachChild(node, (child) => {
      const start = child.getStart(this.source);
      if (start < at) return; // a shorthand: its name is there twice
      emitted += text.slice(at, start) + this.emit(child);
      at = child.end;
    });
    return emitted + text.slice(at, node.end);
  }

  #emitTemplate(node: Template): string {
    const edits = (this.#edits.get(node) ?? []).map(({ id, start, end, text }) => [id, start, end, text]);
    const values = spansOf(node).map(({ expression }) => this.emit(expression));
    return `__l(${JSON.stringify(edits)}, ${JSON.stringify(virtual(node))}, [${values.join(', ')}])`;
  }

  #changeTemplate(node: Template): void {
    const lua = virtual(node);
    const values = spansOf(node).map(({ expression }) => `\${${expression.getText(this.source)}}`);
    const shown = (text: string): string =>
      text.replaceAll(/[\uE000-\uEFFF]/g, (c) => values[c.charCodeAt(0) - 0xe000] ?? '');
    const edits = editsOf(lua).map((edit) => {
      const [from, to] = linesAround(lua, edit);
      return {
        ...edit,
        id: this.#add(node, shown(from), shown(to), { linesBelow: lineIn(lua, edit.start) }),
      };
    });
    if (edits.length > 0) this.#edits.set(node, edits);
  }

  #add(node: ts.Node, fromText: string, toText: string, { linesBelow = 0 } = {}): number {
    const member = memberOf(node, this.source);
    const [from, to] = [brief(fromText), brief(toText)];
    const key = JSON.stringify([member, from, to]);
    const occurrence = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, occurrence);
    const line = this.source.getLineAndCharacterOfPosition(node.getStart(this.source)).line + 1 + linesBelow;
    this.mutants.push({ file: this.source.fileName, member, from, to, occurrence, line });
    return this.#firstId + this.mutants.length - 1;
  }

  #switch(node: ts.Node, one: Switch): void {
    this.#switches.set(node, [...(this.#switches.get(node) ?? []), one]);
  }
}

function isTemplate(node: ts.Node): node is Template {
  return ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node);
}

function spansOf(node: Template): readonly ts.TemplateSpan[] {
  return ts.isTemplateExpression(node) ? node.templateSpans : [];
}

/** The template's text, each expression of which is one placeholder. */
function virtual(node: Template): string {
  if (!ts.isTemplateExpression(node)) return node.text;
  return node.head.text + node.templateSpans.map(({ literal }, i) => placeholder(i) + literal.text).join('');
}

function lineIn(lua: string, at: number): number {
  return lua.slice(0, at).split('\n').length - 1;
}

/** The lines that an edit touches, before and after it. */
function linesAround(lua: string, { start, end, text }: Edit): [string, string] {
  const begin = lua.lastIndexOf('\n', start - 1) + 1;
  const next = lua.indexOf('\n', end);
  const stop = next === -1 ? lua.length : next;
  return [lua.slice(begin, stop), lua.slice(begin, start) + text + lua.slice(end, stop)];
}

/** The class member, function or constant that something is in. */
function memberOf(node: ts.Node, source: ts.SourceFile): string {
  const chain: string[] = [];
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isConstructorDeclaration(at)) chain.unshift('constructor');
    else if (
      (ts.isClassElement(at) || ts.isFunctionDeclaration(at) || ts.isVariableDeclaration(at)) &&
      at.name !== undefined
    )
      chain.unshift(at.name.getText(source));
  }
  return chain[0] ?? '(module)';
}
