import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MemoryFence } from '../../../lib/fence/index.js';
import { type Stage } from '../stage.js';
import { Tape, type Trial } from '../tape.js';
import { claimantFor, OUR_WAYS, type OurWay } from '../ways.js';
import { each, type Scene } from './scene.js';

export const PAUSE_TTL_MS = 1_000;

/** What the paused process sends when it goes on: its write, with the fence that it got. */
export interface LateWrite {
  readonly way: OurWay;
  readonly fence?: number;
}

/** What is written to. With a guard, it refuses a fence that is lower than one that it has seen. */
class Resource {
  readonly #guard: MemoryFence | undefined;

  constructor(guard?: MemoryFence) {
    this.#guard = guard;
  }

  accepts(fence: number | undefined): boolean {
    return this.#guard?.accepts('resource', fence) ?? true;
  }
}

async function ours(
  stage: Stage,
  way: OurWay,
  key: string,
  late: Promise<readonly LateWrite[]>,
  wake: () => Promise<void>,
): Promise<Trial> {
  const tape = new Tape('A', 'B', 'resource');
  const resource = new Resource(way === 'fenced' ? new MemoryFence() : undefined);
  tape.believes('A', 'acquires; looks: it holds it');
  tape.say('A', 'is stopped before it writes', 'fault');
  const lease = await claimantFor(way, await stage.quorum(), { ttlMs: PAUSE_TTL_MS }).acquire(key);
  tape.believes('B', "acquires, when A's ttl is over");
  resource.accepts(lease.fence);
  tape.say('resource', `B's write${way === 'fenced' ? ' with a higher fence' : ''}: accepted`);
  await wake();
  const write = (await late).find((one) => one.way === way);
  tape.ends('A', 'goes on, and sends its write');
  const isAccepted = resource.accepts(write?.fence);
  tape.say(
    'resource',
    isAccepted ? "A's late write: accepted" : "A's late write, a lower fence: refused",
    isAccepted ? 'bad' : 'good',
  );
  await lease.release();
  return isAccepted
    ? { tape, verdict: 'breaks', outcome: "A's late write was accepted" }
    : { tape, verdict: 'holds', outcome: "A's late write was refused" };
}

/** A process that takes all the locks, stops itself, and writes when it goes on. */
function startHolder(stage: Stage): {
  readonly child: ChildProcess;
  readonly isReady: Promise<unknown>;
  readonly late: Promise<readonly LateWrite[]>;
} {
  const urls = stage.masters.map(({ url }) => url).join(',');
  const child = fork(fileURLToPath(new URL('../holder.ts', import.meta.url)), [urls], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error('the process that is paused ended before it wrote');
  });
  ended.catch(() => undefined); // in the end it does
  const isReady = Promise.race([once(child, 'message'), ended]);
  const late = isReady.then(async () => {
    const [writes] = (await Promise.race([once(child, 'message'), ended])) as [readonly LateWrite[]]; // our own holder sends it
    return writes;
  });
  return { child, isReady, late };
}

export const pause: Scene = {
  name: 'pause',
  title: 'A pause past the ttl',
  weakness: `A looks, sees that it holds the lock, and is stopped before it writes: by a collection of garbage, a full machine, a
suspended laptop. B takes over. Then A goes on, and writes.`,
  answer: `No lock can help: A asked before, and rightly. The resource can: each grant has a higher fence, and what comes with a
lower one is refused.`,
  expected: { commands: 'breaks', script: 'breaks', token: 'breaks', quorum: 'breaks', fenced: 'holds' },
  drawn: ['quorum', 'fenced'],
  async play(stage) {
    const { child, isReady, late } = startHolder(stage);
    try {
      await isReady; // it is about to stop itself
      let left = OUR_WAYS.length;
      let allWait = (): void => undefined;
      const all = new Promise<void>((resolve) => (allWait = resolve));
      const wake = async (): Promise<void> => {
        if (--left === 0) {
          child.kill('SIGCONT');
          allWait();
        }
        await all;
      };
      return await each(OUR_WAYS, (way, key) => ours(stage, way, `pause:${key}`, late, wake));
    } finally {
      child.kill('SIGKILL');
    }
  },
};
