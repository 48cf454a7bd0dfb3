/**
 * Compiles the fixtures: before against the packages themselves, after against the API of redlock that quorate offers, and with
 * `--api` against quorate's own sources. The compiler may object only to places that `--api` has left alone.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript5';
import { parse } from '@babel/parser';
import type { Migration } from '../../../lib/command/migrate/migration.js';
import { needs } from '../../support/parts.js';
import { FIXTURES, FOLDER, type Fixture, type Form, migrated } from './support/fixtures.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** What stands for each module; for redlock itself, the fixture's package.json decides. */
const MODULES: Readonly<Record<string, string>> = {
  quorate: join(ROOT, 'lib/index.ts'),
  'quorate/redlock': join(ROOT, 'lib/faces/redlock.ts'),
  'quorate/redlock4': join(FOLDER, 'types/face4.d.ts'),
  '@sesamecare-oss/redlock': join(ROOT, 'bench/node_modules/@sesamecare-oss/redlock/build/index.d.ts'),
};
const REDLOCKS = {
  4: join(FOLDER, 'types/redlock4.d.ts'),
  5: join(ROOT, 'bench/node_modules/redlock5/dist/index.d.ts'),
};
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.CommonJS, // which has import = and import() alike
  moduleResolution: ts.ModuleResolutionKind.Node10,
  types: ['node'],
  strict: true,
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
  esModuleInterop: true,
  experimentalDecorators: true,
};

describe('the command migrate: the fixtures compile', () => {
  let program: ts.Program;
  before(function () {
    this.timeout(120_000);
    const forms: readonly Form[] = ['before', 'after', 'api'];
    const files = FIXTURES.flatMap((fixture) => forms.map((form) => fixture.pathOf(form)));
    program = ts.createProgram(files, OPTIONS, hostOf(FIXTURES));
  });

  it('the compiler does object to what is left alone', () => {
    const shared = FIXTURES.find(({ name }) => name === 'shared-instance');
    const found = shared === undefined ? [] : errorsIn(program, shared.pathOf('api'));
    expect(found.map(({ text }) => /^\d+/.exec(text)?.[0])).to.deep.equal(['9', '26']);
  });

  for (const fixture of FIXTURES) {
    it(`${fixture.name}: before, against the package that it uses`, function () {
      const isDeclaredHere = releaseOf(fixture) === 4;
      if (!isDeclaredHere) needs(this, 'bench/node_modules');
      expect(objections(program, fixture.pathOf('before'))).to.deep.equal([]);
    });

    it(`${fixture.name}: after, against the API of redlock in quorate`, () => {
      expect(objections(program, fixture.pathOf('after'))).to.deep.equal([]);
    });

    it(`${fixture.name}: with --api, but for places that were left alone`, () => {
      const path = fixture.pathOf('before');
      const api = migrated(fixture.textOf('before'), { parse, path, isApi: true });
      const left = api.findings
        .filter(({ weight }) => weight === 'left')
        .map(({ at }) => lineAt(api.before, at));
      const found = errorsIn(program, fixture.pathOf('api'));
      const elsewhere = found.filter(
        ({ start }) => !left.includes(lineAt(api.before, placeBefore(start, api))),
      );
      expect(elsewhere).to.deep.equal([]);
    });
  }
});

function objections(program: ts.Program, path: string): readonly string[] {
  return errorsIn(program, path).map(({ text }) => text);
}

function errorsIn(
  program: ts.Program,
  path: string,
): readonly { readonly start: number; readonly text: string }[] {
  const file = program.getSourceFile(path);
  if (file === undefined) throw new Error(`${path} is not in the program`);
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
    ({ start = 0, messageText }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, ' ');
      return { start, text: `${lineAt(file.text, start)} ${text}` };
    },
  );
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}

/** Where a place of the new text was in the old one. */
function placeBefore(offset: number, { edits }: Migration): number {
  let shift = 0;
  for (const { start, end, text } of edits) {
    if (start + shift + text.length > offset) return Math.min(offset - shift, end);
    shift += text.length - (end - start);
  }
  return offset - shift;
}

function releaseOf(fixture: Fixture): 4 | 5 {
  const manifest = ts.sys.readFile(join(dirname(fixture.pathOf('before')), 'package.json')) ?? '';
  return /"redlock": "[~^]?4/.test(manifest) ? 4 : 5;
}

function hostOf(fixtures: readonly Fixture[]): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  const releases = new Map(fixtures.map((one) => [dirname(one.pathOf('before')), releaseOf(one)]));
  host.resolveModuleNameLiterals = (literals, containingFile) =>
    literals.map(({ text }) => {
      const release = releases.get(dirname(containingFile)) ?? 5;
      const path = text === 'redlock' ? REDLOCKS[release] : MODULES[text];
      if (path === undefined) return ts.resolveModuleName(text, containingFile, OPTIONS, host);
      const extension = path.endsWith('.d.ts') ? ts.Extension.Dts : ts.Extension.Ts;
      return { resolvedModule: { resolvedFileName: path, extension, isExternalLibraryImport: false } };
    });
  return host;
}
