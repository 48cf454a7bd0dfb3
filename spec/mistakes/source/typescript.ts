/** The functions, constants, classes and their members of a file of TypeScript, and its tokens. */
import ts from 'typescript5';
import type { Place, Token } from './place.js';

const K = ts.SyntaxKind;
const PARSING = { languageVersion: ts.ScriptTarget.ES2022, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
/** Behind these, a slash divides. */
const OPERANDS = new Set([
  ...[K.Identifier, K.PrivateIdentifier, K.NumericLiteral, K.StringLiteral, K.ThisKeyword],
  ...[K.CloseParenToken, K.CloseBracketToken, K.CloseBraceToken],
]);

export function placesInTypeScript(path: string, text: string): Place[] {
  const source = ts.createSourceFile(path, text, PARSING);
  const nodes = new Map<string, ts.Node[]>();
  const add = (name: string, node: ts.Node): unknown => nodes.set(name, [...(nodes.get(name) ?? []), node]);
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement))
      for (const name of statement.declarationList.declarations.flatMap(namesIn))
        add(name.getText(source), statement);
    if (ts.isFunctionDeclaration(statement) && statement.name !== undefined)
      add(statement.name.text, statement);
    if (!ts.isClassDeclaration(statement) || statement.name === undefined) continue;
    add(statement.name.text, statement);
    for (const member of statement.members)
      add(`${statement.name.text}.${member.name?.getText(source) ?? 'constructor'}`, member);
  }
  return [...nodes].map(
    ([name, found]) => new Named(name, path, () => found.map((node) => within(node, source))),
  );
}

/** More than one where it is taken apart. */
function namesIn({ name }: ts.VariableDeclaration | ts.BindingElement): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name];
  return name.elements.flatMap((one) => (ts.isBindingElement(one) ? namesIn(one) : []));
}

/** Its tokens are read when they are asked for: there are many places, and few are patched. */
class Named implements Place {
  readonly name: string;
  readonly path: string;
  readonly #read: () => Place['pieces'];

  constructor(name: string, path: string, read: () => Place['pieces']) {
    this.name = name;
    this.path = path;
    this.#read = read;
  }

  get pieces(): Place['pieces'] {
    return this.#read();
  }
}

function within(node: ts.Node, source: ts.SourceFile): Token[] {
  const from = node.getStart(source);
  return typescriptTokens(source.text.slice(from, node.end)).map(({ end, start, text }) => ({
    text,
    start: from + start,
    end: from + end,
  }));
}

/** Without white space and comments; strings are the same in all quotes. */
export function typescriptTokens(text: string): Token[] {
  const scanner = ts.createScanner(ts.ScriptTarget.ES2022, true, ts.LanguageVariant.Standard, text);
  const tokens: Token[] = [];
  const isTemplates: boolean[] = []; // for each open brace
  let before = K.Unknown;
  for (let kind = scanner.scan(); kind !== K.EndOfFileToken; kind = scanner.scan()) {
    if (kind === K.CloseBraceToken && isTemplates.pop() === true) kind = scanner.reScanTemplateToken(false);
    else if ((kind === K.SlashToken || kind === K.SlashEqualsToken) && !OPERANDS.has(before))
      kind = scanner.reScanSlashToken();
    if (kind === K.OpenBraceToken) isTemplates.push(false);
    if (kind === K.TemplateHead || kind === K.TemplateMiddle) isTemplates.push(true);
    const isString = kind === K.StringLiteral;
    tokens.push({
      text: isString ? JSON.stringify(scanner.getTokenValue()) : scanner.getTokenText(),
      start: scanner.getTokenStart(),
      end: scanner.getTokenEnd(),
    });
    before = kind;
  }
  return tokens;
}
