/**
 * Values of Lua 5.1 and its operators, for the compiled scripts (`programs.js`).
 *
 * nil is undefined, and a function that returns several values returns an array, which is not a Lua value otherwise. Strings
 * are bytes, one character for each: `toBytes` and `fromBytes` convert the texts of JavaScript that come in and go out.
 */

export type Value = undefined | boolean | number | string | Table | LuaFunction;
/** One value, or an array of several. */
export type Values = Value | readonly Value[];
export type LuaFunction = (...args: readonly Value[]) => Values;

/** Whether a text is more than ASCII. */
const WIDE = /[\u0080-\uffff]/;

export function toBytes(text: string): string {
  if (!WIDE.test(text)) return text;
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

export function fromBytes(bytes: string): string {
  if (!WIDE.test(bytes)) return bytes;
  return new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0)));
}

/** The error that Lua's `error` raises, and a failed `redis.call`. */
export class LuaError extends Error {
  readonly value: Value;

  constructor(value: Value) {
    const told = typeof value === 'string' ? value : index(value, 'err');
    super(typeof told === 'string' ? told : type(value));
    this.value = value;
  }
}

/** A list from 1 on without gaps, and the fields with other keys. */
export class Table {
  readonly list: Value[];
  fields: Map<Value, Value> | undefined;

  constructor(list: Value[], fields?: Map<Value, Value>) {
    while (list.length > 0 && list.at(-1) === undefined) list.pop();
    this.list = list;
    this.fields = fields;
  }

  get(key: Value): Value {
    if (typeof key === 'number' && key >= 1 && key <= this.list.length) return this.list[key - 1];
    return this.fields?.get(key);
  }

  set(key: Value, value: Value): void {
    const { list } = this;
    if (typeof key !== 'number' || key < 1 || key > list.length + 1 || !Number.isInteger(key)) {
      if (value === undefined) this.fields?.delete(key);
      else (this.fields ??= new Map()).set(key, value);
    } else if (value !== undefined) {
      list[key - 1] = value;
      this.#append();
    } else if (key <= list.length) {
      list[key - 1] = undefined;
      while (list.length > 0 && list.at(-1) === undefined) list.pop();
    }
  }

  /** Moves fields into the list that were set beyond its end before it reached them. */
  #append(): void {
    const { fields, list } = this;
    if (fields === undefined || fields.size === 0) return;
    for (let next = list.length + 1; fields.has(next); next++) {
      list.push(fields.get(next));
      fields.delete(next);
    }
  }
}

export function table(list: Value[], ...fields: (readonly [Value, Value])[]): Table {
  const made = new Table(list);
  for (const [key, value] of fields) made.set(key, value);
  return made;
}

/** A text has the functions of `string` in Lua, and no other fields. */
export function index(of: Value, key: Value): Value {
  if (of instanceof Table) return of.get(key);
  if (typeof of === 'string') return undefined;
  throw new LuaError(`attempt to index a ${type(of)} value`);
}

export function put(into: Value, key: Value, value: Value): void {
  if (!(into instanceof Table)) throw new LuaError(`attempt to index a ${type(into)} value`);
  if (key === undefined) throw new LuaError('table index is nil');
  into.set(key, value);
}

export function length(of: Value): number {
  if (typeof of === 'string') return of.length;
  if (of instanceof Table) return of.list.length;
  throw new LuaError(`attempt to get length of a ${type(of)} value`);
}

/** Whether it counts as true. */
export function is(value: Value): boolean {
  return value !== undefined && value !== false;
}

/** The first of what a call returned. */
export function one(values: Values): Value {
  return isList(values) ? values[0] : values;
}

/** All of what a call returned. */
export function all(values: Values): readonly Value[] {
  return isList(values) ? values : [values];
}

function isList(values: Values): values is readonly Value[] {
  return Array.isArray(values);
}

export function type(value: Value): string {
  if (value === undefined) return 'nil';
  return value instanceof Table ? 'table' : typeof value;
}

/** The usual case, checked without a regular expression. */
function isOfDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return text !== '';
}

const NUMBER = /^\s*[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|0x[\da-f]+)\s*$/i;

export function tonumber(value: Value): number | undefined {
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
  if (isOfDigits(value)) return Number(value);
  if (!NUMBER.test(value)) return undefined;
  const text = value.trim();
  return text.startsWith('-') ? -Number(text.slice(1)) : Number(text.replace('+', ''));
}

/** An operand of arithmetic. */
export function num(value: Value): number {
  const number = typeof value === 'number' ? value : tonumber(value);
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on a ${type(value)} value`);
  return number;
}

/** An operand of `..`. */
export function text(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return general(value, 14);
  throw new LuaError(`attempt to concatenate a ${type(value)} value`);
}

/** A number as C prints it by `%.14g`, Lua's own way, or with another number of digits. */
export function general(number: number, digits: number): string {
  if (Number.isInteger(number) && Math.abs(number) < 10 ** digits) return String(number);
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'nan' : number > 0 ? 'inf' : '-inf';
  const [mantissa = '', power = ''] = number.toExponential(digits - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return withoutZeros(number.toFixed(digits - 1 - exponent));
  const sign = exponent < 0 ? '-' : '+';
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

export function less(one: Value, other: Value): boolean {
  if (typeof one === 'number' && typeof other === 'number') return one < other;
  if (typeof one === 'string' && typeof other === 'string') return one < other; // in the locale C, as by bytes
  throw new LuaError(`attempt to compare ${type(one)} with ${type(other)}`);
}

export function atMost(one: Value, other: Value): boolean {
  return one === other || less(one, other);
}

export function more(one: Value, other: Value): boolean {
  return less(other, one);
}

export function atLeast(one: Value, other: Value): boolean {
  return atMost(other, one);
}
