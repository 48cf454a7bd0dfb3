/** The files of the scripts' Lua, for specs that read them. */
import { readLibrary } from '../../scripts/lua/link/library.js';

const library = readLibrary();

/** The code of a part, with no comments. What it pastes stands in its place. */
export function partCode(name: string): string {
  return codeOf(library.parts.get(name)?.text);
}

/** The code of a script itself, up to where it asks for parts, and behind that. */
export function scriptCode(name: string): { readonly atOnce: string; readonly rest: string } {
  const text = library.scripts.get(name)?.text ?? '';
  const [atOnce = '', ...rest] = text.split(/^--@(?:late|needs) (?!tokens$).*$/m);
  return { atOnce: codeOf(atOnce), rest: codeOf(rest.join('\n')) };
}

function codeOf(text = ''): string {
  const filled = text.replaceAll(/^ *--@paste (.*)$/gm, (_, name: string) => partCode(name));
  return filled.replaceAll(/^ *--.*\n/gm, '');
}
