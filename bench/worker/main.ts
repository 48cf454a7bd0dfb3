/**
 * One contender in a process of its own, so that the garbage, the compiled code and the CPU time of one are not charged
 * to another. Carries out orders one after another; ends with its parent.
 */
import type { ClientName } from '../contenders/connection.js';
import type { Session } from '../contenders/contender.js';
import { type ContenderName, entryOf } from '../contenders/index.js';
import { type Envelope, monotonicMs, type Order, type Refusal, type Reply } from '../orders.js';
import { measureBurst } from './burst.js';
import { contend, gather, probe } from './contention.js';
import { mingle } from './mingle.js';
import { measureMemory, measureRenewal, useOnce } from './memory.js';
import { Stopwatch } from './stopwatch.js';

interface Opened {
  readonly session: Session;
  readonly stopwatch: Stopwatch;
  /** What was taken to be kept. */
  readonly held: unknown[];
}

function tell(reply: Reply): void {
  process.send?.(reply);
}

// a contender's loose end is a line of the report, not the end of the run
process.on('unhandledRejection', (error) => tell({ uncaught: `unhandled rejection: ${String(error)}` }));
process.on('uncaughtException', (error) => tell({ uncaught: `uncaught exception: ${String(error)}` }));
process.on('message', (envelope: Envelope) => void answer(envelope));
process.on('disconnect', () => process.exit());

const [name, client] = process.argv.slice(2) as [ContenderName, ClientName]; // the crew starts it
const { contender } = await entryOf(name).load();
const sessions = new Map<string, Opened>();
let crowd: Session[] = [];

async function carryOut(order: Order): Promise<unknown> {
  switch (order.kind) {
    case 'kinds':
      return contender.kinds;
    case 'open': {
      const session = await contender.open(order.urls, client);
      // names of its own: nobody uses a lock over one master and over five at the same time
      const stopwatch = new Stopwatch(session, `bench:${name}:${order.session}`);
      sessions.set(order.session, { session, stopwatch, held: [] });
      return undefined;
    }
    case 'gather':
      crowd = await gather(contender, order, client);
      return undefined;
    case 'contend':
      return contend(crowd, order);
    case 'probe': {
      const [first] = crowd;
      if (first === undefined) throw new Error(`${name} has gathered nobody`);
      return probe(first, order.resource, order.samples);
    }
    default: {
      const opened = sessions.get(order.session);
      if (opened === undefined) throw new Error(`${name} has no session ${order.session}`);
      return carryOutIn(opened, order);
    }
  }
}

type SessionOrder = Exclude<Order, { kind: 'kinds' | 'open' | 'gather' | 'contend' | 'probe' }>;

function carryOutIn({ session, stopwatch, held }: Opened, order: SessionOrder): unknown {
  switch (order.kind) {
    case 'run':
      if (order.stepLimitMs !== undefined) session.limit?.(order.stepLimitMs);
      return stopwatch.run(order);
    case 'take':
      return stopwatch.take();
    case 'settle':
      return session.settled();
    case 'sent':
      return session.sent();
    case 'tally':
      return session.tally?.();
    case 'burst':
      return measureBurst(session, `bench:burst:${name}:${order.round}`, order.count);
    case 'mingle':
      return mingle(session, order);
    case 'refusal':
      return refusal(session, order.waitMs);
    case 'memory':
      return measureMemory(session, order.hold, order.leases);
    case 'renewal':
      return measureRenewal(session, order);
    case 'take-one':
      return takeOne(session, held, order.resource);
    case 'give-back-one':
      return giveBackOne(session, held);
    case 'take-many':
      return takeMany(session, held, order.count);
    case 'give-back-many':
      return giveBackAll(session, held);
    case 'use-many':
      return useOnce(session, order);
    case 'close':
      sessions.delete(order.session);
      return session.close();
  }
}

async function takeOne(session: Session, held: unknown[], resource: string): Promise<number> {
  held.push(await session.acquire(resource));
  return monotonicMs();
}

async function giveBackOne(session: Session, held: unknown[]): Promise<number> {
  const startMs = monotonicMs();
  await session.release(held.pop());
  return startMs;
}

async function takeMany(session: Session, held: unknown[], count: number): Promise<void> {
  for (let i = 0; i < count; i++) held.push(await session.acquire(`bench:many:${name}:${i}`));
  await session.settled();
}

async function giveBackAll(session: Session, held: unknown[]): Promise<void> {
  for (const one of held.splice(0)) await session.release(one);
  await session.settled();
}

async function refusal(session: Session, waitMs: number): Promise<Refusal> {
  const startMs = performance.now();
  try {
    const held = await session.acquire('bench:no-quorum', { waitMs });
    const elapsedMs = performance.now() - startMs;
    void Promise.resolve(session.release(held)).catch(() => undefined);
    return { elapsedMs, code: undefined };
  } catch (error) {
    const elapsedMs = performance.now() - startMs;
    const { code, name: kind } = error as { code?: string; name?: string };
    return { elapsedMs, code: code ?? kind ?? String(error) };
  }
}

async function answer({ id, order }: Envelope): Promise<void> {
  try {
    tell({ id, answer: await carryOut(order) });
  } catch (error) {
    tell({ id, error: error instanceof Error ? error.message : String(error) });
  }
}

tell({ id: 0, answer: undefined });
