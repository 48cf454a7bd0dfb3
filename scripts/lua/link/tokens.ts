/** Lua as a list of tokens. Comments are left out, but for what they tell the linker: `--@needs guard, spare`. */

export interface Token {
  readonly kind: 'word' | 'number' | 'string' | 'sign' | 'directive';
  readonly text: string;
  /** Where it stands in its file, from and up to. */
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** It is the first of its line. */
  readonly isFirst: boolean;
  /** The part that it came from. */
  readonly part?: string;
}

const TOKEN =
  /(?<space>\s+)|(?<directive>--@[^\n]*)|(?<comment>--(?!\[)[^\n]*)|(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?(?:e\d+)?)|(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<sign>==|~=|<=|>=|\.\.\.|\.\.|[-+*/%<>#=(){}\],.;:]|\[(?![[=]))/y;

/** @throws for what no script uses, such as long strings and comments */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let [line, isFirst] = [1, true];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) throw new Error(`line ${line}: ${text.slice(at, at + 10)} is not supported`);
    const { space, comment } = groups;
    if (space !== undefined) {
      const breaks = space.split('\n').length - 1;
      line += breaks;
      isFirst ||= breaks > 0;
    } else if (comment === undefined) {
      const [kind, found = ''] = Object.entries(groups).find(([, one]) => one !== undefined) ?? [];
      tokens.push({
        kind: kind as Token['kind'], // the groups' names
        text: found,
        start: at,
        end: TOKEN.lastIndex,
        line,
        isFirst,
      });
      isFirst = false;
    }
  }
  return tokens;
}

/**
 * The tokens as they are sent: with no comment and no space that Lua does not need. A line stays a line, since a server
 * names the place of an error by it.
 *
 * @returns the text in pieces, one for what came from one part at a time
 */
export function piecesOf(tokens: readonly Token[]): readonly string[] {
  const pieces: string[] = [];
  let last: Token | undefined;
  for (const token of tokens) {
    const space = last === undefined ? '' : token.isFirst ? '\n' : between(last, token.text);
    if (last?.part === token.part) pieces.push((pieces.pop() ?? '') + space + token.text);
    else pieces.push(space + token.text);
    last = token;
  }
  return pieces;
}

const LETTER = /\w/;

function between({ kind, text }: Token, next: string): string {
  const [end = '', first = ''] = [text.at(-1), next[0]];
  const isOneWord = kind !== 'string' && LETTER.test(end) && LETTER.test(first);
  const isNumber = (kind === 'number' && first === '.') || (end === '.' && /\d/.test(first));
  return isOneWord || isNumber || (end === '-' && first === '-') ? ' ' : '';
}
