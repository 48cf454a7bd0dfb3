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
  const found: string[] = [];
  let depth = 0;
  for (const [i, { text }] of tokens.entries()) {
    if (depth === 0 && text === 'local' && tokens[i + 1]?.text === 'function')
      found.push(tokens[i + 2]?.text ?? '');
    if (OPENING.has(text)) depth++;
    if (text === 'end') depth--;
  }
  return found;
}

/** `lately('leave', …)` calls it. @param text  what makes the functions */
export function madeOnce(functions: readonly string[], text: readonly Token[]): readonly Token[] {
  const fields = functions.map((name) => `${name} = ${name}`).join(', ');
  return [
    ...tokensOf('local late\nlocal function lately(name, ...)\nif not late then\n'),
    ...text,
    ...tokensOf(`\nlate = {${fields}}\nend\nreturn late[name](...)\nend\n`),
  ];
}

/** Has them called by name, outside of the text that makes them. `pcall(leave, …)` is a call as well. */
export function calledLate(tokens: readonly Token[], { functions, text }: Late): readonly Token[] {
  const made: Token[] = [];
  let called: Token | undefined;
  for (const [i, token] of tokens.entries()) {
    if (called !== undefined) {
      if (token.text !== '(')
        throw new Error(`line ${called.line}: ${called.text} is made late: it can only be called`);
      made.push(token, quoted(called), ...(tokens[i + 1]?.text === ')' ? [] : [comma(token)]));
      called = undefined;
    } else if (token.kind !== 'word' || !functions.has(token.text) || text.has(token)) made.push(token);
    else if (tokens[i - 1]?.text === '.') made.push(token);
    else {
      made.push({ ...token, text: 'lately' });
      if (tokens[i - 1]?.text === '(' && tokens[i - 2]?.text === 'pcall')
        made.push(comma(token), quoted(token));
      else called = token;
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
