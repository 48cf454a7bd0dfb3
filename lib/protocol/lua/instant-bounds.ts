/** What the texts of timestamp locks can mean: for the library, and for the scripts' Lua. */

/**
 * No instant of our days is out of these bounds, so a number that is, was written in the other unit or is no instant.
 * To take one over would be to take a lock that is held (1 790 000 000 read as milliseconds is 1970).
 */
export const INSTANT_BOUNDS = Object.freeze({
  /** The year 5138, in seconds: above it, only milliseconds can be meant. */
  mostSeconds: 1e11,
  /** 1973 in seconds, a day of 1970 in ms: a number below it has run out in either unit. */
  leastSeconds: 1e8,
  mostMs: 1e14,
});
