/** The kinds of entries in batches, and the letters for them among the arguments. */

/** Of exclusive locks (`BATCH`). */
export const ENTRY = {
  claim: 'c',
  claimQueued: 'l',
  accept: 'a',
  undo: 'u',
  release: 'r',
  /** An undo and a release that hand over directly. */
  undoQueued: 'v',
  releaseQueued: 'h',
  extend: 'e',
  queue: 'q',
  yield: 'y',
} as const;

/** Of shared locks (`SHARED_BATCH`). */
export const SHARED_ENTRY = {
  claim: 'C',
  accept: 'A',
  extend: 'E',
  /** An extension as a reader of what was a writer. */
  downgrade: 'D',
  claimPermits: 'P',
  align: 'S',
  extendPermits: 'X',
  leave: 'L',
  queue: 'Q',
  yield: 'Y',
} as const;

/** In place of a claim's place or a release's proposal: it names neither turn nor looks, since it has met nobody who waits. */
export const LEAN = '-';
