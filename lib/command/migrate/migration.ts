/** What becomes of one file: the names of its modules, and where it is asked for, the calls. */
import { rewriteToApi } from './api/rewrite.js';
import { applied, type Edit, Edits } from './edits.js';
import { type Finding, Findings } from './findings.js';
import {
  FACES,
  isWhole,
  quoted,
  type Release,
  releaseOf,
  type Specifier,
  specifiersOf,
} from './specifiers.js';
import { startOf, type Tree } from './tree.js';

const COMMENTED = /\bimport\((['"])(redlock|@sesamecare-oss\/redlock|quorate\/redlock4?)\1\)(?:\.(\w+))?/g;
/** The two characters that begin a comment, which its value does not have. */
const COMMENT_MARK = 2;
const PACKAGE = 'quorate';
/** The types of quorate's own API, by their names in redlock. */
const OWN_TYPES: Readonly<Record<string, string>> = { default: 'Redlock', Redlock: 'Redlock', Lock: 'Lease' };

/** What is asked for. */
export interface Wish {
  /** Quorate's own API, and not that of redlock from a face. */
  readonly isApi: boolean;
  /** The release of redlock that a file gets. @throws Failure it is not known */
  readonly releaseAt: (path: string) => Release;
}

export interface Migration {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** By position. */
  readonly edits: readonly Edit[];
  readonly findings: readonly Finding[];
  /** The module that the file keeps, where quorate's own API was asked for. */
  readonly stayedOn?: string;
}

/** Of a file that has none of these texts, nothing changes, and nothing is found. */
export function concerns(source: string, { isApi }: Wish): boolean {
  return isApi ? /redlock/i.test(source) : /redlock/.test(source);
}

export function migrationOf(path: string, tree: Tree, wish: Wish): Migration {
  const installed = (): Release => wish.releaseAt(path);
  const specifiers = specifiersOf(tree);
  const whole = specifiers.filter(isWhole);
  const release = (specifier: Specifier): Release => releaseOf(specifier.module, installed);
  const api = wish.isApi ? rewriteToApi(tree, whole, release) : undefined;
  const edits = api?.edits ?? facesOf(whole, release, tree);
  const found = new Findings();
  for (const { literal, module } of specifiers.filter((one) => !isWhole(one)))
    found.left(literal, `${module} is a file within the package, which quorate has not`);
  for (const { node, module } of whole.filter(({ form }) => form === 'declaration'))
    found.left(node, `types for ${module}: quorate has its own`);
  const comments = commentsOf(tree, installed, found, api?.edits !== undefined);
  const all = [...edits, ...comments].toSorted((a, b) => a.start - b.start);
  const [first] = whole;
  const held = api !== undefined && api.edits === undefined && first !== undefined;
  return {
    path,
    before: tree.source,
    after: applied(tree.source, all),
    edits: all,
    findings: [...found.all(), ...(api?.findings ?? [])].toSorted((a, b) => a.at - b.at),
    ...(held ? { stayedOn: FACES[release(first)] } : {}),
  };
}

function facesOf(
  specifiers: readonly Specifier[],
  release: (specifier: Specifier) => Release,
  tree: Tree,
): readonly Edit[] {
  const edits = new Edits();
  for (const specifier of specifiers) {
    const { literal, module, form } = specifier;
    if (form === 'declaration') continue;
    const face = FACES[release(specifier)];
    if (face !== module) edits.replace(startOf(literal), literal.end ?? 0, quoted(specifier, face, tree));
  }
  return edits.sorted();
}

/** Types of JavaScript, as `import('redlock').Lock` within a comment. */
function commentsOf(tree: Tree, installed: () => Release, found: Findings, isApi: boolean): readonly Edit[] {
  return tree.comments.flatMap((comment) =>
    [...comment.value.matchAll(COMMENTED)].map((match) => {
      const [text, quote = '', module = '', name] = match;
      const start = (comment.start ?? 0) + COMMENT_MARK + match.index;
      const own = isApi ? OWN_TYPES[name ?? ''] : undefined;
      const face = FACES[releaseOf(module, installed)];
      if (isApi && own === undefined)
        found.leftAt(start, `a type without a counterpart: it comes from ${face}, with the API of redlock`);
      const type = own ?? name;
      const end = type === undefined ? '' : `.${type}`;
      const from = own === undefined ? face : PACKAGE;
      return { start, end: start + text.length, text: `import(${quote}${from}${quote})${end}` };
    }),
  );
}
