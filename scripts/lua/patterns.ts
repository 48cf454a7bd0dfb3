/** Patterns of Lua 5.1 as regular expressions over bytes. */

const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  d: '0-9',
  l: 'a-z',
  s: '\\t-\\r ',
  u: 'A-Z',
  w: 'A-Za-z0-9',
  x: '0-9A-Fa-f',
};

/** @returns the expression's source, and how many captures it has @throws for what no script uses */
export function translate(pattern: string): { readonly source: string; readonly captures: number } {
  let [source, captures, last] = ['', 0, ''];
  for (let i = 0; i < pattern.length;) {
    const piece = pieceAt(pattern, i, last);
    if (piece.kind === '(') captures++;
    source += piece.source;
    last = piece.kind;
    i += piece.length;
  }
  return { source, captures };
}

interface Piece {
  readonly source: string;
  readonly length: number;
  /** `one`: what a repetition may follow; else the letter itself. */
  readonly kind: string;
}

function pieceAt(pattern: string, i: number, last: string): Piece {
  const letter = pattern[i] ?? '';
  if (letter === '[') return setAt(pattern, i);
  if (letter === '%') return { source: classOf(pattern[i + 1] ?? '', pattern), length: 2, kind: 'one' };
  if ('*+-?'.includes(letter) && i > 0) {
    if (last !== 'one')
      throw new Error(`the pattern ${pattern}: what comes before ${letter} cannot be repeated`);
    return { source: letter === '-' ? '*?' : letter, length: 1, kind: letter };
  }
  if (letter === '(' && pattern[i + 1] === ')') throw new Error(`the pattern ${pattern}: captures of places`);
  if (letter === '(' || letter === ')') return { source: letter, length: 1, kind: letter };
  if (letter === '^' && i === 0) return { source: '^', length: 1, kind: '^' };
  if (letter === '$' && i === pattern.length - 1) return { source: '$', length: 1, kind: '$' };
  return { source: letter === '.' ? '.' : plain(letter), length: 1, kind: 'one' };
}

function classOf(letter: string, pattern: string): string {
  const found = CLASSES[letter];
  if (found !== undefined) return `[${found}]`;
  if (/[A-Za-z0-9]/.test(letter) || letter === '') throw new Error(`the pattern ${pattern}: %${letter}`);
  return plain(letter);
}

function setAt(pattern: string, from: number): Piece {
  const isNegated = pattern[from + 1] === '^';
  let i = from + (isNegated ? 2 : 1);
  let source = isNegated ? '[^' : '[';
  for (const first = i; i === first || pattern[i] !== ']'; i++) {
    if (i >= pattern.length) throw new Error(`the pattern ${pattern}: a set without an end`);
    const letter = pattern[i] ?? '';
    if (letter === '%') source += CLASSES[pattern[++i] ?? ''] ?? plain(pattern[i] ?? '');
    else if (letter === '-' && i > first && pattern[i + 1] !== ']') source += '-';
    else source += plain(letter);
  }
  return { source: `${source}]`, length: i + 1 - from, kind: 'one' };
}

/** A letter that stands for itself. */
function plain(letter: string): string {
  if (/[A-Za-z0-9_ ]/.test(letter)) return letter;
  const code = letter.charCodeAt(0);
  return code < 0x20 || code > 0x7e ? `\\x${code.toString(16).padStart(2, '0')}` : `\\${letter}`;
}
