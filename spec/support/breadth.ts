/**
 * How broad a run of specs is. `npm test` has every rule once; `npm run test:all` has each over more sizes, clients, kinds
 * and moments, and what takes long (`scripts/broad-specs.mjs` lists whole files). A file that is run by its name is run whole.
 */

/** `others` is all that `usual` leaves out, beside the rest of the same files. */
type Breadth = 'usual' | 'others' | 'all';

const breadth = (process.env['QUORATE_SPECS'] ?? 'all') as Breadth;

/** Those of a list that this run is about. @param usual  those that `npm test` has */
export function wide<T>(all: readonly T[], usual: readonly T[]): readonly T[] {
  if (!usual.every((one) => all.includes(one))) throw new Error('what is usual is one of all');
  switch (breadth) {
    case 'usual':
      return usual;
    case 'others':
      return all.filter((one) => !usual.includes(one));
    default:
      return all;
  }
}

/** A spec that `npm test` leaves out: another one there is about the same rule, or it takes long. */
export function further(title: string, run: (this: Mocha.Context) => Promise<void> | void): void {
  if (breadth !== 'usual') it(title, run);
}
