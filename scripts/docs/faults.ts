/** What is wrong with the texts: links that lead nowhere, blocks without a language, commands and paths that do not exist. */
import { posix } from 'node:path';
import type { Found, Page } from './page.js';

export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** What the texts are held against. */
export interface Repository {
  /** Whether a path from the root, with slashes, is a file or a folder. */
  readonly has: (path: string) => boolean;
  /** The names under `scripts` in package.json. */
  readonly scripts: ReadonlySet<string>;
}

/** `text` is for output, signatures and messages; `ts` is compiled; the others are read by people or checked by a spec. */
const LANGUAGES = new Set(['ts', 'js', 'sh', 'sql', 'json', 'text', 'mermaid']);
const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i;
const NPM_SCRIPT = /\bnpm (?:run ([\w:-]+)|(test|start)\b)/g;
const PATH = /(?<![\w/.-])(?:lib|spec|bench|examples|scripts|docs|\.ci)\/[\w./-]*\w/g;
/** Written by a run, so not there in a fresh clone. */
const WRITTEN = /^bench\/results\b/;

export function findFaults(pages: readonly Page[], repository: Repository): readonly Fault[] {
  const anchors = new Map(pages.map((page) => [page.file, page.anchors]));
  return pages.flatMap((page) => [
    ...page.links.flatMap((link) => linkFault(page, link, anchors, repository) ?? []),
    ...page.blocks
      .filter(({ language }) => !LANGUAGES.has(language))
      .map(({ line, language }) => fault(page, line, `a code block in ${language || 'no language'}`)),
    ...commandsOf(page).flatMap((command) => commandFaults(page, command, repository)),
  ]);
}

function linkFault(
  page: Page,
  { line, text }: Found,
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
  { has }: Repository,
): Fault | undefined {
  if (EXTERNAL.test(text)) return undefined;
  const [path = '', anchor] = decodeURI(text).split('#');
  const target = path === '' ? page.file : posix.join(posix.dirname(page.file), path);
  if (target.startsWith('..') || !has(target)) return fault(page, line, `no such file: ${text}`);
  if (anchor === undefined) return undefined;
  const known = anchors.get(target);
  if (known === undefined) return fault(page, line, `an anchor in a file that is not checked: ${text}`);
  return known.has(anchor) ? undefined : fault(page, line, `no such heading: ${text}`);
}

/** What a reader may paste: shell blocks line by line, and code spans. */
function commandsOf({ blocks, spans }: Page): readonly Found[] {
  const lines = blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ line, code }) => code.split('\n').map((text, i) => ({ line: line + i, text })));
  return [...lines, ...spans];
}

function commandFaults(page: Page, { line, text }: Found, { has, scripts }: Repository): readonly Fault[] {
  const names = [...text.matchAll(NPM_SCRIPT)].map(([, name, short]) => name ?? short ?? '');
  const paths = [...text.matchAll(PATH)].map(([path]) => path).filter((path) => !WRITTEN.test(path));
  return [
    ...names
      .filter((name) => !scripts.has(name))
      .map((name) => fault(page, line, `no such npm script: ${name}`)),
    ...paths.filter((path) => !has(path)).map((path) => fault(page, line, `no such path: ${path}`)),
  ];
}

function fault({ file }: Page, line: number, message: string): Fault {
  return { file, line, message };
}
