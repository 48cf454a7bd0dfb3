/** Names of web locks as resources. */

/** Halves of a surrogate pair without the other half, and the character that marks them in a resource's name. */
const MARKED = /[\u{D800}-\u{DFFF}\u{FFFF}]/gu;
const MARK = '\u{FFFF}';

/**
 * The resource of a name. Names of the specification are any sequences of 16-bit units: the empty one and unpaired surrogates,
 * which no resource may have, are names like others, and two different names are two resources. Nearly all names follow the
 * prefix as they are; an unpaired surrogate becomes U+FFFF and its four hex digits, and so does U+FFFF itself.
 */
export function resourceOf(prefix: string, name: string): string {
  const hex = (unit: string): string => unit.charCodeAt(0).toString(16);
  return prefix + name.replace(MARKED, (unit) => MARK + hex(unit));
}
