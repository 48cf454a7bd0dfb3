/** What the names that a file imports from redlock mean, and from which statement each comes. */
import type { Identifier, Node } from '@babel/types';
import type { Findings } from '../findings.js';
import type { Binding, Scopes } from '../scopes.js';
import type { Release, Specifier } from '../specifiers.js';
import { isMember, memberName, type NodeOf, type Tree } from '../tree.js';

/** `class`: Redlock · `lock`: Lock · `taken`: ResourceLockedError · `failed`: ExecutionError, LockError · `other`: a type */
export type Meaning = 'class' | 'lock' | 'taken' | 'failed' | 'other';

/** The kinds of values that are followed. */
export type Kind = 'redlock' | 'lock';

/** One name of an import. */
export interface ImportedName {
  readonly imported: string;
  readonly meaning: Meaning;
  readonly local: Binding;
}

/** A statement or declarator that imports, which is written anew. */
export interface Site {
  readonly specifier: Specifier;
  readonly node: NodeOf<'ImportDeclaration' | 'VariableDeclarator' | 'TSImportEqualsDeclaration'>;
  readonly names: readonly ImportedName[];
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  default: 'class',
  Redlock: 'class',
  Lock: 'lock',
  ResourceLockedError: 'taken',
  ExecutionError: 'failed',
  LockError: 'failed',
};

/** `import('redlock').Lock`. */
export interface ImportType {
  readonly specifier: Specifier;
  readonly node: NodeOf<'TSImportType'>;
  readonly kind: Kind;
}

export class Origins {
  readonly sites: readonly Site[];
  readonly types: readonly ImportType[];
  readonly #meanings = new Map<Binding, Meaning>();

  constructor(sites: readonly Site[], types: readonly ImportType[]) {
    this.sites = sites;
    this.types = types;
    for (const { local, meaning } of sites.flatMap(({ names }) => names)) this.#meanings.set(local, meaning);
  }

  meaningOf(binding: Binding | undefined): Meaning | undefined {
    return binding === undefined ? undefined : this.#meanings.get(binding);
  }

  kindOfImport(type: Node): Kind | undefined {
    return this.types.find(({ node }) => node === type)?.kind;
  }

