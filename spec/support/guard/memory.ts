/** Masters in memory, under virtual time, for the restart guard's contract. */
import type { RedlockOptions } from '../../../lib/input/options.js';
import type { Redlock } from '../../../lib/redlock.js';
import { holdBack } from '../commands.js';
import { type Bench, fakeCluster } from '../fake-cluster.js';
import type { FakeMaster } from '../fake-master.js';
import { type FakeTime, settle } from '../fake-time.js';
import { type Event, GUARDED, type GuardedMaster, Stand } from './stand.js';

/** More than any spec waits for. */
const LONGEST_MS = 120_000;
const STEP_MS = 5;

function guarded(master: FakeMaster, time: FakeTime): GuardedMaster {
  let saved = master.snapshot();
  const interrupted = (happen: () => void): void => {
    master.cut();
    happen();
    master.become('ready');
  };
  const events: Readonly<Record<Event, () => void>> = {
    lost: () => interrupted(() => master.restart('lost')),
    kept: () => interrupted(() => master.restart('kept')),
    stale() {
      interrupted(() => master.restart('kept'));
      master.restore(saved);
    },
    FLUSHALL: () => master.forget(),
    FLUSHDB: () => master.forget(),
    'SCRIPT FLUSH': () => (master.knowsScripts = false),
    'CLIENT KILL': () => interrupted(() => undefined),
    RELOAD: () => master.restore(master.snapshot()),
  };
  return {
    get: async (key) => Promise.resolve(master.value(key) ?? null),
    pttl: async (key) => Promise.resolve(master.ttlMs(key)),
    set: async (key, text) => Promise.resolve(master.set(key, text)),
    putData: async (key) => Promise.resolve(master.setForeign(key)),
    runId: async () => Promise.resolve(master.runId),
    micros: async () => Promise.resolve(master.micros()),
    checkpoint: async () => Promise.resolve(void (saved = master.snapshot())),
    happen(event) {
      events[event]();
      return time.advance(1);
    },
    kill: async () => Promise.resolve(master.cut()),
    freeze: async () => Promise.resolve(void (master.manner = 'freeze')),
    thaw: async () => Promise.resolve(master.thaw()),
  };
}

export class MemoryStand extends Stand {
  protected readonly slackMs = 0;
  readonly #bench: Bench;
  #opened = 0;

  constructor(nodes: number) {
    const bench = fakeCluster(nodes);
    super(
      bench.masters.map((master) => guarded(master, bench.time)),
      bench.masters.map(({ name }) => name),
    );
    this.#bench = bench;
  }

  open(options: RedlockOptions = GUARDED): Redlock {
    return this.#bench.other(`c${++this.#opened}`, options).redlock;
  }

  async eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
    await settle();
    for (let ms = 0; !(await isSo()); ms += STEP_MS) {
      if (ms > LONGEST_MS) throw new Error('it would never be so');
      await this.#bench.time.advance(STEP_MS);
    }
  }

  async acrossRestart<T>(call: () => Promise<T>): Promise<T> {
    const { masters } = this.#bench;
    const arrive = masters.map((master) => holdBack(master, 'claim'));
    const answer = call();
    await settle();
    for (const master of masters) {
      master.restart('lost');
      master.knowsScripts = true; // as another client has sent them by then
    }
    for (const run of arrive) run();
    return answer;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
