/** What every guard refuses before it does anything, and the words it has for it. */
export interface WrongInput {
  readonly title: string;
  /** As a program in JavaScript, or with a cast, would give them. */
  readonly resource: string;
  readonly fence: number | undefined;
  readonly text: string;
}

const OFF = 'fence must be a positive safe integer; got undefined: fencing is off for this lease.';
const fence = (got: string): string => `fence must be a positive safe integer; got ${got}.`;
const resource = (got: string): string =>
  `resource must be a non-empty string of well-formed Unicode; got ${got}.`;

const FENCES: readonly [unknown, string][] = [
  [undefined, OFF],
  [null, fence('null')],
  [0, fence('0')],
  [-1, fence('-1')],
  [1.5, fence('1.5')],
  [NaN, fence('NaN')],
  [Infinity, fence('Infinity')],
  [2 ** 53, fence('9007199254740992')],
  ['5', fence('"5"')],
  [5n, fence('5')],
  [{}, fence('an object ()')],
];

const RESOURCES: readonly [unknown, string][] = [
  ['', resource('""')],
  [undefined, resource('undefined')],
  [1, resource('1')],
  [['a'], resource('an array of 1')],
  ['a\ud800', resource('"a\\ud800"')],
];

export const WRONG_INPUT: readonly WrongInput[] = [
  ...FENCES.map(([value, text]) => ({
    title: `fence ${typeof value}`,
    resource: 'r',
    fence: value as number,
    text,
  })),
  ...RESOURCES.map(([value, text]) => ({
    title: `resource ${typeof value}`,
    resource: value as string,
    fence: 5,
    text,
  })),
];

/** Of the size that locks hand out: microseconds since 1970. */
export const NOW = 1_794_000_000_000_001;

/** Pairs that only a comparison of numbers, not of texts or of rounded numbers, puts in order: the lower one first. */
export const CLOSE_PAIRS: readonly [number, number][] = [
  [1, 2],
  [9, 10],
  [99, 1_000],
  [2 ** 24, 2 ** 24 + 1], // the same as float4
  [2 ** 31 - 1, 2 ** 31],
  [NOW, NOW + 1],
  [999_999_999_999_999, NOW],
  [2 ** 53 - 2, 2 ** 53 - 1],
];
