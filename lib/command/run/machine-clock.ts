/** A clock that all processes of this machine share, that never jumps back and that counts suspensions; in ms since boot. */
import { systemBootClock } from '../../runtime/clock.js';

const boot = systemBootClock();

export function machineNowMs(): number {
  return boot === undefined ? Number(process.hrtime.bigint()) / 1_000_000 : boot();
}
