/**
 * What the Lua of the scripts takes from TypeScript: the linker (`scripts/lua`) replaces each name in capitals with its
 * value. Only the linker reads this.
 */
import { AT_REST, RESERVED_MARK, TOKEN_LETTERS } from '../../runtime/random.js';
import { PUSH_CHANNELS } from '../keys.js';
import * as fences from './fence-bounds.js';
import { INSTANT_BOUNDS } from './instant-bounds.js';
import { HOLDS, MOST_TAKEN, STORED_KIND, TAKEN_AWAY } from './stored.js';
import * as waiting from './waiting.js';

/** Tokens, and values of a key in place of a token. */
const TOKENS = {
  AT_REST,
  RESERVED_MARK,
  /** Patterns: the mark at the end; a token with it, without it; the shape of this library's tokens, with it or not. */
  MARK_AT_END: `%${RESERVED_MARK}$`,
  MARKED_TOKEN: `^(.*)%${RESERVED_MARK}$`,
  OWN_SHAPE: `^([%w_-]+:[%w_-]+)%${RESERVED_MARK}?$`,
  OWN_LENGTH: TOKEN_LETTERS.client + 1 + TOKEN_LETTERS.secret,
  COLON_AT: TOKEN_LETTERS.client + 1,
};

const INSTANTS = {
  MOST_SECONDS: INSTANT_BOUNDS.mostSeconds,
  LEAST_SECONDS: INSTANT_BOUNDS.leastSeconds,
  MOST_MS: INSTANT_BOUNDS.mostMs,
};

const STORED = {
  HOLDS_DATA: HOLDS.data,
  HOLDS_MUTEX: HOLDS.mutex,
  HOLDS_READ_WRITE: HOLDS.readWrite,
  HOLDS_SEMAPHORE: HOLDS.semaphore,
  HOLDS_COUNTER: HOLDS.counter,
  READ_WRITE: STORED_KIND.readWrite,
  SEMAPHORE: STORED_KIND.semaphore,
  TAKEN_AWAY,
  MOST_TAKEN,
};

/** The most that one call does: a master serves nobody else meanwhile. */
const BOUNDS = {
  /** Places that one tidying of a queue goes through. */
  MOST_TIDIED: 500,
  /** Clients that get a push that they are among the first. */
  MOST_TOLD: 8,
  /** Digits of a fencing token or a seq in a note; a number with more is not from this library. */
  MOST_DIGITS: 16,
};

/** The same in µs, as the masters' clocks count. */
const TIMES = {
  FRESH_US: waiting.FRESH_MS * 1_000,
  GONE_US: waiting.GONE_MS * 1_000,
  TIDY_US: waiting.TIDY_MS * 1_000,
};

export const CONSTANTS: ReadonlyMap<string, string | number> = new Map<string, string | number>(
  Object.entries({
    ...TOKENS,
    PUSH_CHANNELS,
    ...fences,
    ...INSTANTS,
    ...STORED,
    ...waiting,
    ...BOUNDS,
    ...TIMES,
  }),
);
