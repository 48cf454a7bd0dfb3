/** Where a pair in sequence spends its time, step by step, by clock readings around what its sockets write and read. */
import { Socket } from 'node:net';
import type { Session } from '../contenders/contender.js';
import { median } from '../statistics.js';

const STEPS = ['until the write', 'writing', 'until the answer', 'until the caller has it'] as const;
const RESOURCES = 1_024;

/** Instants of the step under way, in ms. */
interface Marks {
  firstWriteMs: number;
  lastWriteMs: number;
  dataMs: number;
}

/** @returns medians, in µs, of an acquisition and a release */
export async function stepsOf(session: Session, warmMs: number, durationMs: number): Promise<string> {
  const marks = watchSockets();
  const names = Array.from({ length: RESOURCES }, (_, i) => `steps:${i}`);
  await run(session, marks, names, warmMs);
  const { acquire, release } = await run(session, marks, names, durationMs);
  const row = (name: string, columns: readonly number[][]): string =>
    `${name}: ${STEPS.map((step, i) => `${step} ${median(columns[i] ?? []).toFixed(1)}`).join(' · ')}`;
  return [row('acquire, µs', acquire), row('release, µs', release)].join('\n');
}

async function run(
  session: Session,
  marks: Marks,
  names: readonly string[],
  durationMs: number,
): Promise<{ readonly acquire: number[][]; readonly release: number[][] }> {
  const columns = { acquire: STEPS.map((): number[] => []), release: STEPS.map((): number[] => []) };
  const note = (into: readonly number[][], fromMs: number, toMs: number): void => {
    const { firstWriteMs, lastWriteMs, dataMs } = marks;
    const steps = [firstWriteMs - fromMs, lastWriteMs - firstWriteMs, dataMs - lastWriteMs, toMs - dataMs];
    steps.forEach((ms, i) => into[i]?.push(ms * 1_000));
    marks.firstWriteMs = 0;
  };
  const endMs = performance.now() + durationMs;
  for (let i = 0; performance.now() < endMs; i = (i + 1) % names.length) {
    const startMs = performance.now();
    const held = await session.acquire(names[i] ?? '');
    note(columns.acquire, startMs, performance.now());
    const heldMs = performance.now();
    await session.release(held);
    note(columns.release, heldMs, performance.now());
  }
  return columns;
}

/** All that is open or will be is looked at alike, at the same cost. */
function watchSockets(): Marks {
  const marks: Marks = { firstWriteMs: 0, lastWriteMs: 0, dataMs: 0 };
  const prototype = Socket.prototype as unknown as Record<
    'write' | 'emit',
    (this: Socket, ...args: unknown[]) => unknown
  >;
  const { write, emit } = prototype;
  prototype.write = function (...args) {
    marks.firstWriteMs ||= performance.now();
    const result = write.apply(this, args);
    marks.lastWriteMs = performance.now();
    return result;
  };
  prototype.emit = function (...args) {
    if (args[0] === 'data') marks.dataMs = performance.now();
    return emit.apply(this, args);
  };
  return marks;
}