  of(meaning: Meaning): readonly Binding[] {
    return [...this.#meanings].filter(([, one]) => one === meaning).map(([binding]) => binding);
  }
}

/** The text of a file, as far as it concerns the imports. */
export interface Reading {
  readonly tree: Tree;
  readonly scopes: Scopes;
  readonly findings: Findings;
}

/** @param release  the API of the module that a specifier names */
export function originsOf(
  specifiers: readonly Specifier[],
  release: (specifier: Specifier) => Release,
  reading: Reading,
): Origins {
  const sites = specifiers.flatMap((specifier) => {
    const site = siteOf(specifier, release(specifier), reading);
    return site === undefined ? [] : [site];
  });
  return new Origins(sites, typesOf(specifiers, reading));
}

function typesOf(specifiers: readonly Specifier[], { findings }: Reading): readonly ImportType[] {
  return specifiers.flatMap((specifier): readonly ImportType[] => {
    const { node } = specifier;
    if (node.type !== 'TSImportType') return [];
    const { qualifier } = node;
    const meaning = qualifier?.type === 'Identifier' ? MEANINGS[qualifier.name] : undefined;
    if (meaning === 'class') return [{ specifier, node, kind: 'redlock' }];
    if (meaning === 'lock') return [{ specifier, node, kind: 'lock' }];
    findings.hold(node, 'a type of the module that has no counterpart');
    return [];
  });
}

function siteOf(specifier: Specifier, release: Release, reading: Reading): Site | undefined {
  const { form, node } = specifier;
  const { findings } = reading;
  switch (form) {
    case 'import':
      return node.type === 'ImportDeclaration' ? importSite(node, specifier, release, reading) : undefined;
    case 'assignment':
      if (node.type === 'TSImportEqualsDeclaration' && release === 4)
        return { specifier, node, names: named([['default', node.id]], reading) };
      findings.hold(node, 'import = of a module with several names');
      return undefined;
    case 'require':
    case 'dynamic':
      return requireSite(specifier, release, reading);
    case 'export':
      findings.hold(node, 'what is exported from here is used by other files');
      return undefined;
    case 'mock':
      findings.hold(node, 'a mock has the old API; the masters in memory of quorate/testing need no mock');
      return undefined;
    case 'declaration':
    case 'type':
      return undefined;
  }
}

function importSite(
  node: NodeOf<'ImportDeclaration'>,
  specifier: Specifier,
  release: Release,
  reading: Reading,
): Site | undefined {
  const pairs = node.specifiers.map((one): readonly [string, Identifier] => {
    switch (one.type) {
      case 'ImportDefaultSpecifier':
        return ['default', one.local];
      case 'ImportNamespaceSpecifier':
        return [release === 4 ? 'default' : '*', one.local]; // redlock 4 exports the class itself
      default:
        return [one.imported.type === 'Identifier' ? one.imported.name : one.imported.value, one.local];
    }
  });
  return siteWith(pairs, node, specifier, reading);
}

/** `const Redlock = require('redlock')`, with or without `.default`, `await import('redlock')`, and names in braces. */
function requireSite(specifier: Specifier, release: Release, reading: Reading): Site | undefined {
  const { tree, findings } = reading;
  let value: Node = specifier.node;
  let above = tree.parentOf(value);
  if (specifier.form === 'dynamic' && above?.type === 'AwaitExpression') {
    value = above;
    above = tree.parentOf(value);
  }
  const isDefault = above !== undefined && isMember(above) && memberName(above) === 'default';
  if (isDefault) above = tree.parentOf(above ?? value);
  const isAwaited = specifier.form === 'require' || value !== specifier.node;
  if (above?.type !== 'VariableDeclarator' || !isAwaited) {
    findings.hold(specifier.node, 'the module is not assigned to a variable');
    return undefined;
  }
  const { id } = above;
  if (id.type === 'Identifier') {
    const isClass = isDefault || (release === 4 && specifier.form === 'require');
    return siteWith([[isClass ? 'default' : '*', id]], above, specifier, reading);
  }
  const pairs = id.type === 'ObjectPattern' && !isDefault ? pairsIn(id) : undefined;
  if (pairs !== undefined) return siteWith(pairs, above, specifier, reading);
  findings.hold(specifier.node, 'the names of the module are taken in a way that is not followed');
  return undefined;
}

function pairsIn(pattern: NodeOf<'ObjectPattern'>): readonly (readonly [string, Identifier])[] | undefined {
  const pairs = pattern.properties.map((property): readonly [string, Identifier] | undefined => {
    if (property.type !== 'ObjectProperty' || property.computed) return undefined;
    const { key, value } = property;
    return key.type === 'Identifier' && value.type === 'Identifier' ? [key.name, value] : undefined;
  });
  return pairs.every((pair) => pair !== undefined) ? pairs : undefined;
}

function siteWith(
  pairs: readonly (readonly [string, Identifier])[],
  node: Site['node'],
  specifier: Specifier,
  reading: Reading,
): Site | undefined {
  if (pairs.some(([imported]) => imported === '*')) {
    reading.findings.hold(node, 'the whole module has a name; import its names');
    return undefined;
  }
  return { specifier, node, names: named(pairs, reading) };
}

function named(
  pairs: readonly (readonly [string, Identifier])[],
  { scopes }: Reading,
): readonly ImportedName[] {
  return pairs.flatMap(([imported, id]) => {
    const local = scopes.bindingOf(id);
    const meaning = MEANINGS[imported] ?? 'other';
    return local === undefined ? [] : [{ imported, meaning, local }];
  });
}
