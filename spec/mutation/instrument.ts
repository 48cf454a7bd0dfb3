/**
 * Builds all mutants of a file into it. Each stands beside the right code, behind the question whether it is at work:
 * `mutant(17) ? wrong : right`. So one bundle has all of them, and which one is at work is decided as it runs.
 */
import ts from 'typescript5';
import { brief, type Mutant } from './mutant.js';
import { type Change, changesTo } from './typescript-mutants.js';

export interface Instrumented {
  readonly text: string;
  /** The first has the number that was asked for. */
  readonly mutants: readonly Mutant[];
}

interface Switch {
  readonly id: number;
  readonly text: string;
}

/** @param firstId  the number of its first mutant */
export function instrument(file: string, contents: string, firstId: number): Instrumented {
  const instrumenter = new Instrumenter(file, contents, firstId);
  for (const change of changesTo(instrumenter.source)) instrumenter.change(change);
  return { text: instrumenter.emit(instrumenter.source), mutants: instrumenter.mutants };
}

class Instrumenter {
  readonly source: ts.SourceFile;
  readonly mutants: Mutant[] = [];
  readonly #firstId: number;
  readonly #switches = new Map<ts.Node, Switch[]>();
  readonly #seen = new Map<string, number>();

  constructor(file: string, contents: string, firstId: number) {
    this.source = ts.createSourceFile(file, contents, ts.ScriptTarget.ES2022, true);
    this.#firstId = firstId;
  }

  change({ node, text }: Change): void {
    const id = this.#add(node, node.getText(this.source), text);
    this.#switch(node, { id, text });
  }

  /** The text of a node, with its mutants. */
  emit(node: ts.Node): string {
    const right = this.#emitChildren(node);
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

  #add(node: ts.Node, fromText: string, toText: string): number {
    const member = memberOf(node, this.source);
    const [from, to] = [brief(fromText), brief(toText)];
    const key = JSON.stringify([member, from, to]);
    const occurrence = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, occurrence);
    const line = this.source.getLineAndCharacterOfPosition(node.getStart(this.source)).line + 1;
    this.mutants.push({ file: this.source.fileName, member, from, to, occurrence, line });
    return this.#firstId + this.mutants.length - 1;
  }

  #switch(node: ts.Node, one: Switch): void {
    this.#switches.set(node, [...(this.#switches.get(node) ?? []), one]);
  }
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
