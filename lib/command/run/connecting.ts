/**
 * The wait for the last connection before a lock is taken. A claim goes out as soon as a quorum is connected, and a master
 * that is connected a millisecond later gets none: the lock would live on a bare quorum until it is renewed.
 */
import type { Transport } from '../../redis/transport.js';
import { type Clock, SystemClock, SystemTimers, type Timer, type Timers } from '../../runtime/clock.js';
import { quorumOf } from '../library.js';

/** How long to wait for a quorum. After that, whoever takes the lock says what is wrong. */
const QUORUM_MS = 1_000;
/** How much longer to wait for the other masters. */
const OTHERS_MS = 200;

/** Waits for the connections of clients that were just made. @returns how long, in ms */
export function connected(transports: readonly Transport[], signal: AbortSignal): Promise<number> {
  return connecting(transports, signal, { clock: new SystemClock(), timers: new SystemTimers() });
}

/** Waits until no master is on its way to its first connection. One that refused is not waited for. @returns how long, in ms */
export async function connecting(
  transports: readonly Transport[],
  signal: AbortSignal,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
): Promise<number> {
  const startedAtMs = clock.now();
  const wait = new Connecting(transports, timers);
  if (signal.aborted) wait.end();
  signal.addEventListener('abort', wait.end);
  await wait.over;
  signal.removeEventListener('abort', wait.end);
  return clock.now() - startedAtMs;
}

class Connecting {
  readonly over: Promise<void>;
  readonly #transports: readonly Transport[];
  readonly #timers: Timers;
  readonly #unwatch: readonly (() => void)[];
  #finish = (): void => undefined;
  #timer: Timer;
  #hasQuorum = false;

  constructor(transports: readonly Transport[], timers: Timers) {
    this.over = new Promise((resolve) => (this.#finish = resolve));
    this.#transports = transports;
    this.#timers = timers;
    this.#timer = timers.wait(QUORUM_MS, this.end);
    this.#unwatch = transports.map((transport) => transport.watch(this.#check));
    this.#check();
  }

  readonly #check = (): void => {
    const states = this.#transports.map(({ state }) => state);
    if (!states.includes('opening')) return this.end();
    const ready = states.filter((state) => state === 'ready').length;
    if (this.#hasQuorum || ready < quorumOf(states.length)) return;
    this.#hasQuorum = true;
    this.#timer.cancel();
    this.#timer = this.#timers.wait(OTHERS_MS, this.end);
  };

  readonly end = (): void => {
    this.#timer.cancel();
    for (const stop of this.#unwatch) stop();
    this.#finish();
  };
}
