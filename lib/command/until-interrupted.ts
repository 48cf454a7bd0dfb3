/** Waits until somebody presses Ctrl-C, or the like. */
import { SystemTimers, type Timer } from '../runtime/clock.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does the work again and again, that long after it was done, until a signal comes or nobody reads the output any more.
 *
 * @throws what the work throws
 */
export async function untilInterrupted(everyMs: number, work: () => Promise<void>): Promise<void> {
  const timers = new SystemTimers();
  let isOver = false;
  let wake = (): void => undefined;
  const stop = (): void => {
    isOver = true;
    wake();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  process.stdout.on('error', stop);
  try {
    for (;;) {
      await work();
      if (isOver) return;
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = timers.wait(everyMs, resolve);
      });
      timer?.cancel();
      if (isOver) return;
    }
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, stop);
    process.stdout.removeListener('error', stop);
  }
}
