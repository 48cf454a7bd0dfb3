/** The functions of Lua 5.1 that the scripts call. Patterns come as regular expressions: the build has translated them. */
import { general, LuaError, all, num, Table, text, type, type Value, type Values, is } from './lua.js';

export { tonumber, type } from './lua.js';

/** Lua puts the place of the error before a text; this puts only the kind of program there. */
export function error(value: Value): never {
  throw new LuaError(typeof value === 'string' ? `user_script: ${value}` : value);
}

/** An error that is not from Lua is a mistake in this code, and passes through. */
export function pcall(run: Value, ...args: readonly Value[]): readonly Value[] {
  try {
    if (typeof run !== 'function') throw new LuaError(`attempt to call a ${type(run)} value`);
    return [true, ...all(run(...args))];
  } catch (error) {
    if (error instanceof LuaError) return [false, error.value];
    throw error;
  }
}

export function tostring(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return general(value, 14);
  return typeof value === 'boolean' ? String(value) : type(value);
}

function tableOf(value: Value): Table {
  if (value instanceof Table) return value;
  throw new LuaError(`bad argument (table expected, got ${type(value)})`);
}

/** Keys and values as they are now: an entry that is removed meanwhile is still listed. */
export function pairs(value: Value): readonly (readonly [Value, Value])[] {
  const { fields, list } = tableOf(value);
  const listed = list.map((one, i) => [i + 1, one] as const);
  const numbered = listed.filter(([, one]) => one !== undefined);
  return fields === undefined ? numbered : [...numbered, ...fields];
}

/** The first key and value. */
export function next(value: Value): Values {
  const { fields, list } = tableOf(value);
  if (list.length > 0) return pairs(value)[0];
  for (const pair of fields ?? []) return pair;
  return undefined;
}

export function unpack(value: Value, from: Value = 1, to?: Value): readonly Value[] {
  const table = tableOf(value);
  const [first, last] = [num(from), to === undefined ? table.list.length : num(to)];
  if (first === 1 && last === table.list.length) return table.list;
  const values: Value[] = [];
  for (let i = first; i <= last; i++) values.push(table.get(i));
  return values;
}

/** The captures, or the whole match without captures. */
export function match(value: Value, pattern: RegExp): Values {
  const found = pattern.exec(text(value));
  if (found === null) return undefined;
  return found.length > 2 ? found.slice(1) : found.at(-1);
}

export function gmatch(value: Value, pattern: RegExp): readonly (readonly Value[])[] {
  return [...text(value).matchAll(pattern)].map((found) => (found.length > 1 ? found.slice(1) : found));
}

export function gsub(value: Value, pattern: RegExp, replacement: string): readonly Value[] {
  let count = 0;
  const replaced = text(value).replace(pattern, () => {
    count++;
    return replacement;
  });
  return [replaced, count];
}

/** Without patterns. */
export function find(value: Value, wanted: Value): Values {
  const part = text(wanted);
  const at = text(value).indexOf(part);
  return at < 0 ? undefined : [at + 1, at + part.length];
}

export function sub(value: Value, from: Value, to: Value = -1): string {
  const whole = text(value);
  const place = (given: Value): number => (num(given) < 0 ? whole.length + num(given) + 1 : num(given));
  return whole.slice(Math.max(place(from), 1) - 1, Math.max(place(to), 0));
}

export function byte(value: Value, at: Value = 1): number | undefined {
  const code = text(value).charCodeAt(num(at) - 1);
  return Number.isNaN(code) ? undefined : code;
}

/** `string.format('%.0f', …)`: halves go to the even neighbour. */
export function fixed(value: Value): string {
  const number = num(value);
  if (Number.isInteger(number)) return Math.abs(number) < 1e21 ? String(number) : String(BigInt(number));
  if (!Number.isFinite(number)) return general(number, 14);
  const below = Math.floor(number);
  const isUp = number - below > 0.5 || (number - below === 0.5 && below % 2 !== 0);
  return String(isUp ? below + 1 : below);
}

/** Sorts a list in place. @param isBefore  a total order: Lua's sort is not stable */
export function sort(value: Value, isBefore: Value): undefined {
  if (typeof isBefore !== 'function')
    throw new LuaError(`bad argument (function expected, got ${type(isBefore)})`);
  const comes = (one: Value, other: Value): boolean => is(all(isBefore(one, other))[0]);
  tableOf(value).list.sort((one, other) => (comes(one, other) ? -1 : comes(other, one) ? 1 : 0));
}

export function concat(value: Value, between: Value = '', from: Value = 1): string {
  const { list } = tableOf(value);
  const parts = is(from) && from !== 1 ? list.slice(num(from) - 1) : list;
  return parts.map(text).join(text(between));
}
