/** Many cases over several groups of masters at once. */
import { CLIENT_KINDS } from '../../support/real.js';
import { type Case, nameOf } from './cases.js';
import type { ChaosBackend } from './masters.js';
import { eventually, Stage } from './stage.js';
import type { Table } from './table.js';
import { tryCase } from './trial.js';

const GROUPS = 6;

interface Terms {
  readonly groups?: number;
  readonly backend?: ChaosBackend;
}

/** Several groups of masters at once, each with its share of the cases. All are run, whatever fails. */
export async function runAll(
  cases: readonly Case[],
  table: Table,
  { groups = GROUPS, backend = 'process' }: Terms = {},
): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve)); // mocha's own timer is set by then
  const before = resources();
  const nodes = cases[0]?.nodes ?? 3;
  const queue = [...cases.entries()];
  const failures: string[] = [];
  const group = async (): Promise<void> => {
    let stage: Stage | undefined;
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const [i, one] = entry;
      const kind = CLIENT_KINDS[i % 4 === 3 ? 1 : 0] ?? CLIENT_KINDS[0];
      if (kind === undefined) throw new Error('there are two kinds');
      try {
        stage ??= await Stage.start(nodes, backend);
        table.add(one, await tryCase(stage, one, kind));
      } catch (error) {
        table.fail(one, error);
        failures.push(
          `${nameOf(one)} (${kind.name}): ${error instanceof Error ? error.message : String(error)}`,
        );
        await stage?.stop(); // it may be in any state
        stage = undefined;
      }
    }
    await stage?.stop();
  };
  await Promise.all(Array.from({ length: Math.min(groups, cases.length) }, group));
  if (failures.length > 0)
    throw new Error(
      `${failures.length} of ${cases.length} cases failed; run one again with QUORATE_CHAOS_CASE=…\n${failures.join('\n')}`,
    );
  await eventually('no timer or socket to be left', () => resources().length <= before.length).catch(
    (error: unknown) => {
      throw new Error(`${String(error)}: ${resources().join(' ')} (before: ${before.join(' ')})`);
    },
  );
}

function resources(): string[] {
  const kinds = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'TCPConnectWrap'];
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
