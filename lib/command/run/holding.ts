/** A command that runs while a lease is held, and not longer. */
import {
  type Clock,
  machineNowMs,
  SystemClock,
  SystemTimers,
  type Timer,
  type Timers,
} from '../../runtime/clock.js';
import { EXIT } from '../failure.js';
import { complain } from '../terminal.js';
import { CommandGroup, type Ending, type Launch } from './command-group.js';
import type { Bounds } from './orders.js';
import { exitCodeOfSignal, type Signals } from './signals.js';

/** What is held. */
export interface Held {
  readonly fence?: number | undefined;
  readonly ttlMs: number;
  /** Aborts when it is lost. */
  readonly signal: AbortSignal;
  /** How much validity is left. */
  remainingMs(): number;
}

/** How the command ended. */
export interface Ended {
  readonly exitCode: number;
  /** The lease was lost, so the command was ended. */
  readonly isLost: boolean;
}

/** How long before the end of validity KILL comes, in ms: a process takes some time to end. */
const BEFORE_END_MS = 100;
/** How many times per ttl the watchdog may learn of a renewal. */
const LOOKS_IN_TTL = 10;

/** Runs the command under the lease. @throws Failure: it could not be run */
export async function runUnder(
  held: Held,
  resource: string,
  launch: Launch,
  signals: Signals,
): Promise<Ended> {
  const holding = new Holding(held, resource, launch);
  signals.passTo((signal) => holding.group.signal(signal));
  try {
    return endedAs(await holding.group.ended, holding.isLost);
  } finally {
    holding.close();
    signals.keep();
  }
}

class Holding {
  readonly group: CommandGroup;
  isLost = false;
  readonly #held: Held;
  readonly #killAfterMs: number;
  readonly #clock: Clock = new SystemClock();
  readonly #timers: Timers = new SystemTimers();
  #bounds: Bounds;
  #timer: Timer | undefined;

  constructor(held: Held, resource: string, launch: Launch) {
    this.#held = held;
    this.#killAfterMs = launch.killAfterMs;
    this.#bounds = this.#boundsNow();
    const env = { ...environmentFor(resource, held.fence), ...launch.env };
    this.group = new CommandGroup({ ...launch, env }, this.#bounds);
    held.signal.addEventListener('abort', this.#onLost, { once: true });
    if (held.signal.aborted) this.#onLost();
    else this.#checkLater();
  }

  close(): void {
    this.#timer?.cancel();
    this.#held.signal.removeEventListener('abort', this.#onLost);
  }

  /** As far as is known now, the lease is valid at least up to these bounds. */
  #boundsNow(): Bounds {
    const nowMs = machineNowMs(); // before the lease is asked: what passes in between is lost, and not gained
    const endMs = nowMs + this.#held.remainingMs() - BEFORE_END_MS;
    return { termAtMs: endMs + BEFORE_END_MS - this.#killAfterMs, killAtMs: endMs };
  }

  #checkLater(): void {
    const beganMs = this.#clock.now();
    this.#timer = this.#timers.background(this.#held.ttlMs / LOOKS_IN_TTL, () => {
      if (this.isLost || this.#clock.now() < beganMs) return;
      const bounds = this.#boundsNow();
      if (bounds.killAtMs > this.#bounds.killAtMs) {
        this.#bounds = bounds;
        this.group.bounds = bounds;
      }
      this.#checkLater();
    });
  }

  /** TERM at once; KILL by the end of the validity that was known, since another may hold the lock from then on. */
  readonly #onLost = (): void => {
    this.isLost = true;
    const nowMs = machineNowMs();
    const killAtMs = Math.min(this.#bounds.killAtMs, nowMs + this.#killAfterMs);
    this.group.bounds = { termAtMs: nowMs, killAtMs };
  };
}

/** Variables of an outer run must not be taken for those of this one. */
function environmentFor(resource: string, fence: number | undefined): NodeJS.ProcessEnv {
  const { QUORATE_NODES: _nodes, QUORATE_CONFIG: _config, QUORATE_FENCE: _fence, ...rest } = process.env;
  const own = fence === undefined ? {} : { QUORATE_FENCE: String(fence) };
  return { ...rest, QUORATE_RESOURCE: resource, ...own };
}

function endedAs({ exitCode, signal, isCut }: Ending, isLost: boolean): Ended {
  if (isLost || isCut) {
    complain('the lock was lost while the command ran, so the command was ended');
    return { exitCode: EXIT.leaseLost, isLost: true };
  }
  const own = signal === null ? (exitCode ?? EXIT.system) : exitCodeOfSignal(signal);
  return { exitCode: own, isLost: false };
}
