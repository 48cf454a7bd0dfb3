/**
 * Puts scripts together from their files: each part once, in the order of needs, and the values of
 * constants in place of their names.
 */
import { functionsOf, type Late, madeLate, refuseVariables } from './late.js';
import { expand, type Inline, takeInlines } from './inlines.js';
import { directiveOf, type Library, type LuaFile, within } from './library.js';
import { piecesOf, type Token } from './tokens.js';
import type { Script } from '../../../lib/redis/script.js';

export interface Linked extends Script {
  /** The source, in pieces that other scripts may have as well. */
  readonly pieces: readonly string[];
}

/** By their names. */
export type Constants = ReadonlyMap<string, string | number>;

export interface Terms {
  /** What is asked for late stands there as if it were needed: for who creates no functions as a script runs. */
  readonly isLateAtOnce?: boolean;
}

/** All scripts. @throws for what is not there, needed in a circle, or defined nowhere */
export function linkAll(library: Library, constants: Constants, terms: Terms = {}): readonly Linked[] {
  return [...library.scripts.values()].map((script) => link(script, library, { constants, ...terms }));
}

/** One of them. */
export function link(
  script: LuaFile,
  { parts }: Library,
  { constants, isLateAtOnce = false }: Terms & { readonly constants: Constants },
): Linked {
  return within(script.path, () => {
    const tokens = new Linker(parts, isLateAtOnce).linked(script);
    const pieces = piecesOf(tokens.map((token, i) => literal(token, tokens[i - 1]?.text, constants)));
    return { name: script.name, source: pieces.join(''), pieces };
  });
}

class Linker {
  readonly #parts: ReadonlyMap<string, LuaFile>;
  readonly #isLateAtOnce: boolean;
  readonly #placed = new Set<string>();
  readonly #inlines = new Map<string, Inline>();
  /** Parts that are being placed, each within the one before it. */
  readonly #open: string[] = [];
  #late: Late | undefined;

  constructor(parts: ReadonlyMap<string, LuaFile>, isLateAtOnce: boolean) {
    this.#parts = parts;
    this.#isLateAtOnce = isLateAtOnce;
  }

  linked({ tokens }: LuaFile): readonly Token[] {
    const all = tokens.flatMap((token) => this.#directed(token));
    return expand(this.#late === undefined ? all : madeLate(all, this.#late), this.#inlines);
  }

  /** What a directive asks for, in its place. */
  #directed(token: Token): readonly Token[] {
    if (token.kind !== 'directive') return [token];
    const { names, word } = directiveOf(token);
    if (word === 'needs') return names.flatMap((name) => this.#place(name));
    if (word === 'paste') return names.flatMap((name) => this.#text(name));
    return word === 'late' ? this.#makeLate(names, token) : [];
  }

  #place(name: string): readonly Token[] {
    if (this.#open.includes(name)) throw new Error(`${[...this.#open, name].join(' needs ')}: a circle`);
    if (this.#placed.has(name)) return [];
    this.#placed.add(name);
    return this.#text(name);
  }

  #text(name: string): readonly Token[] {
    const { inlines, rest } = takeInlines(this.#part(name).tokens);
    for (const [one, inline] of inlines) this.#inlines.set(one, inline);
    this.#open.push(name);
    const made = rest.flatMap((token) => this.#directed({ ...token, part: name }));
    this.#open.pop();
    return made;
  }

  #part(name: string): LuaFile {
    const part = this.#parts.get(name);
    if (part === undefined) throw new Error(`there is no part ${name}`);
    return part;
  }

  #makeLate(names: readonly string[], at: Token): readonly Token[] {
    if (this.#late !== undefined || this.#open.length > 0)
      throw new Error(`line ${at.line}: --@late stands in a script, once`);
    const text = names.flatMap((name) => this.#place(name));
    refuseVariables(text);
    if (this.#isLateAtOnce) return text;
    const functions = names.flatMap((name) => functionsOf(this.#part(name).tokens));
    this.#late = { functions: new Set(functions), text: new Set(text) };
    return text;
  }
}

/** A name that is all capitals is a constant: its value stands in its place. */
function literal(token: Token, before: string | undefined, constants: Constants): Token {
  const { kind, line, text } = token;
  if (kind !== 'word' || !CAPITALS.test(text) || GIVEN.has(text) || before === '.') return token;
  const value = constants.get(text);
  if (value === undefined) throw new Error(`line ${line}: the constant ${text} is not defined`);
  if (typeof value === 'number') return { ...token, kind: 'number', text: String(value) };
  return { ...token, kind: 'string', text: `'${value}'` };
}

const CAPITALS = /^[A-Z][A-Z0-9_]+$/;
/** What Redis gives a script. */
const GIVEN = new Set(['KEYS', 'ARGV']);
