/**
 * The mutants of TypeScript: what a hand that slips would write. Each is a node of the syntax tree and the text that takes
 * its place. Texts for people, types, log lines and numbers are left alone.
 */
import ts from 'typescript5';

/** Another text for a node. */
export interface Change {
  readonly node: ts.Node;
  readonly text: string;
}

const K = ts.SyntaxKind;

/** Limits that are off by one. */
const BOUNDARY = new Map<ts.SyntaxKind, string>([
  [K.LessThanToken, '<='],
  [K.LessThanEqualsToken, '<'],
  [K.GreaterThanToken, '>='],
  [K.GreaterThanEqualsToken, '>'],
]);
const EQUALITY = new Map<ts.SyntaxKind, string>([
  [K.EqualsEqualsEqualsToken, '!=='],
  [K.ExclamationEqualsEqualsToken, '==='],
]);
const ARITHMETIC = new Map<ts.SyntaxKind, string>([
  [K.PlusToken, '-'],
  [K.MinusToken, '+'],
  [K.AsteriskToken, '/'],
  [K.SlashToken, '*'],
  [K.PercentToken, '*'],
  [K.PlusEqualsToken, '-='],
  [K.MinusEqualsToken, '+='],
]);
/** Operators whose operands stand for the whole, each in its turn. */
const CHOICES = new Set<ts.SyntaxKind>([K.AmpersandAmpersandToken, K.BarBarToken, K.QuestionQuestionToken]);
/** Methods that another takes the place of. */
const SWAPPED = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['some', 'every'],
  ['every', 'some'],
]);
/** Methods that are left out. */
const LEFT_OUT = new Set(['filter', 'sort', 'toSorted', 'reverse', 'slice']);

/** All changes to a file, in the order of their nodes. */
export function changesTo(source: ts.SourceFile): Change[] {
  const found: Change[] = [];
  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node)) return;
    for (const text of new Set(textsFor(node, source))) found.push({ node, text });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Types, imports, and errors: what an error says is no decision. */
function isLeftAlone(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isImportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    (ts.isNewExpression(node) && node.expression.getText().endsWith('Error'))
  );
}

function textsFor(node: ts.Node, source: ts.SourceFile): string[] {
  if (isRemovable(node)) return [...(ts.isExpressionStatement(node) && isSuper(node) ? [] : [''])];
  if (!ts.isExpression(node)) return [];
  const role = roleOf(node);
  if (role === 'fixed') return [];
  if (ts.isBinaryExpression(node)) return binary(node, role, source);
  const texts = role === 'condition' || isVerdict(node) ? ['true', 'false'] : [];
  if (role === 'loop') texts.push('false');
  if (ts.isPrefixUnaryExpression(node)) texts.push(...unary(node, role, source));
  if (node.kind === K.TrueKeyword && !isAssigned(node)) texts.push('false');
  if (node.kind === K.FalseKeyword && !isAssigned(node)) texts.push('true');
  if (ts.isCallExpression(node)) texts.push(...call(node, source));
  if (isChainEnd(node)) texts.push(...unchained(node, source));
  return texts;
}

/** A statement that can be left out: what it does is missing then. */
function isRemovable(node: ts.Node): boolean {
  return (
    ts.isExpressionStatement(node) ||
    ts.isThrowStatement(node) ||
    (ts.isBreakStatement(node) && !ts.isCaseOrDefaultClause(node.parent)) ||
    ts.isContinueStatement(node)
  );
}

function isSuper({ expression }: ts.ExpressionStatement): boolean {
  return ts.isCallExpression(expression) && expression.expression.kind === K.SuperKeyword;
}

/**
 * What an expression is for. `condition`: it decides alone. `operand`: it is one side of a choice, which is mutated there.
 * `fixed`: it cannot be put into parentheses, or its change would make a loop endless.
 */
type Role = 'condition' | 'loop' | 'operand' | 'value' | 'fixed';

function roleOf(node: ts.Expression): Role {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent)) return roleOf(parent);
  if (ts.isIfStatement(parent)) return 'condition';
  if (ts.isConditionalExpression(parent) && parent.condition === node) return 'condition';
  if (ts.isWhileStatement(parent) || (ts.isForStatement(parent) && parent.condition === node)) return 'loop';
  if (ts.isForStatement(parent) && parent.incrementor === node) return 'fixed';
  if (isCallee(node) || isInChain(node)) return 'fixed';
  if (ts.isBinaryExpression(parent) && CHOICES.has(parent.operatorToken.kind)) return 'operand';
  return 'value';
}

