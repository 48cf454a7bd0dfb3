/** Masters for the examples: those of QUORATE_NODES (urls, comma-separated), or three of their own that end with them. */
import { startMasters } from '../../scripts/masters.js';

export interface ExampleMasters extends AsyncDisposable {
  readonly urls: readonly string[];
}

export async function exampleMasters(): Promise<ExampleMasters> {
  const given = (process.env['QUORATE_NODES'] ?? '').split(',').filter((url) => url !== '');
  if (given.length > 0) return { urls: given, [Symbol.asyncDispose]: () => Promise.resolve() };
  return startMasters(3);
}

/** A prefix of this run alone: on masters that others use too, nothing of theirs is touched. */
export const keyPrefix = `quorate-example:${process.pid}:`;
