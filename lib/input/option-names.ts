/** Checks names of options: refuses an unknown one, and suggests the one that may have been meant. */
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';

/** The names of options in the `redlock` package, versions 4 and 5; their names here; and how the two differ, if they do. */
const OF_REDLOCK: ReadonlyMap<string, readonly [option: string, difference: string]> = new Map([
  ['retryCount', ['waitMs', ', how long to go on trying']],
  ['retryDelay', ['retry', ': { minDelayMs, maxDelayMs }, between which each wait is drawn']],
  ['retryJitter', ['retry', ': { minDelayMs, maxDelayMs }, between which each wait is drawn']],
  ['automaticExtensionThreshold', ['renew', ', which extends from a third of the ttl on']],
  ['duration', ['ttlMs', '']],
]);
/** Scripts are not replaced, and clients come with their database. */
const ONLY_OF_REDLOCK = [
  ...['acquireScript', 'extendScript', 'releaseScript', 'lockScript', 'unlockScript'],
  'db',
];
/** Options that are the same for all calls of an instance. */
const OF_INSTANCES = ['driftFactor', 'keyPrefix', 'restartGuardMs', 'maxWaiters', 'label'];
const SECRET = /pass|secret|token/i;

/** @throws RedlockError `INVALID_ARGUMENT`: no object, or a name that is no option here */
export function checkNames(what: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw noOptions(what, given, known);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const value = (given as Record<string, unknown>)[name]; // an unknown name: only its value is shown
    const shown = SECRET.test(name) ? `a ${typeof value}` : show(value);
    const text = `${name} (${shown}) is not an option here${hintFor(name, known)} Known: ${known.join(', ')}`;
    throw new RedlockError('INVALID_ARGUMENT', text);
  }
}

/** `redlock` takes a duration in place of these options. */
function noOptions(what: string, given: unknown, known: readonly string[]): RedlockError {
  const isTtl = typeof given === 'number' && known.includes('ttlMs');
  return invalidArgument(what, given, 'an object', isTtl ? `use { ttlMs: ${given} }` : undefined);
}

/** What to say instead, up to the end of the sentence. */
function hintFor(name: string, known: readonly string[]): string {
  const [option = '', difference = ''] = OF_REDLOCK.get(name) ?? [];
  if (known.includes(option)) return `: use ${option}${difference}.`;
  if (ONLY_OF_REDLOCK.includes(name)) return `: quorate has no option for redlock's ${name}.`;
  if (OF_INSTANCES.includes(name)) return ': set it for the whole instance.';
  const nearest = nearestOf(name, known);
  return nearest === undefined ? '.' : `; did you mean ${nearest}?`;
}

/** Names are compared up to this length, so that a name of any length costs little. */
const COMPARED_LENGTH = 40;
const SHORTEST_PART = 3;

/** The known name that is most like it; undefined if none is. */
function nearestOf(name: string, known: readonly string[]): string | undefined {
  const given = stemOf(name.slice(0, COMPARED_LENGTH));
  const [nearest] = known
    .map((option) => ({ option, letters: lettersBetween(given, stemOf(option)) }))
    .filter(
      ({ option, letters }) => letters <= Math.ceil(Math.max(given.length, stemOf(option).length) / 2.5),
    )
    .sort((a, b) => a.letters - b.letters);
  return nearest?.option;
}

/** The name without its unit, its plural, and the marks that join its words. */
function stemOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z]/g, '')
    .replace(/m?s$/, '');
}

/** How many letters one text is from the other; a text that contains the other counts as near. */
function lettersBetween(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (one !== other && short.length >= SHORTEST_PART && long.includes(short)) return 1;
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const changed = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
