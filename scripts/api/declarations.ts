/**
 * What the package declares, entry by entry: of the declarations that the build writes, those that a user can reach from an
 * entry. A declaration that is not exported itself is reached through one that is.
 *
 * TypeScript 5 reads them (`typescript5`): version 7, which builds the package, has no stable interface for that.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript5';
import { ENTRIES } from '../entries.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A declaration as a user gets it. */
export interface Declared {
  readonly name: string;
  /** By this name, from the entry. */
  readonly isExported: boolean;
  /** `lib/redlock.ts`: where it was written. */
  readonly file: string;
  readonly nodes: readonly ts.Declaration[];
}

/** What one entry declares: what it exports by name, then what that needs and `quorate` does not export. */
export interface Entry {
  /** `quorate/fence` */
  readonly name: string;
  readonly declared: readonly Declared[];
}

export function readEntries(): readonly Entry[] {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quorate-api-')));
  try {
    emitTo(folder);
    return entriesIn(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The declarations alone, as the build writes them. */
function emitTo(folder: string): void {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const flags = ['--emitDeclarationOnly', '--declarationMap', 'false', '--sourceMap', 'false'];
  const args = [tsc, '--project', join(ROOT, 'tsconfig.build.json'), ...flags, '--outDir', folder];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tsc failed: ${stdout}`);
}

function entriesIn(folder: string): readonly Entry[] {
  const paths = Object.values(ENTRIES).map((file) => join(folder, `${file}.d.ts`));
  const { NodeNext: module } = ts.ModuleKind;
  // names are resolved, and no types are: nothing but our own files is needed for that
  const program = ts.createProgram(paths, { module, noLib: true, types: [] });
  const checker = program.getTypeChecker();
  const exports = paths.map((path) => exportsOf(path, program, checker));
  const main = new Set(exports[0]?.keys());
  return Object.keys(ENTRIES).map((entry, i) => {
    const reach = new Reach(folder, checker, i === 0 ? new Set() : main);
    return { name: entry.replace('.', 'quorate'), declared: reach.from(exports[i] ?? new Map()) };
  });
}

type Names = ReadonlyMap<ts.Symbol, string>;

function exportsOf(path: string, program: ts.Program, checker: ts.TypeChecker): Names {
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${path} exports nothing`);
  return new Map(
    checker.getExportsOfModule(module).map((symbol) => [resolved(symbol, checker), symbol.name]),
  );
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** What an entry exports, and what that needs, but for what is declared elsewhere. */
class Reach {
  readonly #folder: string;
  readonly #checker: ts.TypeChecker;
  readonly #elsewhere: ReadonlySet<ts.Symbol>;

  constructor(folder: string, checker: ts.TypeChecker, elsewhere: ReadonlySet<ts.Symbol>) {
    this.#folder = folder;
    this.#checker = checker;
    this.#elsewhere = elsewhere;
  }

  from(names: Names): readonly Declared[] {
    const found = new Set(names.keys());
    for (const symbol of found)
      for (const node of this.#declarationsOf(symbol))
        this.#eachReference(node, (one) => void found.add(one));
    return [...found]
      .map((symbol) => this.#declare(symbol, names.get(symbol)))
      .sort((a, b) => Number(b.isExported) - Number(a.isExported) || (a.name < b.name ? -1 : 1));
  }

  #declare(symbol: ts.Symbol, name: string | undefined): Declared {
    const nodes = this.#declarationsOf(symbol);
    const file = relative(this.#folder, nodes[0]?.getSourceFile().fileName ?? '').replace(/\.d\.ts$/, '.ts');
    return { name: name ?? symbol.name, isExported: name !== undefined, file: `lib/${file}`, nodes };
  }

  /** Those of ours that stand for themselves: no members, parameters and type parameters. */
  #declarationsOf(symbol: ts.Symbol): readonly ts.Declaration[] {
    return (symbol.declarations ?? []).filter(
      (node) =>
        node.getSourceFile().fileName.startsWith(this.#folder) &&
        (ts.isInterfaceDeclaration(node) ||
          ts.isTypeAliasDeclaration(node) ||
          ts.isClassDeclaration(node) ||
          ts.isFunctionDeclaration(node) ||
          ts.isVariableDeclaration(node)),
    );
  }

  /** By the names of types, and of values whose types are asked for. */
  #eachReference(node: ts.Node, see: (symbol: ts.Symbol) => void): void {
    ts.forEachChild(node, (child) => {
      const name = referenceIn(child);
      const symbol = name && this.#checker.getSymbolAtLocation(name);
      const actual = symbol && resolved(symbol, this.#checker);
      if (actual !== undefined && !this.#elsewhere.has(actual) && this.#declarationsOf(actual).length > 0) {
        see(actual);
      }
      this.#eachReference(child, see);
    });
  }
}

function referenceIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  return ts.isTypeQueryNode(node) ? node.exprName : undefined;
}
