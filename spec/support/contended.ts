/** A lock that another client holds, and one client that waits for it in the queue. */
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Lease } from '../../lib/lease/public.js';
import { type CommandKind, kindOf, tokenOf } from './commands.js';
import { type Bench, fakeCluster } from './fake-cluster.js';
import type { FakeMaster } from './fake-master.js';
import { settle } from './fake-time.js';

export const LONG = { ttlMs: 600_000, waitMs: 60_000, nodeTimeoutMs: 200 } as const;

export interface Line extends Bench {
  /** The holder's lease. */
  readonly lease: Lease;
  /** What the one who waits has sent there, in order; but not what follows a claim that was decided without it. */
  kinds(master: FakeMaster): CommandKind[];
}

/** A lock that another client holds. */
export async function held(nodes: number, options: RedlockOptions = LONG): Promise<Line> {
  const bench = fakeCluster(nodes, options, { hasPushes: true });
  const lease = await bench.other().redlock.acquire('r');
  const kinds = (master: FakeMaster): CommandKind[] => {
    const mine = master.sent.filter((command) => bench.random.tokens.includes(tokenOf(command))).map(kindOf);
    return mine.filter((kind, i) => kind !== 'undo' || mine[i - 1] !== 'claim');
  };
  return { ...bench, lease, kinds };
}

/** The same at every master. */
export const all = <T>({ masters }: Bench, one: T): T[] => masters.map(() => one);

/** Six times it waits in the queue, has it, and gives it back, and then another client has it: it is likely to be held. */
export async function contendedLately(nodes: number): Promise<Line> {
  const line = await held(nodes);
  const others = line.other('third').redlock;
  let { lease } = line;
  for (let times = 0; times < 6; times++) {
    const wait = line.redlock.acquire('r');
    await line.time.advance(MOST_TRIES * TRY_AFTER_MS.most); // it may try before it queues
    await lease.release();
    await (await wait).release();
    lease = await others.acquire('r');
    await settle();
  }
  for (const master of line.masters) master.sent.length = 0;
  return { ...line, lease };
}
