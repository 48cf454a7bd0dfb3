/** What a spec needs beyond Node and the dependencies: where it is missing, the spec is skipped and says why. */
import { find, type Part, PARTS } from '../../scripts/parts.cjs';

const found = new Map<Part, string | undefined>();

/** Where it is, looked for once in each process. */
export function partOf(part: Part): string | undefined {
  if (!found.has(part)) found.set(part, find(part));
  return found.get(part);
}

/**
 * Skips the spec that calls this, or those whose hook does, where a part is missing. The title then ends with the reason,
 * which is where the reporter finds it: titles come from the processes in which specs run, and nothing else of a spec does.
 *
 * @throws Error in CI, which skips nothing quietly, unless QUORATE_ALLOW_SKIPS is 1
 */
export function needs(context: Mocha.Context, ...parts: readonly Part[]): void {
  const missing = parts.find((part) => partOf(part) === undefined);
  if (missing === undefined) return;
  if (process.env['CI'] !== undefined && process.env['QUORATE_ALLOW_SKIPS'] !== '1')
    throw new Error(`${missing} is missing: ${PARTS[missing].get}`);
  const { test: runnable } = context;
  const mark = (test: { title: string }): void => void (test.title += ` — ${missing} is missing`);
  if (runnable !== undefined && 'type' in runnable && runnable.type === 'hook')
    runnable.parent?.eachTest(mark);
  else if (runnable !== undefined) mark(runnable);
  context.skip();
}
