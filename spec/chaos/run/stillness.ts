/** When a process stood still: stopped, kept busy by its own work, or without a processor. A lease may be lost by that. */
import { type HistoryFile, nowMs } from './history.js';

const LOOK_EVERY_MS = 50;
const STILL_MS = 100;

/** @returns what ends it */
export function noteStillness(history: HistoryFile): () => void {
  let lastT = nowMs();
  const timer = setInterval(() => {
    const t = nowMs();
    const byMs = t - lastT - LOOK_EVERY_MS;
    if (byMs > STILL_MS) history.note({ e: 'still', t, byMs });
    lastT = t;
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
