/** Functions of one expression, which stands in place of each call: no function is created for them as a script runs. */
import type { Token } from './tokens.js';

export interface Inline {
  readonly parameters: readonly string[];
  readonly body: readonly Token[];
}

/** After these, and before those, a chain of `..` needs no parentheses. */
const BEFORE = new Set(['(', ',', '=', '==', '~=', 'and', 'or', 'return', '{', '..']);
const AFTER = new Set([')', ',', '==', '~=', 'and', 'or', 'then', 'end', '}', '..']);

const CHAIN = new Set(['..', '.', '[', ']']);
const LOGIC = new Set(['and', 'or', 'not']);

/**
 * The functions behind `--@inline`, and the text without them.
 *
 * @param tokens  of a part
 */
export function takeInlines(tokens: readonly Token[]): {
  readonly inlines: ReadonlyMap<string, Inline>;
  readonly rest: readonly Token[];
} {
  const inlines = new Map<string, Inline>();
  const rest: Token[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token === undefined) break;
    if (token.kind !== 'directive' || token.text !== '--@inline') rest.push(token);
    else {
      const { end, inline, name } = inlineAt(tokens, i + 1);
      inlines.set(name, inline);
      i = end;
    }
  }
  return { inlines, rest };
}

/** `local function name(parameters) return expression end`, with no function in the expression. */
function inlineAt(
  tokens: readonly Token[],
  from: number,
): { readonly name: string; readonly inline: Inline; readonly end: number } {
  const close = tokens.findIndex(({ text }, i) => i > from && text === ')');
  const end = tokens.findIndex(({ text }, i) => i > close && text === 'end');
  const words = tokens.slice(from, close + 2).map(({ text }) => text);
  const [local, keyword, name = '', open] = words;
  const body = tokens.slice(close + 2, end);
  const isOne =
    local === 'local' && keyword === 'function' && open === '(' && words.at(-1) === 'return' && end > close;
  if (!isOne || body.some(({ text }) => text === 'return' || text === 'function'))
    throw new Error(`line ${tokens[from]?.line ?? '?'}: --@inline is for a function of one expression`);
  const parameters = words.slice(4, -2).filter((word) => word !== ',');
  return { name, inline: { parameters, body }, end };
}

/** Puts expressions in place of calls. */
export function expand(tokens: readonly Token[], inlines: ReadonlyMap<string, Inline>): readonly Token[] {
  const made: Token[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (token === undefined) break;
    const inline = token.kind === 'word' && tokens[i - 1]?.text !== '.' ? inlines.get(token.text) : undefined;
    if (inline === undefined) made.push(token);
    else {
      const { args, end } = argumentsAt(tokens, i + 1);
      const body = filled(inline, args, token);
      const isSafe =
        isWhole(body) || (isChain(body) && BEFORE.has(made.at(-1)?.text ?? '') && isAfter(tokens[end + 1]));
      made.push(...atPlaceOf(token, isSafe ? body : [sign('(', token), ...body, sign(')', token)]));
      i = end;
    }
  }
  return made;
}

function isAfter(token: Token | undefined): boolean {
  return token === undefined || token.isFirst || AFTER.has(token.text);
}

/** One pair of parentheses is around all. */
function isWhole(body: readonly Token[]): boolean {
  let depth = 0;
  return body.every(({ text }, i) => {
    if (text === '(') depth++;
    if (text === ')') depth--;
    return depth > 0 || i === body.length - 1;
  });
}

/** Plain values, joined by `..`. */
function isChain(body: readonly Token[]): boolean {
  return body.every(({ kind, text }) => (kind === 'sign' ? CHAIN.has(text) : !LOGIC.has(text)));
}

/** Arguments are variables, or a field of one: they are worked out as often as the function names them. */
function argumentsAt(
  tokens: readonly Token[],
  open: number,
): { readonly args: readonly (readonly Token[])[]; readonly end: number } {
  const call = tokens[open - 1];
  const end = tokens.findIndex(({ text }, i) => i > open && text === ')');
  const args: Token[][] = [[]];
  for (const token of tokens.slice(open + 1, end)) {
    if (token.text === ',') args.push([]);
    else args.at(-1)?.push(token);
  }
  const isSimple = args.every((arg) => /^\w+(?:\.\w+|\[\w+\])?$/.test(arg.map(({ text }) => text).join('')));
  if (tokens[open]?.text !== '(' || end < 0 || !isSimple)
    throw new Error(`line ${call?.line ?? '?'}: ${call?.text ?? ''} is inline: it takes variables only`);
  return { args, end };
}

function filled(
  { body, parameters }: Inline,
  args: readonly (readonly Token[])[],
  at: Token,
): readonly Token[] {
  if (args.length !== parameters.length) throw new Error(`line ${at.line}: ${at.text} takes other arguments`);
  return body.flatMap((token) => {
    const place = token.kind === 'word' ? parameters.indexOf(token.text) : -1;
    return args[place] ?? [token];
  });
}

function atPlaceOf({ isFirst, line, part }: Token, made: readonly Token[]): readonly Token[] {
  const from = part === undefined ? {} : { part };
  return made.map((token, i) => ({ ...token, ...from, line, isFirst: isFirst && i === 0 }));
}

function sign(text: string, at: Token): Token {
  return { ...at, kind: 'sign', text };
}
