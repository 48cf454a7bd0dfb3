/**
 * What the Lua of the scripts takes from TypeScript: the linker (`scripts/lua`) replaces each name in capitals with its
 * value. Only the linker reads this.
 */
import { AT_REST, MUTE_MARK, RESERVED_MARK, TOKEN_LETTERS } from '../../runtime/random.js';
import { PUSH_CHANNELS } from '../keys.js';
import { LEAN } from './entries.js';
import * as stored from './stored.js';
import * as waiting from './waiting.js';

/** Tokens, and values of a key in place of a token. */
const TOKENS = {
  AT_REST,
  RESERVED_MARK,
  /** Patterns: the mark at the end; a token with it, without it; the shape of this library's tokens, with it or not. */
  MARK_AT_END: `%${RESERVED_MARK}$`,
  MARKED_TOKEN: `^(.*)%${RESERVED_MARK}$`,
  OWN_SHAPE: `^([%w_-]+:[%w_-]+)%${RESERVED_MARK}?$`,
  /** Behind the token of a mute place. */
  MUTE_MARK,
  OWN_LENGTH: TOKEN_LETTERS.client + 1 + TOKEN_LETTERS.secret,
  COLON_AT: TOKEN_LETTERS.client + 1,
};

const INSTANTS = {
  MOST_SECONDS: stored.INSTANT_BOUNDS.mostSeconds,
  LEAST_SECONDS: stored.INSTANT_BOUNDS.leastSeconds,
  MOST_MS: stored.INSTANT_BOUNDS.mostMs,
};

const STORED = {
  HOLDS_DATA: stored.HOLDS.data,
  HOLDS_MUTEX: stored.HOLDS.mutex,
  HOLDS_READ_WRITE: stored.HOLDS.readWrite,
  HOLDS_SEMAPHORE: stored.HOLDS.semaphore,
  HOLDS_COUNTER: stored.HOLDS.counter,
  SHARED_FIELD: stored.SHARED_FIELD,
  LEAN,
  TAKEN_AWAY: stored.TAKEN_AWAY,
  MOST_TAKEN: stored.MOST_TAKEN,
};

/** Of fencing tokens and their counters. */
const FENCES = {
  BACK_US: stored.BACK_US,
  AHEAD_US: stored.AHEAD_US,
  /** From an accepted fencing token to the last one of its block. */
  BLOCK_REST: stored.FENCE_BLOCK - 1,
  COUNTER_LIFE_MS: stored.COUNTER_LIFE_MS,
  LAST_FENCE: stored.LAST_FENCE,
};

/** The most that one call does: a master serves nobody else meanwhile. */
const BOUNDS = {
  /** Places that one tidying of a queue goes through. */
  MOST_TIDIED: 500,
  /** Waiters for a shared lock that one call lets in: fewer than the places that it reads, so that the next one gets a push. */
  MOST_LET_IN: 400,
  /** Places of a shared lock that are read before it is known whether more of them matter. */
  FEW: 2,
  /** Waiters that one look asks for their votes. */
  MOST_ASKED: 64,
  /** Clients that get a push that they are among the first. */
  MOST_TOLD: 8,
  /** Digits of a fencing token or a seq in a note; a number with more is not from this library. */
  MOST_DIGITS: 16,
};

/** The same in µs, as the masters' clocks count. */
const TIMES = {
  FRESH_US: waiting.FRESH_MS * 1_000,
  GONE_US: waiting.GONE_MS * 1_000,
  MUTE_US: waiting.MUTE_MS * 1_000,
  TIDY_US: waiting.TIDY_MS * 1_000,
};

export const CONSTANTS: ReadonlyMap<string, string | number> = new Map<string, string | number>(
  Object.entries({
    ...TOKENS,
    PUSH_CHANNELS,
    ...FENCES,
    ...INSTANTS,
    ...STORED,
    ...waiting,
    ...BOUNDS,
    ...TIMES,
  }),
);
