/** Runs many cases on several groups of masters at once. */
import { ALL_KINDS, type AnyClient, type ClientKind } from '../../support/real.js';
import { type Case, isMoment, nameOf } from './cases.js';
import { QueueTrial } from './queue-trial.js';
import type { ChaosBackend } from './masters.js';
import { type CountedGuest, eventually, listenersOf, Stage } from './stage.js';
import type { Table } from './table.js';
import { Trial, type Verdict } from './trial.js';

/** Cases wait for most of their time: for connections, and for masters that do not answer. */
const GROUPS = 16;

interface Terms {
  readonly groups?: number;
  readonly backend?: ChaosBackend;
}

/** Several groups of masters at once, each with its share of the cases. All cases are run, whatever fails. */
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
      const kind = ALL_KINDS[i % ALL_KINDS.length];
      if (kind === undefined) throw new Error('there are kinds');
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

let next = 0;

async function tryCase(stage: Stage, one: Case, kind: ClientKind<AnyClient>): Promise<Verdict> {
  const resource = `chaos-${++next}`;
  const guests: CountedGuest[] = [];
  let verdict: Verdict;
  try {
    const guest = async (): Promise<CountedGuest> => {
      const opened = await stage.open(kind);
      guests.push(opened);
      return opened;
    };
    const trial = isMoment(one.operation)
      ? new QueueTrial(stage, one, { first: await guest(), other: await guest() }, resource)
      : new Trial(stage, one, await guest(), resource);
    verdict = await trial.run();
    for (const { redlock } of guests) await redlock.close({ releaseHeld: true });
    await eventually('all listeners on the clients to be gone', () =>
      guests.every(({ clients, listeners }) =>
        clients.every((client, i) => listenersOf(client) <= (listeners[i] ?? 0)),
      ),
    );
  } finally {
    for (const { redlock, clients } of guests) {
      await redlock.close({ releaseHeld: true });
      for (const client of clients) client.disconnect();
    }
  }
  // after a failure the faults still last and hold sockets open: only the failure counts then
  await eventually('all sockets to be closed', () =>
    stage.masters.list.every(({ proxy }) => proxy.connections === 0),
  );
  return verdict;
}

function resources(): string[] {
  const kinds = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'TCPConnectWrap'];
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
