/**
 * The settings of redlock as options of quorate: `waitMs` is retryCount · retryDelay, and driftFactor stays. retryJitter and
 * automaticExtensionThreshold go: a queue has no jitter, and a lease is renewed from a third of its ttl on.
 */
import type { Node } from '@babel/types';
import { bare, endOf, type NodeOf, startOf, type Tree } from '../tree.js';

type ObjectLiteral = NodeOf<'ObjectExpression'>;

/** The settings in an object literal, by name. */
export type Settings = ReadonlyMap<string, Setting>;

interface Setting {
  readonly property: Node;
  readonly value: Node;
}

/** The two that `waitMs` is made of: numbers as source texts; undefined where they are no numbers. */
export interface Retries {
  readonly count: string | undefined;
  readonly delay: string | undefined;
}

const DEFAULT_RETRIES: Retries = { count: '10', delay: '200' };
/** Without a counterpart, and without a loss. */
const DROPPED = new Set(['retryJitter', 'automaticExtensionThreshold']);
export const SCRIPTS = ['lockScript', 'unlockScript', 'extendScript'];

/** @returns a reason, where they cannot be read */
export function settingsIn(node: Node): Settings | string {
  const object = bare(node);
  if (object.type !== 'ObjectExpression') return 'the settings are not an object literal here';
  const settings = new Map<string, Setting>();
  for (const property of object.properties) {
    if (property.type !== 'ObjectProperty' || property.computed || property.key.type !== 'Identifier')
      return 'a part of the settings is not a plain property';
    settings.set(property.key.name, { property, value: property.value });
  }
  return settings;
}

/** What the settings of an instance mean for calls that set one of the two. */
export function retriesOf(settings: Settings | undefined, tree: Tree): Retries {
  const number = (name: string, otherwise: string | undefined): string | undefined => {
    const text = textOf(settings?.get(name), tree) ?? otherwise;
    return Number.isNaN(Number(text)) ? undefined : text; // a name may mean something else at a call
  };
  return {
    count: number('retryCount', DEFAULT_RETRIES.count),
    delay: number('retryDelay', DEFAULT_RETRIES.delay),
  };
}

/** @returns the settings that have no counterpart among the names */
export function unknownIn(settings: Settings, names: readonly string[]): readonly string[] {
  const allowed = new Set([...names, ...DROPPED, 'retryCount', 'retryDelay']);
  return [...settings.keys()].filter((name) => !allowed.has(name));
}

/** Whether none of them changes. */
export function isAsItWas(settings: Settings): boolean {
  return [...settings.keys()].every(
    (name) => !DROPPED.has(name) && name !== 'retryCount' && name !== 'retryDelay',
  );
}

/** `waitMs` as a source text; undefined if neither of the two is set. */
export interface Wait {
  readonly text: string;
  /** The number of attempts is known when the program runs only, and with it whether it means "without end". */
  readonly isOpen: boolean;
}

/** @param base  those of the instance; undefined if they are not seen in this file */
export function waitIn(settings: Settings, base: Retries | undefined, tree: Tree): Wait | string | undefined {
  if (!settings.has('retryCount') && !settings.has('retryDelay')) return undefined;
  const count = textOf(settings.get('retryCount'), tree) ?? base?.count;
  if (count !== undefined && Number(count) === 0) return { text: '0', isOpen: false };
  if (count !== undefined && (Number(count) < 0 || Number(count) === Infinity))
    return { text: 'Infinity', isOpen: false };
  const delay = textOf(settings.get('retryDelay'), tree) ?? base?.delay;
  if (count === undefined || delay === undefined)
    return 'waitMs is retryCount · retryDelay, and one of them is set where this file does not show it';
  const product = Number(count) * Number(delay);
  if (Number.isSafeInteger(product)) return { text: String(product), isOpen: false };
  return { text: `${factor(count)} * ${factor(delay)}`, isOpen: Number.isNaN(Number(count)) };
}

function textOf(setting: Setting | undefined, tree: Tree): string | undefined {
  if (setting === undefined) return undefined;
  const value = bare(setting.value);
  return value.type === 'NumericLiteral' ? String(value.value) : tree.textOf(value);
}

function factor(text: string): string {
  return /^[\w.$]+$/.test(text) || /^[\w.$]+\([^()]*\)$/.test(text) ? text : `(${text})`;
}

/** A part of an object literal: a property with the comments before it, and the comma and comment behind it. */
interface Segment {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly propertyStart: number;
  readonly propertyEnd: number;
  /** Where its comma is; undefined without one. */
  readonly commaAt: number | undefined;
}

/**
 * The object literal with `waitMs` in place of the retries, and the other properties as they are written.
 *
 * @returns an empty text if nothing remains
 */
export function rewritten(
  object: ObjectLiteral,
  settings: Settings,
  wait: Wait | undefined,
  tree: Tree,
): string {
  const segments = segmentsOf(object, settings, tree);
  const place = settings.has('retryCount') ? 'retryCount' : 'retryDelay';
  const isKept = ({ name }: Segment): boolean =>
    name === place ? wait !== undefined : !DROPPED.has(name) && name !== 'retryDelay';
  const kept = segments.filter(isKept);
  if (kept.length === 0) return '';
  const hasLastComma = segments.at(-1)?.commaAt !== undefined;
  const parts = kept.map((segment, i) => {
    const hasComma = i < kept.length - 1 || hasLastComma;
    if (segment.name === place && wait !== undefined) return waitPart(segment, wait, hasComma, tree);
    return keptPart(segment, hasComma, tree);
  });
  const tail = tree.source.slice(segments.at(-1)?.end ?? startOf(object) + 1, endOf(object));
  return `{${parts.join('')}${tail}`;
}

/** With its comments, which may say why. */
function waitPart(segment: Segment, wait: Wait, hasComma: boolean, { source }: Tree): string {
  const { start, end, propertyStart, propertyEnd, commaAt } = segment;
  const gap = source.slice(propertyEnd, commaAt ?? propertyEnd);
  const note = source.slice(commaAt === undefined ? propertyEnd : commaAt + 1, end);
  return `${source.slice(start, propertyStart)}waitMs: ${wait.text}${gap}${hasComma ? ',' : ''}${note}`;
}

function keptPart({ start, end, commaAt }: Segment, hasComma: boolean, { source }: Tree): string {
  if (hasComma || commaAt === undefined) return source.slice(start, end);
  return source.slice(start, commaAt) + source.slice(commaAt + 1, end);
}

function segmentsOf(object: ObjectLiteral, settings: Settings, tree: Tree): readonly Segment[] {
  const names = new Map([...settings].map(([name, { property }]) => [property, name]));
  let start = startOf(object) + 1;
  return object.properties.map((property) => {
    const gap = matched(/(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*,/y, endOf(property), tree);
    const codeEnd = endOf(property) + gap.length;
    const note = matched(/[ \t]*(?:\/\/[^\r\n]*|\/\*[^\n]*?\*\/)?(?=[ \t]*\r?\n)/y, codeEnd, tree);
    const segment = {
      name: names.get(property) ?? '',
      start,
      end: codeEnd + note.length,
      propertyStart: startOf(property),
      propertyEnd: endOf(property),
      commaAt: gap === '' ? undefined : codeEnd - 1,
    };
    start = segment.end;
    return segment;
  });
}

function matched(pattern: RegExp, at: number, { source }: Tree): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
}
