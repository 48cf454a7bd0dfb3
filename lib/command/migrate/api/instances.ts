/** `new Redlock(clients, settings)`: the settings become options. */
import type { Node } from '@babel/types';
import { bare, endOf, isParenthesized, type NodeOf, startOf } from '../tree.js';
import { type Context, OPEN_WAIT } from './context.js';
import {
  isAsItWas,
  type Retries,
  retriesOf,
  rewritten,
  SCRIPTS,
  type Settings,
  settingsIn,
  unknownIn,
  waitIn,
} from './settings.js';

const SCRIPTED = 'scripts of your own, which quorate refuses in either API';
type New = NodeOf<'NewExpression'>;

const DEFAULT_WAIT =
  'without retryCount and retryDelay, redlock tried for about 2 s; quorate waits for up to 10 s, and waitMs: 2_000 keeps the 2 s';

/** Those of the only instance that the file makes; undefined if it makes none or several. */
export function retriesIn(context: Pick<Context, 'tree' | 'kinds' | 'scopes'>): Retries | undefined {
  const { tree, kinds } = context;
  const [made, another] = tree.nodes.filter(
    (node): node is New => node.type === 'NewExpression' && kinds.isClass(node.callee),
  );
  if (made === undefined || another !== undefined) return undefined;
  const [, settings] = made.arguments;
  if (settings === undefined) return retriesOf(undefined, tree);
  const read = settingsIn(literalOf(settings, context) ?? settings);
  return typeof read === 'string' ? undefined : retriesOf(read, tree);
}

export function rewriteInstances(context: Context): void {
  for (const node of context.tree.nodes)
    if (node.type === 'NewExpression' && context.kinds.isClass(node.callee)) rewriteInstance(node, context);
}

function rewriteInstance(made: New, context: Context): void {
  const { findings } = context;
  const [clients, given, scripts] = made.arguments;
  if (scripts !== undefined) return findings.hold(scripts, SCRIPTED);
  if (clients?.type === 'NewExpression') findings.left(clients, 'quorate takes the clients as an array');
  if (given === undefined) return findings.look(made, DEFAULT_WAIT);
  const literal = literalOf(given, context);
  const settings = settingsIn(literal ?? given);
  if (typeof settings === 'string' || literal === undefined)
    return findings.left(
      given,
      `${settings as string}: retryCount · retryDelay is waitMs, and driftFactor stays`,
    );
  if (SCRIPTS.some((name) => settings.has(name))) return findings.hold(given, SCRIPTED);
  const [unknown] = unknownIn(settings, ['driftFactor']);
  if (unknown !== undefined) return findings.left(given, `quorate has no option ${unknown}`);
  rewriteSettings({ made, given, literal, settings }, context);
}

interface Given {
  readonly made: New;
  /** The second argument. */
  readonly given: Node;
  readonly literal: NodeOf<'ObjectExpression'>;
  readonly settings: Settings;
}

function rewriteSettings({ made, given, literal, settings }: Given, context: Context): void {
  const { tree, edits, findings } = context;
  const wait = waitIn(settings, retriesOf(undefined, tree), tree);
  if (typeof wait === 'string') return findings.left(given, wait);
  if (wait === undefined) findings.look(made, DEFAULT_WAIT);
  if (wait?.isOpen === true) findings.look(given, OPEN_WAIT);
  if (isAsItWas(settings)) return;
  const text = rewritten(literal, settings, wait, tree);
  const [clients] = made.arguments;
  const isArgument = literal === given && clients !== undefined;
  if (text === '' && isArgument && !isParenthesized(clients))
    edits.replace(endOf(clients), endOf(literal), '');
  else edits.replace(startOf(literal), endOf(literal), text === '' ? '{}' : text);
}

/** The literal itself, or that of a constant without a type that is used here only. */
function literalOf(
  given: Node,
  { tree, scopes }: Pick<Context, 'tree' | 'scopes'>,
): NodeOf<'ObjectExpression'> | undefined {
  const node = bare(given);
  if (node.type === 'ObjectExpression') return node;
  const binding = node.type === 'Identifier' ? scopes.bindingOf(node) : undefined;
  if (binding === undefined || binding.references.length !== 1 || binding.id.typeAnnotation) return undefined;
  const { by } = binding;
  const declaration = tree.parentOf(by);
  const isExported =
    declaration !== undefined && tree.parentOf(declaration)?.type === 'ExportNamedDeclaration';
  const init = by.type === 'VariableDeclarator' && by.init && !isExported ? by.init : undefined;
  return init?.type === 'ObjectExpression' ? init : undefined;
}