function isCallee(node: ts.Expression): boolean {
  const { parent } = node;
  return (ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === node;
}

/** Part of an optional chain, but not the whole. */
function isInChain(node: ts.Expression): boolean {
  return ts.isOptionalChain(node) && ts.isOptionalChain(node.parent) && node.parent.expression === node;
}

/** What a function returns whose type says that it decides, and whose parts say nothing that could be changed. */
function isVerdict(node: ts.Expression): boolean {
  const { parent } = node;
  const isBody = ts.isArrowFunction(parent) && parent.body === node;
  if (!isBody && !ts.isReturnStatement(parent)) return false;
  if (ts.findAncestor(parent, ts.isFunctionLike)?.type?.kind !== K.BooleanKeyword) return false;
  return ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isIdentifier(node);
}

/** The statement around it is left out as a whole. */
function isAssigned(node: ts.Expression): boolean {
  const { parent } = node;
  return ts.isBinaryExpression(parent) && ts.isExpressionStatement(parent.parent);
}

function binary(node: ts.BinaryExpression, role: Role, source: ts.SourceFile): string[] {
  const [left, right] = [node.left.getText(source), node.right.getText(source)];
  const kind = node.operatorToken.kind;
  const texts: string[] = [];
  if (role === 'loop') texts.push('false');
  if (CHOICES.has(kind)) texts.push(left, right);
  if (role === 'condition') texts.push(...['true', 'false'].filter((text) => !isSubsumed(kind, text)));
  const operator =
    BOUNDARY.get(kind) ?? (role === 'value' ? EQUALITY.get(kind) : undefined) ?? arithmetic(node);
  if (operator !== undefined) texts.push(`${left} ${operator} ${right}`);
  return texts;
}

/** One operand alone is nearer to the right code than that. */
function isSubsumed(kind: ts.SyntaxKind, text: string): boolean {
  return (
    (kind === K.AmpersandAmpersandToken && text === 'true') || (kind === K.BarBarToken && text === 'false')
  );
}

/** Strings are joined, not added. */
function arithmetic({ left, right, operatorToken }: ts.BinaryExpression): string | undefined {
  const isText = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
  return isText ? undefined : ARITHMETIC.get(operatorToken.kind);
}

function unary(node: ts.PrefixUnaryExpression, role: Role, source: ts.SourceFile): string[] {
  const isKept = role === 'condition' || role === 'operand' || role === 'loop';
  const isSign = node.operator === K.MinusToken;
  if (isSign || (node.operator === K.ExclamationToken && !isKept)) return [node.operand.getText(source)];
  return [];
}

function call(node: ts.CallExpression, source: ts.SourceFile): string[] {
  const texts: string[] = [];
  if (ts.isArrowFunction(node.parent) && node.parent.body === node && !isVerdict(node))
    texts.push('undefined');
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression)) return texts;
  const of = expression.expression.getText(source);
  const swapped = SWAPPED.get(expression.name.text);
  if (swapped !== undefined) {
    const text = node.getText(source);
    const at = expression.name.getStart(source) - node.getStart(source);
    texts.push(text.slice(0, at) + swapped + text.slice(at + expression.name.text.length));
  }
  if (LEFT_OUT.has(expression.name.text)) texts.push(of);
  return texts;
}

function isChainEnd(node: ts.Expression): boolean {
  return ts.isOptionalChain(node) && !isInChain(node);
}

/** The chain without each of its question marks. */
function unchained(node: ts.Node, source: ts.SourceFile): string[] {
  const texts: string[] = [];
  const begin = node.getStart(source);
  const text = node.getText(source);
  for (let link = node; ts.isOptionalChain(link); link = link.expression) {
    const token = 'questionDotToken' in link ? link.questionDotToken : undefined;
    if (token === undefined) continue;
    const at = token.getStart(source) - begin;
    const dot = ts.isPropertyAccessChain(link) ? '.' : '';
    texts.push(text.slice(0, at) + dot + text.slice(at + 2));
  }
  return texts;
}
