/**
 * How broad a run of specs is. `npm test` has every rule once; `npm test -- --all` has each over more sizes, clients, kinds
 * and moments, and what takes long (`scripts/broad-specs.mjs` lists whole files). A file that is run by its name is run whole.
 */
import Mocha from 'mocha';
import { BROAD_SPECS } from '../../scripts/broad-specs.mjs';

/** `others` is all that `usual` leaves out: `npm test` and `npm test -- --others` run each spec once. */
type Breadth = 'usual' | 'others' | 'all';

const breadth = (process.env['QUORATE_SPECS'] ?? 'all') as Breadth;

/** For files that are left out as a whole: they have no others beside. */
export const isUsual = breadth === 'usual';

/** One for all copies of this module: mocha loads some spec files as ES modules and others as CommonJS, each with a copy. */
interface Declaring {
  /** Of the specs that are being declared: how many lists of others, or `further`, they are within. */
  depth: number;
  /** Only others are added to suites. */
  leavesOut: boolean;
}

const global: typeof globalThis & { quorateSpecs?: Declaring } = globalThis;
const declaring = (global.quorateSpecs ??= { depth: 0, leavesOut: false });

/** Those of a list that this run is about. Its specs are declared as it is gone through. @param usual  those that `npm test` has */
export function wide<T>(all: readonly T[], usual: readonly T[]): readonly T[] {
  if (!usual.every((one) => all.includes(one))) throw new Error('what is usual is one of all');
  switch (breadth) {
    case 'usual':
      return usual;
    case 'others':
      return Others.from(all.filter((one) => !usual.includes(one)));
    default:
      return all;
  }
}

/** A spec that `npm test` leaves out: another one there is about the same rule, or it takes long. */
export function further(title: string, run: (this: Mocha.Context) => Promise<void> | void): void {
  if (isUsual) return;
  declaring.depth++;
  it(title, run);
  declaring.depth--;
}

class Others<T> extends Array<T> {
  override *[Symbol.iterator](): ArrayIterator<T> {
    for (const one of super.values()) {
      declaring.depth++;
      try {
        yield one;
      } finally {
        declaring.depth--;
      }
    }
  }
}

function isOther({ file }: Mocha.Test): boolean {
  return (
    declaring.depth > 0 || Object.keys(BROAD_SPECS).some((place) => file?.includes(`/${place}`) === true)
  );
}

if (breadth === 'others' && !declaring.leavesOut) {
  declaring.leavesOut = true;
  const { addTest } = Mocha.Suite.prototype;
  Mocha.Suite.prototype.addTest = function add(test) {
    return isOther(test) ? addTest.call(this, test) : this;
  };
}
