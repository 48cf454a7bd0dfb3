/**
 * Parses with the user's own @babel/parser: quorate does not depend on it. Most projects have it below Babel, Jest, Vue or
 * jscodeshift. A parser alone is enough, since edits go by position: no printer touches the code, and none has to be installed.
 */
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as BabelParser from '@babel/parser';
import { EXIT, Failure } from '../failure.js';
import { Tree } from './tree.js';

export type Parse = typeof BabelParser.parse;
type Plugin = NonNullable<NonNullable<Parameters<Parse>[1]>['plugins']>[number];

/** Packages that bring a parser along, where it is not on the top level of node_modules. */
const CARRIERS = ['@babel/parser', 'jscodeshift', '@babel/core', 'recast'];

/** Those that @babel/parser 8 always has, and no longer declares, are for 7. */
const COMMON = [
  ...['decorators-legacy', 'decoratorAutoAccessors', 'explicitResourceManagement', 'importAttributes'],
] as readonly Plugin[];

/** What only a program that runs it would object to. */
const OPTIONS = {
  sourceType: 'unambiguous',
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowNewTargetOutsideFunction: true,
  allowSuperOutsideMethod: true,
  allowUndeclaredExports: true,
} as const;

/**
 * From one of the folders, or from beside quorate, as in `npx -p quorate -p @babel/parser quorate migrate`.
 *
 * @throws Failure there is no parser
 */
export async function loadParser(folders: readonly string[]): Promise<Parse> {
  for (const place of [...folders.map((folder) => join(folder, 'any.js')), import.meta.url]) {
    const path = resolved(place);
    if (path === undefined) continue;
    const { parse } = (await import(pathToFileURL(path).href)) as typeof BabelParser;
    return parse;
  }
  throw new Failure(
    '@babel/parser is missing, with which migrate reads code: npm install --no-save @babel/parser@7',
    EXIT.notFound,
  );
}

function resolved(place: string): string | undefined {
  for (const carrier of CARRIERS) {
    try {
      const path = createRequire(place).resolve(carrier);
      return carrier === '@babel/parser' ? path : createRequire(path).resolve('@babel/parser');
    } catch {
      // the next one may have it
    }
  }
  return undefined;
}

/** @returns what the parser objects to, where it is no code of that kind */
export function treeOf(parse: Parse, path: string, source: string): Tree | string {
  const text = source.replace(/^\uFEFF/, ' '); // as long as the mark, which the parser does not take
  try {
    const file = parse(text, { ...OPTIONS, plugins: [...COMMON, ...pluginsFor(extname(path))] });
    return new Tree(source, file.program, file.comments ?? []);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function pluginsFor(extension: string): readonly Plugin[] {
  if (extension === '.tsx') return ['typescript', 'jsx'];
  return /^\.[mc]?ts$/.test(extension) ? ['typescript'] : ['jsx'];
}
