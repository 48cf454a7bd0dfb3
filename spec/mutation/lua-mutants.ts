/** The mutants of Lua: small changes to the text of a file. */
import { brief, type Mutant } from './mutant.js';

/** A mutant of a file, and the change that makes it. */
export interface LuaMutant {
  readonly mutant: Mutant;
  readonly edit: Edit;
}

/** A piece of the text, and what takes its place. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Token extends Edit {
  readonly kind: 'comment' | 'word' | 'number' | 'string' | 'operator';
}

const TOKEN =
  /(?<comment>--.*)|(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?)|(?<string>'(?:[^'\\]|\\.)*')|(?<operator>==|~=|<=|>=|\.\.|[-+*/%<>#=(){}[\],.;:])/g;
const SWAPPED = new Map([
  ['==', '~='],
  ['~=', '=='],
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['+', '-'],
  ['*', '/'],
  ['/', '*'],
  ['and', 'or'],
  ['or', 'and'],
  ['true', 'false'],
  ['false', 'true'],
  ['max', 'min'],
  ['min', 'max'],
  ['pcall', 'call'],
]);
/** What decides alone is replaced as a whole. */
const DECIDING = new Set(['==', '~=']);
/** A line that is one statement, and can be left out: a call, or an assignment to what was there before. */
const STATEMENT = /^[ \t]*((?:[\w.]+\(.*\))|(?:[\w.]+(?:\[[^\]]*\])?(?:, [\w.]+)* = .*)|break)$/gm;
const NO_STATEMENT = /^\s*(?:local|return|if|for|while|function|error)\b|(?:\bthen\b|\bfunction\b|\{)\s*$/;

/** All mutants of a file. @param file  its path from the root */
export function luaMutantsOf(file: string, lua: string): LuaMutant[] {
  const seen = new Map<string, number>();
  return editsOf(lua).map((edit) => {
    const [from, to] = linesAround(lua, edit).map(brief) as [string, string];
    const member = memberAt(lua, edit.start);
    const key = JSON.stringify([member, from, to]);
    const occurrence = (seen.get(key) ?? 0) + 1;
    seen.set(key, occurrence);
    const line = lua.slice(0, edit.start).split('\n').length;
    return { edit, mutant: { file, member, from, to, occurrence, line } };
  });
}

/** The lines that an edit touches, before and after it. */
function linesAround(lua: string, { start, end, text }: Edit): string[] {
  const begin = lua.lastIndexOf('\n', start - 1) + 1;
  const next = lua.indexOf('\n', end);
  const stop = next === -1 ? lua.length : next;
  return [lua.slice(begin, stop), lua.slice(begin, start) + text + lua.slice(end, stop)];
}

/** The function that begins last before it, at the left edge, unless that has ended. */
function memberAt(lua: string, at: number): string {
  const before = lua.slice(0, at);
  const begin = Math.max(
    before.lastIndexOf('\nlocal function '),
    before.startsWith('local function ') ? 0 : -1,
  );
  const [, name = '(chunk)'] = /^\n?local function (\w+)/.exec(before.slice(Math.max(begin, 0))) ?? [];
  return begin < 0 || before.lastIndexOf('\nend\n') > begin ? '(chunk)' : name;
}

/** All changes to a piece of Lua. */
export function editsOf(lua: string): Edit[] {
  const tokens = tokensOf(lua);
  const conditions = conditionsOf(tokens);
  const edits = [...conditions.flatMap((tokens) => verdicts(tokens)), ...statements(lua)];
  for (const [i, token] of tokens.entries()) {
    const isAlone = conditions.some((condition) => condition.includes(token) && isSimple(condition));
    const text = changed(token, tokens[i - 1], tokens[i + 1], isAlone);
    if (text !== undefined) edits.push({ ...place(token), text });
    if (token.text === 'not' && !isAlone) edits.push({ start: token.start, end: token.end + 1, text: '' });
  }
  return edits;
}

function tokensOf(lua: string): Token[] {
  const tokens: Token[] = [];
  for (const match of lua.matchAll(TOKEN)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    const [text] = match;
    if (kind === 'comment') continue;
    tokens.push({ kind: kind as Token['kind'], start: match.index, end: match.index + text.length, text }); // the groups' names
  }
  return tokens;
}

function place({ start, end }: Token): Omit<Edit, 'text'> {
  return { start, end };
}

/** The tokens between each `if` and its `then`. */
function conditionsOf(tokens: readonly Token[]): Token[][] {
  const found: Token[][] = [];
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== 'word' || (text !== 'if' && text !== 'elseif')) continue;
    const end = tokens.findIndex((token, at) => at > i && token.text === 'then');
    if (end > i + 1) found.push(tokens.slice(i + 1, end));
  }
  return found;
}

function isSimple(condition: readonly Token[]): boolean {
  return !condition.some(({ text }) => text === 'and' || text === 'or');
}

function verdicts(condition: readonly Token[]): Edit[] {
  const [first, last] = [condition[0], condition.at(-1)];
  if (first === undefined || last === undefined) return [];
  const has = (word: string): boolean => condition.some(({ text }) => text === word);
  const texts = [...(has('and') ? [] : ['true']), ...(has('or') && !has('and') ? [] : ['false'])];
  return texts.map((text) => ({ start: first.start, end: last.end, text }));
}

function statements(lua: string): Edit[] {
  const found: Edit[] = [];
  for (const match of lua.matchAll(STATEMENT)) {
    const [line, statement = ''] = match;
    if (NO_STATEMENT.test(line)) continue;
    const end = match.index + line.length;
    found.push({ start: end - statement.length, end, text: '' });
  }
  return found;
}

function changed(
  token: Token,
  before: Token | undefined,
  after: Token | undefined,
  isAlone: boolean,
): string | undefined {
  const { kind, text } = token;
  if (kind === 'number')
    return before?.text === '[' && after?.text === ']' ? undefined : String(Number(text) + 1);
  if (kind !== 'word' && kind !== 'operator') return undefined;
  if (text === 'pcall' && before?.text !== '.') return undefined; // Lua's own
  if (text === '-') return isOperand(before) ? '+' : undefined;
  if (isAlone && DECIDING.has(text)) return undefined;
  return SWAPPED.get(text);
}

/** A minus behind it subtracts. */
function isOperand(token: Token | undefined): boolean {
  return (
    token !== undefined &&
    (token.kind !== 'operator' || token.text === ')' || token.text === ']') &&
    token.text !== 'return'
  );
}
