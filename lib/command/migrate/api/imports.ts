/** The imports themselves: `import { Redlock } from 'quorate'`, and what has no counterpart from the face. */
import { endOf, startOf } from '../tree.js';
import { FACES, quoted } from '../specifiers.js';
import type { Context } from './context.js';
import { isRenamed, type Needs } from './names.js';
import type { ImportedName, Meaning, Site } from './origins.js';

const PACKAGE = 'quorate';

export function rewriteImports(needs: Needs, context: Context): void {
  const { origins, edits, tree } = context;
  const { sites, types } = origins;
  const forErrors = siteWith(sites, 'taken', 'failed') ?? siteWith(sites, 'class');
  const forLease = sites.find(({ node }) => node.type !== 'VariableDeclarator');
  for (const site of sites) {
    const hasLease = needs.lease && site === forLease;
    const names = namesOf(site, { error: needs.error && site === forErrors, lease: hasLease }, context);
    writeSite(site, names, context);
  }
  for (const { specifier, node, kind } of types) {
    const { literal } = specifier;
    edits.replace(startOf(literal), endOf(literal), quoted(specifier, PACKAGE, tree));
    const { qualifier } = node;
    if (qualifier) edits.replace(startOf(qualifier), endOf(qualifier), kind === 'lock' ? 'Lease' : 'Redlock');
  }
}

/** The first that imports values of such a meaning. */
function siteWith(sites: readonly Site[], ...meanings: readonly Meaning[]): Site | undefined {
  return sites.find(
    (site) => isOfValues(site) && site.names.some(({ meaning }) => meanings.includes(meaning)),
  );
}

/** As they are written in braces, of `import` or of a pattern. */
function namesOf(site: Site, needs: Needs, context: Context): readonly string[] {
  const isPattern = site.node.type === 'VariableDeclarator';
  const as = isPattern ? ': ' : ' as ';
  const isTyped = !isPattern && isOfValues(site);
  const names = site.names.flatMap(({ meaning, local: { name } }): readonly string[] => {
    if (meaning === 'class') {
      const mark = isTyped && isTypeOnly(site, name) ? 'type ' : '';
      return [mark + (name === 'Redlock' ? name : `Redlock${as}${name}`)];
    }
    if (meaning !== 'lock' || isPattern) return [];
    return [`${isTyped ? 'type ' : ''}${isRenamed(name, context) ? 'Lease' : `Lease as ${name}`}`];
  });
  const errors = needs.error ? ['RedlockError'] : [];
  const lease = needs.lease ? [isTyped ? 'type Lease' : 'Lease'] : [];
  return [...new Set([...names, ...errors, ...lease])];
}

function writeSite(site: Site, names: readonly string[], context: Context): void {
  const { tree, edits } = context;
  const { node, specifier } = site;
  const others = othersIn(site, context);
  if (names.length === 0 && others.length === 0) {
    const { literal } = specifier; // nothing that it imports is used
    return edits.replace(startOf(literal), endOf(literal), quoted(specifier, faceOf(context), tree));
  }
  const braces = `{ ${names.join(', ')} }`;
  const module = quoted(specifier, PACKAGE, tree);
  switch (node.type) {
    case 'VariableDeclarator': {
      const call = specifier.form === 'require' ? `require(${module})` : `await import(${module})`;
      return edits.replace(startOf(node), endOf(node), `${braces} = ${call}`);
    }
    case 'TSImportEqualsDeclaration':
      return edits.replace(startOf(node), endOf(node), `import ${braces} from ${module};`);
    case 'ImportDeclaration': {
      const rest = others.length === 0 ? '' : writeOthers(site, others, context);
      const head = `import ${node.importKind === 'type' ? 'type ' : ''}`;
      if (names.length === 0) return edits.replace(startOf(node), endOf(node), rest);
      edits.replace(startOf(node), endOf(node.source), `${head}${braces} from ${module}`);
      if (rest !== '') edits.insert(endOf(node), `\n${rest}`);
    }
  }
}

/** Types without a counterpart, as far as they are used. */
function othersIn({ node, names }: Site, context: Context): readonly ImportedName[] {
  if (node.type !== 'ImportDeclaration') return [];
  return names.filter(({ meaning, local }) => meaning === 'other' && isUsed(local.references, context));
}

/** They keep their module. */
function writeOthers({ node, specifier }: Site, others: readonly ImportedName[], context: Context): string {
  for (const { imported } of others)
    context.findings.left(
      node,
      `${imported} has no counterpart: its type still comes from ${faceOf(context)}`,
    );
  const names = others.map(({ imported, local: { name } }) =>
    imported === name ? name : `${imported} as ${name}`,
  );
  return `import type { ${names.join(', ')} } from ${quoted(specifier, faceOf(context), context.tree)};`;
}

function faceOf({ release }: Context): string {
  return FACES[release];
}

/** Some may be within a part that was written anew: the type of a routine's signal. */
function isUsed(references: ImportedName['local']['references'], { edits }: Context): boolean {
  return references.some((reference) => !edits.covers(startOf(reference)));
}

function isOfValues({ node }: Site): boolean {
  return node.type !== 'ImportDeclaration' || node.importKind !== 'type';
}

/** `import { type Redlock }`. */
function isTypeOnly({ node }: Site, name: string): boolean {
  if (node.type !== 'ImportDeclaration') return false;
  return node.specifiers.some(
    (one) => one.type === 'ImportSpecifier' && one.local.name === name && one.importKind === 'type',
  );
}
