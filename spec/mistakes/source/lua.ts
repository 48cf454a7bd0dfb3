/** The functions and the main chunk of a file of Lua, and its tokens. */
import { basename } from 'node:path';
import luaparse from 'luaparse';
import type { Place, Token } from './place.js';

interface Lexer {
  lex(): { readonly type: number; readonly range: readonly [start: number, end: number] };
}

/** A node of luaparse's tree, as far as it is looked at. */
interface Node {
  readonly type: string;
  readonly range: readonly [start: number, end: number];
  readonly identifier?: Node | null;
  readonly variables?: readonly Node[];
  readonly init?: readonly Node[];
}

const OPTIONS = { luaVersion: '5.1', comments: false, ranges: true } as const;
const [END_OF_FILE, STRING] = [1, 2];

export function placesInLua(path: string, text: string): Place[] {
  const tokens = luaTokens(text);
  const functions = functionsIn(luaparse.parse(text, OPTIONS), text);
  const within = (name: string, isIn: (token: Token) => boolean): Place => ({
    name: `lua:${name}`,
    path,
    pieces: [tokens.filter(isIn)],
  });
  const isIn = ({ range: [from, to] }: Node, { end, start }: Token): boolean => start >= from && end <= to;
  return [
    ...functions.map(([name, node]) => within(name, (token) => isIn(node, token))),
    within(basename(path), (token) => !functions.some(([, node]) => isIn(node, token))),
  ];
}

/** All that have a name: `function f`, `local f = function`, `own.f = function`. */
function functionsIn(tree: unknown, text: string): (readonly [name: string, node: Node])[] {
  if (Array.isArray(tree)) return tree.flatMap((one) => functionsIn(one, text));
  if (!isNode(tree)) return [];
  const named = (variable: Node, node: Node): [string, Node] => [text.slice(...variable.range), node];
  const found = Object.values(tree).flatMap((part) => functionsIn(part, text));
  if (tree.type === 'FunctionDeclaration' && tree.identifier) found.push(named(tree.identifier, tree));
  for (const [i, variable] of (tree.variables ?? []).entries())
    if (tree.init?.[i]?.type === 'FunctionDeclaration') found.push(named(variable, tree));
  return found;
}

function isNode(tree: unknown): tree is Node {
  return typeof tree === 'object' && tree !== null;
}

/** Without white space and comments; strings are the same in both quotes. */
export function luaTokens(text: string): Token[] {
  const lexer = luaparse.parse(text, { ...OPTIONS, wait: true }) as Lexer; // as with `wait`
  const tokens: Token[] = [];
  for (let token = lexer.lex(); token.type !== END_OF_FILE; token = lexer.lex()) {
    const [start, end] = token.range;
    const raw = text.slice(start, end);
    tokens.push({ text: token.type === STRING ? raw.replace(/^'(.*)'$/s, '"$1"') : raw, start, end });
  }
  return tokens;
}
