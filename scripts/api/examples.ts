/**
 * The examples in the comments of lib, compiled: each is the body of a function of its own. What it does not declare is
 * exported by an entry, or is in names.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript5';
import { ENTRIES } from '../entries.mjs';
import { ROOT } from './declarations.js';

/** What is wrong, and where it was written. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

interface Example {
  readonly file: string;
  /** The line of the fence before its code, from 1. */
  readonly line: number;
  readonly code: string;
}

const LIB = join(ROOT, 'lib');
const NAMES = join(ROOT, 'scripts/api/names.ts');
const EXAMPLE = /@example\s*\n[ \t]*\* ```ts\n([\s\S]*?)\n[ \t]*\* ```/g;

export function readExamples(): readonly Example[] {
  const files = readdirSync(LIB, { recursive: true }) as string[];
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(LIB, file), 'utf8');
      return [...text.matchAll(EXAMPLE)].map(({ index, 0: whole, 1: code = '' }) => ({
        file: `lib/${file}`,
        line: text.slice(0, index + whole.indexOf('```')).split('\n').length,
        code: code.replaceAll(/^[ \t]*\* ?/gm, ''),
      }));
    });
}

/** Those of the project, and names that nobody uses are no fault in an example. */
function settings(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8')) as {
    readonly config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return { ...options, noUnusedLocals: false, noUnusedParameters: false };
}

export function compileExamples(examples: readonly Example[]): readonly Fault[] {
  const options = settings();
  const texts = new Map(examples.map((example, i) => [join(ROOT, `example-${i}.ts`), example]));
  const imports = importsOf();
  const sourceOf = (path: string): string | undefined => {
    const example = texts.get(path);
    return example && moduleOf(example, imports);
  };
  const disk = ts.createCompilerHost(options);
  const host = ts.createCompilerHost(options);
  host.readFile = (path) => sourceOf(path) ?? disk.readFile(path);
  host.fileExists = (path) => texts.has(path) || disk.fileExists(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = sourceOf(path);
    return text === undefined
      ? disk.getSourceFile(path, version, ...rest)
      : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram([NAMES, ...texts.keys()], options, host);
  return [...texts].flatMap(([path, { file, line }]) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => ({
        file,
        line: line + (source?.getLineAndCharacterOfPosition(start).line ?? 0),
        message: ts.flattenDiagnosticMessageText(messageText, ' '),
      }),
    );
  });
}

/** On one line, so that the lines that follow are those of the example. */
function moduleOf({ code }: Example, imports: ReadonlyMap<string, string>): string {
  const needed = [...imports].filter(([name]) => new RegExp(`\\b${name}\\b`).test(code));
  const head = needed.map(([name, from]) => `import { ${name} } from '${from}';`).join(' ');
  return `${head} export async function example() {\n${code}\n}\n`;
}

/** What a reader imports, and where from. */
function importsOf(): ReadonlyMap<string, string> {
  const imports = new Map([['Redis', 'ioredis']]);
  for (const file of Object.values(ENTRIES)) {
    const text = readFileSync(join(LIB, `${file}.ts`), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    for (const [, kind, list = ''] of text.matchAll(/export (type )?\{([^}]*)\}/g)) {
      if (kind !== undefined) continue;
      for (const name of list.split(',').map((one) => one.trim()))
        if (name !== '' && !name.startsWith('type ') && !imports.has(name))
          imports.set(name, `./lib/${file}.js`);
    }
  }
  return imports;
}
