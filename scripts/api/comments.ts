/** Which of the declarations that users reach say nothing of themselves: symbols, members, and fields of object types. */
import ts from 'typescript5';
import type { Declared } from './declarations.js';

/** @returns the names of those without a comment: `Redlock.acquire` */
export function undocumented({ name, nodes }: Declared): readonly string[] {
  const missing: string[] = [];
  if (!nodes.some((node) => isDocumented(carrierOf(node)))) missing.push(name);
  for (const node of nodes) checkMembers(node, name, missing);
  return missing;
}

/** The comment of a constant stands before its statement. */
function carrierOf(node: ts.Node): ts.Node {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node;
}

function checkMembers(node: ts.Node, path: string, missing: string[]): void {
  const members = new Map<string, ts.Node[]>();
  ts.forEachChild(node, (child) => {
    const name = isMember(child) ? nameOf(child) : undefined;
    if (name !== undefined) members.set(name, [...(members.get(name) ?? []), child]);
    else checkMembers(child, path, missing);
  });
  for (const [name, overloads] of members) {
    // one comment serves all ways to call a method
    if (!overloads.some(isDocumented)) missing.push(`${path}.${name}`);
    for (const member of overloads) checkMembers(member, `${path}.${name}`, missing);
  }
}

function isMember(node: ts.Node): node is ts.ClassElement | ts.TypeElement {
  return ts.isClassElement(node) || ts.isTypeElement(node);
}

/** Undefined for what a user cannot name: private members, and `#private`, which stands for them. */
function nameOf(node: ts.ClassElement | ts.TypeElement): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name === undefined || ts.isPrivateIdentifier(node.name)) return undefined;
  return node.name.getText();
}

function isDocumented(node: ts.Node): boolean {
  return ts
    .getJSDocCommentsAndTags(node)
    .some((doc) => ts.isJSDoc(doc) && doc.getText().length > '/***/'.length);
}
