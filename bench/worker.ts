/**
 * One contender in a process of its own, so that the garbage, the compiled code and the CPU time of one are not charged
 * to another. Carries out orders one after another; ends with its parent.
 */
import { CONTENDERS, type ContenderName } from './contenders/index.js';
import type { Session } from './contenders/contender.js';
import { measureMemory } from './memory.js';
import type { Envelope, Order, Reply, Refusal } from './orders.js';
import { Stopwatch } from './stopwatch.js';

interface Opened {
  readonly session: Session;
  readonly stopwatch: Stopwatch;
}

const name = process.argv[2] as ContenderName; // the crew starts it
const contender = await CONTENDERS[name]();
const sessions = new Map<string, Opened>();

async function carryOut(order: Order): Promise<unknown> {
  if (order.kind === 'kinds') return contender.kinds;
  if (order.kind === 'open') {
    const session = await contender.open(order.urls);
    sessions.set(order.session, { session, stopwatch: new Stopwatch(session, `bench:${name}`) });
    return undefined;
  }
  const opened = sessions.get(order.session);
  if (opened === undefined) throw new Error(`${name} has no session ${order.session}`);
  const { session, stopwatch } = opened;
  switch (order.kind) {
    case 'run':
      return stopwatch.run(order.durationMs);
    case 'take':
      return stopwatch.take();
    case 'settle':
      return session.settled();
    case 'refusal':
      return refusal(session, order.waitMs);
    case 'memory':
      return measureMemory(session, order.hold, order.leases);
    case 'close':
      sessions.delete(order.session);
      return session.close();
  }
}

async function refusal(session: Session, waitMs: number): Promise<Refusal> {
  const startMs = performance.now();
  try {
    const held = await session.acquire('bench:no-quorum', { waitMs });
    const elapsedMs = performance.now() - startMs;
    await session.release(held);
    return { elapsedMs, code: undefined };
  } catch (error) {
    const elapsedMs = performance.now() - startMs;
    const { code = String(error) } = error as { code?: string };
    return { elapsedMs, code };
  }
}

async function answer({ id, order }: Envelope): Promise<void> {
  let reply: Reply;
  try {
    reply = { id, answer: await carryOut(order) };
  } catch (error) {
    reply = { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  process.send?.(reply);
}

process.on('message', (envelope: Envelope) => void answer(envelope));
process.on('disconnect', () => process.exit());
process.send?.({ id: 0, answer: undefined } satisfies Reply);
