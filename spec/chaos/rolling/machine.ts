/** Whether the machine lets a process run: where it does not, a lease is lost by no fault of the library. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nowMs } from '../run/history.js';
import type { FromClient } from './messages.js';

const LOOK_EVERY_MS = 50;
const LATE_MS = 300;

/** Tells of each time in which it should have run and got no processor; its own code is not the machine's fault. */
export async function watchMachine(
  tell: (late: Extract<FromClient, { readonly e: 'late' }>) => void,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const [fromMs, used] = [nowMs(), process.cpuUsage()];
    await sleep(LOOK_EVERY_MS);
    const { user, system } = process.cpuUsage(used); // in µs
    const t = nowMs();
    const byMs = t - fromMs - LOOK_EVERY_MS - (user + system) / 1_000;
    if (byMs > LATE_MS) tell({ e: 'late', t, byMs });
  }
}
