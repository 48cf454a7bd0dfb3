/**
 * The rules for files of Lua: what luacheck would say, and what the linker's directives promise. Each file is looked at by
 * itself, with the names that the parts it asks for declare.
 */
import { type Directive, directiveOf, type Library, type LuaFile } from '../link/library.js';
import { type Findings, findingsIn } from './scopes.js';

/** Lines of code in one function, without functions within it; a script's own code may have more. */
const MOST_LINES = 60;
const MOST_OF_A_SCRIPT = 100;
/** Blocks within blocks of one function. */
const MOST_DEPTH = 5;
/** What Lua and Redis bring. */
const GIVEN = new Set(
  'KEYS ARGV error ipairs math next pairs pcall redis string table tonumber tostring type unpack'.split(' '),
);
const CONSTANT = /^[A-Z][A-Z0-9_]+$/;

interface Read {
  readonly file: LuaFile;
  readonly found: Findings;
  readonly directives: readonly Directive[];
}

/** @returns what is wrong, each with its place */
export function faultsIn({ parts, scripts }: Library): readonly string[] {
  const all = [...parts.values(), ...scripts.values()].map(read);
  const byName = new Map(all.filter(({ file }) => !file.isScript).map((one) => [one.file.name, one]));
  return [...all.flatMap((one) => [...faultsOf(one, byName), ...needsOf(one, byName)]), ...acrossAll(all)];
}

function read(file: LuaFile): Read {
  const directives = file.tokens.filter(({ kind }) => kind === 'directive').map(directiveOf);
  return { file, found: findingsIn(file.text), directives };
}

/** What a file says and does not keep by itself. */
function faultsOf({ directives, file, found }: Read, parts: ReadonlyMap<string, Read>): string[] {
  const at = (line: number): string => `${file.path}:${line}:`;
  const asked = askedIn(directives).map(({ name }) => parts.get(name)?.directives ?? []);
  const used = new Set([directives, ...asked].flatMap((one) => [...usedNames(one)]));
  const unused = found.declared.filter(
    ({ isOuter, isUsed, name }) => !isUsed && !used.has(name) && (file.isScript || !isOuter),
  );
  const most = (name: string): number => (name === 'the file' ? MOST_OF_A_SCRIPT : MOST_LINES);
  return [
    ...headerOf(file),
    ...unused.map(({ kind, line, name }) => `${at(line)} the ${kind} ${name} is not used`),
    ...found.hiding.map(([name, line]) => `${at(line)} ${name} hides another ${name} of its function`),
    ...found.bodies
      .filter(({ lines, name }) => lines > most(name))
      .map(({ line, lines, name }) => `${at(line)} ${name} has ${lines} lines: at most ${most(name)}`),
    ...found.bodies
      .filter(({ depth }) => depth > MOST_DEPTH)
      .map(({ depth, line, name }) => `${at(line)} ${name} is ${depth} blocks deep: at most ${MOST_DEPTH}`),
  ];
}

function headerOf({ isScript, path, text }: LuaFile): string[] {
  const [header = ''] = /^(?:--(?!@).*\n)*/.exec(text) ?? [];
  if (header === '') return [`${path}:1: it has no header`];
  if (isScript && !(/KEYS|ARGV/.test(header) && header.includes('→')))
    return [`${path}:1: its header does not say KEYS, ARGV and replies`];
  return [];
}

/** Names that a part takes from where it stands. */
function usedNames(directives: readonly Directive[]): ReadonlySet<string> {
  return new Set(directives.filter(({ word }) => word === 'uses').flatMap(({ names }) => names));
}

/** The parts that a file asks for, in order. */
function askedIn(
  directives: readonly Directive[],
): readonly { readonly line: number; readonly name: string }[] {
  const asked = directives.filter(({ word }) => word === 'needs' || word === 'late' || word === 'paste');
  return asked.flatMap(({ line, names }) => names.map((name) => ({ line, name })));
}

/** A file names the parts whose names it uses, and no others. */
function needsOf({ directives, file, found }: Read, parts: ReadonlyMap<string, Read>): string[] {
  const asked = askedIn(directives);
  const own = usedNames(directives);
  const brought = new Set(asked.flatMap(({ name }) => exportsOf(parts.get(name))));
  const wanted = new Set(asked.flatMap(({ name }) => [...usedNames(parts.get(name)?.directives ?? [])]));
  for (const name of found.free.keys()) wanted.add(name);
  const isIdle = (name: string, i: number): boolean => {
    const part = parts.get(name);
    if (part === undefined || part.found.isActing || exportsOf(part).some((one) => wanted.has(one)))
      return false;
    // a script may place a part before others that need it
    return !file.isScript || !asked.slice(i + 1).some((later) => needs(later.name, name, parts));
  };
  return [
    ...[...found.free]
      .filter(([name]) => !GIVEN.has(name) && !CONSTANT.test(name) && !own.has(name) && !brought.has(name))
      .map(([name, line]) => `${file.path}:${line}: ${name} ${whereIs(name, parts)}`),
    ...asked
      .filter(({ name }, i) => isIdle(name, i))
      .map(({ line, name }) => `${file.path}:${line}: nothing of ${name} is used`),
    ...[...own]
      .filter((name) => !found.free.has(name))
      .map((name) => `${file.path}:1: --@uses ${name}, and it does not`),
  ];
}

function whereIs(name: string, parts: ReadonlyMap<string, Read>): string {
  const home = [...parts.values()].find((part) => exportsOf(part).includes(name));
  return home === undefined ? 'is declared nowhere' : `is in ${home.file.name}, which is not asked for`;
}

/** Whether one part has need of another, itself or by what it needs. */
function needs(name: string, other: string, parts: ReadonlyMap<string, Read>): boolean {
  const asked = askedIn(parts.get(name)?.directives ?? []).map((one) => one.name);
  return asked.some((one) => one === other || needs(one, other, parts));
}

function exportsOf(part: Read | undefined): readonly string[] {
  return part?.found.declared.filter(({ isOuter }) => isOuter).map(({ name }) => name) ?? [];
}

/** Names that other files see are used by one, and functions are told apart by their names alone. */
function acrossAll(all: readonly Read[]): string[] {
  const wanted = new Set(
    all.flatMap(({ directives, found }) => [...found.free.keys(), ...usedNames(directives)]),
  );
  const asked = new Set(
    all.flatMap(({ directives }) => directives.flatMap(({ names, word }) => (word === 'uses' ? [] : names))),
  );
  const homes = new Map<string, string>();
  const faults: string[] = [];
  for (const { file, found } of all) {
    if (!file.isScript && !asked.has(file.name)) faults.push(`${file.path}:1: no script has it`);
    for (const { isOuter, isUsed, kind, line, name } of found.declared) {
      if (isOuter && !isUsed && !file.isScript && !wanted.has(name))
        faults.push(`${file.path}:${line}: no file uses ${name}`);
      if (!isOuter || kind !== 'function') continue;
      const home = homes.get(name);
      if (home !== undefined)
        faults.push(`${file.path}:${line}: a function of ${home} has the name ${name} as well`);
      homes.set(name, file.path);
    }
  }
  return faults;
}
