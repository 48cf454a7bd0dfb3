/**
 * Functions that are made when one of them is called for the first time, and kept for the rest of the call. A script's
 * functions are created each time that it runs: those that few calls need cost nothing before.
 */
import { type Token, tokensOf } from './tokens.js';

export interface Late {
  readonly functions: ReadonlySet<string>;
  /** The text that makes them, in which they are called as they are. */
  readonly text: ReadonlySet<Token>;
}

const OPENING = new Set(['function', 'do', 'if']);

/** The functions that a part declares for others. */
export function functionsOf(tokens: readonly Token[]): readonly string[] {
  return outer(tokens).flatMap(({ text }, i, all) => (text === 'function' ? [all[i + 1]?.text ?? ''] : []));
}

/** Whether functions are made early or late cannot be told only as long as nothing else is made with them. */
export function refuseVariables(tokens: readonly Token[]): void {
  for (const [i, { line, text }] of outer(tokens).entries())
    if (text !== ['local', 'function'][i % 3] && i % 3 < 2)
      throw new Error(`line ${line}: what is made late is functions only`);
}

/** `local function name` of each function, and whatever else is in none. */
function outer(tokens: readonly Token[]): readonly Token[] {
  let depth = 0;
  return tokens.filter(({ kind, text }, i) => {
    const isName = depth === 1 && tokens[i - 1]?.text === 'function' && kind === 'word';
    const isOuter = depth === 0 || isName;
    if (OPENING.has(text)) depth++;
    if (text === 'end') depth--;
    return kind !== 'directive' && isOuter && text !== 'end';
  });
}

/**
 * Puts that text into a function that is called with a name, and has the functions called so from outside of it:
 * `lately('leave', …)`. `pcall(leave, …)` is a call as well.
 */
export function madeLate(tokens: readonly Token[], late: Late): readonly Token[] {
  const first = tokens.findIndex((token) => late.text.has(token));
  const end = tokens.findLastIndex((token) => late.text.has(token)) + 1;
  const called = new Set<string>();
  const [before, after] = [tokens.slice(0, first), tokens.slice(end)].map((part) =>
    calledLate(part, late, called),
  );
  const fields = [...called].map((name) => `${name} = ${name}`).join(', ');
  return [
    ...(before ?? []),
    ...tokensOf('\nlocal late\nlocal function lately(name, ...)\nif not late then\n'),
    ...tokens.slice(first, end),
    ...tokensOf(`\nlate = {${fields}}\nend\nreturn late[name](...)\nend\n`),
    ...(after ?? []),
  ];
}

/** @param called  takes in which functions are */
function calledLate(tokens: readonly Token[], { functions }: Late, called: Set<string>): readonly Token[] {
  const made: Token[] = [];
  let isOpening: Token | undefined;
  for (const [i, token] of tokens.entries()) {
    if (isOpening !== undefined) {
      made.push(token, quoted(isOpening), ...(tokens[i + 1]?.text === ')' ? [] : [comma(token)]));
      isOpening = undefined;
    } else if (token.kind !== 'word' || !functions.has(token.text) || tokens[i - 1]?.text === '.')
      made.push(token);
    else {
      const isTried = tokens[i - 1]?.text === '(' && tokens[i - 2]?.text === 'pcall';
      if (!isTried && tokens[i + 1]?.text !== '(')
        throw new Error(`line ${token.line}: ${token.text} is made late: it can only be called`);
      called.add(token.text);
      made.push({ ...token, text: 'lately' });
      if (isTried) made.push(comma(token), quoted(token));
      else isOpening = token;
    }
  }
  return made;
}

function quoted(token: Token): Token {
  return { ...token, kind: 'string', text: `'${token.text}'`, isFirst: false };
}

function comma(token: Token): Token {
  return { ...token, kind: 'sign', text: ',', isFirst: false };
}
