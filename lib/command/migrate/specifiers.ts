/** Where a file names the packages that are moved away from: imports of every form, types, and mocks of test runners. */
import type { Node } from '@babel/types';
import { endOf, isCall, methodOf, startOf, type Tree } from './tree.js';

/** The API that a module has: that of redlock 4 or 5. */
export type Release = 4 | 5;

/** The modules of quorate with the API of another package. */
export const FACES: Readonly<Record<Release, string>> = { 4: 'quorate/redlock4', 5: 'quorate/redlock' };

/** The API of each module, where its name decides; that of `redlock` depends on its version. */
const RELEASES: Readonly<Record<string, Release | undefined>> = {
  redlock: undefined,
  '@sesamecare-oss/redlock': 5,
  [FACES[4]]: 4,
  [FACES[5]]: 5,
};

/**
 * How a module is named: in an `import` declaration, a call of `require` or `import()`, `import x = require()`, an `export …
 * from`, a type, a mock, or `declare module`.
 */
type Form = 'import' | 'require' | 'dynamic' | 'assignment' | 'export' | 'type' | 'mock' | 'declaration';

/** A place that names a module. */
export interface Specifier {
  /** The text in quotes. */
  readonly literal: Node;
  readonly module: string;
  readonly form: Form;
  /** The declaration, call or type that it belongs to. */
  readonly node: Node;
}

const CONCERNS = /^(?:redlock|@sesamecare-oss\/redlock|quorate\/redlock4?)(?:\/|$)/;
const REQUIRES = new Set(['require', 'requireActual', 'requireMock', 'importActual', 'importMock']);
const MOCKERS = new Set(['jest', 'vi', 'vitest', 'mock', 'import_vitest']);

/** Those of the packages, and of files within them. */
export function specifiersOf(tree: Tree): readonly Specifier[] {
  return tree.nodes.flatMap((literal) => {
    const module = textIn(literal);
    const node = tree.parentOf(literal);
    if (module === undefined || node === undefined || !CONCERNS.test(module)) return [];
    const form = formOf(literal, node, tree);
    return form === undefined ? [] : [{ literal, module, form: form.form, node: form.node }];
  });
}

export function isWhole({ module }: Specifier): boolean {
  return Object.hasOwn(RELEASES, module);
}

/** @param installed  which redlock the file gets */
export function releaseOf(module: string, installed: () => Release): Release {
  return RELEASES[module] ?? installed();
}

/** The name in the quotes that it has. */
export function quoted({ literal }: Specifier, name: string, tree: Tree): string {
  const quote = tree.source.charAt(startOf(literal));
  return `${quote}${name}${tree.source.charAt(endOf(literal) - 1)}`;
}

function textIn(node: Node): string | undefined {
  if (node.type === 'StringLiteral') return node.value;
  const isPlain = node.type === 'TemplateLiteral' && node.expressions.length === 0;
  return isPlain ? (node.quasis[0]?.value.cooked ?? undefined) : undefined;
}

function formOf(
  literal: Node,
  node: Node,
  tree: Tree,
): { readonly form: Form; readonly node: Node } | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
      return { form: 'import', node };
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return { form: 'export', node };
    case 'ImportExpression':
      return { form: 'dynamic', node };
    case 'TSImportType':
      return { form: 'type', node };
    case 'TSModuleDeclaration':
      return { form: 'declaration', node };
    case 'TSExternalModuleReference':
    case 'TSLiteralType': {
      const above = tree.parentOf(node);
      if (above?.type === 'TSImportEqualsDeclaration') return { form: 'assignment', node: above };
      return above?.type === 'TSImportType' ? { form: 'type', node: above } : undefined;
    }
    default: {
      const form = isCall(node) && node.arguments[0] === literal ? formOfCall(node) : undefined;
      return form === undefined ? undefined : { form, node };
    }
  }
}

function formOfCall(call: Parameters<typeof methodOf>[0]): Form | undefined {
  if (call.callee.type === 'Import') return 'dynamic';
  if (call.callee.type === 'Identifier' && call.callee.name === 'require') return 'require';
  const { object, name } = methodOf(call) ?? {};
  if (object?.type !== 'Identifier' || name === undefined) return undefined;
  if (object.name === 'require' && name === 'resolve') return 'mock';
  if (!MOCKERS.has(object.name)) return undefined;
  return REQUIRES.has(name) || /mock|unmock|module/i.test(name) ? 'mock' : undefined;
}
