/** Texts that are shown to others: labels of instances, and notes of leases. */
import { invalidArgument } from '../runtime/errors.js';

/** Control characters, and those that turn the direction of a text: a terminal or a page would not show what is there. */
// oxlint-disable-next-line eslint/no-control-regex -- they are what it looks for
const UNSHOWN = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/;

/** A text that can be shown as it is. */
function isShowable(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !UNSHOWN.test(value);
}

/** The most characters of a label. */
const MOST_LABEL = 128;
/** The most bytes of a note, in UTF-8. */
const MOST_NOTE = 256;

export function isLabel(value: unknown): value is string {
  return isShowable(value) && value !== '' && value.length <= MOST_LABEL;
}

export function isNote(value: unknown): value is string {
  return isShowable(value) && Buffer.byteLength(value) <= MOST_NOTE;
}

/** @returns true for none given: the name of the process */
export function resolveLabel(given: unknown): string | boolean {
  if (given === undefined) return true;
  if (given === false || isLabel(given)) return given;
  throw invalidArgument('label', given, `1 to ${MOST_LABEL} characters without control characters, or false`);
}

/** @returns '' for none given */
export function resolveNote(given: unknown): string {
  if (given === undefined) return '';
  if (isNote(given)) return given;
  throw invalidArgument('note', given, `a text of up to ${MOST_NOTE} bytes without control characters`);
}
