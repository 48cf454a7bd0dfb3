/**
 * How files of Lua are formatted: two spaces for each block, one more level where an expression goes on, single quotes, no
 * space at the end of a line, lines of bounded length.
 */
import { tokensOf, type Token } from '../link/tokens.js';

const MOST_COLUMNS = 110;
/** Comments are as wide as elsewhere. */
const MOST_OF_A_COMMENT = 130;
const OPENING = new Set(['function', 'then', 'do', 'else', 'repeat', '{', '(', '[']);
const CLOSING = new Set(['end', 'elseif', 'else', 'until', '}', ')', ']']);
/** A line that begins with one of these goes on with the one before it. */
const GOING_ON = new Set(['and', 'or', '..', '==', '~=', '+', '*', '/']);

/** The text with the right indentation and blank lines. */
export function formatted(text: string): string {
  const depths = depthsIn(text);
  const lines = text.split('\n').map((line, i) => {
    const code = line.trim();
    return code === '' ? '' : `${'  '.repeat(depths[i] ?? 0)}${code}`;
  });
  return `${lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()}\n`;
}

/** @returns what is wrong beside that, each with its line */
export function formatFaultsIn(text: string): readonly (readonly [line: number, what: string])[] {
  const quotes = tokensOf(text).filter(
    ({ kind, text: one }) => kind === 'string' && one.startsWith('"') && !one.includes("'"),
  );
  const long = text.split('\n').flatMap((line, i): (readonly [number, string])[] => {
    const most = line.trimStart().startsWith('--') ? MOST_OF_A_COMMENT : MOST_COLUMNS;
    return line.length > most ? [[i + 1, `${line.length} columns: at most ${most}`]] : [];
  });
  return [...quotes.map(({ line }) => [line, 'single quotes'] as const), ...long];
}

/** Of each line. What is opened in one line, by several words, is one level. */
function depthsIn(text: string): readonly number[] {
  const all = tokensOf(text);
  const open: number[] = []; // the lines of what is open
  return text.split('\n').map((_, i) => {
    const tokens = all.filter(({ line }) => line === i + 1);
    const first = tokens[0]?.text ?? '';
    const depth = new Set(open.slice(0, open.length - closedFirst(tokens))).size;
    step(open, tokens, i + 1);
    return depth + (GOING_ON.has(first) ? 1 : 0);
  });
}

/** How many things the line closes before anything else. */
function closedFirst(tokens: readonly Token[]): number {
  const end = tokens.findIndex(({ text }) => !CLOSING.has(text));
  return end < 0 ? tokens.length : end;
}

function step(open: number[], tokens: readonly Token[], line: number): void {
  for (const { kind, text } of tokens) {
    if (kind === 'string') continue;
    if (CLOSING.has(text)) open.pop();
    if (OPENING.has(text)) open.push(line);
  }
}
